//! A place of the tests' own: a network and a `/dev/shm` in which everything there is comes from them. So whatever they leave
//! there is found, whoever holds it. It takes rights that not everyone has; without them tests run where they are.

use std::fs;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Set inside.
const INSIDE: &str = "BANYAN_TEST_PLACE";

/// Makes the place and becomes a command there. Beside the loopback it has an interface as machines have, with an address for
/// documentation (RFC 5737): some programs, among them `mpirun`, need one.
const MAKE: &str = "mount -t tmpfs tests /dev/shm && ip link set lo up && ip link add name near type veth peer name far && \
                    ip address add 192.0.2.1/24 dev near && ip link set near up && ip link set far up && exec \"$@\"";

/// The state of a TCP connection that has ended but for late packets, in the kernel's tables.
const TIME_WAIT: &str = "06";

/// Between two looks: the kernel has no event for "the last of these is gone".
const LOOK: Duration = Duration::from_millis(20);

fn inside(program: impl AsRef<std::ffi::OsStr>) -> Command {
    let mut command = Command::new("unshare");
    command.args(["--net", "--mount", "sh", "-c", MAKE, "sh"]).arg(program).env(INSIDE, "1");
    command
}

fn is_inside() -> bool {
    std::env::var_os(INSIDE).is_some()
}

/// Makes such a place and starts this program there anew, unless it is there already or that cannot be.
pub(crate) fn enter() {
    let is_possible =
        || inside("true").stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok_and(|it| it.success());
    if let Ok(this) = std::env::current_exe()
        && !is_inside()
        && is_possible()
    {
        let error = inside(this).args(std::env::args_os().skip(1)).exec();
        panic!("the tests cannot go on in a place of their own: {error}");
    }
}

/// Sockets and shared memory that are still there at the deadline; nothing if this is no place of our own.
pub(crate) fn left(deadline: Instant) -> Vec<String> {
    loop {
        let found = if is_inside() { look() } else { Vec::new() };
        if found.is_empty() || Instant::now() >= deadline {
            return found;
        }
        std::thread::park_timeout(LOOK);
    }
}

fn look() -> Vec<String> {
    let table = |name: &str| fs::read_to_string(format!("/proc/net/{name}")).unwrap_or_default();
    let rows = |name: &str| table(name).lines().skip(1).map(|row| format!("{name} {}", row.trim())).collect::<Vec<_>>();
    let has_ended = |row: &String| row.split_whitespace().nth(4) == Some(TIME_WAIT);
    let tcp = ["tcp", "tcp6"].into_iter().flat_map(rows).filter(|row| !has_ended(row));
    let files = fs::read_dir("/dev/shm").into_iter().flatten().flatten().map(|file| file.path().display().to_string());
    tcp.chain(rows("unix")).chain(files).collect()
}
