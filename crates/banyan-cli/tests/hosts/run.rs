//! `banyan run` on hosts: outputs folded, and compared.

use crate::{banyan, by_slurm, by_ssh, text};

#[test]
#[ignore = "needs test hosts: cargo xtask test --only sessions"]
fn over_ssh_identical_outputs_of_eight_hosts_are_one() {
    let output = by_ssh(&["run", "-w", "h[1-8]", "--fold", "--", "echo", "alike"]);
    assert_eq!(text(&output.stdout), "=== h[1-8] (8 of 8)\nalike\n", "{}", text(&output.stderr));
    let script = "seq 1 3; [ $(hostname) != h5 ] || echo four; [ $(hostname) != h7 ] || exit 9";
    let output = by_ssh(&["run", "-w", "h[1-8]", "--diff", "--", "sh", "-c", script]);
    let expected = "=== h[1-4,6-8] (7 of 8)\n1\n2\n3\n=== h5 (1 of 8)\n@@ -1,3 +1,4 @@\n 1\n 2\n 3\n+four\n";
    assert_eq!(text(&output.stdout), expected);
    assert_eq!(text(&output.stderr), "banyan: 1 of 8 members failed\n  6 on h7: exited with status 9\n");
    assert_eq!(output.status.code(), Some(1));
}

#[test]
#[ignore = "needs test hosts: cargo xtask test --only sessions"]
fn by_slurm_a_partition_is_a_group() {
    let output = banyan(&["run", "--launcher", "slurm", "-w", "@slurm:debug!h[5-8]", "-b", "--", "echo", "alike"]);
    assert_eq!(text(&output.stdout), "=== h[1-4] (4 of 4)\nalike\n", "{}", text(&output.stderr));
}

#[test]
#[ignore = "needs test hosts: cargo xtask test --only sessions"]
fn by_slurm_what_sets_one_of_eight_nodes_apart_is_shown() {
    let script = "seq 1 3; [ $SLURMD_NODENAME != h5 ] || echo four; [ $SLURMD_NODENAME != h7 ] || exit 9";
    let output = by_slurm(&["run", "-w", "h[1-8]", "--diff", "--", "sh", "-c", script]);
    let expected = "=== h[1-4,6-8] (7 of 8)\n1\n2\n3\n=== h5 (1 of 8)\n@@ -1,3 +1,4 @@\n 1\n 2\n 3\n+four\n";
    assert_eq!(text(&output.stdout), expected, "{}", text(&output.stderr));
    assert_eq!(text(&output.stderr), "banyan: 1 of 8 members failed\n  6 on h7: exited with status 9\n");
    assert_eq!(output.status.code(), Some(1));
}
