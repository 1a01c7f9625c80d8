//! A job of Open MPI that is watched from its middle on.

use std::collections::BTreeSet;
use std::process::{Child, Command, Stdio};

use banyan_monitor::{Happening, Job, Observer};
use banyan_ndr::Value;
use rustix::process::{Pid, Signal, kill_process};

use crate::program::RANK;
use crate::setup::{PATIENCE, Stage, deadline, expect, settled, wait_for_sensors};

const RANKS: usize = 16;

/// The job, which ends with the test.
struct MpiJob(Child);

impl MpiJob {
    /// Starts it, if Open MPI is here.
    fn start(directory: &std::path::Path) -> Option<MpiJob> {
        let version = Command::new("mpirun").arg("--version").output().ok()?;
        if !String::from_utf8_lossy(&version.stdout).contains("Open MPI") {
            return None;
        }
        let mut command = Command::new("mpirun");
        command.args(["--oversubscribe", "--allow-run-as-root", "-n", &RANKS.to_string(), "-x", "BANYAN_SENSOR_DIR"]);
        command.arg(std::env::current_exe().unwrap()).arg(RANK).env("BANYAN_SENSOR_DIR", directory);
        // Ranks that are killed are what this is about.
        Some(MpiJob(command.stdin(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()))
    }
}

impl Drop for MpiJob {
    fn drop(&mut self) {
        // It ends its ranks, as kill -9 would not.
        if let Some(pid) = Pid::from_raw(self.0.id() as i32) {
            let _ = kill_process(pid, Signal::TERM);
        }
        let _ = self.0.wait();
    }
}

pub(crate) fn a_job_of_open_mpi_is_watched_from_its_middle_to_its_end() {
    let stage = Stage::new(1);
    let Some(mut job) = MpiJob::start(&stage.path(0)) else { return };
    let observer = Observer::attach(&Job::all().children_of(job.0.id()), &stage.options()).unwrap();
    wait_for_sensors(&observer, "solver.step", RANKS);
    let ranks: BTreeSet<_> = observer.processes().iter().map(|process| process.rank).collect();
    assert_eq!(ranks, (0..RANKS as u64).map(Some).collect());
    let rows = observer.query("select rank, count() as events from solver.step group by rank every 100ms").unwrap();
    let mut seen = BTreeSet::new();
    while seen.len() < RANKS {
        let row = rows.recv_timeout(deadline()).unwrap();
        let Some(Value::Int(rank)) = row.get("rank") else { panic!("{row:?}") };
        seen.insert(*rank);
    }
    // One that is stopped is silent, and nothing else.
    let pids: Vec<Pid> = observer.processes().iter().filter_map(|it| Pid::from_raw(it.pid as i32)).collect();
    kill_process(pids[3], Signal::STOP).unwrap();
    seen.clear();
    while seen.len() < RANKS - 1 {
        let row = rows.recv_timeout(deadline()).unwrap();
        let Some(Value::Int(rank)) = row.get("rank") else { panic!("{row:?}") };
        seen.insert(*rank);
    }
    kill_process(pids[3], Signal::CONT).unwrap();
    // Open MPI ends a job of which a rank is killed.
    kill_process(pids[5], Signal::KILL).unwrap();
    for number in 0..RANKS {
        expect(&observer, &format!("end {number} of {RANKS}"), |happening| {
            matches!(happening, Happening::Ended(_)).then_some(())
        });
    }
    job.0.wait().unwrap();
    let totals =
        settled(&observer, rows.number(), || while rows.try_recv().unwrap().is_some() {}).totals(rows.number());
    assert!(totals.balances() && totals.emitted > 0 && totals.dropped + totals.behind + totals.failed == 0, "{totals}");
    assert!(observer.ledger(PATIENCE).unwrap().unknown.is_empty());
}
