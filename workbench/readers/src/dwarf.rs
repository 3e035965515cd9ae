// SPDX-License-Identifier: GPL-2.0

//! The comparison of a table with `.eh_frame` by the tool `unwind-tables`.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde::Deserialize;

/// A part of the tool's output for a file: the numbers of equal places, of places that differ by a
/// known defect, and of other places that differ.
#[derive(Deserialize)]
pub struct Dwarf {
    pub equal: u64,
    #[serde(rename = "known_defects")]
    pub known: BTreeMap<String, u64>,
    pub differ: u64,
}

#[derive(Deserialize)]
struct Report {
    /// Absent if the file has no `.eh_frame`.
    comparison: Option<Dwarf>,
}

/// Runs the tool on a file. Returns nothing if the file has no `.eh_frame`.
pub fn check(tool: &Path, file: &Path) -> Result<Option<Dwarf>> {
    // The tool's status only shows whether it has found errors.
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
    Ok(reports.into_iter().next().and_then(|report| report.comparison))
}
