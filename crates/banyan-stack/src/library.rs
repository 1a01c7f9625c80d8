//! Calls of communication libraries. What a rank does within one while it waits says little, and is another thing at every
//! look: ranks that wait in the same call do the same.

use crate::frame::Frame;

/// What the functions of such libraries begin with: MPI in C and in Fortran, NCCL and its kin, SHMEM.
const CALLS: [&str; 7] = ["MPI_", "PMPI_", "mpi_", "pmpi_", "nccl", "pnccl", "shmem_"];

/// Leaves of a stack, from the outermost function to the innermost, what leads to the first call of such a library, and the
/// call itself.
pub(crate) fn cut_at_call(stack: &mut Vec<Frame>) {
    let is_call = |frame: &Frame| CALLS.iter().any(|call| frame.function.starts_with(call));
    if let Some(at) = stack.iter().position(is_call) {
        stack.truncate(at + 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(functions: &[&str]) -> Vec<String> {
        let mut stack: Vec<Frame> = functions.iter().map(|function| Frame::note(function)).collect();
        cut_at_call(&mut stack);
        stack.iter().map(|frame| frame.function.to_string()).collect()
    }

    #[test]
    fn what_lies_below_a_call_is_left_out() {
        assert_eq!(cut(&["main", "solve", "PMPI_Recv", "progress", "MPI_Test"]), ["main", "solve", "PMPI_Recv"]);
        assert_eq!(cut(&["main", "ncclAllReduce", "poll"]), ["main", "ncclAllReduce"]);
        assert_eq!(cut(&["main", "solve", "my_MPI_wrapper"]), ["main", "solve", "my_MPI_wrapper"]);
    }
}
