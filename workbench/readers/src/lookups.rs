// SPDX-License-Identifier: GPL-2.0

//! The same lookups by each reader, for the bench.

use std::hint::black_box;

use anyhow::{Result, ensure};

use crate::answer::Function;
use crate::file::File;
use crate::frames::{self, Cache, Unwinder};
use crate::{libsframe, ours, simple_frame};

/// The name of the kernel's parser.
pub const OURS: &str = "parser";
/// The name of the reader that the parser must beat.
pub const LIBSFRAME: &str = "libsframe";

/// A reader with a decoded table.
pub struct Reader<'a> {
    pub name: &'static str,
    pass: Box<dyn FnMut() + 'a>,
}

impl<'a> Reader<'a> {
    fn new(name: &'static str, pass: impl FnMut() + 'a) -> Self {
        Self { name, pass: Box::new(pass) }
    }

    /// Looks each address up once.
    pub fn pass(&mut self) {
        (self.pass)();
    }
}

/// The tables of a file, decoded by each reader.
pub struct Tables<'a> {
    ours: ours::Table<'a>,
    libsframe: libsframe::Table<'a>,
    simple_frame: simple_frame::Table<'a>,
    /// Two unwinders. One does not use entries of a cache that the other has made.
    unwinders: [Unwinder; 2],
    /// One address in each function, in random order.
    pub pcs: Vec<u64>,
    /// The number of functions that were left out, because readers differ there.
    pub left_out: usize,
}

impl<'a> Tables<'a> {
    pub fn new(file: &'a File) -> Result<Self> {
        let (bytes, base) = (&*file.sframe.bytes, file.sframe.address);
        let mut tables = Self {
            ours: ours::Table::new(bytes, base)?,
            libsframe: libsframe::Table::new(bytes, base)?,
            simple_frame: simple_frame::Table::new(bytes, base)?,
            unwinders: [Unwinder::new(file)?, Unwinder::new(file)?],
            pcs: Vec::new(),
            left_out: 0,
        };
        let all = one_in_each(&tables.ours.functions()?);
        let mut cache = Cache::default();

        tables.pcs = all.iter().copied().filter(|pc| tables.same(*pc, &mut cache)).collect();
        tables.left_out = all.len() - tables.pcs.len();
        ensure!(
            tables.left_out * 50 < all.len(),
            "readers differ in {} of {} functions",
            tables.left_out,
            all.len()
        );
        Ok(tables)
    }

    /// Whether all readers have the same answer for an address of an ordinary function, and
    /// framehop can cache it.
    fn same(&self, pc: u64, cache: &mut Cache) -> bool {
        let ours = self.ours.answer(pc);
        let cached = |cache: &mut Cache| {
            let misses = cache.misses();
            self.unwinders[0].unwind(cache, pc);
            cache.misses() == misses
        };

        !self.libsframe.is_flexible(pc)
            && self.libsframe.answer(pc) == ours
            && self.simple_frame.answer(pc) == ours
            && self.unwinders[0].unwind(cache, pc) == frames::caller(ours)
            && frames::caller(ours).is_some()
            && cached(cache)
    }

    /// All readers. Each finds the places or the values of the CFA, the RA and the FP.
    pub fn readers(&self) -> Vec<Reader<'_>> {
        vec![
            Reader::new(OURS, || {
                for pc in &self.pcs {
                    black_box(self.ours.find(black_box(*pc)));
                }
            }),
            Reader::new(LIBSFRAME, || {
                for pc in &self.pcs {
                    let found = self.libsframe.find(black_box(*pc), false);
                    let offsets = found.map(|found| self.libsframe.offsets(&found));
                    let _ = black_box(offsets);
                }
            }),
            Reader::new("simple-frame-rs", || {
                for pc in &self.pcs {
                    black_box(self.simple_frame.answer(black_box(*pc)));
                }
            }),
            self.framehop_without_cache(),
            self.framehop_with_cache(),
        ]
    }

    /// framehop needs a cache. Entries of the other unwinder are misses.
    fn framehop_without_cache(&self) -> Reader<'_> {
        let mut cache = Cache::default();
        let mut turn = 0;

        Reader::new("framehop without cache", move || {
            let misses = cache.misses();
            turn ^= 1;
            for pc in &self.pcs {
                black_box(self.unwinders[turn].unwind(&mut cache, black_box(*pc)));
            }
            assert_eq!(cache.misses(), misses + self.pcs.len() as u64);
        })
    }

    /// A cache holds only one of the addresses that share a slot. So there are several caches.
    fn framehop_with_cache(&self) -> Reader<'_> {
        let mut used = vec![0; Cache::SLOTS];
        let places: Vec<(u64, usize)> = self
            .pcs
            .iter()
            .map(|pc| {
                let next = &mut used[(*pc % Cache::SLOTS as u64) as usize];
                *next += 1;
                (*pc, *next - 1)
            })
            .collect();
        let count = used.iter().max().copied().unwrap_or(0);
        let mut caches: Vec<Cache> = (0..count).map(|_| Cache::default()).collect();
        let unwinder = &self.unwinders[0];

        for (pc, place) in &places {
            unwinder.unwind(&mut caches[*place], *pc);
        }
        let total = |caches: &[Cache]| caches.iter().map(Cache::misses).sum::<u64>();
        let misses = total(&caches);
        Reader::new("framehop with cache", move || {
            for (pc, place) in &places {
                black_box(unwinder.unwind(&mut caches[*place], black_box(*pc)));
            }
            assert_eq!(total(&caches), misses);
        })
    }
}

/// An address in each function that is not empty. Their random order is the same in each run.
fn one_in_each(functions: &[Function]) -> Vec<u64> {
    let mut random = Random(0x5eed);
    let mut pcs: Vec<u64> = functions
        .iter()
        .filter(|function| function.size != 0)
        .map(|function| function.start + random.below(function.size))
        .collect();

    for last in (1..pcs.len()).rev() {
        pcs.swap(last, random.below(last as u64 + 1) as usize);
    }
    pcs
}

/// SplitMix64.
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % end
    }
}
