//! `cross`: the tests on machines of other byte order, pointer width and alignment, emulated by qemu.
//!
//! Linker and runner are given through the environment, not through `.cargo/config.toml`, because Miri would take
//! them from there too and fail.

use std::process::Command;

use super::tests::BESIDE;
use super::{Job, Tools, cargo, tests_passed};
use crate::report::Problem;
use crate::{install, manifest};

/// Random cases for each property test: emulation is slow, and the native run has tried many.
const PROPTEST_CASES: &str = "16";

/// An architecture that qemu emulates.
pub(super) struct Architecture {
    /// What it is called in reports.
    pub(super) name: &'static str,
    pub(super) triple: &'static str,
    /// The prefix of its tools, and the name of the directory below `/usr` with its libraries.
    gnu: &'static str,
    emulator: &'static str,
    packages: &'static [&'static str],
}

/// Those on which all tests run: together they differ from this machine in everything a layout depends on.
pub(super) const ARCHITECTURES: &[Architecture] = &[
    // Big-endian, 64 bit.
    Architecture {
        name: "s390x",
        triple: "s390x-unknown-linux-gnu",
        gnu: "s390x-linux-gnu",
        emulator: "qemu-s390x-static",
        packages: &["qemu-user-static", "gcc-s390x-linux-gnu", "libc6-dev-s390x-cross"],
    },
    // Big-endian, 32 bit.
    Architecture {
        name: "powerpc",
        triple: "powerpc-unknown-linux-gnu",
        gnu: "powerpc-linux-gnu",
        emulator: "qemu-ppc-static",
        packages: &["qemu-user-static", "gcc-powerpc-linux-gnu", "libc6-dev-powerpc-cross"],
    },
    // Little-endian, 32 bit; aligns 8-byte numbers to 4.
    Architecture {
        name: "i686",
        triple: "i686-unknown-linux-gnu",
        gnu: "i686-linux-gnu",
        emulator: "qemu-i386-static",
        packages: &["qemu-user-static", "gcc-i686-linux-gnu", "libc6-dev-i386-cross"],
    },
];

/// Like this machine, but for its vector instructions: only what uses those is run.
const AARCH64: Architecture = Architecture {
    name: "aarch64",
    triple: "aarch64-unknown-linux-gnu",
    gnu: "aarch64-linux-gnu",
    emulator: "qemu-aarch64-static",
    packages: &["qemu-user-static", "gcc-aarch64-linux-gnu", "libc6-dev-arm64-cross"],
};

/// The crates of records, whose tests all run.
const RECORDS: &[&str] = &["banyan-ndr", "banyan-text", "banyan-files"];

/// The module with vector instructions.
const KERNEL: &str = "kernel::";

/// The crates of links and sessions, and their test programs that need no other process: what goes over a link must be
/// the same on every machine.
const PROTOCOLS: (&[&str], &[&str]) =
    (&["banyan-link", "banyan-ranks", "banyan-hosts", "banyan-boot"], &["protocol", "attacks", "rankset", "hosts"]);

/// Machines that sensors are run on: one of the other byte order, and one with pointers half as wide. Of 32-bit machines not all
/// have the 64-bit atomics that segments are made of.
const SENSORS: [&str; 2] = ["s390x", "i686"];

/// The tests of sensors that start no other process: the emulator would not be started for it.
const SENSORS_IN_ONE_PROCESS: &str = "own::";

/// Those among them that are left to this machine: some ask about its processes, and the emulator's would answer, or start
/// programs; others do as much work as bad sets of hosts can ask for, take checksums of large files, or begin hundreds of handshakes
/// while somebody waits.
const LEFT_TO_THIS_MACHINE: [&str; 6] =
    ["process::", "search::", "errors::", "a_program_runs", "tests_of_slices::", "recorded_beginnings"];

/// Tests of descriptions that mean more than any memory holds. They take long, and what could go wrong with them depends on the
/// width of pointers alone: they are run on this machine and on one with narrow pointers.
const BOMBS: &str = "bombs::";
const RUNS_BOMBS: &str = "i686";

pub(super) fn run(job: &Job<'_>) {
    // Tests ask for them here, too, and one that another step is just installing would fail.
    job.part("programs beside", |tools| {
        install::programs(tools.runner, BESIDE.0, &[], BESIDE.1).map(|()| String::new())
    });
    for architecture in ARCHITECTURES {
        job.part(architecture.name, |tools| {
            // Not nextest: it starts a process for each test, and the emulator would translate the program every time.
            let mut tests = architecture.cargo(tools, &["test"])?;
            tests.args(RECORDS.iter().flat_map(|name| ["-p", name])).args(["--lib", "--tests", "--no-fail-fast"]);
            if architecture.name != RUNS_BOMBS {
                tests.args(["--", "--skip", BOMBS]);
            }
            tests_passed(&tools.run(tests.env("PROPTEST_CASES", PROPTEST_CASES))?)
        });
    }
    // Of these machines the one that can run all of it: its byte order is the other, its pointers are as wide.
    let foreign = &ARCHITECTURES[0];
    job.part(&format!("{}, links and sessions", foreign.name), |tools| {
        let mut tests = foreign.cargo(tools, &["test"])?;
        tests.args(PROTOCOLS.0.iter().flat_map(|name| ["-p", name])).arg("--lib");
        tests.args(PROTOCOLS.1.iter().flat_map(|name| ["--test", name])).arg("--no-fail-fast");
        tests.arg("--").args(LEFT_TO_THIS_MACHINE.iter().flat_map(|name| ["--skip", name]));
        tests_passed(&tools.run(tests.env("PROPTEST_CASES", PROPTEST_CASES))?)
    });
    for architecture in ARCHITECTURES.iter().filter(|architecture| SENSORS.contains(&architecture.name)) {
        job.part(&format!("{}, sensors", architecture.name), |tools| {
            let mut inside = architecture.cargo(tools, &["test", "-p", "banyan-sensor", "--lib", "--no-fail-fast"])?;
            let inside = tools.run(inside.env("PROPTEST_CASES", PROPTEST_CASES))?;
            let mut own = architecture.cargo(tools, &["test", "-p", "banyan-sensor", "--test", "processes"])?;
            let own = tools.run(own.args(["--", SENSORS_IN_ONE_PROCESS]))?;
            tests_passed(&own)?;
            tests_passed(&(inside + &own))
        });
    }
    job.part(AARCH64.name, |tools| {
        let mut tests = AARCH64.cargo(tools, &["test", "-p", "banyan-ndr", "--lib"])?;
        tests.args(manifest::without_jit(tools.root)).env("PROPTEST_CASES", PROPTEST_CASES).args(["--", KERNEL]);
        tests_passed(&tools.run(&mut tests)?)
    });
}

impl Architecture {
    /// `cargo` that builds for this architecture and runs what it built, once everything needed is installed.
    pub(super) fn cargo(&self, tools: &Tools<'_>, arguments: &[&str]) -> Result<Command, Problem> {
        let compiler = format!("{}-gcc", self.gnu);
        let libraries = format!("/usr/{}", self.gnu);
        install::programs(tools.runner, &[&compiler, self.emulator], &[&libraries], self.packages)?;
        install::target(tools.runner, self.triple)?;
        let variable = |what: &str| format!("CARGO_TARGET_{}_{what}", self.triple.to_uppercase().replace('-', "_"));
        let mut command = cargo([]);
        command
            .args(arguments)
            .args(["--target", self.triple])
            .env(variable("LINKER"), compiler)
            .env(variable("RUNNER"), format!("{} -L {libraries}", self.emulator))
            // Nobody debugs these; without the tables they link faster.
            .env("CARGO_PROFILE_DEV_DEBUG", "0");
        Ok(command)
    }
}
