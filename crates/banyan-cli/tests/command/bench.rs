//! `banyan bench` hands over to `banyan-bench`. Here a script has its place; the tests of that package run the real one.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use crate::workshop::Workshop;

/// With `alone/banyan`, a copy of the command with nothing beside it.
fn shop() -> Workshop {
    let shop = Workshop::new();
    for directory in ["alone", "bin"] {
        fs::create_dir(shop.path(directory)).expect("room");
    }
    fs::copy(crate::banyan(), shop.path("alone/banyan")).expect("room");
    shop
}

/// Writes a program that says who it is and what its arguments are.
fn write_program(shop: &Workshop, path: &str) {
    shop.write(path, format!("#!/bin/sh\necho {path}: \"$@\"\nexit 7\n"));
    fs::set_permissions(shop.path(path), fs::Permissions::from_mode(0o755)).expect("it is ours");
}

#[test]
fn benches_are_handed_over_to_the_program_beside_the_command_or_in_path() {
    let shop = shop();
    write_program(&shop, "bin/banyan-bench");
    let line = "PATH=\"$PWD/bin\" alone/banyan -q --log bench bench tree --json --help";
    let ran = shop.shell(line);
    assert_eq!(
        (ran.status, ran.out.as_str()),
        (7, "bin/banyan-bench: -q --log bench tree --json --help\n"),
        "{}",
        ran.err
    );
    write_program(&shop, "alone/banyan-bench");
    let ran = shop.shell(line);
    assert_eq!(
        (ran.status, ran.out.as_str()),
        (7, "alone/banyan-bench: -q --log bench tree --json --help\n"),
        "{}",
        ran.err
    );
}

#[test]
fn a_missing_program_for_benches_is_named_with_the_way_to_get_it() {
    let ran = shop().shell("PATH=\"$PWD/bin\" alone/banyan bench tree --json");
    let error = "banyan-bench: not found, neither beside alone/banyan nor in PATH; build it with `cargo build --release -p \
                 banyan-bench`, or install it with `cargo install banyan-bench`";
    assert_eq!((ran.status, ran.err), (1, format!("banyan: {error}\n")));
    let object: serde_json::Value = serde_json::from_str(&ran.out).expect("an object");
    assert_eq!((&object["error"], &object["exit_status"]), (&error.into(), &1.into()));
}
