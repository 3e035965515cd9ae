// SPDX-License-Identifier: GPL-2.0

//! Reports for people.

use std::io::{self, Write};

use crate::report::{Comparison, Coverage, Report, Severity};
use crate::text::percent;

/// How many problems of a severity, and differences, are printed unless all are asked for.
const SHOWN: usize = 10;

/// Prints a report.
pub fn print(out: &mut impl Write, report: &Report, verbose: bool) -> io::Result<()> {
    write!(out, "{}: {}", report.file, report.verdict.text())?;
    if let Some(reason) = &report.reason {
        write!(out, ": {reason}")?;
    }
    writeln!(out)?;

    if let Some(table) = &report.table {
        writeln!(
            out,
            "  table     {} at {:#x}, {} bytes: {} functions, {} rows",
            report.abi.unwrap_or_default(),
            table.address,
            table.bytes,
            table.functions,
            table.rows
        )?;
        if verbose {
            writeln!(
                out,
                "            {} flexible, {} repeating, {} signal functions; {} outermost rows",
                table.flexible_functions,
                table.repeating_functions,
                table.signal_functions,
                table.outermost_rows
            )?;
        }
    }
    if let Some(sizes) = &report.sizes {
        let eh_frame = match sizes.eh_frame {
            Some(bytes) => (bytes + sizes.eh_frame_hdr).to_string(),
            None => "an unknown number of".into(),
        };
        writeln!(
            out,
            "  size      {} bytes; .eh_frame and .eh_frame_hdr {eh_frame} bytes",
            sizes.sframe
        )?;
    }
    if let Some(coverage) = &report.coverage {
        print_coverage(out, coverage)?;
    }
    if let Some(comparison) = &report.comparison {
        print_comparison(out, comparison, verbose)?;
    }
    print_problems(out, report, verbose)
}

fn print_coverage(out: &mut impl Write, coverage: &Coverage) -> io::Result<()> {
    for code in &coverage.code {
        writeln!(
            out,
            "  covered   {}: {} of {} bytes; by .eh_frame {}",
            code.name,
            percent(code.sframe, code.bytes),
            code.bytes,
            percent(code.eh_frame, code.bytes)
        )?;
    }
    if coverage.fdes == 0 {
        return Ok(());
    }
    writeln!(
        out,
        "  coverage  {} functions without an FDE, {} of {} FDEs without a function",
        coverage.functions_without_fde, coverage.fdes_without_function, coverage.fdes
    )
}

fn print_comparison(
    out: &mut impl Write,
    comparison: &Comparison,
    verbose: bool,
) -> io::Result<()> {
    write!(
        out,
        "  compared  {} places: {} equal, {} differ",
        comparison.places, comparison.equal, comparison.differ
    )?;
    for (what, count) in [
        ("without a row", comparison.without_row),
        ("without a rule", comparison.without_rule),
    ] {
        if count != 0 {
            write!(out, ", {count} {what}")?;
        }
    }
    writeln!(out)?;
    for (defect, count) in &comparison.known_defects {
        writeln!(
            out,
            "            {count} differ by the known defect {defect}"
        )?;
    }

    let unknown = |difference: &&crate::report::Difference| difference.defect.is_none();
    let shown = if verbose { usize::MAX } else { SHOWN };
    let differences: Vec<_> = comparison
        .differences
        .iter()
        .filter(|difference| verbose || unknown(difference))
        .take(shown)
        .collect();
    for difference in &differences {
        let label = match difference.defect {
            Some(defect) => format!("{defect}: "),
            None => "differs: ".into(),
        };
        writeln!(
            out,
            "  {label}{}: table {}, .eh_frame {}",
            difference.place, difference.sframe, difference.eh_frame
        )?;
    }
    let printed = differences
        .iter()
        .filter(|difference| unknown(difference))
        .count() as u64;
    more(out, comparison.differ - printed, "differences")
}

fn print_problems(out: &mut impl Write, report: &Report, verbose: bool) -> io::Result<()> {
    for (severity, count) in [
        (Severity::Error, report.errors),
        (Severity::Warning, report.warnings),
        (Severity::Note, report.notes),
    ] {
        let shown = match (verbose, severity) {
            (true, _) => usize::MAX,
            (false, Severity::Note) => 0,
            (false, _) => SHOWN,
        };
        let mut printed = 0;
        let problems = report.problems.iter();
        for problem in problems
            .filter(|problem| problem.severity == severity)
            .take(shown)
        {
            writeln!(out, "  {}: {}", severity.text(), problem.text)?;
            printed += 1;
        }
        more(out, count - printed, &format!("{}s", severity.text()))?;
    }
    Ok(())
}

fn more(out: &mut impl Write, count: u64, what: &str) -> io::Result<()> {
    if count != 0 {
        writeln!(out, "  {count} more {what}")?;
    }
    Ok(())
}
