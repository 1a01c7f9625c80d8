//! The filters that this command brings along for its agents: what hosts tell is merged on the way.

use banyan_tree::reduce::Filters;

use crate::{stack, top};

/// All of them, the same in every agent.
pub(crate) fn filters() -> Filters {
    let mut filters = Filters::default();
    stack::register(&mut filters);
    top::register(&mut filters);
    filters
}
