//! Members as they really are: what they see of descriptors, signals, environment and limits, how they end, and what
//! is said when they cannot be started. All of it for both ways in which the spawner makes a process.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::{Duration, Instant};

use banyan_boot::process::{
    Child, ChildDescriptors, Command, ExitState, LineEnd, MAX_LINE, SpawnError, SpawnStage, Spawner, Stream,
    StreamState, end_members, output_pipe, signal_group,
};
use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::process::Signal;

const PATH: &str = "/usr/bin:/bin";

/// Nothing here takes a tenth of it.
const DEADLINE: Duration = Duration::from_secs(60);

fn all_ways() -> [Spawner; 3] {
    let mut settled = Spawner::new().unwrap();
    settled.remember_signals();
    [Spawner::new().unwrap(), Spawner::copying_the_table().unwrap(), settled]
}

/// What a test starts, in the environment and the directory that most of them need.
fn asked(program: impl AsRef<OsStr>, arguments: &[&str], path: &str, directory: Option<&Path>) -> Asked {
    Command::new(program, arguments, [("PATH".into(), path.into())], directory)
}

type Asked = Result<Command, SpawnError>;

fn command(program: &str, arguments: &[&str]) -> Asked {
    asked(program, arguments, PATH, None)
}

fn limited(limits: &str, command: Asked) -> Asked {
    command.map(|mut command| {
        command.limits = limits.parse().unwrap();
        command
    })
}

fn shell(script: &str) -> Asked {
    command("sh", &["-c", script])
}

fn spawn(spawner: &mut Spawner, command: &Command, output: &OwnedFd) -> Result<Child, SpawnError> {
    let null = File::open("/dev/null").unwrap();
    let descriptors = ChildDescriptors {
        stdin: null.as_fd(),
        stdout: output.as_fd(),
        stderr: output.as_fd(),
        control: None,
        extension: None,
    };
    spawner.spawn(command, descriptors)
}

/// Waits until something can be read from the descriptor, or it is closed, or, of a pidfd, the process has ended.
fn wait_for(descriptor: impl AsFd) {
    let timeout = Timespec::try_from(DEADLINE).unwrap();
    let ready = rustix::event::poll(&mut [PollFd::new(&descriptor, PollFlags::IN)], Some(&timeout)).unwrap();
    assert_eq!(ready, 1, "nothing happened within {DEADLINE:?}");
}

fn end_of(child: &Child) -> ExitState {
    wait_for(&child.pidfd);
    ExitState::take(child.pidfd.as_fd()).unwrap().expect("it has ended")
}

fn read_all(pipe: OwnedFd) -> String {
    let (mut text, mut buffer, mut stream) = (String::new(), Vec::new(), Stream::new(pipe, MAX_LINE));
    let mut keep = |line: banyan_boot::process::Line<'_>| {
        text.push_str(&String::from_utf8_lossy(line.bytes));
        text.push_str(if line.end == LineEnd::Newline { "\n" } else { "" });
    };
    loop {
        wait_for(&stream);
        if stream.read(&mut buffer, &mut keep).unwrap() == StreamState::Ended {
            return text;
        }
    }
}

/// What a command writes, and how it ends.
fn run(spawner: &mut Spawner, command: Asked) -> (String, ExitState) {
    let (ours, members) = output_pipe().unwrap();
    let child = spawn(spawner, &command.unwrap(), &members).unwrap();
    drop(members);
    (read_all(ours), end_of(&child))
}

fn output(spawner: &mut Spawner, command: Asked) -> String {
    let (text, state) = run(spawner, command);
    assert!(state.is_success(), "{state}: {text}");
    text
}

/// Why a command cannot be started.
fn refusal(command: Asked) -> SpawnError {
    let (_ours, members) = output_pipe().unwrap();
    let command = match command {
        Ok(command) => command,
        Err(error) => return error,
    };
    let [shared, copied, _] = &mut all_ways();
    let error = spawn(shared, &command, &members).unwrap_err();
    let other = spawn(copied, &command, &members).unwrap_err();
    assert_eq!((error.step, error.to_string()), (other.step, other.to_string()));
    error
}

fn assert_refused(command: Asked, step: SpawnStage, words: &[&str]) {
    let error = refusal(command);
    let message = error.to_string();
    assert_eq!(error.step, step, "{message}");
    assert!(words.iter().all(|word| message.contains(word)), "{message} lacks one of {words:?}");
}

fn write_program(path: &Path, text: &str, mode: u32) -> OsString {
    fs::write(path, text).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    path.as_os_str().to_owned()
}

#[test]
fn the_kernel_of_this_host_allows_the_fast_way() {
    assert!(Spawner::new().unwrap().shares_the_table());
    assert!(!Spawner::copying_the_table().unwrap().shares_the_table());
}

#[test]
fn what_cannot_be_executed_is_named_with_cause_and_remedy() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name);
    let executable = |path: OsString| asked(path, &[], PATH, None);

    assert_refused(
        command("no-such-program", &[]),
        SpawnStage::Find,
        &["not found in PATH (/usr/bin:/bin)", "install"],
    );
    assert_refused(command("/no/such/program", &[]), SpawnStage::Execute, &["/no/such/program does not exist"]);
    assert_refused(command("/usr/bin/", &[]), SpawnStage::Execute, &["is a directory"]);
    let plain = write_program(&file("plain"), "#!/bin/sh\n", 0o644);
    assert_refused(executable(plain), SpawnStage::Execute, &["may not be executed", "chmod +x"]);
    let script = write_program(&file("script"), "#!/no/interpreter -x\n", 0o755);
    assert_refused(executable(script), SpawnStage::Execute, &["needs the interpreter /no/interpreter", "install it"]);
    let garbage = write_program(&file("garbage"), "\x7fELF?", 0o755);
    assert_refused(executable(garbage), SpawnStage::Execute, &["is no program for this machine"]);
    let in_path = asked("plain", &[], folder.path().to_str().unwrap(), None);
    assert_refused(in_path, SpawnStage::Find, &["plain may not be executed; chmod +x it"]);
}

#[test]
fn a_missing_directory_and_a_bad_limit_are_named() {
    let lost = asked("true", &[], PATH, Some(Path::new("/no/such/folder")));
    assert_refused(lost, SpawnStage::Directory, &["/no/such/folder", "create it on this host"]);
    let argument = command("true", &["a\0b"]);
    assert_refused(argument, SpawnStage::Prepare, &["zero byte"]);
    let variable = Command::new("/bin/true", [""; 0], [("A=B".into(), "".into())], None);
    assert_refused(variable, SpawnStage::Prepare, &["cannot name a variable"]);
    // More descriptors than the kernel lets anybody have.
    let limit = limited("nofile=99999999999", command("true", &[]));
    assert_refused(limit, SpawnStage::Limits, &["nofile=99999999999", "hard limit"]);
    let long = command("true", &[&"x".repeat(1 << 20)]);
    assert_refused(long, SpawnStage::Execute, &["too long"]);
}

#[test]
fn a_failed_start_leaves_no_process_and_no_descriptor() {
    let open = || fs::read_dir("/proc/self/fd").unwrap().count();
    let mut spawner = Spawner::new().unwrap();
    let (_ours, members) = output_pipe().unwrap();
    let command = command("/no/such/program", &[]).unwrap();
    // Other tests open and close descriptors meanwhile; 1,000 leaks could not hide behind them.
    let before = open();
    for _ in 0..1000 {
        spawn(&mut spawner, &command, &members).unwrap_err();
    }
    assert!(open() < before + 500);
}

#[test]
fn a_member_has_its_own_environment_and_directory_and_nothing_of_ours() {
    for mut spawner in all_ways() {
        let folder = tempfile::tempdir().unwrap();
        let environment = [("PATH".into(), PATH.into()), ("COLOUR".into(), "green".into())];
        let directory = folder.path().canonicalize().unwrap();
        let (text, _) = run(&mut spawner, Command::new("sh", ["-c", "pwd; env"], environment, Some(&directory)));
        let mut lines: Vec<&str> = text.lines().collect();
        lines.retain(|line| !line.starts_with("PWD=") && !line.starts_with("_=") && !line.starts_with("SHLVL="));
        lines.sort_unstable();
        assert_eq!(lines, [directory.to_str().unwrap(), "COLOUR=green", "PATH=/usr/bin:/bin"]);
    }
}

#[test]
fn a_variable_can_differ_from_member_to_member() {
    let mut spawner = Spawner::new().unwrap();
    let mut command = shell("echo $RANK $RANKING").unwrap();
    command.set_variable("RANKING", "kept").unwrap();
    for rank in 0..3 {
        command.set_variable("RANK", rank.to_string()).unwrap();
        let (ours, members) = output_pipe().unwrap();
        let child = spawn(&mut spawner, &command, &members).unwrap();
        drop(members);
        assert_eq!(read_all(ours), format!("{rank} kept\n"));
        assert!(end_of(&child).is_success());
    }
}

#[test]
fn a_program_beside_its_working_directory_is_found_from_there() {
    let folder = tempfile::tempdir().unwrap();
    write_program(&folder.path().join("here"), "#!/bin/sh\necho found\n", 0o755);
    for mut spawner in all_ways() {
        assert_eq!(output(&mut spawner, asked("./here", &[], PATH, Some(folder.path()))), "found\n");
        assert_eq!(output(&mut spawner, asked("here", &[], "bin:.", Some(folder.path()))), "found\n");
    }
}

#[test]
fn a_member_inherits_no_descriptor_but_its_own() {
    // Without close-on-exec, as careless libraries open them.
    let careless: Vec<OwnedFd> = (0..50).map(|_| rustix::io::dup(File::open("/dev/null").unwrap()).unwrap()).collect();
    let mut spawner = Spawner::new().unwrap();
    let list = || command("ls", &["/proc/self/fd"]);
    // The highest is the directory that is being listed.
    assert_eq!(output(&mut spawner, list()), "0\n1\n2\n3\n");
    drop(careless);
}

#[test]
fn a_member_speaks_through_the_descriptors_it_was_given() {
    for mut spawner in all_ways() {
        let (ours, members) = output_pipe().unwrap();
        let null = File::open("/dev/null").unwrap();
        let command = shell("echo through three >&3; echo four >&4").unwrap();
        let control = Some(members.as_fd());
        let (stdin, stdout, stderr) = (null.as_fd(), null.as_fd(), null.as_fd());
        let extension = control;
        let descriptors = ChildDescriptors { stdin, stdout, stderr, control, extension };
        let child = spawner.spawn(&command, descriptors).unwrap();
        drop(members);
        // That the pipe ends at all shows that the spawner keeps nothing of it open.
        assert_eq!(read_all(ours), "through three\nfour\n");
        assert!(end_of(&child).is_success());
    }
}

#[test]
fn a_member_leads_its_session_with_default_signals() {
    // Rust ignores SIGPIPE in this process, and whoever started it may ignore others; a member must not. The member is no
    // shell: shells block signals themselves for a moment whenever they start a command.
    for mut spawner in all_ways() {
        let text = output(&mut spawner, command("grep", &["-E", "Sig(Blk|Ign):", "/proc/self/status"]));
        assert_eq!(text, "SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n");
        let text = output(&mut spawner, shell("cut -d' ' -f5,6 /proc/$$/stat; echo $$ $$"));
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], lines[1], "group and session are not its own: {text}");
    }
}

#[test]
fn limits_are_applied() {
    for mut spawner in all_ways() {
        let asked = limited("nofile=77,core=0,cpu=5,nice=7", shell("ulimit -n; ulimit -c; ulimit -t; nice"));
        assert_eq!(output(&mut spawner, asked), "77\n0\n5\n7\n");
    }
}

#[test]
fn how_a_member_ended_is_known() {
    for mut spawner in all_ways() {
        assert_eq!(run(&mut spawner, shell("exit 7")).1, ExitState::Exited(7));
        let killed = run(&mut spawner, shell("kill -9 $$")).1;
        assert_eq!(killed.to_string(), "killed by signal 9 (SIGKILL)");
        let busy = run(&mut spawner, limited("cpu=1,core=0", shell("while :; do :; done"))).1;
        assert_eq!(busy.to_string(), "killed by signal 24 (SIGXCPU)");
    }
}

#[test]
fn five_hundred_members_that_end_at_once_are_all_accounted_for() {
    let mut spawner = Spawner::new().unwrap();
    let (_ours, members) = output_pipe().unwrap();
    let command = command("true", &[]).unwrap();
    let children: Vec<Child> = (0..500).map(|_| spawn(&mut spawner, &command, &members).unwrap()).collect();
    assert!(children.iter().all(|child| end_of(child).is_success()));
}

#[test]
fn a_member_dies_with_the_thread_that_started_it() {
    let (ours, members) = output_pipe().unwrap();
    let child = std::thread::spawn(move || {
        let command = command("sleep", &["1000"]).unwrap();
        spawn(&mut Spawner::new().unwrap(), &command, &members).unwrap()
    });
    let child = child.join().unwrap();
    assert_eq!(end_of(&child), ExitState::Signalled { signal: 9, core_dumped: false });
    assert_eq!(read_all(ours), "");
}

#[test]
fn ending_members_is_polite_first_and_reaches_their_groups() {
    let mut spawner = Spawner::new().unwrap();
    let scripts = [
        "trap 'exit 5' TERM; echo ready; while :; do sleep 1000 & wait; done",
        "trap '' TERM; echo ready; sleep 1000; sleep 1000",
        "echo ready; sleep 1000 & exit 3",
    ];
    let started = scripts.map(|script| {
        let (ours, members) = output_pipe().unwrap();
        (spawn(&mut spawner, &shell(script).unwrap(), &members).unwrap(), ours)
    });
    let (children, pipes): (Vec<Child>, Vec<OwnedFd>) = started.into_iter().unzip();
    pipes.iter().for_each(wait_for);
    wait_for(&children[2].pidfd);
    let begin = Instant::now();
    let states = end_members(&children, Duration::from_millis(300));
    assert!(begin.elapsed() < DEADLINE);
    let killed = ExitState::Signalled { signal: 9, core_dumped: false };
    assert_eq!(states, [ExitState::Exited(5), killed, ExitState::Exited(3)]);
    // Every process that could write has ended.
    pipes.into_iter().for_each(|pipe| assert_eq!(read_all(pipe), "ready\n"));
    // The ids may belong to others now.
    assert!(children.iter().all(|child| !signal_group(child, Signal::KILL).unwrap()));
}
