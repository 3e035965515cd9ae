// SPDX-License-Identifier: GPL-2.0

//! Programs made by the tool chain, if it can write tables.

#![allow(dead_code, reason = "each test uses some of it")]

use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// Says why a test does nothing: not by a macro, whose output is not shown when a test passes.
pub fn skip(test: &str, reason: &str) {
    writeln!(std::io::stderr(), "SKIP: {test}: {reason}").expect("stderr is open");
}

/// Compiles `source`, in the language that gcc calls so; false if that cannot be done here.
fn compile(gcc: &str, language: &str, source: &str, flags: &[&str], output: &PathBuf) -> bool {
    let child = Command::new(gcc)
        .args(["-O2", "-fomit-frame-pointer", "-x", language, "-"])
        .args(flags)
        .arg("-o")
        .arg(output)
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let Ok(mut child) = child else {
        return false;
    };

    let mut stdin = child.stdin.take().expect("it is piped");
    // A compiler that refuses its options reads nothing.
    let _ = stdin.write_all(source.as_bytes());
    drop(stdin);
    child
        .wait_with_output()
        .is_ok_and(|output| output.status.success())
}

/// Builds a program for `test` with SFrame tables; none, after saying why, if this tool chain
/// writes none. A tool chain that does has to succeed.
pub fn build(
    test: &str,
    gcc: &str,
    language: &str,
    source: &str,
    flags: &[&str],
) -> Option<Vec<u8>> {
    let flags = [&["-Wa,--gsframe-3"], flags].concat();

    build_with(test, gcc, language, source, &["-Wa,--gsframe-3"], &flags)
}

/// The same without SFrame tables, for any tool chain.
pub fn build_plain(
    test: &str,
    gcc: &str,
    language: &str,
    source: &str,
    flags: &[&str],
) -> Option<Vec<u8>> {
    build_with(test, gcc, language, source, &[], flags)
}

/// Builds a program for `test` if the tool chain takes the flags `needed`.
fn build_with(
    test: &str,
    gcc: &str,
    language: &str,
    source: &str,
    needed: &[&str],
    flags: &[&str],
) -> Option<Vec<u8>> {
    let name = format!("sframe-test-{}-{test}", std::process::id());
    let path = std::env::temp_dir().join(name);
    let bytes = || {
        let bytes = std::fs::read(&path).expect("the program can be read");
        std::fs::remove_file(&path).expect("the program can be removed");
        bytes
    };

    if !compile(
        gcc,
        "assembler",
        "nop\n",
        &[needed, &["-c"]].concat(),
        &path,
    ) {
        skip(test, &format!("there is no {gcc} that takes {needed:?}"));
        return None;
    }
    bytes();
    assert!(
        compile(gcc, language, source, flags, &path),
        "{test} cannot be built"
    );
    Some(bytes())
}

/// A program with calls, arrays of unknown size, and a stack that it realigns.
pub const PROGRAM: &str = r#"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void *sink;

static int compare(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

__attribute__((noinline)) int unknown_size(int n)
{
	char bytes[n];

	puts(memset(bytes, n, n));
	return bytes[n / 2];
}

__attribute__((noinline)) double realigned(int n)
{
	_Alignas(64) double numbers[16];
	char bytes[n];

	for (int i = 0; i < 16; i++)
		numbers[i] = n * i;
	memcpy(sink, numbers, sizeof(numbers));
	puts(memset(bytes, 3, n));
	return numbers[n & 15];
}

int main(int argc, char **argv)
{
	int numbers[40];

	for (int i = 0; i < 40; i++)
		numbers[i] = rand();
	qsort(numbers, 40, sizeof(int), compare);
	sink = malloc(1000);
	printf("%d %f\n", unknown_size(argc + 5), realigned(argc));
	if (argc > 5)
		abort();
	return numbers[3];
}
"#;
