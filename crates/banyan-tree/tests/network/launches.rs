//! How networks come up: without hosts that cannot be reached, and in the shape that a file says.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use banyan_boot::ProcessDistribution;
use banyan_tree::topology::Topology;
use banyan_tree::{Network, NodeId, NodeInfo, Shape};

use crate::setup::{SUMS, expect_wave, options, order, this_program};

/// An agent program of which the first two fail, and the fourth takes a second: by then the third is in the tree.
fn agent_that_fails_twice(directory: &Path) -> PathBuf {
    let path = directory.join("agent");
    let script = format!(
        "#!/bin/sh\n\
         for start in first second third fourth later; do mkdir {marks}/$start 2>/dev/null && break; done\n\
         case $start in first|second) exit 5;; fourth) sleep 1;; esac\n\
         exec {agent} \"$@\"\n",
        marks = directory.display(),
        agent = this_program().display()
    );
    fs::write(&path, script).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    path
}

pub(crate) fn hosts_that_are_left_out_leave_a_network_of_the_others() {
    let directory = tempfile::tempdir().unwrap();
    let mut options = options("1");
    options.topology = None;
    options.session.agent = Some(agent_that_fails_twice(directory.path()));
    options.session.min_hosts = Some(2);
    // One after the other: the first two hosts fail, so that the others have other numbers in the second attempt.
    options.session.concurrency = 1;
    let program = ProcessDistribution::new(this_program(), ["member", "serve"]);
    let hosts = (0..4).fold(program, |program, host| program.on(format!("host{host}"), 1));
    let network = Network::launch(&hosts, &options).unwrap();
    assert_eq!(network.session().missing().len(), 2);
    let stream = network.open(&network.everyone(), SUMS).unwrap();
    order(&stream, 0, 20, 0);
    for number in 0..20 {
        assert_eq!(expect_wave(&stream, number).members().to_string(), "0-1");
    }
}

pub(crate) fn members_hang_under_the_agent_of_their_host_however_many_they_are() {
    let mut options = options("2x9");
    options.node.capacity = 3;
    let network = Network::launch(&ProcessDistribution::new(this_program(), ["member", "serve"]), &options).unwrap();
    let (agents, members): (Vec<NodeInfo>, Vec<NodeInfo>) =
        network.nodes().iter().partition(|place| place.rank.is_none());
    assert!(agents.iter().all(|agent| agent.parent == NodeId::ROOT), "{agents:?}");
    let parents: Vec<u32> = members.iter().map(|member| member.parent.0).collect();
    assert_eq!(parents, [[1; 9], [2; 9]].concat());
}

/// Launches what a file says; the hosts of the agents and of the members, and the parent of each node.
fn launch_file(text: &str) -> (Vec<String>, Vec<String>, Vec<(u32, u32)>) {
    let topology = Topology::parse(text, None).unwrap();
    let options = options("1").topology(topology.into());
    let network = Network::launch(&ProcessDistribution::new(this_program(), ["member", "serve"]), &options).unwrap();
    let stream = network.open(&network.everyone(), SUMS).unwrap();
    order(&stream, 0, 20, 0);
    for number in 0..20 {
        assert_eq!(*expect_wave(&stream, number).members(), network.members());
    }
    let agents = network.session().layout().iter().map(|agent| agent.host.clone()).collect();
    let members = network.session().hosts().map(str::to_owned).collect();
    (agents, members, network.nodes().iter().map(|place| (place.node.0, place.parent.0)).collect())
}

pub(crate) fn a_network_has_the_shape_that_a_file_says() {
    let outline = "front-end\n  agent on one\n    agents on two,three\n      members 2\n";
    let (agents, members, parents) = launch_file(outline);
    assert_eq!(agents, ["one", "two", "three"]);
    assert_eq!(members, ["two", "two", "three", "three"]);
    assert_eq!(parents, [(1, 0), (2, 1), (3, 1), (4, 2), (5, 2), (6, 3), (7, 3)]);
}

pub(crate) fn a_network_has_the_shape_that_a_file_of_mrnet_says() {
    let (agents, members, parents) = launch_file("localhost:0 => localhost:1 localhost:2 ;");
    assert_eq!((&agents[..], &members[..]), (&["localhost".to_owned()][..], &["localhost"; 2].map(String::from)[..]));
    assert_eq!(parents, [(1, 0), (2, 1), (3, 1)]);
    // Members whose agent is on another host get one on their own.
    let (agents, members, parents) = launch_file("a:0 => b:0 ; b:0 => b:1 c:0 d:0 ;");
    assert_eq!(agents, ["b", "c", "d"]);
    assert_eq!(members, ["b", "c", "d"]);
    assert_eq!(parents, [(1, 0), (2, 1), (3, 1), (4, 1), (5, 2), (6, 3)]);
}

/// This program under two names.
fn two_programs(directory: &Path) -> [ProcessDistribution; 2] {
    ["solver", "viewer"].map(|name| {
        let path = directory.join(name);
        std::os::unix::fs::symlink(this_program(), &path).unwrap();
        ProcessDistribution::new(path, ["member", "serve"])
    })
}

/// Launches programs in this shape; all members are in waves. The program and the host of each, without its directory.
fn launch_programs(programs: &[ProcessDistribution], shape: Shape) -> Vec<String> {
    let options = options("1").topology(shape);
    let network = Network::launch_several(programs, &options).unwrap();
    let stream = network.open(&network.members().into(), SUMS).unwrap();
    order(&stream, 0, 20, 0);
    for number in 0..20 {
        assert_eq!(*expect_wave(&stream, number).members(), network.members());
    }
    let processes = network.processes().members;
    processes.iter().map(|one| format!("{}@{}", one.image.rsplit('/').next().unwrap_or_default(), one.host)).collect()
}

pub(crate) fn several_programs_share_the_leaves_of_a_topology_in_the_order_of_ranks() {
    let directory = tempfile::tempdir().unwrap();
    let [solver, viewer] = two_programs(directory.path());
    let attached = ProcessDistribution::attached().on("localhost", 1);
    let programs = [solver.clone().on("localhost", 4), viewer.clone(), attached];
    let ranks = launch_programs(&programs, "2x3".parse().unwrap());
    let expected = [["solver@localhost"; 4].to_vec(), vec!["viewer@localhost"; 2], vec!["@localhost"]].concat();
    assert_eq!(ranks, expected);
    // Each agent has two members, of one program or of both.
    let programs = [viewer.on("n1", 1), solver.on("n2", 5)];
    let ranks = launch_programs(&programs, "3x2".parse().unwrap());
    let hosts: Vec<&str> = ranks.iter().map(|rank| rank.rsplit('@').next().unwrap()).collect();
    assert!(hosts.iter().all(|host| ["n1", "n2"].contains(host)), "{ranks:?}");
    assert!(ranks[0].starts_with("viewer@") && ranks[1..].iter().all(|rank| rank.starts_with("solver@")), "{ranks:?}");
}

pub(crate) fn several_programs_share_the_leaves_of_a_file() {
    let directory = tempfile::tempdir().unwrap();
    let [solver, viewer] = two_programs(directory.path());
    let outline = "front-end\n  agent on one\n    agents on two,three\n      members 2\n";
    let shape = || Shape::from(Topology::parse(outline, None).unwrap());
    let expected = ["viewer@two", "viewer@two", "viewer@three", "solver@three"];
    let first = viewer.on("two", 2).on("three", 1);
    assert_eq!(launch_programs(&[first.clone(), solver.clone()], shape()), expected);
    assert_eq!(launch_programs(&[first.clone(), solver.clone().on("three", 1)], shape()), expected);
    let options = options("1").topology(shape());
    let elsewhere = Network::launch_several(&[first, solver.on("two", 1)], &options).unwrap_err().to_string();
    assert!(elsewhere.contains("asks for 1 on two, and has 1 on three"), "{elsewhere}");
}

pub(crate) fn programs_that_do_not_fill_a_topology_are_refused_with_what_adds_up_to_what() {
    let directory = tempfile::tempdir().unwrap();
    let [solver, viewer] = two_programs(directory.path());
    let programs = [solver.on("localhost", 16), viewer.on("localhost", 40)];
    let error = Network::launch_several(&programs, &options("4x16")).unwrap_err().to_string();
    assert!(error.contains("the topology 4x16 has 64 members, and 16 + 40 = 56 processes were asked for"), "{error}");
}
