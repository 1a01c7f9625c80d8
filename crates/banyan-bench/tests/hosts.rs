//! A study as a job of Slurm, on test hosts: see `crates/banyan-cli/tests/hosts`.

use std::process::{Command, Output, Stdio};

use serde_json::Value;

fn file(name: &str) -> String {
    let cluster = std::env::var("BANYAN_TEST_CLUSTER").expect("run cargo xtask test --only sessions");
    format!("/run/banyan-hosts/{cluster}/{name}")
}

fn bench(words: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_banyan-bench"));
    command.args(words).env("BANYAN_CONFIG", "").env("SLURM_CONF", file("slurm.conf")).stdin(Stdio::null());
    command.output().expect("the program was built")
}

#[test]
#[ignore = "needs test hosts: cargo xtask test --only sessions"]
fn by_slurm_a_study_runs_as_a_job_and_leaves_its_report() {
    // Hosts have temporary directories of their own, but all see the repository.
    let place = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a directory");
    let path = |name: &str| place.path().join(name);
    let plan = "[study]\nname = \"s\"\nrepetitions = 2\n[[bench]]\nbench = \"tree\"\nop = \"instantiate\"\nshape = \"1x2\"\n\
                quick = true\n";
    std::fs::write(path("plan.toml"), plan).expect("room");
    let plan = path("plan.toml").display().to_string();
    let output = bench(&[&plan, "--submit", "slurm", "--time", "5", "--partition", "debug", "--json"]);
    let submitted: Value = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&output.stderr)));
    let job = submitted["job"].as_str().expect("a job");
    // Its end is the beginning of one that depends on it.
    let mut srun = Command::new("srun");
    srun.args(["--partition=debug", "--time=1", &format!("--dependency=afterany:{job}"), "true"]);
    let after = srun.env("SLURM_CONF", file("slurm.conf")).output().expect("srun");
    assert!(after.status.success(), "{}", String::from_utf8_lossy(&after.stderr));
    let said = std::fs::read_to_string(path(&format!("s/job-{job}.out"))).expect("the job's output");
    let results = std::fs::read(path("s/results.json")).unwrap_or_else(|_| panic!("{said}"));
    let results: Value = serde_json::from_slice(&results).expect("results");
    assert_eq!((&results["runs"], results["figures"].as_array().map(Vec::len)), (&2.into(), Some(4)), "{said}");
    let page = std::fs::read_to_string(path("s/report.html")).expect("a report");
    assert!(page.contains("<tr><th>host</th><td>h"), "it ran on a node: {page}");
}
