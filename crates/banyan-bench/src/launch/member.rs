//! The member that `banyan bench launch` and `banyan bench collectives` start: a program of its own, or the command itself.
//!
//! Without arguments it is a member of a session: it joins, passes a barrier, and then does the collectives that the
//! front-end orders. `floor SOCKET` is the same without any library: connect, say hello, do what single messages say.
//! `wake SOCKET` sleeps until it is woken, answers, and sleeps again. `spawn SORT COUNT SOCKET` is one of the floor's
//! spawners: it starts so many of one of these two and ends. `sink BYTES SOCKET [FILE]` reads so many and forgets them, or
//! writes them to a file. `connect MILLISECONDS HOST PORT` is a ProxyCommand of ssh that waits before it connects.

use std::error::Error;
use std::fs::File;
use std::io::{IoSlice, Read, Write};
use std::mem::MaybeUninit;
use std::net::TcpStream;
use std::os::fd::AsFd;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixStream};
use std::process::{Command, ExitCode, exit};
use std::time::{Duration, Instant};

use banyan_boot::Member;
use bytes::Bytes;
use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};

use super::order::{BROADCAST, DONE, END, HELLO, MESSAGE, PAYLOAD, SCATTER, THROUGH};
use super::woken::sleep_until_woken;

/// The first argument with which the command is a member.
pub(super) const ROLE: &str = "bench-launch-member";

/// Never returns in a process that is the command as a member of these benches. Call it early in `main`.
pub fn become_process_if_asked() {
    // Arguments of others may be anything, and no text.
    if std::env::args_os().nth(1).is_some_and(|role| role == ROLE) {
        let arguments: Vec<String> = std::env::args().skip(2).collect();
        exit(i32::from(!is_done(&[ROLE], &arguments)))
    }
}

/// What the program does that is a member and nothing else.
pub fn be_member() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if is_done(&[], &arguments) { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Does what the arguments say; `role` comes before those of others like it.
fn is_done(role: &[&str], arguments: &[String]) -> bool {
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let worked = match arguments[..] {
        [] => join(),
        ["floor", socket] => floor(socket),
        ["wake", socket] => wake(socket),
        ["spawn", sort, count, socket] => spawn(role, sort, count, socket),
        ["sink", bytes, socket] => sink(bytes, socket, std::io::sink()),
        ["sink", bytes, socket, file] => File::create(file).map_err(Into::into).and_then(|to| sink(bytes, socket, to)),
        ["connect", milliseconds, host, port] => connect(milliseconds, host, port),
        _ => Err("such processes are started by `banyan bench launch`".into()),
    };
    worked.inspect_err(|error| drop(writeln!(std::io::stderr(), "a member of `banyan bench`: {error}"))).is_ok()
}

fn join() -> Result<(), Box<dyn Error>> {
    let mut member = Member::join()?;
    member.barrier()?;
    if member.is_master() {
        member.send_user_data(&[THROUGH][..])?;
    }
    loop {
        let order = if member.is_master() { Some(member.recv_user_data()?) } else { None };
        let order = member.broadcast(order)?;
        // Everyone has heard the order when the clock starts: it is no part of what is measured.
        let [order @ (BROADCAST | SCATTER), rounds] = order[..] else { return Ok(()) };
        member.barrier()?;
        let begin = Instant::now();
        match order {
            BROADCAST => (0..rounds).try_for_each(|_| broadcast(&mut member))?,
            _ => (0..rounds).try_for_each(|_| scatter(&mut member))?,
        }
        let nanoseconds = begin.elapsed().as_nanos() as u64;
        if member.is_master() {
            member.send_user_data(Bytes::copy_from_slice(&nanoseconds.to_le_bytes()))?;
        }
    }
}

fn broadcast(member: &mut Member) -> Result<(), Box<dyn Error>> {
    let bytes = member.broadcast(member.is_master().then_some(&[1; PAYLOAD][..]))?;
    if bytes.len() != PAYLOAD {
        return Err("the broadcast lost bytes".into());
    }
    Ok(member.barrier()?)
}

fn scatter(member: &mut Member) -> Result<(), Box<dyn Error>> {
    let parts = member.is_master().then(|| vec![Bytes::from_static(&[2; PAYLOAD]); member.size() as usize]);
    let part = member.scatter(parts)?;
    match member.gather(part)? {
        Some(parts) if parts.len() != member.size() as usize => Err("the gather lost members".into()),
        _ => Ok(()),
    }
}

fn floor(socket: &str) -> Result<(), Box<dyn Error>> {
    // As members of a session are: on a busy machine the scheduler shares processors between such groups, and the floor
    // would otherwise get one share for all its members.
    let _ = rustix::process::setsid();
    let mut stream = UnixStream::connect_addr(&SocketAddr::from_abstract_name(socket)?)?;
    stream.write_all(&[HELLO])?;
    let mut message = [0; MESSAGE];
    loop {
        stream.read_exact(&mut message[..1])?;
        if message[0] == END {
            return Ok(());
        }
        stream.read_exact(&mut message[1..])?;
        match message[0] {
            BROADCAST => {
                stream.write_all(&[DONE])?;
                stream.read_exact(&mut [0])?;
            }
            _ => stream.write_all(&message[1..])?,
        }
    }
}

fn wake(socket: &str) -> Result<(), Box<dyn Error>> {
    // As members of a session are.
    let _ = rustix::process::setsid();
    let starter = UnixStream::connect_addr(&SocketAddr::from_abstract_name(socket)?)?;
    Ok(sleep_until_woken(starter)?)
}

fn spawn(role: &[&str], sort: &str, count: &str, socket: &str) -> Result<(), Box<dyn Error>> {
    let member = std::env::current_exe()?;
    for _ in 0..count.parse::<u32>()? {
        // The children are not waited for: they outlive the spawner, and whoever started it reaps nothing of them.
        drop(Command::new(&member).args(role).args([sort, socket]).env_clear().spawn()?);
    }
    Ok(())
}

fn sink(bytes: &str, socket: &str, mut to: impl Write) -> Result<(), Box<dyn Error>> {
    let mut stream = UnixStream::connect_addr(&SocketAddr::from_abstract_name(socket)?)?;
    stream.write_all(&[HELLO])?;
    let mut buffer = vec![0; 128 * 1024];
    let mut left: usize = bytes.parse()?;
    while left > 0 {
        match stream.read(&mut buffer)? {
            0 => return Err("the bytes ended early".into()),
            count => {
                to.write_all(&buffer[..count])?;
                left = left.saturating_sub(count);
            }
        }
    }
    Ok(stream.write_all(&[DONE])?)
}

/// Waits, connects, and hands the connection over to ssh (`ProxyUseFdpass`): it costs nothing but the time.
fn connect(milliseconds: &str, host: &str, port: &str) -> Result<(), Box<dyn Error>> {
    std::thread::sleep(Duration::from_millis(milliseconds.parse()?));
    let stream = TcpStream::connect((host, port.parse()?))?;
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    let descriptors = [stream.as_fd()];
    control.push(SendAncillaryMessage::ScmRights(&descriptors));
    sendmsg(std::io::stdout(), &[IoSlice::new(&[0])], &mut control, SendFlags::empty())?;
    Ok(())
}
