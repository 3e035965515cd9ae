// SPDX-License-Identifier: GPL-2.0

//! Writes the report as text: at most 30 lines of less than 100 columns.

use std::fmt::Write;

use crate::profile::{Counts, Profile, Typical};

/// The width of each of the two columns. Between them is a bar.
const COLUMN: usize = 48;

/// The numbers of frames to show at the top and at the bottom of a long stack.
const TOP: usize = 6;
const BOTTOM: usize = 5;

/// The number of ends of stacks to show.
const ENDS: usize = 5;

/// The whole report, with a heading for each recording. Programs read its last line.
pub fn report(headings: &[String; 2], before: &Profile<'_>, after: &Profile<'_>) -> String {
    let typical = after.typical();
    let top = typical.as_ref().and_then(|t| t.shape.first());
    let typical_before = before.typical_in(top.copied().unwrap_or_default());
    let (counts_before, counts_after) = (before.counts(), after.counts());

    let mut out = String::new();
    side_by_side(
        &mut out,
        &stack(&headings[0], typical_before.as_ref()),
        &stack(&headings[1], typical.as_ref()),
    );
    out.push('\n');
    table(&mut out, &[("before", &counts_before), ("after", &counts_after)]);
    out.push('\n');
    side_by_side(&mut out, &ends("before", before), &ends("after", after));
    out.push('\n');
    out += &format!(
        "complete before: {} after: {} samples: {}\n",
        percent(&counts_before),
        percent(&counts_after),
        counts_after.samples
    );
    out
}

fn percent(counts: &Counts) -> String {
    let permille = counts.permille();
    format!("{}.{} %", permille / 10, permille % 10)
}

/// A heading and the frames of a stack, abbreviated in the middle.
fn stack(heading: &str, typical: Option<&Typical<'_>>) -> Vec<String> {
    let Some(Typical { shape, count, complete }) = typical else {
        return vec![heading.to_owned(), "(no sample has user frames)".to_owned()];
    };
    let depth = shape.len();
    let mut lines =
        vec![format!("{heading}: {depth} frames, {count} samples alike"), "-".repeat(COLUMN)];
    let frames: Vec<_> = (1..).zip(shape).map(|(n, symbol)| format!("{n:3} {symbol}")).collect();

    // A line in place of a single frame would make the stack no shorter.
    if depth <= TOP + 1 + BOTTOM {
        lines.extend(frames);
    } else {
        lines.extend_from_slice(&frames[..TOP]);
        lines.push(format!("    ... {} frames ...", depth - TOP - BOTTOM));
        lines.extend_from_slice(&frames[depth - BOTTOM..]);
    }
    if !complete {
        lines.push("    (lost here)".to_owned());
    }
    lines
}

/// A table of the counts, with a row for each recording.
fn table(out: &mut String, rows: &[(&str, &Counts)]) {
    let mut row = |cells: [&str; 7]| {
        let [name, rest @ ..] = cells;
        let _ = write!(out, "{name:8}");
        for cell in rest {
            let _ = write!(out, "{cell:>12}");
        }
        out.push('\n');
    };

    row(["", "samples", "complete", "share", "mean depth", "max depth", "unknown"]);
    for (name, counts) in rows {
        let unknown = counts.unknown as f64 * 100.0 / counts.frames.max(1) as f64;
        let mean = counts.frames as f64 / counts.samples.max(1) as f64;
        row([
            name,
            &counts.samples.to_string(),
            &counts.complete.to_string(),
            &percent(counts),
            &format!("{mean:.1}"),
            &counts.deepest.to_string(),
            &format!("{unknown:.1} %"),
        ]);
    }
}

/// A heading, and the last frames of the stacks that are not complete.
fn ends(name: &str, profile: &Profile<'_>) -> Vec<String> {
    let ends = profile.ends();
    let mut lines = vec![format!("Incomplete {name}, by where they end")];

    for (end, count) in ends.iter().take(ENDS) {
        lines.push(match end {
            Some((symbol, object)) => {
                let file = object.rsplit('/').next().unwrap_or(object);
                format!("{count:7} {symbol} ({file})")
            }
            None => format!("{count:7} no user part"),
        });
    }
    if ends.len() > ENDS {
        let rest: usize = ends[ENDS..].iter().map(|(_, count)| count).sum();
        lines.push(format!("{rest:7} in {} others", ends.len() - ENDS));
    }
    if ends.is_empty() {
        lines.push("      0".to_owned());
    }
    lines
}

fn side_by_side(out: &mut String, left: &[String], right: &[String]) {
    for n in 0..left.len().max(right.len()) {
        let cell = |column: &[String]| shorten(column.get(n).map_or("", String::as_str));
        let line = format!("{:COLUMN$} | {}", cell(left), cell(right));
        out.push_str(line.trim_end());
        out.push('\n');
    }
}

/// Cuts a text that is too long for a column.
fn shorten(text: &str) -> String {
    if text.chars().count() <= COLUMN {
        return text.to_owned();
    }
    text.chars().take(COLUMN - 3).chain("...".chars()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::tests::samples;
    use crate::script::parse;

    fn report_of(before: &[&[&str]], after: &[&[&str]]) -> String {
        let (before, after) = (samples(before), samples(after));
        report(
            &["Without it", "With it"].map(String::from),
            &Profile::new(parse(&before).unwrap(), "_start"),
            &Profile::new(parse(&after).unwrap(), "_start"),
        )
    }

    #[test]
    fn last_line() {
        let report = report_of(
            &[&["f"], &["f"], &["f", "_start"]],
            &[&["f", "_start"], &["f", "main", "_start"]],
        );
        assert_eq!(
            report.lines().last(),
            Some("complete before: 33.3 % after: 100.0 % samples: 2")
        );
    }

    #[test]
    fn stacks_stand_side_by_side() {
        let report = report_of(&[&["g"], &["g"], &["f", "[unknown]"]], &[&["f", "main", "_start"]]);
        let lines: Vec<_> = report.lines().collect();
        let row = |left: &str, right: &str| format!("{left:48} | {right}");
        assert_eq!(lines[2], row("  1 f", "  1 f"));
        assert_eq!(lines[3], row("  2 [unknown]", "  2 main"));
        assert_eq!(lines[4], row("    (lost here)", "  3 _start"));
        assert!(report.contains("      2 g (lua)"), "{report}");
    }

    #[test]
    fn long_reports_fit() {
        let name = "a_very_long_name_of_a_function_".repeat(4);
        let functions: Vec<_> = (0..20).map(|n| format!("{name}{n}")).collect();
        let mut deep = vec![name.as_str(); 200];
        let stacks: Vec<Vec<&str>> = functions
            .iter()
            .map(|function| {
                let mut stack = deep.clone();
                stack.push(function.as_str());
                stack
            })
            .collect();
        let stacks: Vec<&[&str]> = stacks.iter().map(Vec::as_slice).collect();
        let before = report_of(&stacks, &stacks);
        assert!(before.lines().count() <= 30, "{before}");
        assert!(before.lines().all(|line| line.chars().count() < 100));

        deep.push("_start");
        let report = report_of(&stacks, &[&deep]);
        assert!(report.contains("... 190 frames ..."), "{report}");
        assert!(report.contains("201 _start"), "{report}");
    }

    #[test]
    fn nothing_to_show() {
        let report = report_of(&[&[]], &[&[]]);
        assert!(report.contains("no sample has user frames"));
        assert!(report.ends_with("complete before: 0.0 % after: 0.0 % samples: 1\n"));
    }
}
