//! What is refused, where, and what the message says.

use banyan_hosts::HostSet;
use banyan_topology::{MAX_TEXT_BYTES, Topology, TopologyProblem};

/// A text, the line and column of its error, the kind, and how the message begins.
type Refusal<'a> = (&'a str, usize, usize, &'a str, &'a str);

fn check(refusals: &[Refusal<'_>], hosts: Option<&HostSet>) {
    for (text, line, column, kind, message) in refusals {
        let Err(error) = Topology::parse(text, hosts) else { panic!("{text:?} was read") };
        let expected = format!("line {line}, column {column}: {message}");
        assert!(error.to_string().starts_with(&expected), "{text:?}: {error}");
        assert_eq!(error.problem.kind(), *kind, "{text:?}");
    }
}

#[test]
fn an_outline_that_is_no_tree_is_refused_at_the_line_that_breaks_it() {
    check(
        &[
            ("front-end\n", 1, 1, "empty", "there is no member"),
            ("agents 4\n  members 2\n", 1, 1, "role", "a topology begins with its front-end"),
            ("front-end\n  member\nfront-end\n", 3, 1, "unreachable", "a second tree"),
            ("front-end\n  member\nmember\n", 3, 1, "unreachable", "a second tree"),
            ("front-end 2\n  member\n", 1, 1, "unreachable", "a second tree"),
            ("front-end\n  front-end\n", 2, 3, "role", "a front-end below another node"),
            ("front-end\n  agents 4\n", 2, 3, "role", "an agent without members below it"),
            (
                "front-end\n  members 4\n    member\n",
                3,
                5,
                "role",
                "a node below a member, which has none; write agent in line 2",
            ),
            (
                "front-end\n    agent\n      member\n  member\n",
                4,
                3,
                "syntax",
                "the line is indented by 2 spaces, and none above it that it could stand beside is; use 4",
            ),
            ("front-end\n \tmember\n", 2, 2, "syntax", "a tab before the line"),
            ("front-end\n  leaf\n", 2, 3, "syntax", "\"leaf\" is not a role"),
            ("front-end\n  members 0\n", 2, 11, "syntax", "\"0\" is not a count of nodes"),
            ("front-end\n  members 4x\n", 2, 11, "syntax", "\"4x\" is not a count of nodes"),
            ("front-end\n  members many\n", 2, 11, "syntax", "\"many\" is not understood here"),
            ("front-end\n  members 4 at n1\n", 2, 13, "syntax", "\"at\" is not understood here"),
            ("front-end\n  members on # n1\n", 2, 11, "hosts", "`on` without hosts"),
            ("front-end\n  members on ,\n", 2, 14, "hosts", "`on` without hosts"),
            ("front-end\n  members on n[1-\n", 2, 15, "hosts", "`[` is not closed"),
            ("front-end\n  members on n[1-9]!n2\n", 2, 20, "hosts", "`!` in the hosts of a topology"),
            ("front-end\n  agents 4000\n    members 4000\n", 3, 5, "too many nodes", "more than 4194304 nodes"),
            ("front-end\n  agents 4294967295\n    members 4294967295 on n[1-9]\n", 2, 3, "too many nodes", "more than"),
        ],
        None,
    );
    assert_eq!(Topology::parse(" \n# nothing\n", None).unwrap_err().problem, TopologyProblem::Empty);
}

#[test]
fn an_mrnet_file_that_is_no_tree_is_refused_with_the_processes_it_is_about() {
    check(
        &[
            ("a:0 => b:0 ;\nb:0 => c:0 ;\nc:0 => b:1 a:0 ;", 1, 8, "cycle", "b:0 => c:0 => a:0 => b:0 is a cycle"),
            ("r:0 => a:0 ;\nb:0 => c:0 ;\nc:0 => b:0 ;", 2, 8, "cycle", "c:0 => b:0 => c:0 is a cycle"),
            ("a:0 => a:0 ;", 1, 8, "cycle", "a:0 => a:0 is a cycle"),
            (
                "a:0 => b:0 c:0 ;\nc:0 => b:0 ;",
                2,
                8,
                "two parents",
                "b:0 has two parents, a:0 (line 1) and c:0; leave it",
            ),
            ("a:0 => b:0\n b:0 ;", 2, 2, "duplicate edge", "a:0 => b:0 stands already in line 1; remove"),
            (
                "a:0 => b:0 ;\nc:0 => d:0 ;",
                2,
                1,
                "unreachable",
                "c:0 cannot be reached from the front-end a:0; write it",
            ),
            ("a:0 b:0 ;", 1, 5, "syntax", "expected `=>` behind a:0, found \"b:0\""),
            ("a:0 ;", 1, 5, "syntax", "expected `=>` behind a:0, found `;`"),
            ("a:0 => b:0 ;\nc:0", 2, 4, "syntax", "expected `=>` behind c:0, found the end"),
            ("a:0 => ;", 1, 8, "syntax", "a:0 => leads nowhere"),
            ("a:0 => b:0\nb:0 => c:0 ;", 2, 1, "duplicate edge", "a:0 => b:0 stands already"),
            ("a:0 => b:0\nc:0 => d:0 ;", 2, 5, "syntax", "the children of a:0 do not end; write ;"),
            ("a:0 => b:0", 1, 11, "syntax", "the children of a:0 do not end"),
            ("=> b:0 ;", 1, 1, "syntax", "`=>` without a process before it"),
            ("a:0 => b:0 ; ;", 1, 14, "syntax", "`;` without a process before it"),
            ("a:0 => b ;", 1, 8, "syntax", "\"b\" is not a process; write host:index"),
            ("a:0 => b:x ;", 1, 8, "syntax", "\"b:x\" is not a process"),
            ("a:0 => b:+1 ;", 1, 8, "syntax", "\"b:+1\" is not a process"),
            ("a:0 => b:4294967296 ;", 1, 8, "syntax", "\"b:4294967296\" is not a process"),
            ("a:0 => -b:0 ;", 1, 8, "hosts", "a host name cannot begin with '-'"),
            ("a:0 => é:0 ü:0 ;", 1, 8, "hosts", "a host name cannot"),
        ],
        None,
    );
}

#[test]
fn a_host_that_was_not_given_is_named() {
    let hosts = HostSet::parse("n[1-4]").unwrap();
    check(
        &[
            (
                "front-end\n  agents on n[3-5]\n    member\n",
                2,
                13,
                "unknown host",
                "host \"n5\" is not one of the given",
            ),
            ("n1:0 => n2:0\n  m2:0 ;", 2, 3, "unknown host", "host \"m2\" is not one of the given hosts; add it"),
        ],
        Some(&hosts),
    );
}

#[test]
fn trees_that_are_too_deep_are_refused() {
    let mut outline = String::from("front-end\n");
    (1..=300).for_each(|depth| outline += &format!("{:depth$}agent\n", ""));
    assert_eq!(Topology::parse(&outline, None).unwrap_err().problem, TopologyProblem::TooDeep);
    let chain: String = (0..300).map(|node| format!("n:{node} => n:{} ;\n", node + 1)).collect();
    assert_eq!(Topology::parse(&chain, None).unwrap_err().problem, TopologyProblem::TooDeep);
}

#[test]
fn a_long_cycle_is_named_in_short() {
    let text: String = (0..1000).map(|node| format!("n:{node} => n:{} ;\n", (node + 1) % 1000)).collect();
    let error = Topology::parse(&text, None).unwrap_err().to_string();
    assert!(error.contains("n:1 => n:2 => n:3") && error.contains("=> … => n:1 is a cycle"), "{error}");
    assert!(error.len() < 200, "{error}");
}

#[test]
fn a_text_that_is_too_long_is_refused_at_once() {
    let text = " ".repeat(MAX_TEXT_BYTES + 1);
    assert_eq!(Topology::parse(&text, None).unwrap_err().problem, TopologyProblem::TooMuchText);
}
