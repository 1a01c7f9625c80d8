//! What Slurm writes into the environment of a job.

use banyan_hosts::{MAX_HOSTS, TasksPerNodeError, tasks_per_node};
use proptest::prelude::*;

use crate::names;

#[test]
fn counts_and_repetitions_give_the_tasks_of_each_node() {
    assert_eq!(tasks_per_node("4(x3),2").unwrap(), [4, 4, 4, 2]);
    assert_eq!(tasks_per_node("1").unwrap(), [1]);
    assert_eq!(tasks_per_node("8(x1),0,4294967295(x2)\n").unwrap(), [8, 0, u32::MAX, u32::MAX]);
    assert_eq!(tasks_per_node("").unwrap(), [0; 0]);
}

#[test]
fn what_slurm_does_not_write_is_refused_with_its_item() {
    for wrong in [",", "4,", "x", "-1", "+1", "4(x)", "4(x0)", "4(x+3)", "4(x3", "4x3", "4(x3)2", "4294967296", "4 ,2"]
    {
        assert!(matches!(tasks_per_node(wrong), Err(TasksPerNodeError::Item { .. })), "{wrong}");
    }
    let error = tasks_per_node("4(x3),two").unwrap_err().to_string();
    assert!(error.contains("item 2: \"two\" is not a count"), "{error}");
}

#[test]
fn repetitions_are_bounded_before_they_are_written_out() {
    assert_eq!(tasks_per_node(&format!("1(x{MAX_HOSTS})")).unwrap().len(), MAX_HOSTS);
    for many in ["1(x1000001)", "1(x99999999999999999999999999)", "1(x999999),1(x2)"] {
        assert!(matches!(tasks_per_node(many), Err(TasksPerNodeError::TooManyNodes { .. })), "{many}");
    }
}

#[test]
fn node_lists_of_slurm_are_host_sets() {
    assert_eq!(names("n[1-3],m[02-04,7]"), "n1 n2 n3 m02 m03 m04 m7");
    assert_eq!(names("gnode[10,20,25,37]"), "gnode10 gnode20 gnode25 gnode37");
    assert_eq!(
        names("rack[0-1]n[8-11],login"),
        "rack0n8 rack0n9 rack0n10 rack0n11 rack1n8 rack1n9 rack1n10 rack1n11 login"
    );
    assert_eq!(names("c[098-101]"), "c098 c099 c100 c101");
}

proptest! {
    #[test]
    fn tasks_written_as_slurm_writes_them_are_read_back(runs in prop::collection::vec((any::<u32>(), 1..20_usize), 0..20)) {
        let write = |(count, nodes): &(u32, usize)| {
            if *nodes == 1 { count.to_string() } else { format!("{count}(x{nodes})") }
        };
        let text = runs.iter().map(write).collect::<Vec<_>>().join(",");
        let tasks: Vec<u32> = runs.iter().flat_map(|(count, nodes)| std::iter::repeat_n(*count, *nodes)).collect();
        prop_assert_eq!(tasks_per_node(&text).unwrap(), tasks);
    }

    #[test]
    fn no_text_makes_the_reader_panic(text in "[0-9(x),]{0,12}|.{0,12}") {
        let _ = tasks_per_node(&text);
    }
}
