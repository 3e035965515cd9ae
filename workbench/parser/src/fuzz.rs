// SPDX-License-Identifier: GPL-2.0

//! Fuzz targets. Each turns bytes into a table or an ELF file, and a lookup in it.
//!
//! A target panics if the answer breaks a promise. libFuzzer generates the bytes, and keeps inputs
//! that reach new code.

use crate::check;
use crate::listing::{Function, Table};
use crate::memory::Memory;
use crate::parse::elf::Target;
use crate::parse::sframe::Header;
use crate::parse::{AArch64, Amd64, Arch, Error};

/// Units that are enough for any lookup.
const ENOUGH: u32 = 10_000_000;
/// The most units in `.eh_frame`: a lookup in a table that repeats its bytes takes all of any number.
const EH_FRAME: u32 = 27 * 1024;
/// The cost of a listing. A table whose listing costs more is not compared.
const LISTING: u32 = 20_000;

/// A table, and the lookup in it.
///
/// From the first byte:
///
/// ```text
///   1 byte    bits 0-1: architecture; bit 7: the table repeats itself
///   1 byte    units that the lookup may cost, in 16, or 0 for enough
///   8 bytes   address of the table
///   8 bytes   address to look up, relative to the table's
///   8 bytes   length of the table, relative to the number of its bytes
///             the rest, which has the table's bytes at its end
/// ```
///
/// All numbers have their least significant byte first. Zeros stand for the usual case, so a change
/// of one field leaves the other fields as they are.
#[derive(Clone, Copy)]
struct Input<'a> {
    architecture: u8,
    repeats: bool,
    units: u32,
    base: u64,
    pc: u64,
    longer: i64,
    rest: &'a [u8],
}

/// A function for each architecture.
macro_rules! for_arch {
    ($input:expr, $function:ident($($argument:expr),*)) => {
        match $input.architecture {
            0 => $function::<Amd64>($($argument),*),
            _ => $function::<AArch64>($($argument),*),
        }
    };
}

impl<'a> Input<'a> {
    /// Decodes an input, unless it is too short.
    fn new(data: &'a [u8]) -> Option<Self> {
        let (&[first, units], data) = data.split_first_chunk()?;
        let (base, data) = data.split_first_chunk()?;
        let (pc, data) = data.split_first_chunk()?;
        let (longer, rest) = data.split_first_chunk()?;
        let base = u64::from_le_bytes(*base);

        Some(Self {
            architecture: first & 3,
            repeats: first & 0x80 != 0,
            units: if units == 0 { ENOUGH } else { 16 * u32::from(units) },
            base,
            pc: base.wrapping_add_signed(i64::from_le_bytes(*pc)),
            longer: i64::from_le_bytes(*longer),
            rest,
        })
    }

    /// Takes a number of two bytes off the rest.
    fn number(&mut self) -> Option<u16> {
        let (number, rest) = self.rest.split_first_chunk()?;

        self.rest = rest;
        Some(u16::from_le_bytes(*number))
    }

    /// Takes so many bytes off the rest.
    fn take(&mut self, len: u16) -> Option<&'a [u8]> {
        let (taken, rest) = self.rest.split_at_checked(len.into())?;

        self.rest = rest;
        Some(taken)
    }

    fn len(&self) -> u64 {
        (self.rest.len() as u64).saturating_add_signed(self.longer)
    }

    /// The table, which changes between reads as `script` says: see `Behaviour::Script`.
    fn memory(&self, script: &'a [u8]) -> Memory<'a> {
        Memory::scripted(self.rest, self.len(), self.repeats, script)
    }

    /// Says whether a part of the table is unreadable.
    fn has_hole(&self) -> bool {
        self.longer > 0 && (!self.repeats || self.rest.is_empty())
    }
}

/// Does the same twice, which must have the same result.
fn twice<T: PartialEq + std::fmt::Debug>(look: impl Fn() -> T) {
    assert_eq!(look(), look(), "the same twice");
}

/// Looks an address up in a table that changes between reads.
///
/// The length of the script (two bytes) and the script precede the table's bytes.
fn changing(mut input: Input<'_>) -> Option<()> {
    fn look<A: Arch>(input: &Input<'_>, script: &[u8]) {
        let Input { base, pc, units, .. } = *input;

        twice(|| check::sframe::<A>(&input.memory(script), base, pc, units).result);
    }
    let len = input.number()?;
    let script = input.take(len)?;

    for_arch!(input, look(&input, script));
    Some(())
}

/// Looks an address up in `.eh_frame`, which changes between reads.
///
/// The length of the script and the place of the index (two bytes each) and the script precede the
/// table's bytes.
fn eh_frame(mut input: Input<'_>) -> Option<()> {
    fn look<A: Arch>(input: &Input<'_>, place: u16, script: &[u8]) {
        let Input { base, pc, units, .. } = *input;
        // The frame pointer, or another register in its place.
        let tracked = [A::FP, 3, 12][(pc % 3) as usize];
        let units = units.min(EH_FRAME);

        twice(|| {
            let memory = input.memory(script);
            check::eh_frame::<A>(&memory, place.into(), base, pc, tracked, units).result
        });
    }
    let (len, place) = (input.number()?, input.number()?);
    let script = input.take(len)?;

    for_arch!(input, look(&input, place, script));
    Some(())
}

/// Searches a file whose headers change between reads, and reads the same bytes as notes.
///
/// The address to look up is the place in the file. The length of the script (two bytes) and the
/// script precede the file's bytes.
fn elf(mut input: Input<'_>) -> Option<()> {
    let len = input.number()?;
    let script = input.take(len)?;
    // One machine whose files have tables, one with large pages, and one more.
    let target = match input.architecture {
        0 => Target::AMD64,
        1 => Target { machine: 183, page_size: 0x1_0000 },
        _ => Target { machine: 243, page_size: 4096 },
    };

    twice(|| {
        check::object(&input.memory(script), input.len(), input.pc, &target, input.units).result
    });
    check::notes(&input.memory(script), input.len());
    Some(())
}

/// Lists a table, and looks each listed function up.
fn mutate(input: Input<'_>) -> Option<()> {
    fn compare<A: Arch>(input: &Input<'_>) -> Option<()> {
        let memory = input.memory(&[]);
        let header = Header::<A>::read(&memory, input.len()).ok()?;
        let rule = |pc| check::sframe::<A>(&input.memory(&[]), input.base, pc, ENOUGH).result;
        let distance = input.pc.wrapping_sub(input.base) & 0xff;

        let _ = rule(input.pc);
        // Other functions of the table may be malformed.
        memory.allow(LISTING);
        for nth in (0..header.functions).take(16) {
            let function = Function::read(&header, &memory, input.base, nth).ok()?;
            let _ = rule(function.start);
            let _ = rule(function.start.wrapping_add(distance));
        }
        memory.allow(LISTING);
        let table = Table::read(&header, &memory, input.base).ok()?;
        for pc in table.boundaries().into_iter().filter(|_| table.is_sorted()) {
            let found = rule(pc);
            // A search reads larger pieces than a listing, so it may touch the unreadable part.
            if found != Err(Error::Fault) || !input.has_hole() {
                assert_eq!(found, table.rule(pc), "at {pc:#x}");
            }
        }
        Some(())
    }

    for_arch!(input, compare(&input))
}

/// Runs the target of this name with an input. Panics if there is no such target.
pub fn run(target: &str, data: &[u8]) {
    let target = match target {
        "changing" => changing,
        "eh_frame" => eh_frame,
        "elf" => elf,
        "mutate" => mutate,
        _ => panic!("there is no target {target}"),
    };

    Input::new(data).and_then(target);
}
