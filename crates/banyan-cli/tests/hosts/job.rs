//! Processes of a parallel job that a test has started, ended with it.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::sync_channel;
use std::time::{Duration, Instant};

use crate::file;

/// A time after which a test has failed; nothing takes a tenth of it.
pub(crate) const PATIENCE: Duration = Duration::from_secs(120);

/// What was started on this machine for the job: its launcher, or one ssh a rank.
pub(crate) struct Job(pub(crate) Vec<Child>);

impl Job {
    /// Starts commands, and waits until each has said that it is ready as often as told.
    pub(crate) fn start(commands: impl Iterator<Item = Command>, times: usize) -> Job {
        let mut job = Job(Vec::new());
        for mut command in commands {
            command.stdin(Stdio::piped()).stdout(Stdio::piped());
            job.0.push(command.spawn().expect("a program that is there"));
        }
        let deadline = Instant::now() + PATIENCE;
        for child in &mut job.0 {
            let lines = BufReader::new(child.stdout.take().expect("a pipe")).lines().map_while(Result::ok);
            let (counted, count) = sync_channel(1);
            std::thread::spawn(move || counted.send(lines.filter(|line| line == "ready").take(times).count()));
            // The job ends with what is thrown here, and the thread with the job.
            let left = deadline.saturating_duration_since(Instant::now());
            assert_eq!(count.recv_timeout(left), Ok(times), "it ended, or does not begin");
        }
        job
    }

    /// One rank on each of these hosts, by ssh; one of them hangs.
    pub(crate) fn over_ssh(program: &Path, hosts: &[String], hanging: usize) -> Job {
        let command = |(rank, host): (usize, &String)| {
            let mut ssh = Command::new("ssh");
            ssh.args(["-F", &file("ssh_config"), host, &format!("PMI_RANK={rank}")]);
            ssh.arg(program).args([rank.to_string(), hanging.to_string()]);
            ssh
        };
        Job::start(hosts.iter().enumerate().map(command), 1)
    }

    /// One rank on each of the eight nodes, by Slurm, which is told this name; one of them hangs. Also the job's number.
    pub(crate) fn by_slurm(program: &Path, name: &str, hanging: usize) -> (Job, String) {
        let mut srun = Command::new("srun");
        let line = format!("exec {} $SLURM_PROCID {hanging}", program.display());
        srun.args(["-N8", "-n8", "-J", name, "sh", "-c", &line]).env("SLURM_CONF", file("slurm.conf"));
        let job = Job::start([srun].into_iter(), 8);
        let mut squeue = Command::new("squeue");
        squeue.args(["--noheader", "--format=%i", &format!("--name={name}")]).env("SLURM_CONF", file("slurm.conf"));
        let number = String::from_utf8_lossy(&squeue.output().expect("Slurm").stdout).trim().to_owned();
        (job, number)
    }
}

impl Drop for Job {
    fn drop(&mut self) {
        for child in &mut self.0 {
            // Ranks end with their input; launchers end their ranks when they are asked to end.
            drop(child.stdin.take());
            let _ = Command::new("kill").args(["-s", "TERM", &child.id().to_string()]).status();
        }
        let deadline = Instant::now() + PATIENCE;
        for child in &mut self.0 {
            while Instant::now() < deadline && child.try_wait().is_ok_and(|ended| ended.is_none()) {
                std::thread::park_timeout(Duration::from_millis(5));
            }
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// The program of the tests of `banyan-stack`: ranks that wait, one of them elsewhere.
pub(crate) fn ranks_program(into: &Path) -> PathBuf {
    compiled("cc", &Path::new(env!("CARGO_MANIFEST_DIR")).join("../banyan-stack/tests/programs/ranks.c"), into)
}

/// Compiles a program of a parallel job with this compiler, where all hosts see it.
pub(crate) fn compiled(compiler: &str, source: &Path, into: &Path) -> PathBuf {
    let path = into.join(source.file_stem().expect("a name"));
    let done = Command::new(compiler).args(["-O2", "-pthread", "-o"]).arg(&path).arg(source).status();
    assert!(done.expect("a compiler").success());
    path
}

/// Looks until what is seen is what is waited for.
pub(crate) fn until<T: std::fmt::Debug>(take: impl Fn() -> T, is_so: impl Fn(&T) -> bool) -> T {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let seen = take();
        if is_so(&seen) {
            return seen;
        }
        assert!(Instant::now() < deadline, "{seen:?}");
        std::thread::park_timeout(Duration::from_millis(20));
    }
}
