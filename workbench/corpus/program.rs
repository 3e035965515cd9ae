// SPDX-License-Identifier: GPL-2.0

//! The Rust program: trait objects, generics, closures, drops, and panics that are caught.
//!
//! This is a library with a C `main`, so that the build links it like any other program.

use std::collections::BTreeMap;
use std::ffi::{c_char, c_int};
use std::fmt::Display;
use std::panic;

/// Prints its end, by return or while the stack is unwound.
struct Guard<T: Display>(T);

impl<T: Display> Drop for Guard<T> {
    fn drop(&mut self) {
        println!("end of {}", self.0);
    }
}

enum Expression {
    Name(String),
    Add(Box<Self>, Box<Self>),
    Divide(Box<Self>, Box<Self>),
}

use Expression::{Add, Divide, Name};

impl Expression {
    #[inline(never)]
    fn value(&self, names: &BTreeMap<String, i64>) -> Result<i64, String> {
        match self {
            Name(name) => names.get(name).copied().ok_or_else(|| format!("unknown name {name}")),
            Add(a, b) => a.value(names)?.checked_add(b.value(names)?).ok_or("overflow".into()),
            // Panics, on purpose, where the divisor is 0.
            Divide(a, b) => Ok(a.value(names)? / b.value(names)?),
        }
    }
}

#[inline(never)]
fn deep(n: u32, act: &dyn Fn() -> i64) -> i64 {
    let _guards = (Guard(n), Guard("deep"));
    if n == 0 { act() } else { deep(n - 1, act) + 1 }
}

#[unsafe(no_mangle)]
extern "C" fn main(_argc: c_int, _argv: *const *const c_char) -> c_int {
    let names = [("one", 1), ("none", 0), ("most", i64::MAX)].map(|(name, value)| (name.into(), value));
    let names = BTreeMap::from(names);
    let boxed = |name: &str| Box::new(Name(name.into()));

    panic::set_hook(Box::new(|_| ()));
    for expression in [
        Add(boxed("one"), boxed("most")),
        Divide(boxed("one"), boxed("none")),
        *boxed("two"),
    ] {
        let value = || expression.value(&names).map_or_else(|_| panic!("on purpose"), |value| value);
        match panic::catch_unwind(panic::AssertUnwindSafe(|| deep(3, &value))) {
            Ok(value) => println!("{value}"),
            Err(_) => println!("caught"),
        }
    }
    0
}
