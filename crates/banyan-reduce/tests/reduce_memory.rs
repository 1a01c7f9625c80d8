//! Waves of numbers take no memory once the first ones have passed.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use banyan_ndr::{Record, typed};
use banyan_ranks::RankSet;
use banyan_reduce::{Filter, FilterRole, Output, Part, Reduction, ReductionLimits};

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

/// The system's allocator, which counts for each thread.
struct Counting;

// SAFETY: everything is passed on to the system's allocator as it came.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        // SAFETY: the caller keeps the promises of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: the caller keeps the promises of `dealloc`, and the memory came from `System`.
        unsafe { System.dealloc(memory, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

#[derive(Record)]
struct Sample {
    temp: f32,
    load: u16,
    cells: Vec<f64>,
    elems: [Elem; 3],
}

#[derive(Record, Clone, Copy)]
struct Elem {
    id: u32,
    energy: f32,
}

#[test]
fn waves_of_numbers_allocate_nothing_after_the_first() {
    let specification = "max(temp), avg(load), sum(load), min(cells), sum(cells), sum(elems[*].energy), count(), hist(temp, 0, 9, 3), \
        top(2, load), distinct(load), exact_sum(temp)";
    let body = |rank: u32| {
        let mut body = Vec::new();
        let elems = [Elem { id: rank, energy: 1.0 }; 3];
        let sample = Sample { temp: rank as f32, load: 7, cells: vec![f64::from(rank); 100], elems };
        typed::encode_body_into(&sample, &mut body).unwrap();
        (RankSet::from_iter([rank]), body)
    };
    let sent: Vec<(RankSet, Vec<u8>)> = (0..8).map(body).collect();
    let part = |sent| {
        let (members, body): &(RankSet, Vec<u8>) = sent;
        Part { members, format: Sample::format(), body, is_partial: false }
    };
    let parts: Vec<Part<'_>> = sent.iter().map(part).collect();
    let mut node = Reduction::new(specification.parse().unwrap(), ReductionLimits::default());
    let mut root = Reduction::new(specification.parse().unwrap(), ReductionLimits::default());
    let (mut partial, mut result) = (Output::new(), Output::new());
    let everybody: RankSet = (0..8).collect();
    let mut wave = || {
        partial.clear();
        result.clear();
        node.wave(&parts, FilterRole::Inner, &mut partial).unwrap();
        let (format, body) = &partial.records()[0];
        let part = Part { members: &everybody, format, body, is_partial: true };
        root.wave(&[part], FilterRole::Root, &mut result).unwrap();
        result.records().len()
    };
    wave();
    let before = ALLOCATIONS.get();
    assert_eq!((0..10).map(|_| wave()).sum::<usize>(), 10);
    assert_eq!(ALLOCATIONS.get() - before, 0);
}
