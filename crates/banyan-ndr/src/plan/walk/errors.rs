//! What went wrong, and where: the path in the target record, with indices.

use super::{Run, Spot, Walker};
use crate::DecodeError;
use crate::kernel::{StepErrorKind, locate};
use crate::plan::build::join;

/// Most parts of a path that an error shows: lists of a million nodes fail at their ends too.
const SHOWN_PARTS: usize = 32;

impl Walker<'_> {
    pub(super) fn too_long(&self, spot: Spot, found: u64) -> Box<DecodeError> {
        let limit = self.most as u64;
        self.error(spot, DecodeError::Limit { path: String::new(), found, limit, name: self.limit })
    }

    pub(super) fn wrong_length(&self, spot: Spot, found: usize, wanted: usize) -> Box<DecodeError> {
        let (value, wanted) = (format!("a length of {found}"), format!("the receiver's {wanted}"));
        self.error(spot, DecodeError::OutOfRange { path: String::new(), value, wanted })
    }

    pub(super) fn invalid(&self, spot: Spot, found: String, wanted: &'static str) -> Box<DecodeError> {
        self.error(spot, DecodeError::Invalid { path: String::new(), found, wanted })
    }

    #[cold]
    pub(super) fn error(&self, spot: Spot, error: DecodeError) -> Box<DecodeError> {
        Box::new(error.within(&self.or_root(self.path_of(spot))))
    }

    /// What a kernel failed at: found again in the plainest way, which says more.
    #[cold]
    pub(super) fn kernel_error(&self, run: Run, number: usize) -> Box<DecodeError> {
        let program = self.plan.items[run.item].program();
        let src = &self.body[run.src + number * program.src_size..][..program.src_size];
        let mut scratch = vec![0; program.dst_size];
        let failed = locate::run(program, src, &mut scratch).expect_err("a kernel fails where its program does");
        let error = match failed.kind {
            StepErrorKind::OutOfRange { value, wanted } => {
                DecodeError::OutOfRange { path: String::new(), value, wanted }
            }
            StepErrorKind::Unknown { value } => DecodeError::Invalid {
                path: String::new(),
                found: value,
                wanted: "value of the enumeration that the receiver knows",
            },
            StepErrorKind::Absent => DecodeError::Absent { path: String::new() },
        };
        let place = self.run_path(run.trail, run.first + number);
        let within = with_indices(&program.paths[failed.path as usize], &failed.indices);
        Box::new(error.within(&self.or_root(join(&place, &within))))
    }

    /// The root of a record has no path, but its format has a name.
    fn or_root(&self, path: String) -> String {
        if path.is_empty() { self.plan.target.name().to_owned() } else { path }
    }

    fn path_of(&self, spot: Spot) -> String {
        join(&self.run_path(spot.trail, spot.index), &self.plan.items[spot.item].program().paths[spot.path as usize])
    }

    /// The path of an item of a run.
    fn run_path(&self, trail: usize, index: usize) -> String {
        let Some(origins) = &self.trail else { return String::new() };
        let (mut trail, mut index) = (trail, index);
        let mut parts = Vec::new();
        while let Some(origin) = trail.checked_sub(1).map(|trail| &origins[trail]) {
            if parts.len() == SHOWN_PARTS {
                parts.push("...".to_owned());
                break;
            }
            let field = &self.plan.items[origin.from.item].program().paths[origin.from.path as usize];
            parts.push(if origin.listed { format!("{field}[{index}]") } else { field.clone() });
            (trail, index) = (origin.from.trail, origin.from.index);
        }
        parts.iter().rev().fold(String::new(), |path, part| join(&path, part))
    }
}

/// Puts indices into the brackets of a path: `[]`, or `[+n]` where counting begins at n.
fn with_indices(path: &str, indices: &[usize]) -> String {
    let mut indices = indices.iter();
    let mut result = String::new();
    let mut rest = path;
    while let Some((before, (inside, after))) =
        rest.split_once('[').and_then(|(before, rest)| Some((before, rest.split_once(']')?)))
    {
        let first: usize = inside.strip_prefix('+').and_then(|first| first.parse().ok()).unwrap_or(0);
        let index = first + indices.next().copied().unwrap_or(0);
        result.push_str(&format!("{before}[{index}]"));
        rest = after;
    }
    result + rest
}
