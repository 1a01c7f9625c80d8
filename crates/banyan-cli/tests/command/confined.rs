//! Where a filter of system calls forbids tracing, as in containers, verbs say so and claim nothing.

use std::process::Command;

use serde_json::Value;

use crate::workshop::skip;
use crate::workshop::{Ran, Workshop};

/// Runs a program under a filter that answers `ptrace` and `process_vm_readv` with EPERM.
const CONFINE: &str = r#"
import ctypes, os, struct, sys
numbers = {"x86_64": [101, 310], "aarch64": [117, 270]}[os.uname().machine]
step = lambda code, yes, no, value: struct.pack("HBBI", code, yes, no, value)
checks = [step(0x15, len(numbers) - i, 0, number) for i, number in enumerate(numbers)]
program = ctypes.create_string_buffer(
    step(0x20, 0, 0, 0) + b"".join(checks) + step(0x06, 0, 0, 0x7FFF0000) + step(0x06, 0, 0, 0x00050001))
class Filter(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("program", ctypes.c_void_p)]
filter = Filter(len(numbers) + 3, ctypes.addressof(program))
libc = ctypes.CDLL(None)
assert libc.prctl(38, 1, 0, 0, 0) == 0 and libc.prctl(22, 2, ctypes.byref(filter)) == 0
os.execvp(sys.argv[1], sys.argv[1:])
"#;

/// What a command line of `banyan` says under the filter; nothing where there is no such filter.
fn confined(arguments: &str) -> Option<Ran> {
    let shop = Workshop::new();
    shop.write("confine.py", CONFINE);
    let is_there = Command::new("python3").arg(shop.path("confine.py")).arg("true").status();
    if !is_there.is_ok_and(|status| status.success()) {
        skip("no python3, or no filters of system calls");
        return None;
    }
    Some(shop.shell(&format!("exec python3 confine.py banyan {arguments}")))
}

#[test]
fn the_demo_blames_nobody_whose_stack_it_may_not_see_and_goes_on() {
    let Some(ran) = confined("demo") else { return };
    assert!(ran.out.contains("The system does not permit to look into processes: a seccomp filter"), "{}", ran.out);
    assert!(!ran.out.contains("everybody else waits"), "{}", ran.out);
    assert!(ran.out.contains("5. The end: no process is left"), "{}", ran.out);
    assert_eq!(ran.status, 5, "{}", ran.err);
    let Some(ran) = confined("demo --json") else { return };
    let hung = &ran.json()[0]["hung"];
    assert_eq!(hung["ranks"], Value::Null);
    assert!(hung["unread"].as_str().is_some_and(|why| why.contains("seccomp")), "{hung}");
}

#[test]
fn doctor_tries_to_trace_before_it_says_that_it_may() {
    let Some(ran) = confined("doctor --json") else { return };
    let objects = ran.json();
    let tracing = objects.iter().find(|finding| finding["name"] == "tracing").expect("a finding");
    assert_eq!(tracing["level"], "warning", "{tracing}");
    assert!(tracing["cause"].as_str().is_some_and(|cause| cause.contains("seccomp")), "{tracing}");
}
