// SPDX-License-Identifier: GPL-2.0

//! Reads the text that `perf script` prints.
//!
//! A sample is a header line, one line for each frame with the topmost first,
//! and an empty line:
//!
//! ```text
//! lua   123  2361.472260:    1000000 cpu-clock:
//!         ffffffff813dd9f0 up_write+0x20 ([kernel.kallsyms])
//!                   40aa4f propagatemark+0x15f (/usr/bin/lua)
//! ```
//!
//! After the frames, a line may give the reason for the end of the stack. perf leaves it out
//! if the kernel reports a complete stack, or reports nothing.

use anyhow::{Result, anyhow};

/// perf's text for a name that it does not know.
pub const UNKNOWN: &str = "[unknown]";

/// perf's text in place of deferred user frames that never came.
const COOKIE: &str = "(cookie)";

/// A text in the header of user frames that belong to no sample.
const DEFERRED: &str = "DEFERRED CALLCHAIN";

/// The beginning of a line with the reason for the end of a stack.
const END: &str = "[stack ends: ";

/// One frame of a stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame<'a> {
    /// The address of the current instruction, or the return address.
    pub address: u64,
    /// The function, without the offset into it.
    pub symbol: &'a str,
    /// The file that holds the function; empty if it was not printed.
    pub object: &'a str,
}

impl Frame<'_> {
    /// Whether the address is in the upper half of the address space, which is the kernel's.
    fn is_kernel(&self) -> bool {
        self.address >> 63 == 1
    }
}

/// One sample, and the text it was read from.
#[derive(Clone, Debug)]
pub struct Sample<'a> {
    /// The name of the command.
    pub comm: &'a str,
    /// The user frames, topmost first.
    pub user: Vec<Frame<'a>>,
    /// The reason why the stack may be incomplete, if the kernel reports one.
    pub end: Option<&'a str>,
    /// All lines of the sample.
    pub text: &'a str,
}

/// Reads all samples of a text.
pub fn parse(text: &str) -> Result<Vec<Sample<'_>>> {
    let mut samples = Vec::new();

    for (number, block) in blocks(text) {
        let mut lines = block.lines();
        let header = lines.next().unwrap_or_default();
        let comm = command(header)
            .ok_or_else(|| anyhow!("line {number} is not the header of a sample: '{header}'"))?;
        if header.contains(DEFERRED) {
            continue;
        }

        let mut frames = Vec::new();
        let mut end = None;
        for (line, n) in lines.zip(number + 1..) {
            if let Some(reason) = line.trim_start().strip_prefix(END) {
                end = Some(reason.strip_suffix(']').unwrap_or(reason));
                continue;
            }
            frames.push(frame(line).ok_or_else(|| anyhow!("line {n} is not a frame: '{line}'"))?);
        }
        samples.push(Sample { comm, user: user_part(frames), end, text: block });
    }
    Ok(samples)
}

/// The text between empty lines, with the number of its first line.
fn blocks(text: &str) -> Vec<(usize, &str)> {
    let mut blocks = Vec::new();
    let mut start = None;
    let mut offset = 0;

    for (line, number) in text.split_inclusive('\n').zip(1..) {
        let empty = line.trim().is_empty() || (start.is_none() && line.starts_with('#'));
        match (empty, start) {
            (false, None) => start = Some((number, offset)),
            (true, Some((first, begin))) => {
                blocks.push((first, &text[begin..offset]));
                start = None;
            }
            _ => {}
        }
        offset += line.len();
    }
    if let Some((first, begin)) = start {
        blocks.push((first, &text[begin..]));
    }
    blocks
}

/// The command of a header line. The number of the thread follows it, and then the
/// processor or the time.  The command may contain spaces.
fn command(header: &str) -> Option<&str> {
    let mut words = header
        .split_whitespace()
        .map(|word| (word, word.as_ptr() as usize - header.as_ptr() as usize))
        .skip(1)
        .peekable();

    while let Some((word, offset)) = words.next() {
        let &(next, _) = words.peek()?;
        let thread = word.split('/').all(|part| part.parse::<i64>().is_ok());
        if thread && (next.starts_with('[') || next.ends_with(':')) {
            return Some(header[..offset].trim());
        }
    }
    None
}

/// A frame's line: an address, a symbol with an offset, an object in brackets.
fn frame(line: &str) -> Option<Frame<'_>> {
    let (address, rest) = match line.trim().split_once(char::is_whitespace) {
        Some((address, rest)) => (address, rest.trim()),
        None => (line.trim(), UNKNOWN),
    };
    let (symbol, object) = split_object(rest);

    Some(Frame {
        address: u64::from_str_radix(address, 16).ok()?,
        symbol: without_offset(symbol),
        object,
    })
}

/// Splits 'symbol (object)'.  Either may hold spaces and brackets, which are
/// in pairs: 'operator()(int)+0x1 (/tmp/a (deleted))'.
fn split_object(text: &str) -> (&str, &str) {
    let Some(inner) = text.strip_suffix(')') else {
        return (text, "");
    };
    let mut depth = 1;

    for (at, c) in inner.char_indices().rev() {
        match c {
            ')' => depth += 1,
            '(' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return match inner[..at].strip_suffix(' ') {
                Some(symbol) => (symbol.trim_end(), &inner[at + 1..]),
                None => (text, ""),
            };
        }
    }
    (text, "")
}

fn without_offset(symbol: &str) -> &str {
    match symbol.rsplit_once("+0x") {
        Some((name, offset)) if u64::from_str_radix(offset, 16).is_ok() => name,
        _ => symbol,
    }
}

/// Removes the kernel's frames.  They come first: a kernel address below a user
/// frame is a value that was taken for an address.
fn user_part(mut frames: Vec<Frame<'_>>) -> Vec<Frame<'_>> {
    let kernel = frames.iter().take_while(|frame| frame.is_kernel()).count();

    frames.drain(..kernel);
    frames.retain(|frame| frame.symbol != COOKIE);
    frames
}

#[cfg(test)]
mod tests {
    use super::*;

    fn symbols<'a>(sample: &Sample<'a>) -> Vec<&'a str> {
        sample.user.iter().map(|frame| frame.symbol).collect()
    }

    #[test]
    fn complete_stack_below_kernel_frames() {
        let text = "\
lua   123  2361.472260:    1000000 cpu-clock: 
\tffffffff813dd9f0 up_write+0x20 ([kernel.kallsyms])
\tffffffff8160d43d vma_complete+0x11d ([kernel.kallsyms])
\t          434552 __munmap+0x22 (/usr/bin/lua)
\t          4011fa _start+0x16 (/usr/bin/lua)

";
        let samples = parse(text).unwrap();
        assert_eq!(samples.len(), 1);
        assert_eq!(samples[0].comm, "lua");
        assert_eq!(samples[0].end, None);
        assert_eq!(symbols(&samples[0]), ["__munmap", "_start"]);
        assert_eq!(
            samples[0].user[0],
            Frame { address: 0x434552, symbol: "__munmap", object: "/usr/bin/lua" }
        );
        assert_eq!(samples[0].text, text.trim_end_matches('\n').to_owned() + "\n");
    }

    #[test]
    fn the_end_is_no_frame() {
        let text = "\
lua 1 2.3: 1 cpu-clock:
\t          434552 __munmap+0x22 (/usr/bin/lua)
\t                 [stack ends: no unwind information in lua]
";
        let samples = parse(text).unwrap();
        assert_eq!(symbols(&samples[0]), ["__munmap"]);
        assert_eq!(samples[0].end, Some("no unwind information in lua"));
    }

    #[test]
    fn kernel_frames_only() {
        let text = "\
lua 1 2.3: 1 cpu-clock:
\tffffffff813dd9f0 up_write+0x20 ([kernel.kallsyms])
\tffffffff813dd9f0 [unknown] ([unknown])
";
        assert!(parse(text).unwrap()[0].user.is_empty());
    }

    #[test]
    fn no_frames() {
        let samples = parse("lua 1 2.3: 1 cpu-clock:\n\nlua 1 2.4: 1 cpu-clock:\n").unwrap();
        assert_eq!(samples.len(), 2);
        assert!(samples.iter().all(|sample| sample.user.is_empty()));
    }

    #[test]
    fn unknown_frames_are_frames() {
        let text = "\
lua 1 2.3: 1 cpu-clock:
\t          418a95 luaV_execute+0xe25 (/usr/bin/lua)
\t              16 [unknown] ([unknown])
\t8b48fffde802e808 [unknown] ([unknown])
\t          418a96 [unknown] (/usr/bin/lua)
";
        let samples = parse(text).unwrap();
        assert_eq!(symbols(&samples[0]), ["luaV_execute", UNKNOWN, UNKNOWN, UNKNOWN]);
        assert_eq!(samples[0].user[3].object, "/usr/bin/lua");
    }

    #[test]
    fn symbols_and_objects_with_spaces_and_brackets() {
        let cases = [
            (
                "Foo::operator()(int, char) const+0x10 (/tmp/a.out)",
                ("Foo::operator()(int, char) const", "/tmp/a.out"),
            ),
            (
                "<a::B as c::D>::e+0x1 (/tmp/my prog (deleted))",
                ("<a::B as c::D>::e", "/tmp/my prog (deleted)"),
            ),
            ("f(int) (inlined)", ("f(int)", "inlined")),
            ("a+0xb+0x1 (x)", ("a+0xb", "x")),
            ("c++0x+0x1 (x)", ("c++0x", "x")),
            ("main+0x1", ("main", "")),
            ("f(int)", ("f(int)", "")),
        ];
        for (text, (symbol, object)) in cases {
            let line = format!("\t  1234 {text}");
            let frame = frame(&line).unwrap();
            assert_eq!((frame.symbol, frame.object), (symbol, object), "{text}");
        }
    }

    #[test]
    fn headers() {
        let cases = [
            ("lua 1 2.3: 1 cpu-clock:", Some("lua")),
            ("lua     1/1   [001]  2.3:    250 cpu-clock:u:", Some("lua")),
            ("Web Content 12 [000] 2.3: cycles:", Some("Web Content")),
            ("tmux: server 12 2.3: cycles:", Some("tmux: server")),
            ("worker 3 12 2.3: cycles:", Some("worker 3")),
            ("swapper -1 2.3: cycles:", Some("swapper")),
            ("no header at all", None),
            ("", None),
        ];
        for (header, comm) in cases {
            assert_eq!(command(header), comm, "{header}");
        }
    }

    #[test]
    fn deferred_frames_that_never_came() {
        let text = "\
lua 1 2.3: 1 cpu-clock:
\tffffffff813dd9f0 up_write+0x20 ([kernel.kallsyms])
\t       b00000006 (cookie) ([unknown])

lua 1 2.4: DEFERRED CALLCHAIN [cookie: b00000007]
\t          4011fa _start+0x16 (/usr/bin/lua)
";
        let samples = parse(text).unwrap();
        assert_eq!(samples.len(), 1);
        assert!(samples[0].user.is_empty());
    }

    #[test]
    fn what_is_no_script_is_an_error() {
        let error = parse("# a comment\nSomething else\n").unwrap_err();
        assert!(error.to_string().contains("line 2"), "{error}");
        let error = parse("lua 1 2.3: 1 cpu-clock:\n\tnot an address\n").unwrap_err();
        assert!(error.to_string().contains("line 2"), "{error}");
        assert!(parse("").unwrap().is_empty());
    }
}
