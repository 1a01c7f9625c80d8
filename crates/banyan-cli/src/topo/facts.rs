//! A topology in numbers, for people and for programs.

use banyan_tree::topology::Topology;
use serde_json::{Value, json};

pub(super) fn sentence(topology: &Topology) -> String {
    let degrees = topology.degrees();
    let children = match (degrees.least, degrees.most) {
        (1, 1) => "1 child".into(),
        (least, most) if least == most => format!("{most} children"),
        (least, most) => format!("{least} to {most} children"),
    };
    let mut text = format!(
        "{}, {}, {} below the front-end, {children} a node",
        counted(topology.agents().into(), "agent"),
        counted(topology.members().into(), "member"),
        counted(topology.depth().into(), "level"),
    );
    if !topology.hosts().is_empty() {
        text += &format!(", on {}", counted(topology.hosts().len() as u64, "host"));
    }
    text
}

pub(super) fn json(topology: &Topology) -> Value {
    let degrees = topology.degrees();
    json!({
        "nodes": topology.len(),
        "agents": topology.agents(),
        "members": topology.members(),
        "depth": topology.depth(),
        "children": { "least": degrees.least, "most": degrees.most, "mean": degrees.mean },
        "hosts": topology.hosts().len(),
    })
}

fn counted(count: u64, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}
