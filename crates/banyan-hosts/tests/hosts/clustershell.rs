//! The same expressions, read and folded by ClusterShell's `nodeset`. Where that is not installed there is nothing to
//! compare with, and these tests say so.

use std::collections::BTreeSet;
use std::io::Write;
use std::process::{Command, Stdio};

use banyan_hosts::HostSet;

use crate::set;

/// Expressions that both read.
const EXPRESSIONS: &[&str] = &[
    "n1",
    "n[1-3]",
    "n[1,3,5-7]",
    "n[08-12]",
    "n[8-12]",
    "n[098-101]",
    "n[1-3,02]",
    "n[0-100/5]",
    "n[01-99,100-120]",
    "n9,n09,n10,n010",
    "n[99-101],n099",
    "node[1-128,200],gpu[01-16]",
    "r[0-7]c[0-3]n[01-64]",
    "r[0-1]c[0-2],r2c[0-1]",
    "r0c0,r0c1,r1c0",
    "10.0.[0-3].[1-254]",
    "n[1-3]-ib",
    "n[1-3]4",
    "n0[1-3]",
    "u@h[1-2]",
    "fe80::1%eth0",
    "a[1-9]!a3",
    "a[1-5]!a[1-2],a1",
    "a[1-9]&a[3-4],m1",
    "a[1-9]!a[2-8]&a[1-5],b",
    "b,b1,a,a1",
];

/// What `nodeset` says to lines on its standard input; none where it is not installed.
#[expect(clippy::print_stderr, reason = "a test that compares nothing says so")]
fn nodeset(arguments: &[&str], input: &str) -> Option<String> {
    let mut command = Command::new("nodeset");
    command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = match command.spawn() {
        Ok(child) => child,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            eprintln!("nodeset (Debian: clustershell) is not installed: nothing compared");
            return None;
        }
        Err(error) => panic!("nodeset: {error}"),
    };
    child.stdin.take().unwrap().write_all(format!("{input}\n").as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "nodeset {arguments:?} refused {input:?}");
    Some(String::from_utf8(output.stdout).unwrap().trim_end().to_owned())
}

#[test]
fn expressions_mean_what_clustershell_says() {
    for expression in EXPRESSIONS {
        let Some(expanded) = nodeset(&["-e", expression], "") else { return };
        let ours = set(expression);
        assert_eq!(ours.iter().collect::<BTreeSet<_>>(), expanded.split(' ').collect(), "{expression}");
    }
}

#[test]
fn names_fold_as_clustershell_folds_them() {
    for expression in EXPRESSIONS {
        let Some(folded) = nodeset(&["-f", expression], "") else { return };
        assert_eq!(set(expression).to_string(), folded, "{expression}");
    }
}

#[test]
fn clustershell_reads_what_we_fold() {
    let names: Vec<String> = (0..3000_u32)
        .map(|i| i.wrapping_mul(2_654_435_761) >> 20)
        .map(|i| match i % 4 {
            0 => format!("n{}", i % 700),
            1 => format!("n{:03}", i % 1100),
            2 => format!("r{}c{}n{:02}", i % 3, i / 3 % 5, i / 15 % 40),
            _ => format!("10.{}.0.{}", i % 2, i / 2 % 300),
        })
        .collect();
    let ours = HostSet::from_names(&names).unwrap();
    let Some(expanded) = nodeset(&["-e"], &ours.to_string()) else { return };
    assert_eq!(expanded.split(' ').collect::<BTreeSet<_>>(), ours.iter().collect());
}
