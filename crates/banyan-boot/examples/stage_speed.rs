//! How fast a file reaches every agent: 100 MB to 16 agents on this machine, each with a cache of its own.
//!
//! ```text
//! cargo build --release -p banyan-boot --example stage_speed
//! target/release/examples/stage_speed                   # 100 MB, 16 agents, 3 times, caches in /dev/shm
//! target/release/examples/stage_speed 100 16 3 /tmp     # megabytes, agents, times, directory of file and caches
//! ```

#![expect(clippy::print_stdout, reason = "a program that talks to people")]

use std::error::Error;
use std::fs;
use std::path::PathBuf;
use std::time::Instant;

use banyan_boot::{Launcher, ProcessDistribution, Session, SessionOptions, Stage, become_agent_if_asked};

fn main() -> Result<(), Box<dyn Error>> {
    become_agent_if_asked();
    let mut arguments = std::env::args().skip(1);
    let mut number = |otherwise: usize| arguments.next().map_or(Ok(otherwise), |text| text.parse());
    let (megabytes, agents, times) = (number(100)?, number(16)?, number(3)?);
    let base = PathBuf::from(arguments.next().unwrap_or_else(|| "/dev/shm".into()));
    let directory = base.join(format!("banyan-stage-speed-{}", std::process::id()));
    fs::create_dir(&directory)?;
    let measured = measure(&directory, megabytes * 1_000_000, agents, times);
    fs::remove_dir_all(&directory)?;
    measured
}

fn measure(directory: &std::path::Path, bytes: usize, agents: usize, times: usize) -> Result<(), Box<dyn Error>> {
    let hosts = (0..agents).map(|host| format!("n{host}"));
    let nobody = hosts.fold(ProcessDistribution::new("true", [""; 0]), |all, host| all.on(host, 0));
    let options = SessionOptions::default().launcher(Launcher::Local).cache(directory.join("{host}"));
    let session = Session::launch(&[nobody], &options)?;
    let file = directory.join("file");
    for round in 0..times {
        // Another content each time: nobody has it yet.
        let content: Vec<u8> =
            (0..bytes).map(|at| (at.wrapping_mul(2_654_435_761) >> 11) as u8 ^ round as u8).collect();
        fs::write(&file, content)?;
        let begin = Instant::now();
        let report = session.stage(&file, &Stage::Cache)?;
        let seconds = begin.elapsed().as_secs_f64();
        let delivered = (bytes * agents) as f64 / seconds / 1e9;
        println!(
            "{} MB to {} agents: {:.0} ms, {delivered:.2} GB/s delivered",
            bytes / 1_000_000,
            report.stored,
            seconds * 1e3
        );
        let begin = Instant::now();
        let again = session.stage(&file, &Stage::Cache)?;
        println!("again, to {} agents that have it: {:.0} ms", again.had, begin.elapsed().as_secs_f64() * 1e3);
    }
    session.kill()?;
    Ok(())
}
