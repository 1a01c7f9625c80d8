//! Counts: bytes that this thread allocates, and the instructions of [`measured`], which valgrind writes down call by call.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::path::Path;
use std::process::Command;

thread_local! {
    static ALLOCATED: Cell<u64> = const { Cell::new(0) };
}

/// The system's allocator, which counts for each thread.
struct Counting;

// SAFETY: everything is passed on to the system's allocator as it came.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATED.set(ALLOCATED.get() + layout.size() as u64);
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

/// Bytes that are allocated while this input is decoded, in all.
pub(crate) fn allocated(decode: fn(&[u8]), input: &[u8]) -> u64 {
    let before = ALLOCATED.get();
    measured(decode, input);
    ALLOCATED.get() - before
}

/// What valgrind counts: it begins and ends to count with this function, by its name.
#[inline(never)]
pub(crate) fn measured(decode: fn(&[u8]), input: &[u8]) {
    std::hint::black_box(call as fn(fn(&[u8]), &[u8]))(decode, input);
}

/// And writes down behind this one, while it still counts.
#[inline(never)]
fn call(decode: fn(&[u8]), input: &[u8]) {
    std::hint::black_box(decode)(std::hint::black_box(input));
    std::hint::black_box(());
}

/// This program under valgrind, which writes a file to this directory after each call of [`measured`].
pub(crate) fn under_valgrind(directory: &Path) -> Command {
    let mut valgrind = Command::new("valgrind");
    valgrind.args(["--quiet", "--tool=callgrind", "--collect-atstart=no", "--compress-strings=yes"]);
    valgrind.args(["--toggle-collect=worst::meter::measured", "--dump-after=worst::meter::call"]);
    valgrind.arg(format!("--callgrind-out-file={}/calls", directory.display()));
    valgrind.arg(std::env::current_exe().expect("this program has a path"));
    valgrind
}

/// The instructions of a call, counted from 1, and before it of none: as valgrind has written.
pub(crate) fn instructions(directory: &Path, call: usize) -> u64 {
    let path = directory.join(format!("calls.{call}"));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let total = text.lines().rev().find_map(|line| line.strip_prefix("totals: "));
    total.and_then(|total| total.trim().parse().ok()).unwrap_or_else(|| panic!("{} has no total", path.display()))
}
