//! Identity of types that borrow.

use std::any::TypeId;
use std::marker::PhantomData;

/// The identity of `T` with its lifetimes left out: `&'a str` and `&'static str` are the same.
///
/// `TypeId::of` wants `'static`, because types that differ only in lifetimes share an id and one must not be turned
/// into the other for it. Who compares ids from here has to take care of lifetimes in another way.
pub(super) fn of<T: ?Sized>() -> TypeId {
    trait Identity {
        fn identity(&self) -> TypeId
        where
            Self: 'static;
    }
    impl<T: ?Sized> Identity for PhantomData<T> {
        fn identity(&self) -> TypeId
        where
            Self: 'static,
        {
            TypeId::of::<T>()
        }
    }
    let marker = PhantomData::<T>;
    let short: &dyn Identity = &marker;
    // SAFETY: only the bound on the trait object changes. The object is a `PhantomData` that holds nothing, and
    // `identity` looks at the type alone, of which the compiler keeps no lifetimes.
    let long: &(dyn Identity + 'static) = unsafe { std::mem::transmute(short) };
    long.identity()
}

#[cfg(test)]
mod tests {
    use super::of;

    fn of_value<T>(_: &T) -> std::any::TypeId {
        of::<T>()
    }

    #[test]
    fn lifetimes_do_not_matter_and_types_do() {
        let local = String::from("x");
        assert_eq!(of_value(&local.as_str()), of::<&'static str>());
        assert_ne!(of::<u32>(), of::<i32>());
        assert_ne!(of::<Vec<&str>>(), of::<Vec<&[u8]>>());
    }
}
