//! The filters of a program, for all networks that it takes part in.

use std::sync::{Mutex, PoisonError};

use banyan_reduce::Filters;

/// What [`register_filters`] was given, if it was.
static REGISTERED: Mutex<Option<Filters>> = Mutex::new(None);

/// Brings the filters of this program, for all networks that it takes part in, as front-end, agent or member.
///
/// Call it at the beginning of `main`, before [`become_agent_if_asked`](crate::become_agent_if_asked): agents run the same
/// program, and never return from there. A second call takes the place of the first, for networks that begin later. A program
/// that does not call it has [`Filters::default`].
///
/// ```no_run
/// use banyan_tree::reduce::{Filters, REDUCE};
///
/// let mut filters = Filters::default();
/// filters.register("hottest", |_| Filters::default().make(REDUCE, b"max(celsius)"));
/// banyan_tree::register_filters(filters);
/// banyan_tree::become_agent_if_asked();
/// ```
pub fn register_filters(filters: Filters) {
    *REGISTERED.lock().unwrap_or_else(PoisonError::into_inner) = Some(filters);
}

/// The filters of this program.
pub(crate) fn registered_filters() -> Filters {
    REGISTERED.lock().unwrap_or_else(PoisonError::into_inner).clone().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use banyan_reduce::{COLLECT, REDUCE};

    use super::*;

    #[test]
    fn a_program_registers_closures_once_for_all_its_networks() {
        let aggregate = String::from("max(temp)");
        let mut filters = Filters::default();
        filters.register("hottest", move |_| Filters::default().make(REDUCE, aggregate.as_bytes()));
        assert!(registered_filters().make("hottest", b"").is_err(), "nobody has registered it yet");
        register_filters(filters);
        assert!(registered_filters().make("hottest", b"").is_ok());
        assert!(registered_filters().make(COLLECT, b"").is_ok());
    }
}
