// SPDX-License-Identifier: GPL-2.0

//! Reports for people.

use std::io::{self, Write};

use crate::report::{Amounts, Comparison, Coverage, Judgement, Readers, Report, Severity, Text};
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

    if let Some(text) = &report.text {
        print_text(out, text)?;
    }
    // Why the kernel has no table at all is said once.
    let has_table = report.table.is_some() || report.eh_frame.index.is_some();
    if report.text.is_some() && (has_table || report.reason.is_none()) {
        print_sframe(out, report, verbose)?;
        print_eh_frame(out, report, verbose)?;
    }
    if let Some(sizes) = report.sizes.as_ref().filter(|_| report.table.is_some()) {
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
        print_coverage(out, coverage, report)?;
        print_uncovered(out, coverage, verbose)?;
    }
    if let Some(comparison) = &report.comparison {
        print_comparison(out, comparison, verbose)?;
    }
    if let Some(readers) = &report.eh_frame.readers {
        print_readers(out, readers, verbose)?;
    }
    print_problems(out, report, verbose)
}

/// How much the kernel can unwind through.
fn print_text(out: &mut impl Write, text: &Text) -> io::Result<()> {
    write!(
        out,
        "  unwound   {} of {} bytes of code",
        percent(text.unwound, text.bytes),
        text.bytes
    )?;
    for (bytes, name) in [(text.by_sframe, "SFrame"), (text.by_eh_frame, ".eh_frame")] {
        if bytes != 0 {
            write!(out, ", {} by {name}", percent(bytes, text.bytes))?;
        }
    }
    writeln!(out)?;
    if text.padding == 0 {
        return Ok(());
    }
    writeln!(
        out,
        "            {} of all but {} bytes of padding between functions",
        percent(text.unwound, text.bytes - text.padding),
        text.padding
    )
}

/// What the kernel makes of a table, and why.
fn print_judgement(out: &mut impl Write, name: &str, judgement: &Judgement) -> io::Result<()> {
    write!(out, "  {name:9} {}", judgement.verdict.text())?;
    match &judgement.reason {
        Some(reason) => writeln!(out, ": {reason}"),
        None => writeln!(out),
    }
}

/// What a table says about the code, and what it does not.
fn print_amounts(out: &mut impl Write, amounts: &Amounts) -> io::Result<()> {
    let whole = [
        amounts.rule,
        amounts.unsupported,
        amounts.malformed,
        amounts.nothing,
    ]
    .into_iter()
    .fold(0, u64::saturating_add);

    write!(
        out,
        "            rules for {}",
        percent(amounts.rule, whole)
    )?;
    for (what, bytes) in [
        ("not supported", amounts.unsupported),
        ("malformed", amounts.malformed),
        ("without information", amounts.nothing),
    ] {
        if bytes != 0 {
            write!(out, ", {bytes} bytes {what}")?;
        }
    }
    writeln!(out)
}

fn print_sframe(out: &mut impl Write, report: &Report, verbose: bool) -> io::Result<()> {
    print_judgement(out, "sframe", &report.sframe)?;
    let Some(table) = &report.table else {
        return Ok(());
    };

    writeln!(
        out,
        "            {} at {:#x}, {} bytes: {} functions, {} rows",
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
    match &report.sframe.text {
        Some(amounts) => print_amounts(out, amounts),
        None => Ok(()),
    }
}

fn print_eh_frame(out: &mut impl Write, report: &Report, verbose: bool) -> io::Result<()> {
    let eh_frame = &report.eh_frame;

    print_judgement(out, "eh_frame", &eh_frame.judgement)?;
    let Some(index) = &eh_frame.index else {
        return Ok(());
    };
    writeln!(
        out,
        "            {} at {:#x}, {} bytes: {} functions, {} rows",
        report.abi.unwrap_or_default(),
        index.address,
        index.segment_bytes,
        index.functions,
        index.rows
    )?;
    if verbose {
        writeln!(
            out,
            "            table at {:#x}, {} entries, {} FDEs; {} outermost, {} signal rows",
            index.table_address, index.entries, index.fdes, index.outermost_rows, index.signal_rows
        )?;
    }
    if let Some(amounts) = &eh_frame.judgement.text {
        print_amounts(out, amounts)?;
    }
    for unsupported in eh_frame.unsupported.values() {
        writeln!(
            out,
            "            not supported: {}: {} rows, {} bytes",
            unsupported.text, unsupported.rows, unsupported.bytes
        )?;
    }
    Ok(())
}

/// The code that stacks are lost in, for those who can describe it.
fn print_uncovered(out: &mut impl Write, coverage: &Coverage, verbose: bool) -> io::Result<()> {
    let shown = if verbose { usize::MAX } else { SHOWN };
    let pieces: Vec<_> = coverage.uncovered.iter().take(shown).collect();

    for piece in &pieces {
        writeln!(
            out,
            "  no table  {:#x}, {} bytes: {}",
            piece.address, piece.bytes, piece.name
        )?;
    }
    more(
        out,
        coverage.uncovered_pieces - pieces.len() as u64,
        "pieces of code without a table",
    )
}

fn print_coverage(out: &mut impl Write, coverage: &Coverage, report: &Report) -> io::Result<()> {
    let has = [report.table.is_some(), report.eh_frame.index.is_some()];

    for code in &coverage.code {
        write!(
            out,
            "  covered   {}: {} of {} bytes",
            code.name,
            percent(code.unwound, code.bytes),
            code.bytes
        )?;
        if has == [true; 2] {
            write!(
                out,
                "; by SFrame {}, by .eh_frame {}",
                percent(code.sframe, code.bytes),
                percent(code.eh_frame, code.bytes)
            )?;
        }
        writeln!(out)?;
    }
    if coverage.fdes == 0 || report.table.is_none() {
        return Ok(());
    }
    writeln!(
        out,
        "  coverage  {} functions without an FDE, {} of {} FDEs without a function",
        coverage.functions_without_fde, coverage.fdes_without_function, coverage.fdes
    )
}

/// The kernel's reader of `.eh_frame` beside another one: nothing, if they agree.
fn print_readers(out: &mut impl Write, readers: &Readers, verbose: bool) -> io::Result<()> {
    if readers.differ == 0 && !verbose {
        return Ok(());
    }
    writeln!(
        out,
        "  read      {} addresses of .eh_frame twice: {} equal, {} differ",
        readers.addresses, readers.equal, readers.differ
    )?;
    let shown = if verbose { usize::MAX } else { SHOWN };
    let differences: Vec<_> = readers.differences.iter().take(shown).collect();
    for difference in &differences {
        writeln!(
            out,
            "  differs: {}: the kernel {}, gimli {}",
            difference.place, difference.kernel, difference.gimli
        )?;
    }
    more(
        out,
        readers.differ - differences.len() as u64,
        "differences",
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
