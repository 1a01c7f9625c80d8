//! The member that `banyan bench launch` and `banyan bench collectives` start.
//!
//! Without arguments it is a member of a session: it joins, passes a barrier, and then does the collectives that the
//! front-end orders. `floor SOCKET` is the same without any library: connect, say hello, do what single messages say.
//! `spawn COUNT SOCKET` is one of the floor's spawners: it starts so many of the latter and ends.

#![forbid(unsafe_code)]

use std::error::Error;
use std::io::{Read, Write};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixStream};
use std::process::{Command, ExitCode};

use banyan_bench::launch::order::{BROADCAST, DONE, END, HELLO, MESSAGE, PAYLOAD, SCATTER, THROUGH};
use banyan_boot::{Member, become_agent_if_asked};
use bytes::Bytes;

fn main() -> ExitCode {
    become_agent_if_asked();
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let worked = match arguments[..] {
        [] => join(),
        ["floor", socket] => floor(socket),
        ["spawn", count, socket] => spawn(count, socket),
        _ => Err("this program is started by `banyan bench launch`".into()),
    };
    match worked {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(std::io::stderr(), "banyan-bench-member: {error}");
            ExitCode::FAILURE
        }
    }
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
        match order[..] {
            [BROADCAST, rounds] => (0..rounds).try_for_each(|_| broadcast(&mut member))?,
            [SCATTER, rounds] => (0..rounds).try_for_each(|_| scatter(&mut member))?,
            _ => return Ok(()),
        }
        if member.is_master() {
            member.send_user_data(&[DONE][..])?;
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

fn spawn(count: &str, socket: &str) -> Result<(), Box<dyn Error>> {
    let member = std::env::current_exe()?;
    for _ in 0..count.parse::<u32>()? {
        // The children are not waited for: they outlive the spawner, and whoever started it reaps nothing of them.
        drop(Command::new(&member).args(["floor", socket]).env_clear().spawn()?);
    }
    Ok(())
}
