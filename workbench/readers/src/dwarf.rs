// SPDX-License-Identifier: GPL-2.0

//! What the tool `unwind-tables` finds when it compares a table with `.eh_frame`.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde::Deserialize;

/// As much of its output as is wanted: of each file, how many places are equal, and how many
/// differ by a defect that is known, by its name, or without one.
#[derive(Deserialize)]
pub struct Dwarf {
    pub equal: u64,
    #[serde(rename = "known_defects")]
    pub known: BTreeMap<String, u64>,
    pub differ: u64,
}

#[derive(Deserialize)]
struct Report {
    /// None if there is nothing to compare with.
    comparison: Option<Dwarf>,
}

/// Runs the tool on a file; none if the file has no `.eh_frame`.
pub fn check(tool: &Path, file: &Path) -> Result<Option<Dwarf>> {
    // Its status says whether it has found something.
    let output = Command::new(tool)
        .args(["check", "--json"])
        .arg(file)
        .output()
        .with_context(|| format!("{} cannot be run", tool.display()))?;
    let reports: Vec<Report> = serde_json::from_slice(&output.stdout).with_context(|| {
        let stderr = String::from_utf8_lossy(&output.stderr);
        format!("{} is not understood: {stderr}", tool.display())
    })?;

    ensure!(reports.len() == 1, "{} files are reported", reports.len());
    Ok(reports
        .into_iter()
        .next()
        .and_then(|report| report.comparison))
}
