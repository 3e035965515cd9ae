// SPDX-License-Identifier: GPL-2.0

//! Tables as text.

/// Lines of columns: the first `left` columns are aligned to the left, the others to the right.
pub fn format(lines: &[Vec<String>], left: usize) -> String {
    let columns = lines.iter().map(Vec::len).max().unwrap_or(0);
    let widths: Vec<usize> = (0..columns)
        .map(|nth| {
            let cells = lines.iter().filter_map(|line| line.get(nth));
            cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
        })
        .collect();
    let mut text = String::new();

    for line in lines {
        let cells: Vec<String> = line
            .iter()
            .zip(&widths)
            .enumerate()
            .map(
                |(nth, (cell, width))| {
                    if nth < left { format!("{cell:<width$}") } else { format!("{cell:>width$}") }
                },
            )
            .collect();
        text.push_str(cells.join("  ").trim_end());
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    #[test]
    fn aligned() {
        let line = |cells: [&str; 2]| cells.map(String::from).to_vec();

        assert_eq!(
            super::format(&[line(["a", "12"]), line(["long", "3"])], 1),
            "a     12\nlong   3\n"
        );
    }
}
