//! Reading recursive records without recursion.
//!
//! What lies behind a reference is made before the value that refers to it: a depth-first walk with a stack of its
//! own enters each target, notes the references it holds, and makes it when all of those are made. The values wait in
//! the reader until their owners are read. Shared targets are made once; one that is met again while it is still being
//! made is part of a cycle, which no `Rc` can be built for.
//!
//! What is made here costs no stack, but Rust drops it by recursion. So each value's height is counted, which is how
//! many values lie behind one another below it, and what is higher than [`Limits::depth`](crate::Limits::depth) is not
//! made. Heights, not depths: a shared value is dropped by whoever holds it last, wherever that was met.

use std::any::TypeId;
use std::collections::HashMap;
use std::mem::MaybeUninit;

use super::{Read, Reader};
use crate::DecodeError;

/// The walk over the references of one body.
pub struct Discoverer<'i, 'a> {
    pub(super) input: &'i Reader<'a>,
    stack: Vec<(DiscoveryPhase, Job<'a>)>,
    /// The heights of shared targets; none of those that are being made.
    shared: HashMap<(usize, TypeId), Option<usize>, foldhash::fast::RandomState>,
    /// For the root and every job that waits to be built, the height of the highest value made for it so far.
    below: Vec<usize>,
    /// The greatest height.
    limit: usize,
}

/// What to do with a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DiscoveryPhase {
    /// Note the references it holds.
    Enter,
    /// Make it; all it refers to is made.
    Build,
}

/// Items behind a reference.
#[derive(Clone, Copy)]
pub(super) struct Job<'a> {
    /// Where the reference stands.
    pub(super) slot: usize,
    /// Where it leads to.
    pub(super) target: usize,
    /// How many items are there.
    pub(super) count: usize,
    /// Does a step of it.
    pub(super) run: for<'w, 'i> fn(&'w mut Discoverer<'i, 'a>, DiscoveryPhase, Job<'a>) -> Result<(), DecodeError>,
}

impl<'i, 'a> Discoverer<'i, 'a> {
    /// Makes everything the value at `at` needs to be read.
    pub(super) fn prepare<T: Read<'a>>(input: &'i Reader<'a>, at: usize, limit: usize) -> Result<(), DecodeError> {
        let mut work = Discoverer { input, stack: Vec::new(), shared: HashMap::default(), below: vec![0], limit };
        T::discover(&mut work, at)?;
        while let Some((step, job)) = work.stack.pop() {
            if step == DiscoveryPhase::Build && work.height() > limit {
                return Err(work.too_deep());
            }
            (job.run)(&mut work, step, job)?;
            if step == DiscoveryPhase::Build {
                let height = work.height();
                work.below.pop();
                work.lies_below(height);
            }
        }
        Ok(())
    }

    /// The height of the value that is being made.
    fn height(&self) -> usize {
        self.below.last().map_or(0, |below| below + 1)
    }

    /// Notes that a value of this height belongs to the job that waits.
    fn lies_below(&mut self, height: usize) {
        if let Some(below) = self.below.last_mut() {
            *below = height.max(*below);
        }
    }

    #[cold]
    fn too_deep(&self) -> DecodeError {
        let path = "values that lie behind one another".into();
        DecodeError::Limit { path, found: self.height() as u64, limit: self.limit as u64, name: "depth" }
    }

    /// The reader.
    pub fn input(&self) -> &'i Reader<'a> {
        self.input
    }

    /// Notes items to be made.
    pub(super) fn enter(&mut self, job: Job<'a>) {
        self.stack.push((DiscoveryPhase::Enter, job));
    }

    /// Notes that items can be made when all that is noted after this is.
    pub(super) fn build_later(&mut self, job: Job<'a>) {
        self.stack.push((DiscoveryPhase::Build, job));
        self.below.push(0);
    }

    /// Notes that a shared target is being made; false if it is there already.
    pub(super) fn open<P>(&mut self, target: usize) -> Result<bool, DecodeError> {
        match self.shared.get(&(target, typeid::of::<P>())) {
            None => {
                self.shared.insert((target, typeid::of::<P>()), None);
                Ok(true)
            }
            Some(Some(height)) => {
                self.lies_below(*height);
                Ok(false)
            }
            Some(None) => Err(DecodeError::Invalid {
                path: String::new(),
                found: "a pointer that leads back to the value it stands in".into(),
                wanted: "shared value without cycles",
            }),
        }
    }

    /// Notes that it is made.
    pub(super) fn close<P>(&mut self, target: usize) {
        self.shared.insert((target, typeid::of::<P>()), Some(self.height()));
    }
}

impl std::fmt::Debug for Discoverer<'_, '_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Discoverer").field("stack", &self.stack.len()).finish()
    }
}

/// Room for a `Box`, an `Rc`, a `Vec`: nothing larger is kept.
type Room = MaybeUninit<[usize; 3]>;

/// A smart pointer of forgotten type. Dropped as what it is.
pub(super) struct Erased {
    room: Room,
    drop: unsafe fn(*mut Room),
}

impl Erased {
    /// Forgets the type.
    pub(super) fn new<P>(pointer: P) -> Erased {
        const { assert!(size_of::<P>() <= size_of::<Room>() && align_of::<P>() <= align_of::<Room>()) };
        let mut room = Room::uninit();
        // SAFETY: size and alignment of the room suffice, as asserted.
        unsafe { room.as_mut_ptr().cast::<P>().write(pointer) };
        Erased { room, drop: drop_as::<P> }
    }

    /// Remembers the type.
    ///
    /// # Safety
    /// It was made from a `P`, with lifetimes that are valid for this one.
    pub(super) unsafe fn take<P>(self) -> P {
        // SAFETY: the caller promises that a `P` is there. It is moved out, and `forget` keeps it from being dropped.
        let pointer = unsafe { self.room.as_ptr().cast::<P>().read() };
        std::mem::forget(self);
        pointer
    }

    /// Looks at it.
    ///
    /// # Safety
    /// As for [`take`](Self::take).
    pub(super) unsafe fn get<P>(&self) -> &P {
        // SAFETY: the caller promises that a `P` is there.
        unsafe { &*self.room.as_ptr().cast::<P>() }
    }
}

/// # Safety
/// A `P` is in the room, and nobody uses it afterwards.
unsafe fn drop_as<P>(room: *mut Room) {
    // SAFETY: the caller's promise.
    unsafe { room.cast::<P>().drop_in_place() };
}

impl Drop for Erased {
    fn drop(&mut self) {
        // SAFETY: `drop` was chosen with the type that `new` put there, and `take` forgets `self`.
        unsafe { (self.drop)(&mut self.room) };
    }
}

#[cfg(test)]
mod tests {
    use std::rc::Rc;

    use super::Erased;

    #[test]
    fn what_is_not_taken_is_dropped_once() {
        let witness = Rc::new(());
        let kept = Erased::new(vec![witness.clone(), witness.clone()]);
        assert_eq!(Rc::strong_count(&witness), 3);
        drop(kept);
        assert_eq!(Rc::strong_count(&witness), 1);
    }

    #[test]
    fn what_is_taken_is_moved() {
        let witness = Rc::new(());
        let kept = Erased::new(Box::new(witness.clone()));
        // SAFETY: a `Box<Rc<()>>` was put there.
        let back: Box<Rc<()>> = unsafe { kept.take() };
        assert_eq!(Rc::strong_count(&back), 2);
    }
}
