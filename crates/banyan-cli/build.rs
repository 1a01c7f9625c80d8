//! Links the command at fixed addresses. The processes of a tree are many of this program on few processors, and what a
//! processor has learnt of its branches is of use to the next of them only where that has them at the same addresses:
//! `docs/decisions/012-fixed-addresses.md`.

use std::env;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let is = |what: &str, name: &str| env::var(what).is_ok_and(|value| value == name);
    // Where it was measured. Programs with musl are linked by other rules.
    if is("CARGO_CFG_TARGET_ARCH", "x86_64") && is("CARGO_CFG_TARGET_OS", "linux") && is("CARGO_CFG_TARGET_ENV", "gnu")
    {
        println!("cargo::rustc-link-arg-bins=-no-pie");
    }
}
