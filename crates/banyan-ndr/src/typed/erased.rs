//! A value whose type is known only to those who put it there: what the reader of recursive records keeps until the
//! value's owner is read.

use std::mem::MaybeUninit;

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
