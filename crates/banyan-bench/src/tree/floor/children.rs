//! The processes below a process: started, talked to in their order, and ended with whoever started them.

use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use super::order::INTEGER;
use super::process::ROLE;
use super::sums::{self, Inbox, Numbers};

/// How long a child may take for anything. Only a broken machine takes longer.
const PATIENCE: Duration = Duration::from_secs(60);

/// All children of a process.
pub(super) struct Children(Vec<Below>);

/// A child and the socket that is its standard input.
struct Below {
    process: Child,
    stream: UnixStream,
    inbox: Inbox,
}

impl Children {
    /// Starts the first width of children; each starts those below it by the other widths.
    pub(super) fn start(widths: &[u32]) -> io::Result<Children> {
        let mut children = Children(Vec::new());
        let Some((width, below)) = widths.split_first() else { return Ok(children) };
        let program = std::env::current_exe()?;
        for _ in 0..*width {
            let (stream, theirs) = UnixStream::pair()?;
            stream.set_read_timeout(Some(PATIENCE))?;
            stream.set_write_timeout(Some(PATIENCE))?;
            let mut command = Command::new(&program);
            command.arg(ROLE).args(below.iter().map(u32::to_string));
            command.env_clear().stdin(OwnedFd::from(theirs)).stdout(Stdio::null());
            children.0.push(Below { process: command.spawn()?, stream, inbox: Inbox::new() });
        }
        Ok(children)
    }

    /// The same bytes to each.
    pub(super) fn tell(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.0.iter_mut().try_for_each(|child| child.stream.write_all(bytes))
    }

    /// The sum of one integer from each.
    pub(super) fn answers(&mut self) -> io::Result<u64> {
        let mut sum = 0_u64;
        for child in &mut self.0 {
            let mut answer = [0; INTEGER];
            child.stream.read_exact(&mut answer)?;
            sum = sum.wrapping_add(u64::from_ne_bytes(answer));
        }
        Ok(sum)
    }

    /// The sums of so many numbers from each, in order, as they come.
    pub(super) fn sums(
        &mut self,
        numbers: Numbers,
        count: u64,
        piece: usize,
        deliver: impl FnMut(&[u8]) -> io::Result<()>,
    ) -> io::Result<()> {
        let mut each: Vec<_> = self.0.iter_mut().map(|child| (&mut child.stream, &mut child.inbox)).collect();
        sums::sum(numbers, count, piece, &mut each, deliver)
    }
}

impl Drop for Children {
    fn drop(&mut self) {
        for child in &self.0 {
            // A child that is gone already need not be told.
            let _ = child.stream.shutdown(std::net::Shutdown::Write);
        }
        for child in &mut self.0 {
            // Its end of the socket closes when it ends, after all below it. One that does not is killed, and those below
            // it with it: they have asked the kernel for that.
            let _ = io::copy(&mut child.stream, &mut io::sink());
            let _ = child.process.kill();
            let _ = child.process.wait();
        }
    }
}
