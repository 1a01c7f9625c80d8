//! `--min-hosts` with every verb that reaches hosts: one rule for the exit status.

use crate::job::{Job, ranks_program};
use crate::{by_ssh, shared, text};

#[test]
#[ignore = "needs test hosts: cargo xtask test --only sessions"]
fn over_ssh_hosts_that_may_be_left_out_are_named_and_do_not_change_the_status() {
    let place = shared();
    let path = |name: &str| place.path().join(name).display().to_string();
    std::fs::write(path("file"), "content").expect("room");
    let (file, there) = (path("file"), path("{host}/"));
    let program = ranks_program(place.path());
    let _job = Job::over_ssh(&program, &["h1", "h2"].map(String::from), 0);
    let program = program.display().to_string();
    let verbs: [(&str, &[&str]); 4] = [
        ("run", &["--", "true"]),
        ("copy", &[&file, &there]),
        ("top", &["--once", "--every", "200ms"]),
        ("stack", &["--match", &program]),
    ];
    for (verb, rest) in verbs {
        let hosts = ["-w", "no-such-host,h[1-2]", "--host-timeout", "5s", "--min-hosts"];
        let output = by_ssh(&[&[verb], &hosts[..], &["2"], rest].concat());
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{verb}: the others are enough: {said}");
        assert!(said.contains("host no-such-host: "), "{verb}: {said}");
        let output = by_ssh(&[&[verb], &hosts[..], &["3"], rest].concat());
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(3), "{verb}: more are missing than may be: {said}");
        assert!(said.contains("host no-such-host: "), "{verb}: {said}");
    }
}
