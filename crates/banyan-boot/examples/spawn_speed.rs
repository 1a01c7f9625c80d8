//! How long it takes to start a process: this crate's spawner beside the standard library's `Command`, `posix_spawn`
//! and `fork` with `execve`, from a process with few and with many open descriptors.
//!
//! `cargo run --release -p banyan-boot --example spawn_speed [members]`. The children are `/bin/true` (dynamic) and,
//! if the target `x86_64-unknown-linux-musl` is installed, an empty program linked statically.
//!
//! The rivals do less than the spawner: they bind no child to its parent's life and reset no signals, and only one
//! makes a session for each child, as the spawner does. On a busy machine the order of the first rows is chance.
//!
//! For each way: µs of the call that starts a child, and µs a child until all have ended and are reaped.

#![expect(clippy::print_stdout, reason = "its purpose")]

use std::ffi::{CString, OsString, c_char, c_short};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::ptr;
use std::time::{Duration, Instant};

use banyan_boot::process::{ChildDescriptors, Command, Spawner};
use rustix::process::{Pid, WaitOptions};

/// Children of one measurement; below any usual limit of processes.
const MEMBERS: usize = 500;

/// Measurements of each way; the fastest counts.
const ROUNDS: usize = 5;

/// Descriptors the parent holds besides its own.
const DESCRIPTORS: [usize; 2] = [10, 10_000];

type Start<'a> = &'a mut dyn FnMut() -> io::Result<Pid>;

fn main() -> io::Result<()> {
    let members = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(MEMBERS);
    let mut spawner = Spawner::new()?;
    let mut copying = Spawner::copying_the_table()?;
    let null = File::options().read(true).write(true).open("/dev/null")?;
    let folder = std::env::temp_dir().join(format!("spawn_speed.{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    let mut programs = vec![PathBuf::from("/bin/true")];
    programs.extend(build_static(&folder));
    println!("{members} children, fastest of {ROUNDS}; µs each: the call, and until all have ended");
    for program in &programs {
        for descriptors in DESCRIPTORS {
            let _held: Vec<_> = (0..descriptors).map(|_| null.try_clone()).collect::<Result<_, _>>()?;
            println!("\n{} with {descriptors} descriptors", name(program));
            measure_all(program, members, &null, &mut spawner, &mut copying)?;
        }
    }
    std::fs::remove_dir_all(&folder)
}

fn name(program: &Path) -> &str {
    if program.starts_with("/bin") { "/bin/true (dynamic)" } else { "an empty program (static, musl)" }
}

fn measure_all(
    program: &Path,
    members: usize,
    null: &File,
    spawner: &mut Spawner,
    copying: &mut Spawner,
) -> io::Result<()> {
    let command = Command::new(program, [""; 0], std::env::vars_os(), None).map_err(io::Error::other)?;
    let raw = Raw::new(program, null);
    let mut ways: [(&str, Start<'_>); 6] = [
        ("std::process::Command", &mut || with_command(program)),
        ("fork and execve", &mut || raw.fork()),
        ("posix_spawn", &mut || raw.posix_spawn(0)),
        ("posix_spawn, setsid", &mut || raw.posix_spawn(libc::POSIX_SPAWN_SETSID)),
        ("Spawner, table copied", &mut || with_spawner(copying, &command, null)),
        ("Spawner", &mut || with_spawner(spawner, &command, null)),
    ];
    let mut best = [(Duration::MAX, Duration::MAX); 6];
    for _ in 0..ROUNDS {
        for ((_, start), best) in ways.iter_mut().zip(&mut best) {
            let (call, end) = measure(members, start)?;
            *best = (best.0.min(call), best.1.min(end));
        }
    }
    let micros = |time: Duration| time.as_secs_f64() * 1e6 / members as f64;
    let (ours_call, ours_end) = best[5];
    for ((name, _), (call, end)) in ways.iter().zip(best) {
        let (ratio_call, ratio_end) = (micros(call) / micros(ours_call), micros(end) / micros(ours_end));
        println!("  {name:24} {:7.1} ({ratio_call:4.2} x) {:7.1} ({ratio_end:4.2} x)", micros(call), micros(end));
    }
    Ok(())
}

fn measure(members: usize, start: Start<'_>) -> io::Result<(Duration, Duration)> {
    let begin = Instant::now();
    let started: Vec<Pid> = (0..members).map(|_| start()).collect::<Result<_, _>>()?;
    let call = begin.elapsed();
    for pid in started {
        rustix::process::waitpid(Some(pid), WaitOptions::empty())?;
    }
    Ok((call, begin.elapsed()))
}

fn with_spawner(spawner: &mut Spawner, command: &Command, null: &File) -> io::Result<Pid> {
    let null = null.as_fd();
    let descriptors = ChildDescriptors { stdin: null, stdout: null, stderr: null, control: None, extension: None };
    Ok(spawner.spawn(command, descriptors).map_err(io::Error::other)?.pid)
}

fn with_command(program: &Path) -> io::Result<Pid> {
    let mut command = std::process::Command::new(program);
    let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
    Ok(Pid::from_child(&child))
}

/// What C programs do.
struct Raw {
    program: CString,
    environment: Vec<CString>,
    null: i32,
}

impl Raw {
    fn new(program: &Path, null: &File) -> Raw {
        let entry = |(name, value): (OsString, OsString)| [name.as_bytes(), b"=", value.as_bytes()].concat();
        let environment = std::env::vars_os().map(|pair| CString::new(entry(pair)).unwrap()).collect();
        let program = CString::new(program.as_os_str().to_owned().into_vec()).unwrap();
        Raw { program, environment, null: null.as_raw_fd() }
    }

    fn environment(&self) -> Vec<*const c_char> {
        self.environment.iter().map(|entry| entry.as_ptr()).chain([ptr::null()]).collect()
    }

    fn fork(&self) -> io::Result<Pid> {
        let (environment, arguments) = (self.environment(), [self.program.as_ptr(), ptr::null()]);
        // SAFETY: this program has one thread, and the child calls nothing but what is safe after `fork`; the arrays
        // end with a zero.
        let pid = unsafe { libc::fork() };
        if pid == 0 {
            // SAFETY: as above.
            unsafe {
                (0..3).for_each(|place| _ = libc::dup2(self.null, place));
                libc::execve(self.program.as_ptr(), arguments.as_ptr(), environment.as_ptr());
                libc::_exit(127);
            }
        }
        Pid::from_raw(pid).filter(|_| pid > 0).ok_or_else(io::Error::last_os_error)
    }

    fn posix_spawn(&self, flags: c_short) -> io::Result<Pid> {
        let (environment, arguments) = (self.environment(), [self.program.as_ptr().cast_mut(), ptr::null_mut()]);
        let mut pid = 0;
        // SAFETY: actions and attributes are initialized before they are used and destroyed afterwards; the arrays end
        // with a zero and are not written to.
        let result = unsafe {
            let mut actions = std::mem::zeroed();
            libc::posix_spawn_file_actions_init(&raw mut actions);
            (0..3).for_each(|place| _ = libc::posix_spawn_file_actions_adddup2(&raw mut actions, self.null, place));
            let mut attributes = std::mem::zeroed();
            libc::posix_spawnattr_init(&raw mut attributes);
            libc::posix_spawnattr_setflags(&raw mut attributes, flags);
            let (path, environment) = (self.program.as_ptr(), environment.as_ptr().cast());
            let result = libc::posix_spawn(
                &raw mut pid,
                path,
                &raw const actions,
                &raw const attributes,
                arguments.as_ptr(),
                environment,
            );
            libc::posix_spawnattr_destroy(&raw mut attributes);
            libc::posix_spawn_file_actions_destroy(&raw mut actions);
            result
        };
        if result != 0 {
            return Err(io::Error::from_raw_os_error(result));
        }
        Pid::from_raw(pid).ok_or_else(|| io::ErrorKind::InvalidData.into())
    }
}

/// An empty program that needs no dynamic loader, if the target for it is installed.
fn build_static(folder: &Path) -> Option<PathBuf> {
    let (source, program) = (folder.join("empty.rs"), folder.join("empty"));
    std::fs::write(&source, "fn main() {}\n").ok()?;
    let mut rustc = std::process::Command::new("rustc");
    rustc.args(["--target", "x86_64-unknown-linux-musl", "-O", "-o"]).arg(&program).arg(&source);
    let built = rustc.stderr(Stdio::null()).status().is_ok_and(|status| status.success());
    built.then_some(program)
}
