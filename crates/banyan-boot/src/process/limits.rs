//! What a member may use: time, priority and the kernel's resource limits, as data and as text.
//!
//! The text is what users write and what travels to the agents: `time=10m,nice=5,nofile=1024,cpu=60s,as=2g`. Parsing
//! what a [`Limits`] displays gives the same limits. The spawner applies `nice` and the resources in the child; the
//! time limit is the agent's to watch.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use thiserror::Error;

/// What a member may use. The default limits nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// How long it may run by the clock on the wall.
    pub time: Option<Duration>,
    /// Its priority, as `nice` counts: -20 goes first, 19 last.
    pub nice: Option<i32>,
    /// What the kernel limits. A later entry for the same resource wins.
    pub resources: Vec<(Resource, u64)>,
}

banyan_ndr::setters!(Limits {
    time: impl Into<Option<Duration>>,
    nice: impl Into<Option<i32>>,
    resources: Vec<(Resource, u64)>,
});

/// A resource that the kernel limits for each process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Resource {
    /// Bytes of address space.
    AddressSpace,
    /// Bytes of a core file.
    CoreFile,
    /// Seconds of processor time; a process beyond them gets SIGXCPU.
    ProcessorTime,
    /// Bytes of the data segment.
    Data,
    /// Bytes of a file it writes.
    FileSize,
    /// Bytes locked into memory.
    LockedMemory,
    /// Open descriptors.
    OpenFiles,
    /// Processes of the user.
    Processes,
    /// Bytes of the stack.
    Stack,
}

/// A text that is no limit.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum BadLimit {
    /// Not of the form `name=value`.
    #[error("{entry:?} is not a limit; write name=value, for example nofile=1024")]
    NoValue {
        /// The part between the commas.
        entry: String,
    },
    /// A name nobody knows.
    #[error("there is no limit called {name:?}; there are time, nice, {}", names())]
    UnknownName {
        /// The name.
        name: String,
    },
    /// A value that is not a number, has a foreign unit, or is too large.
    #[error("{name}={value} is not understood; write {expected}")]
    Value {
        /// The name.
        name: String,
        /// Its value.
        value: String,
        /// What could stand there.
        expected: &'static str,
    },
}

/// "No limit" for the kernel.
const UNLIMITED: u64 = u64::MAX;

const RESOURCES: [(Resource, &str); 9] = [
    (Resource::AddressSpace, "as"),
    (Resource::CoreFile, "core"),
    (Resource::ProcessorTime, "cpu"),
    (Resource::Data, "data"),
    (Resource::FileSize, "fsize"),
    (Resource::LockedMemory, "memlock"),
    (Resource::OpenFiles, "nofile"),
    (Resource::Processes, "nproc"),
    (Resource::Stack, "stack"),
];

fn names() -> String {
    RESOURCES.map(|(_, name)| name).join(", ")
}

/// How a value is written: units and what each multiplies by.
struct Notation {
    units: &'static [(&'static str, u64)],
    expected: &'static str,
}

const BYTES: Notation = Notation {
    units: &[("", 1), ("k", 1 << 10), ("m", 1 << 20), ("g", 1 << 30), ("t", 1 << 40)],
    expected: "bytes, with k, m, g or t for powers of 1024, or unlimited",
};
const COUNT: Notation = Notation { units: &[("", 1)], expected: "a count, or unlimited" };
const SECONDS: Notation = Notation {
    units: &[("", 1), ("s", 1), ("m", 60), ("h", 3600), ("d", 86_400)],
    expected: "whole seconds, or a number with s, m, h or d, or unlimited",
};
const MILLISECONDS: Notation = Notation {
    units: &[("", 1000), ("ms", 1), ("s", 1000), ("m", 60_000), ("h", 3_600_000), ("d", 86_400_000)],
    expected: "seconds, or a number with ms, s, m, h or d",
};
const NICE: &str = "a whole number from -20 to 19";

impl Notation {
    /// The value as a whole number; decimals are understood where they make one.
    fn read(&self, value: &str) -> Option<u64> {
        let digits = value.len() - value.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.').len();
        let (number, unit) = value.split_at(digits);
        let (_, factor) = self.units.iter().find(|(name, _)| name.eq_ignore_ascii_case(unit))?;
        let (whole, decimals) = number.split_once('.').unwrap_or((number, ""));
        let shifted = u128::from(format!("{whole}{decimals}").parse::<u64>().ok()?) * u128::from(*factor);
        let shift = 10u128.checked_pow(u32::try_from(decimals.len()).ok()?)?;
        shifted.is_multiple_of(shift).then_some(shifted / shift)?.try_into().ok()
    }
}

impl Resource {
    /// Its name in text, which is also its name in the shell's documentation and `limits.conf`.
    pub fn name(self) -> &'static str {
        RESOURCES.iter().find(|(resource, _)| *resource == self).map_or("", |(_, name)| name)
    }

    /// The kernel's number for it.
    pub(super) fn number(self) -> u32 {
        let number = match self {
            Resource::AddressSpace => libc::RLIMIT_AS,
            Resource::CoreFile => libc::RLIMIT_CORE,
            Resource::ProcessorTime => libc::RLIMIT_CPU,
            Resource::Data => libc::RLIMIT_DATA,
            Resource::FileSize => libc::RLIMIT_FSIZE,
            Resource::LockedMemory => libc::RLIMIT_MEMLOCK,
            Resource::OpenFiles => libc::RLIMIT_NOFILE,
            Resource::Processes => libc::RLIMIT_NPROC,
            Resource::Stack => libc::RLIMIT_STACK,
        };
        // The C libraries do not agree on the sign of these small numbers.
        i64::from(number) as u32
    }

    fn notation(self) -> &'static Notation {
        match self {
            Resource::ProcessorTime => &SECONDS,
            Resource::OpenFiles | Resource::Processes => &COUNT,
            _ => &BYTES,
        }
    }
}

impl FromStr for Limits {
    type Err = BadLimit;

    fn from_str(text: &str) -> Result<Limits, BadLimit> {
        let mut limits = Limits::default();
        for entry in text.split(',').map(str::trim).filter(|entry| !entry.is_empty()) {
            let (name, value) = entry.split_once('=').ok_or_else(|| BadLimit::NoValue { entry: entry.into() })?;
            limits.read_entry(name.trim(), value.trim())?;
        }
        Ok(limits)
    }
}

impl Limits {
    fn read_entry(&mut self, name: &str, value: &str) -> Result<(), BadLimit> {
        let bad = |expected| BadLimit::Value { name: name.into(), value: value.into(), expected };
        match name {
            "time" => {
                let milliseconds = MILLISECONDS.read(value).ok_or_else(|| bad(MILLISECONDS.expected))?;
                self.time = Some(Duration::from_millis(milliseconds));
            }
            "nice" => {
                let nice = value.parse().ok().filter(|nice| (-20..=19).contains(nice));
                self.nice = Some(nice.ok_or_else(|| bad(NICE))?);
            }
            _ => {
                let unknown = || BadLimit::UnknownName { name: name.into() };
                let (resource, _) = RESOURCES.iter().find(|(_, known)| *known == name).ok_or_else(unknown)?;
                let notation = resource.notation();
                let number = if value == "unlimited" { Some(UNLIMITED) } else { notation.read(value) };
                self.resources.push((*resource, number.ok_or_else(|| bad(notation.expected))?));
            }
        }
        Ok(())
    }
}

impl fmt::Display for Limits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let time = self.time.map(|time| format!("time={}ms", time.as_millis()));
        let nice = self.nice.map(|nice| format!("nice={nice}"));
        let resources = self.resources.iter().map(|(resource, value)| match *value {
            UNLIMITED => format!("{}=unlimited", resource.name()),
            value => format!("{}={value}", resource.name()),
        });
        f.write_str(&time.into_iter().chain(nice).chain(resources).collect::<Vec<_>>().join(","))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn units_are_those_of_the_shell() {
        let limits: Limits = "nofile=1024, cpu=2m, as=2g, time=1s, nice=-3, core=unlimited".parse().unwrap();
        assert_eq!(limits.time, Some(Duration::from_secs(1)));
        assert_eq!(limits.nice, Some(-3));
        let expected = [
            (Resource::OpenFiles, 1024),
            (Resource::ProcessorTime, 120),
            (Resource::AddressSpace, 2 << 30),
            (Resource::CoreFile, u64::MAX),
        ];
        assert_eq!(limits.resources, expected);
    }

    #[test]
    fn what_is_wrong_is_named_with_what_could_stand_there() {
        let message = |text: &str| text.parse::<Limits>().unwrap_err().to_string();
        assert_eq!(message("nofile"), "\"nofile\" is not a limit; write name=value, for example nofile=1024");
        assert_eq!(message("nofile=1k"), "nofile=1k is not understood; write a count, or unlimited");
        assert!(message("files=1").contains("there are time, nice, as, core, cpu"), "{}", message("files=1"));
        for text in
            ["nice=20", "as=-1", "as=99999999t", "time=", "time=.", "time=1.5ms", "time=1.2.3s", "cpu=5ms", "cpu=1.5"]
        {
            assert!(message(text).contains("is not understood"), "{text}");
        }
    }

    #[test]
    fn decimals_are_understood_where_they_make_a_whole_number() {
        let time = |text: &str| text.parse::<Limits>().unwrap().time.unwrap().as_millis();
        let times = ["time=1.5s", "time=0.25", "time=.5m", "time=2.5h", "time=1.000s"].map(time);
        assert_eq!(times, [1500, 250, 30_000, 9_000_000, 1000]);
        let limits: Limits = "as=1.5g,cpu=1.5m".parse().unwrap();
        assert_eq!(limits.resources, [(Resource::AddressSpace, 3 << 29), (Resource::ProcessorTime, 90)]);
    }

    fn any_limits() -> impl Strategy<Value = Limits> {
        let resource = prop::sample::select(RESOURCES.map(|(resource, _)| resource).to_vec());
        let resources = prop::collection::vec((resource, any::<u64>()), 0..5);
        let time = prop::option::of((0..u64::MAX / 1000).prop_map(Duration::from_millis));
        (time, prop::option::of(-20..=19), resources).prop_map(|(time, nice, resources)| Limits {
            time,
            nice,
            resources,
        })
    }

    proptest! {
        #[test]
        fn what_is_displayed_parses_to_the_same(limits in any_limits()) {
            prop_assert_eq!(limits.to_string().parse::<Limits>().unwrap(), limits);
        }

        #[test]
        fn no_text_panics(text in ".*") {
            let _ = text.parse::<Limits>();
        }
    }
}
