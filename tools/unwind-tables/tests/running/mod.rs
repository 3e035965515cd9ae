// SPDX-License-Identifier: GPL-2.0

//! Calling the program, and making programs for it to check.

#![allow(dead_code, reason = "each test uses some of it")]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

/// A file that is gone at the end of its test.
pub struct File(pub PathBuf);

impl File {
    pub fn new(name: &str, bytes: &[u8]) -> Self {
        let name = format!("sframe-test-{}-{name}", std::process::id());
        let path = std::env::temp_dir().join(name);

        std::fs::write(&path, bytes).expect("the file can be written");
        Self(path)
    }
}

impl Drop for File {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

pub fn sframe(arguments: &[&str], files: &[&Path]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_unwind-tables"))
        .args(arguments)
        .args(files)
        .output()
        .expect("the program runs")
}

/// Calls the program on the bytes of one file: its status and what it prints.
pub fn run(name: &str, bytes: &[u8], arguments: &[&str]) -> (i32, String) {
    let file = File::new(name, bytes);
    let output = sframe(arguments, &[&file.0]);
    let text = [output.stdout, output.stderr].concat();

    (
        output.status.code().expect("it exits"),
        String::from_utf8(text).expect("it prints text"),
    )
}

pub fn json(name: &str, bytes: &[u8]) -> (i32, Value) {
    let (status, text) = run(name, bytes, &["check", "--json"]);
    let mut reports: Vec<Value> = serde_json::from_str(&text).expect("it prints JSON");

    assert_eq!(reports.len(), 1);
    (status, reports.remove(0))
}
