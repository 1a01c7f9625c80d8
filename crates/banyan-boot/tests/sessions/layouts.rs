//! Sessions whose front-end says where every agent is.

use banyan_boot::{AgentLayout, Launcher, Session, SessionOptions};

use crate::one_host;
use crate::setup::{all_succeed, assert_says, launch_error, members, options};

fn agent(host: &str, members: u32, below: u32) -> AgentLayout {
    AgentLayout { host: host.into(), members, below }
}

pub(crate) fn agents_are_where_the_layout_has_them() {
    let network = one_host::network();
    let layout = vec![
        agent("top", 0, 3),
        agent("left", 0, 1),
        agent("left", 3, 0),
        agent("right", 2, 0),
        agent("right", 1, 1),
        agent("top", 2, 0),
    ];
    let options = options().layout(layout.clone()).extension(network.note());
    let distribution = members(&["collectives"]).on("top", 2).on("left", 3).on("right", 3);
    let session = Session::launch(&[distribution], &options).unwrap();
    assert_eq!(
        network.lines("agent ", 6),
        [
            "agent 1 level 1 of 6 and 8 on top true below 0",
            "agent 2 level 2 of 6 and 8 on left true below 0.1",
            "agent 3 level 3 of 6 and 8 on left true below 0.1.2",
            "agent 4 level 2 of 6 and 8 on right true below 0.1",
            "agent 5 level 1 of 6 and 8 on right true below 0",
            "agent 6 level 2 of 6 and 8 on top true below 0.5",
        ]
    );
    assert_eq!(session.layout(), layout);
    let hosts: Vec<&str> = session.hosts().collect();
    assert_eq!(hosts, ["left", "left", "left", "right", "right", "right", "top", "top"]);
    all_succeed(session);
}

pub(crate) fn layouts_that_cannot_be_are_refused_with_the_reason() {
    let two = [members(&["meet"]).on("a", 2)];
    let refused =
        |layout: &[AgentLayout], options: SessionOptions| launch_error(&two, &options.layout(layout.to_vec()));
    assert_says(&refused(&[agent("a", 2, 1)], options()), &["agent 0", "host a", "only 0 follow in the layout"]);
    assert_says(&refused(&[agent("-x", 2, 0)], options()), &["\"-x\" cannot be the name of a host"]);
    let some = options().min_hosts(1);
    assert_says(&refused(&[agent("a", 2, 0)], some), &["min_hosts"]);
    let together = Launcher::Command { template: "run {hosts} {agent}".into() };
    let together = options().launcher(together);
    assert_says(&refused(&[agent("a", 1, 1), agent("a", 1, 0)], together), &["several agents on host a", "use ssh"]);
}

pub(crate) fn agents_are_balanced_where_there_is_no_layout() {
    let distribution = (0..5).fold(members(&["meet"]), |members, host| members.on(format!("host{host}"), 2));
    let session = Session::launch(&[distribution], &options().fanout(2)).unwrap();
    let below = [2, 0, 0, 1, 0];
    let expected: Vec<AgentLayout> =
        below.iter().enumerate().map(|(host, below)| agent(&format!("host{host}"), 2, *below)).collect();
    assert_eq!(session.layout(), expected);
    all_succeed(session);
}
