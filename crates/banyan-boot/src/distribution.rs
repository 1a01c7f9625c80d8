//! What to start, and where: process distributions over host distributions.

use std::ffi::OsString;
use std::path::PathBuf;

use crate::process::Limits;

/// One image of a session: which program runs, how, and on which hosts.
///
/// A launch takes several, so that one session can hold several programs. Ranks are given in the order of the
/// distributions, of their hosts, and of the processes on each host.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct ProcessDistribution {
    /// The program. A name without `/` is looked up in `PATH` on each host. `None`: these members are started by
    /// someone else and join with the session's [ticket](crate::Ticket).
    pub exe: Option<PathBuf>,
    /// Its arguments, without the name of the program.
    pub args: Vec<OsString>,
    /// Variables to set, or with `None` to remove, in the environment the agent has.
    pub env: Vec<(OsString, Option<OsString>)>,
    /// Its working directory; the agent's own if `None`.
    pub cwd: Option<PathBuf>,
    /// How many processes on which host.
    pub hosts: Vec<HostDistribution>,
    /// Where its standard streams lead.
    pub stdio: Stdio,
    /// What each of its processes may use.
    pub limits: Limits,
    /// Whether it is started without the descriptors by which members [join](crate::Member::join). In a session with an
    /// [extension](crate::AgentExtension) all members have them.
    pub plain: bool,
}

impl ProcessDistribution {
    /// A program with arguments, on no host yet.
    pub fn new<A: Into<OsString>>(exe: impl Into<PathBuf>, args: impl IntoIterator<Item = A>) -> ProcessDistribution {
        let args = args.into_iter().map(Into::into).collect();
        ProcessDistribution { exe: Some(exe.into()), args, ..ProcessDistribution::default() }
    }

    /// Members that someone else starts.
    pub fn attached() -> ProcessDistribution {
        ProcessDistribution::default()
    }

    /// The same with so many processes on this host.
    #[must_use]
    pub fn on(mut self, host: impl Into<String>, processes: u32) -> ProcessDistribution {
        self.hosts.push(HostDistribution { host: host.into(), processes });
        self
    }

    /// The same with a variable set.
    #[must_use]
    pub fn env(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> ProcessDistribution {
        self.env.push((name.into(), Some(value.into())));
        self
    }

    /// The same in this working directory.
    #[must_use]
    pub fn cwd(mut self, cwd: impl Into<PathBuf>) -> ProcessDistribution {
        self.cwd = Some(cwd.into());
        self
    }

    /// The same with these limits for each process.
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> ProcessDistribution {
        self.limits = limits;
        self
    }

    /// The same, and this happens to what it writes.
    #[must_use]
    pub fn output(mut self, output: Output) -> ProcessDistribution {
        self.stdio.output = output;
        self
    }

    /// The same, for a program that knows nothing of Banyan: it inherits its standard streams and no other descriptor, and cannot
    /// join the session.
    #[must_use]
    pub fn plain(mut self) -> ProcessDistribution {
        self.plain = true;
        self
    }

    /// The same with other standard streams.
    #[must_use]
    pub fn stdio(mut self, stdio: Stdio) -> ProcessDistribution {
        self.stdio = stdio;
        self
    }
}

/// How many processes run on a host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostDistribution {
    /// The host's name, as the launcher knows it.
    pub host: String,
    /// Number of processes.
    pub processes: u32,
}

/// Where standard streams lead.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Stdio {
    /// Who gets what the front-end writes with [`Session::write_input`](crate::Session::write_input).
    pub input: Input,
    /// What happens to output and errors.
    pub output: Output,
}

banyan_ndr::setters!(Stdio { input: Input, output: Output });

/// Who gets standard input.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Input {
    /// Nobody: it is empty.
    #[default]
    Nobody,
    /// Member 0 alone.
    Master,
    /// Every member gets all of it.
    Everyone,
}

/// What happens to standard output and errors.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Output {
    /// They are written to the front-end's standard error by line, each behind the rank and the host of its member.
    #[default]
    Pass,
    /// They come to the front-end by line, as [events](crate::Event::Output). While it does not take them, members that write
    /// wait.
    Forward,
    /// They are thrown away.
    Discard,
}
