//! `tidy`: the rules of the repository that no other tool checks. They are in [`crate::tidy`].

use super::Job;
use crate::report::Problem;
use crate::tidy;

pub(super) fn run(job: &Job<'_>) {
    job.part("repository", |tools| {
        let repository = tidy::Repository::read(tools.root).map_err(Problem::Failed)?;
        let broken = repository.check();
        if broken.is_empty() {
            return Ok(format!("{} files", repository.files.len()));
        }
        Err(Problem::Failed(broken.join("\n")))
    });
}
