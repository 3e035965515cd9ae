// SPDX-License-Identifier: GPL-2.0 OR MIT

//! The tables that are written, read with the kernel's reader.

mod common;

use std::ops::Range;

use common::{calls, fail, registered, Checked, CODE};
use kernel_reader::SFrame;
use proptest::prelude::*;
use unwind_jit::{Direction, Error, Known, Region, Row};

/// How many functions the first table has room for.
const ROOM: usize = 128;

/// Rows of a function that pushes a register, keeps a frame pointer, and returns.
fn rows() -> Vec<Row> {
    vec![
        Row::sp(0, 8),
        Row::sp(1, 16).with_fp(-16),
        Row::fp(4, 16).with_fp(-16),
        Row::sp(14, 8),
    ]
}

/// Where function `nth` of so many is, in this order.
fn place(direction: Direction, nth: usize, of: usize) -> usize {
    match direction {
        Direction::Up => CODE + 16 * nth,
        Direction::Down => CODE + 16 * (of - 1 - nth),
    }
}

fn region(direction: Direction, functions: usize) -> Checked {
    Checked::new(CODE..CODE + 16 * functions, direction)
}

fn in_order(direction: Direction) {
    for nr in [0, 1, 2, ROOM - 1, ROOM, ROOM + 1, 2 * ROOM, 2 * ROOM + 1] {
        let mut checked = region(direction, nr + 1);

        for nth in 0..nr {
            let published = checked.add_now(place(direction, nth, nr + 1), 15, &rows());
            // The first time, and when the table is full.
            assert_eq!(published, nth == 0 || nth == ROOM, "{nth}");
            assert_eq!(checked.known.0.len(), nth + 1);
            if nth < 3 || nth + 3 > nr || nth.abs_diff(ROOM) < 3 {
                checked.check();
            }
        }
        checked.check();
    }
}

#[test]
fn upwards() {
    in_order(Direction::Up);
}

#[test]
fn downwards() {
    in_order(Direction::Down);
}

#[test]
fn many_functions_take_few_calls() {
    const MANY: usize = 200_000;

    for direction in [Direction::Up, Direction::Down] {
        let mut checked = region(direction, MANY);
        let before = calls();
        for nth in 0..MANY {
            checked.add_now(place(direction, nth, MANY), 16, &rows());
        }
        assert!(calls() - before <= MANY.ilog2() as usize, "{}", calls());
        checked.check_at((0..MANY).map(|nth| CODE + 16 * nth + nth % 16));
    }
}

#[test]
fn out_of_order() {
    let mut checked = region(Direction::Up, 8);

    for nth in [3, 1, 0, 2, 7, 5, 6, 4] {
        assert!(checked.add_now(CODE + 16 * nth, 16, &rows()) || nth == 7);
        checked.check();
    }
}

#[test]
fn what_was_not_published_is_not_known() {
    let mut checked = region(Direction::Up, 8);

    for nth in [0, 1] {
        assert_eq!(
            checked.add(CODE + 16 * nth, 15, &rows()),
            Known::AfterPublish
        );
        assert!(registered(CODE).is_none());
    }
    checked.publish();
    checked.check();
    assert_eq!(checked.add(CODE + 64, 15, &rows()), Known::Now);
    checked.check();
    // One out of order, and then even those in order have to wait.
    assert_eq!(checked.add(CODE + 32, 15, &rows()), Known::AfterPublish);
    assert_eq!(checked.add(CODE + 96, 15, &rows()), Known::AfterPublish);
    checked.check();
    checked.publish();
    checked.check();
}

#[test]
fn removed_functions_are_known_until_published() {
    for direction in [Direction::Up, Direction::Down] {
        let mut checked = region(direction, 8);
        for nth in 0..6 {
            checked.add_now(place(direction, nth, 8), 16, &rows());
        }
        // From the middle of one function to the first byte of another.
        checked.remove(CODE + 16 * 3 + 1..CODE + 16 * 5 + 1);
        checked.check();
        // Other code for the memory, and in order: both have to wait.
        let other = [Row::sp(0, 24)];
        assert_eq!(checked.add(CODE + 16 * 4, 32, &other), Known::AfterPublish);
        let last = place(direction, 7, 8);
        assert_eq!(checked.add(last, 16, &other), Known::AfterPublish);
        checked.check();
        checked.publish();
        checked.check();
        // All, and more.
        checked.remove(0..usize::MAX);
        checked.publish();
        checked.check();
        assert_eq!(checked.add(place(direction, 0, 8), 16, &other), Known::Now);
        checked.check();
    }
}

#[test]
fn publish_calls_the_kernel_only_if_there_is_something_new() {
    let mut checked = region(Direction::Up, 4);
    let publish = |checked: &mut Checked| {
        let before = calls();
        checked.publish();
        calls() - before
    };

    assert_eq!(publish(&mut checked), 0);
    checked.remove(CODE..CODE + 64);
    assert_eq!(publish(&mut checked), 0);
    assert_eq!(checked.add(CODE, 16, &rows()), Known::AfterPublish);
    assert_eq!(publish(&mut checked), 1);
    assert_eq!(publish(&mut checked), 0);
    // Known, but it may have run before.
    assert_eq!(checked.add(CODE + 16, 16, &rows()), Known::Now);
    let table = registered(CODE);
    assert_eq!(publish(&mut checked), 1);
    assert_eq!(table, registered(CODE));
    assert_eq!(publish(&mut checked), 0);
}

#[test]
fn long_functions_and_large_frames() {
    let mut checked = Checked::new(CODE..CODE + (1 << 33), Direction::Up);
    let mut start = CODE;
    let offsets = [1, 255, 256, 257, 65535, 65536, 65537, 1 << 24];
    let frames = [-1, 127, 128, 32767, 32768, i32::MIN, i32::MAX];

    for offset in offsets {
        for (frame, other) in frames.iter().zip(frames.iter().rev()) {
            let rows = [
                Row::fp(0, *frame),
                Row::sp(offset - 1, *frame).with_fp(*other),
                Row::outermost(offset),
            ];
            let size = offset as usize + 1;
            checked.add_now(start, size, &rows[..if offset == 1 { 1 } else { 3 }]);
            start += size;
        }
    }
    // The largest function that there can be.
    let size = u32::MAX as usize;
    checked.add_now(start, size, &[Row::sp(0, 8), Row::sp(u32::MAX - 1, 16)]);
    let near = |address: &usize| address.saturating_sub(2)..address + 3;
    let places: Vec<usize> = checked
        .all
        .0
        .iter()
        .flat_map(|(start, (size, rows))| {
            let ends = rows.iter().map(move |row| start + row.offset as usize);
            ends.chain([start + size])
        })
        .collect();
    checked.check_at(places.iter().flat_map(near));
}

#[test]
fn many_rows() {
    let rows: Vec<Row> = (0..65535).map(|nth| Row::sp(nth, nth as i32)).collect();
    let mut checked = Checked::new(CODE..CODE + 0x40000, Direction::Up);

    checked.add_now(CODE, 0x10000, &rows);
    checked.add_now(CODE + 0x10000, 16, &rows[..1]);
    checked.check_at((CODE..CODE + 0x10011).step_by(97));
    let more = [rows, vec![Row::sp(65535, 8)]].concat();
    let refused = checked.region.add(CODE + 0x20000..CODE + 0x40000, &more);
    assert_eq!(refused.map_err(Error::errno), Err(libc::EINVAL));
}

/// The room for rows may be full before the index is.
#[test]
fn functions_with_many_rows() {
    for direction in [Direction::Up, Direction::Down] {
        let mut checked = region(direction, 8 * ROOM);
        let mut published = 0;
        for nth in 0..ROOM {
            let rows: Vec<Row> = (0..40 + nth as u32)
                .map(|nth| Row::sp(nth, 8 * nth as i32))
                .collect();
            let place = match direction {
                Direction::Up => CODE + 128 * nth,
                Direction::Down => CODE + 128 * (ROOM - 1 - nth),
            };
            published += usize::from(checked.add_now(place, 128, &rows[..rows.len().min(128)]));
        }
        assert!((2..6).contains(&published), "{published}");
        checked.check();
    }
}

#[test]
fn a_region_at_the_start_of_memory() {
    let mut checked = Checked::new(64..4096, Direction::Down);

    // It could be taken for a function at address 0 while it is appended.
    checked.add_now(4000, 96, &rows());
    assert_eq!(checked.add(3936, 64, &rows()), Known::Now);
    assert_eq!(checked.add(3800, 65, &rows()), Known::AfterPublish);
    checked.publish();
    checked.check();
}

#[test]
fn what_is_wrong_is_refused_and_changes_nothing() {
    let mut checked = region(Direction::Up, 4);
    checked.add_now(CODE + 16, 16, &rows());
    let before = registered(CODE);
    let good = [Row::sp(0, 8)];
    let mut refuse = |range: Range<usize>, rows: &[Row], errno| {
        let result = checked.region.add(range.clone(), rows);
        assert_eq!(result.map_err(Error::errno), Err(errno), "{range:x?}");
    };

    refuse(CODE..CODE, &good, libc::EINVAL);
    refuse(CODE - 1..CODE + 1, &good, libc::EINVAL);
    refuse(CODE + 63..CODE + 65, &good, libc::EINVAL);
    refuse(CODE + 64..CODE + 65, &good, libc::EINVAL);
    refuse(CODE + 1..usize::MAX, &good, libc::EINVAL);
    refuse(CODE..CODE + 16, &[], libc::EINVAL);
    refuse(CODE..CODE + 16, &[Row::sp(1, 8)], libc::EINVAL);
    let twice = [Row::sp(0, 8), Row::sp(1, 8), Row::sp(1, 16)];
    refuse(CODE..CODE + 16, &twice, libc::EINVAL);
    let beyond = [Row::sp(0, 8), Row::sp(16, 8)];
    refuse(CODE..CODE + 16, &beyond, libc::EINVAL);
    refuse(CODE..CODE + 17, &good, libc::EEXIST);
    refuse(CODE + 31..CODE + 33, &good, libc::EEXIST);
    refuse(CODE + 16..CODE + 32, &good, libc::EEXIST);
    refuse(CODE + 20..CODE + 21, &good, libc::EEXIST);
    refuse(CODE..CODE + 64, &good, libc::EEXIST);
    let (start, end) = (CODE + 1, CODE);
    assert!(checked.region.remove(start..end).is_err());
    let calls_before = calls();
    checked.publish();
    assert_eq!((registered(CODE), calls()), (before, calls_before));
    checked.add_now(CODE, 16, &rows());
    checked.add_now(CODE + 32, 32, &rows());
    checked.check();
}

#[test]
fn errors_of_the_kernel() {
    let mut checked = region(Direction::Up, 4);

    for functions in [0, 2] {
        assert_eq!(
            checked.add(CODE + 16 * functions, 16, &rows()),
            Known::AfterPublish
        );
        for errno in [libc::EACCES, libc::ENOMEM, libc::EINVAL] {
            fail(errno);
            let result = checked.region.publish();
            fail(0);
            assert_eq!(result.map_err(Error::errno), Err(errno));
            checked.check();
        }
        checked.publish();
        checked.check();
        // The next is out of order.
        checked.add_now(CODE + 16 * (functions + 1), 16, &rows());
        checked.remove(CODE..CODE + 16);
    }
    // What is only to be asked again is not forgotten.
    let mut checked = Checked::new(CODE + 4096..CODE + 8192, Direction::Up);
    checked.add_now(CODE + 4096, 16, &rows());
    assert_eq!(checked.add(CODE + 4112, 16, &rows()), Known::Now);
    fail(libc::EACCES);
    assert!(checked.region.publish().is_err());
    fail(0);
    let before = calls();
    checked.publish();
    assert_eq!(calls() - before, 1);
    checked.check();
}

#[test]
fn a_registration_that_was_lost_comes_again() {
    let mut checked = region(Direction::Up, 4);

    checked.add_now(CODE, 16, &rows());
    common::KERNEL.with_borrow_mut(|kernel| kernel.entries.clear());
    assert_eq!(checked.add(CODE + 16, 16, &rows()), Known::Now);
    checked.publish();
    checked.check();
    drop(checked);
    assert_eq!(registered(CODE), None);
}

#[test]
fn the_last_one_that_is_published_replaces_others() {
    let mut checked = region(Direction::Up, 4);
    let mut other = Checked::new(CODE + 32..CODE + 128, Direction::Up);

    checked.add_now(CODE, 16, &rows());
    other.add_now(CODE + 96, 16, &rows());
    other.check();
    assert_eq!(registered(CODE), None);
    assert_eq!(checked.add(CODE + 16, 16, &rows()), Known::Now);
    checked.publish();
    checked.check();
    assert_eq!(registered(CODE + 32), None);
    // Its registration is not the other's.
    drop(other);
    checked.check();
}

#[test]
fn an_eh_frame_of_exactly_the_code_stays() {
    let mut checked = region(Direction::Up, 4);
    let formats =
        || common::KERNEL.with_borrow(|kernel| kernel.entries.iter().map(|e| e.format).collect());
    let code = checked.code.clone();

    unwind_jit::register_eh_frame(code.clone(), 0..64, 32).unwrap();
    checked.add_now(CODE, 16, &rows());
    let both: Vec<u32> = formats();
    assert_eq!(both, [2, 1]);
    // Of less code: it replaces both.
    unwind_jit::register_eh_frame(CODE..CODE + 16, 0..64, 32).unwrap();
    assert_eq!(formats(), [2]);
    let gone = unwind_jit::unregister_eh_frame(code).map_err(Error::errno);
    assert_eq!(gone, Err(libc::ENOENT));
    unwind_jit::unregister_eh_frame(CODE..CODE + 16).unwrap();
    assert_eq!(formats(), []);
}

#[test]
fn without_a_kernel_all_succeeds() {
    fail(libc::EINVAL);
    let mut region = Region::open(CODE..CODE + 64, Direction::Up).unwrap();
    assert!(!region.is_supported());
    // Not even what is wrong is refused.
    assert_eq!(region.add(0..0, &[]), Ok(Known::Now));
    let (start, end) = (1, 0);
    assert_eq!(region.remove(start..end), Ok(false));
    assert_eq!(region.publish(), Ok(()));
    drop(region);
    fail(0);
    assert_eq!(calls(), 0);

    let nothing = Region::open(CODE..CODE, Direction::Up);
    assert_eq!(nothing.map(drop).map_err(Error::errno), Err(libc::EINVAL));
}

#[test]
fn the_index_is_aligned_and_at_the_place_that_is_read_fastest() {
    let mut checked = region(Direction::Up, 1);

    checked.add_now(CODE, 16, &rows());
    let entry = registered(CODE).unwrap();
    assert_eq!((entry.table[0] + 28) % 16, 0);
    let table = SFrame::new(entry.bytes(), entry.table[0] as usize).unwrap();
    assert_eq!(table.functions() as usize, ROOM);
}

/// What is done to a region of 64 slots of 32 bytes.
#[derive(Clone, Debug)]
enum Act {
    Add {
        start: usize,
        size: usize,
        rows: Vec<Row>,
    },
    Remove(Range<usize>),
    Publish,
}

const BYTES: usize = 2048;

fn any_row() -> impl Strategy<Value = Row> {
    let number = prop_oneof![
        (-20..20).prop_map(|number| number * 8),
        -40000..40000,
        any::<i32>()
    ];
    (0..3, number.clone(), number).prop_map(|(base, cfa, fp)| match base {
        0 => Row::sp(0, cfa).with_fp(fp),
        1 => Row::fp(0, cfa).with_fp(fp),
        _ => Row::outermost(0),
    })
}

fn any_act() -> impl Strategy<Value = Act> {
    let add = (
        0..BYTES,
        1..200usize,
        prop::collection::btree_map(1..200u32, any_row(), 0..6),
        any_row(),
    )
        .prop_map(|(start, size, more, first)| {
            let more = more.into_iter().map(|(offset, row)| Row { offset, ..row });
            Act::Add {
                start: CODE + start,
                size: size.min(BYTES - start),
                rows: [first].into_iter().chain(more).collect(),
            }
        });
    let remove = (0..BYTES, 0..BYTES / 4)
        .prop_map(|(start, len)| Act::Remove(CODE + start..CODE + start + len));

    prop_oneof![6 => add, 1 => remove, 2 => Just(Act::Publish)]
}

fn run(direction: Direction, acts: &[Act]) {
    let mut checked = Checked::new(CODE..CODE + BYTES, direction);

    for act in acts {
        match act {
            Act::Add { start, size, rows } => {
                let good = rows.iter().all(|row| (row.offset as usize) < *size);
                let overlaps = checked.all.overlaps(*start, *size);
                if good && !overlaps {
                    let _ = checked.add(*start, *size, rows);
                } else {
                    let result = checked.region.add(*start..*start + *size, rows);
                    let errno = if good { libc::EEXIST } else { libc::EINVAL };
                    assert_eq!(result.map_err(Error::errno), Err(errno));
                }
            }
            Act::Remove(range) => checked.remove(range.clone()),
            Act::Publish => checked.publish(),
        }
        checked.check();
    }
    checked.publish();
    checked.check();
}

proptest! {
    #[test]
    fn whatever_is_done(
        down in any::<bool>(),
        acts in prop::collection::vec(any_act(), 0..60),
    ) {
        run(if down { Direction::Down } else { Direction::Up }, &acts);
    }

    /// Most functions of a JIT compiler come in order.
    #[test]
    fn whatever_is_done_in_order(
        down in any::<bool>(),
        mut acts in prop::collection::vec(any_act(), 0..60),
    ) {
        let mut starts: Vec<usize> = acts
            .iter()
            .filter_map(|act| match act {
                Act::Add { start, .. } => Some(*start),
                _ => None,
            })
            .collect();
        starts.sort_unstable_by_key(|start| if down { usize::MAX - start } else { *start });
        let mut starts = starts.into_iter();
        for act in &mut acts {
            if let Act::Add { start, size, .. } = act {
                *start = starts.next().unwrap();
                *size = (*size / 8 + 1).min(CODE + BYTES - *start);
            }
        }
        run(if down { Direction::Down } else { Direction::Up }, &acts);
    }
}
