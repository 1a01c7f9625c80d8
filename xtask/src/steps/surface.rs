//! `surface`: the public interfaces are those written down. How they are compared is in [`crate::surface`].

use super::Job;
use crate::surface;

pub(super) fn run(job: &Job<'_>) {
    job.part("interfaces", |tools| surface::check(tools.runner, tools.root));
}
