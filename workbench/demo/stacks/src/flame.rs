// SPDX-License-Identifier: GPL-2.0

//! Draws flame graphs.

use anyhow::{Context, Result};
use inferno::collapse::Collapse;
use inferno::collapse::perf::Folder;
use inferno::flamegraph::{self, Options};

use crate::script::Sample;

/// Draws the samples, with their kernel frames, as an SVG image.
pub fn graph(title: &str, samples: &[Sample<'_>]) -> Result<Vec<u8>> {
    let text: String = samples.iter().flat_map(|s| [s.text, "\n"]).collect();
    let mut folded = Vec::new();
    Folder::default().collapse(text.as_bytes(), &mut folded).context("cannot fold the stacks")?;

    let mut options = Options::default();
    options.title = title.to_owned();
    options.count_name = "samples".to_owned();
    // A function has the same colour in both graphs.
    options.hash = true;

    let mut svg = Vec::new();
    flamegraph::from_reader(&mut options, folded.as_slice(), &mut svg)
        .context("cannot draw the stacks")?;
    Ok(svg)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::tests::samples;
    use crate::script::parse;

    #[test]
    fn graph_names_functions() {
        let text = samples(&[&["f", "main", "_start"], &["g", "main", "_start"]]);
        let svg = graph("A title", &parse(&text).unwrap()).unwrap();
        let svg = String::from_utf8(svg).unwrap();
        assert!(svg.contains("A title"));
        assert!(svg.contains("main (2 samples, 100.00%)"), "{svg}");
        assert!(svg.contains("<title>f (1 samples, 50.00%)"));
    }
}
