//! `banyan topo` of hosts that Slurm names.

use serde_json::json;

use crate::shape::assert_shape;
use crate::{banyan, objects, text};

#[test]
#[ignore = "needs test hosts: cargo xtask test --only sessions"]
fn by_slurm_the_nodes_of_a_partition_are_hosts_of_a_tree() {
    let words = ["topo", "gen", "-w", "@slurm:debug!h[5-8]", "hosts:2:2"];
    let output = banyan(&words);
    let expected = "\
front-end
  agent on h1
    members 2
    agent on h2
      members 2
  agent on h3
    members 2
    agent on h4
      members 2
";
    assert_eq!(text(&output.stdout), expected, "{}", text(&output.stderr));
    let output = banyan(&[&words[..], &["--json"]].concat());
    let children = json!({ "least": "count", "mean": "number", "most": "count" });
    let shape = json!({
        "spec": "text", "text": "text", "nodes": "count", "agents": "count", "members": "count", "hosts": "count",
        "depth": "count", "children": children,
    });
    assert_shape(&objects(&output)[0], &shape);
}
