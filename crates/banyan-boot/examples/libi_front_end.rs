//! The micro-benchmark of the LIBI paper, front-end: starts members on hosts, tells the master what to do, waits for its
//! word that all of them have done it, and says how long that took.
//!
//! ```text
//! cargo build --release -p banyan-boot --examples
//! target/release/examples/libi_front_end 64                    # 64 members on this machine
//! target/release/examples/libi_front_end 16 node[1-4]          # 16 members on each of four hosts, by ssh
//! ```

use std::error::Error;
use std::time::Instant;

use banyan_boot::{HostSet, ProcessDistribution, Session, SessionOptions, become_agent_if_asked};

fn main() -> Result<(), Box<dyn Error>> {
    become_agent_if_asked();
    let mut arguments = std::env::args().skip(1);
    let processes: u32 = arguments.next().map_or(Ok(8), |count| count.parse())?;
    let hosts: HostSet = arguments.next().as_deref().unwrap_or("localhost").parse()?;
    let member = std::env::current_exe()?.with_file_name("libi_member");

    let mut members = ProcessDistribution::new(member, [] as [&str; 0]);
    for host in hosts.iter() {
        members = members.on(host, processes);
    }
    let begin = Instant::now();
    let session = Session::launch(&[members], &SessionOptions::default())?;
    let launched = begin.elapsed();
    session.send_user_data(b"hello from the front-end");
    let answer = session.recv_user_data(None)?;
    let done = begin.elapsed();
    println!("{} members launched in {launched:.1?}, through all collectives in {done:.1?}", session.size());
    println!("the master says: {}", String::from_utf8_lossy(&answer));
    let outcome = session.wait(None)?;
    std::process::exit(outcome.exit_status().into());
}
