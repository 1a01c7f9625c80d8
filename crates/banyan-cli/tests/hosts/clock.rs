//! `banyan clock` of hosts. All test hosts are this machine, and have its clock.

use std::process::Output;

use serde_json::Value;

use crate::{by_slurm, by_ssh, eight, objects, text};

/// The edges between hosts: their lower ends, sorted, if everything is as it is on one machine.
fn compared(output: &Output) -> Vec<String> {
    let edges = objects(output);
    let of_agents: Vec<&Value> = edges.iter().filter(|edge| edge["rank"].is_null()).collect();
    for edge in &edges {
        assert_eq!((&edge["same_clock"], &edge["offset_ns"], &edge["bound_ns"]), (&true.into(), &0.into(), &0.into()));
        assert_eq!((&edge["front_end_offset_ns"], &edge["steps"]), (&0.into(), &0.into()), "{edge}");
        let is_known = |host: &&Value| *host == "localhost" || of_agents.iter().any(|other| other["host"] == **host);
        assert!(Some(&edge["parent_host"]).filter(is_known).is_some(), "{edge}");
    }
    let mut hosts: Vec<String> = of_agents.iter().filter_map(|edge| Some(edge["host"].as_str()?.to_owned())).collect();
    hosts.sort();
    hosts
}

#[test]
#[ignore = "needs test hosts: cargo xtask test --only sessions"]
fn over_ssh_clock_compares_every_host_and_names_those_that_cannot_be_reached() {
    let output = by_ssh(&["clock", "-w", "h[1-8]", "--fanout", "2", "--json"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert_eq!(compared(&output), eight());
    let deep = objects(&output).iter().any(|edge| edge["rank"].is_null() && edge["parent"] != 0);
    assert!(deep, "with two children each some hosts are below others");
    let output = by_ssh(&["clock", "-w", "h[1-2],no-such-host", "--host-timeout", "20s", "--json"]);
    assert_eq!((compared(&output), output.status.code()), (eight()[..2].to_vec(), Some(3)), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("no-such-host"), "{}", text(&output.stderr));
}

#[test]
#[ignore = "needs test hosts: cargo xtask test --only sessions"]
fn by_slurm_clock_compares_every_node() {
    let output = by_slurm(&["clock", "-w", "h[1-8]", "--json"]);
    assert_eq!((compared(&output), output.status.code()), (eight(), Some(0)), "{}", text(&output.stderr));
}
