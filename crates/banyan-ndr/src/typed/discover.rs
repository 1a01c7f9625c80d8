//! Reading recursive records without recursion.
//!
//! What lies behind a reference is made before the value that refers to it: a depth-first walk with a stack of its
//! own enters each target, notes the references it holds, and makes it when all of those are made. The values wait in
//! the reader until their owners are read. Shared targets are made once; one that is met again while it is still being
//! made is part of a cycle, which no `Rc` can be built for.

use std::any::TypeId;
use std::collections::HashSet;

use super::{Read, Reader, type_id};
use crate::DecodeError;

/// The walk over the references of one body.
pub struct Discoverer<'i, 'a> {
    pub(super) input: &'i Reader<'a>,
    stack: Vec<(Step, Job<'a>)>,
    /// Shared targets that are being made.
    open: HashSet<(usize, TypeId), foldhash::fast::RandomState>,
}

/// What to do with a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
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
    pub(super) run: for<'w, 'i> fn(&'w mut Discoverer<'i, 'a>, Step, Job<'a>) -> Result<(), DecodeError>,
}

impl<'i, 'a> Discoverer<'i, 'a> {
    /// Makes everything the value at `at` needs to be read.
    pub(super) fn prepare<T: Read<'a>>(input: &'i Reader<'a>, at: usize) -> Result<(), DecodeError> {
        let mut work = Discoverer { input, stack: Vec::new(), open: HashSet::default() };
        T::discover(&mut work, at)?;
        while let Some((step, job)) = work.stack.pop() {
            (job.run)(&mut work, step, job)?;
        }
        Ok(())
    }

    /// The reader.
    pub fn input(&self) -> &'i Reader<'a> {
        self.input
    }

    /// Notes items to be made.
    pub(super) fn enter(&mut self, job: Job<'a>) {
        self.stack.push((Step::Enter, job));
    }

    /// Notes that items can be made when all that is noted after this is.
    pub(super) fn build_later(&mut self, job: Job<'a>) {
        self.stack.push((Step::Build, job));
    }

    /// Notes that a shared target is being made.
    pub(super) fn open<P>(&mut self, target: usize) -> Result<(), DecodeError> {
        if self.open.insert((target, type_id::of::<P>())) {
            return Ok(());
        }
        Err(DecodeError::Invalid {
            path: String::new(),
            found: "a pointer that leads back to the value it stands in".into(),
            wanted: "shared value without cycles",
        })
    }

    /// Notes that it is made.
    pub(super) fn close<P>(&mut self, target: usize) {
        self.open.remove(&(target, type_id::of::<P>()));
    }
}

impl std::fmt::Debug for Discoverer<'_, '_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Discoverer").field("stack", &self.stack.len()).finish()
    }
}
