// SPDX-License-Identifier: GPL-2.0

//! The Rust program: trait objects, generics, closures, drops, and panics that are caught.
//!
//! This is a library with a C `main`, so that the build links it like any other program.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ffi::{c_char, c_int};
use std::fmt::{self, Display};
use std::panic;

thread_local! {
    static LOG: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
}

fn log(line: impl Display) {
    LOG.with_borrow_mut(|log| log.push(line.to_string()));
}

/// Logs its end, by return or while the stack is unwound.
struct Guard(&'static str);

impl Drop for Guard {
    fn drop(&mut self) {
        log(format_args!("end of {}", self.0));
    }
}

enum Expression {
    Number(i64),
    Name(String),
    Add(Box<Expression>, Box<Expression>),
    Divide(Box<Expression>, Box<Expression>),
}

use Expression::{Add, Divide, Name, Number};

#[derive(Debug)]
enum Error {
    Unknown(String),
    Overflow,
}

impl Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Unknown(name) => write!(f, "unknown name {name}"),
            Error::Overflow => f.write_str("overflow"),
        }
    }
}

impl Expression {
    #[inline(never)]
    fn value(&self, names: &BTreeMap<String, i64>) -> Result<i64, Error> {
        match self {
            Number(number) => Ok(*number),
            Name(name) => names
                .get(name)
                .copied()
                .ok_or_else(|| Error::Unknown(name.clone())),
            Add(a, b) => a
                .value(names)?
                .checked_add(b.value(names)?)
                .ok_or(Error::Overflow),
            // Panics, on purpose, where the divisor is 0.
            Divide(a, b) => Ok(a.value(names)? / b.value(names)?),
        }
    }
}

#[inline(never)]
fn deep(n: u32, act: &dyn Fn() -> i64) -> i64 {
    let _guard = Guard("deep");
    if n == 0 { act() } else { deep(n - 1, act) + 1 }
}

#[inline(never)]
fn sorted<T: Ord + Clone>(values: &[T]) -> Vec<T> {
    let mut values = values.to_vec();
    values.sort();
    values
}

#[unsafe(no_mangle)]
extern "C" fn main(_argc: c_int, _argv: *const *const c_char) -> c_int {
    let names = BTreeMap::from([("one".to_string(), 1), ("none".to_string(), 0)]);
    let boxed = |name: &str| Box::new(Name(name.into()));

    panic::set_hook(Box::new(|_| ()));
    for expression in [
        Add(Box::new(Number(2)), boxed("one")),
        Add(Box::new(Number(i64::MAX)), boxed("one")),
        Divide(boxed("one"), boxed("none")),
        *boxed("two"),
    ] {
        let result = panic::catch_unwind(|| {
            let value = expression.value(&names);
            deep(3, &|| value.as_ref().map_or(-1, |value| *value))
        });
        match result {
            Ok(value) => log(value),
            Err(_) => log("caught"),
        }
    }
    let caught = panic::catch_unwind(|| deep(5, &|| panic!("on purpose"))).is_err();
    for word in sorted(&["c", "a", "b"]) {
        log(word);
    }
    for number in sorted(&[3, 1, 2]) {
        log(number);
    }
    LOG.with_borrow(|log| println!("{}", log.join("\n")));
    c_int::from(!caught)
}
