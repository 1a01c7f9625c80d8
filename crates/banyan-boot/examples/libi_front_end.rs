//! The micro-benchmark of the LIBI paper, front-end: starts members on hosts, tells the master what to do, waits for its
//! word that all of them have done it, and says how long that took.
//!
//! ```text
//! cargo build --release -p banyan-boot --examples
//! target/release/examples/libi_front_end 64                    # 64 members on this machine
//! target/release/examples/libi_front_end 16 node[1-4]          # 16 members on each of four hosts, by ssh
//! SSH_CONFIG=FILE target/release/examples/libi_front_end 16 h[1-4]   # the same with another configuration of ssh
//! ```

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a program that talks to people")]

use std::error::Error;
use std::process::ExitCode;
use std::time::Instant;

use banyan_boot::{HostSet, Launcher, ProcessDistribution, Session, SessionOptions, SshOptions, become_agent_if_asked};

fn main() -> ExitCode {
    become_agent_if_asked();
    match run() {
        Ok(status) => status.into(),
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<u8, Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let processes: u32 = arguments.next().map_or(Ok(8), |count| count.parse())?;
    let hosts: HostSet = arguments.next().as_deref().unwrap_or("localhost").parse()?;
    let member = std::env::current_exe()?.with_file_name("libi_member");

    let mut members = ProcessDistribution::new(member, [] as [&str; 0]);
    for host in hosts.iter() {
        members = members.on(host, processes);
    }
    let begin = Instant::now();
    let mut options = SessionOptions::default();
    if let Ok(file) = std::env::var("SSH_CONFIG") {
        options.launcher = Launcher::Ssh(SshOptions::default().arguments(vec!["-F".into(), file]));
    }
    let session = Session::launch(&[members], &options)?;
    let launched = begin.elapsed();
    session.send_user_data(b"hello from the front-end");
    let answer = session.recv_user_data()?;
    let done = begin.elapsed();
    println!("{} members launched in {launched:.1?}, through all collectives in {done:.1?}", session.size());
    println!("the master says: {}", String::from_utf8_lossy(&answer));
    Ok(session.wait()?.exit_status())
}
