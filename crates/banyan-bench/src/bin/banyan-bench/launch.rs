//! `banyan bench launch` and `banyan bench collectives`: starting members, and talking to all of them.

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use banyan_bench::Environment;
use banyan_bench::launch::{self, Hosts, LaunchBenchError, LaunchFigures, LaunchPlan, Program, QUICK_SIZES, SIZES};
use banyan_boot::HostSet;
use clap::Args;

use super::plot::Plot;
use banyan_cli::failure::{Failure, Outcome};
use banyan_cli::output;
use banyan_cli::progress::Progress;

/// `banyan bench launch`: what is measured on other hosts, besides what both benches take.
#[derive(Args)]
pub(crate) struct HostsBench {
    #[command(flatten)]
    bench: LaunchBench,
    /// Also launch one member on each of these hosts by ssh, beside pdsh, clush and pssh if installed
    #[arg(long, value_name = "HOSTS")]
    ssh_hosts: Option<String>,
    /// The configuration file for ssh
    #[arg(long, value_name = "FILE", requires = "ssh_hosts")]
    ssh_config: Option<PathBuf>,
    /// Also launch 64 members on each of these Slurm nodes, beside srun
    #[arg(long, value_name = "HOSTS")]
    slurm_nodes: Option<String>,
    /// Also stage a file of 100 MB on 16 agents of this machine
    #[arg(long)]
    stage: bool,
}

impl HostsBench {
    pub(super) fn run(self) -> Outcome {
        let set = |flag: &str, text: &Option<String>| {
            let parse =
                |text: &String| HostSet::parse(text).map_err(|error| Failure::usage(format!("{flag}: {error}")));
            text.as_ref().map(parse).transpose()
        };
        let ssh = set("--ssh-hosts", &self.ssh_hosts)?.map(|hosts| Hosts::Ssh { hosts, config: self.ssh_config });
        let slurm = set("--slurm-nodes", &self.slurm_nodes)?.map(|nodes| Hosts::Slurm { nodes });
        let mut plan = self.bench.plan()?;
        plan.hosts = ssh.into_iter().chain(slurm).collect();
        plan.staging = self.stage;
        self.bench.measure(What::Launch, &plan)
    }
}

#[derive(Args)]
pub(crate) struct LaunchBench {
    /// Measure three sizes instead of six, and no other launchers
    #[arg(long)]
    quick: bool,
    /// The number of members; may be given several times [default: 1, 8, 64, 256, 1024 and 2800]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    members: Vec<u32>,
    /// A member program; may be given several times [default: banyan-bench-member beside banyan-bench, else banyan-bench]
    #[arg(long, value_name = "LABEL=PATH")]
    member: Vec<String>,
    /// One JSON object instead of a table
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    plot: Plot,
}

/// What is measured.
#[derive(Clone, Copy, PartialEq, Eq)]
enum What {
    Launch,
    Collectives,
}

impl What {
    fn name(self) -> &'static str {
        match self {
            What::Launch => "launch",
            What::Collectives => "collectives",
        }
    }

    fn title(self) -> &'static str {
        match self {
            What::Launch => "Launching members, until all have passed a barrier",
            What::Collectives => "128 bytes to and from every member",
        }
    }

    fn run(self, plan: &LaunchPlan, progress: &mut dyn FnMut(&str)) -> Result<LaunchFigures, LaunchBenchError> {
        match self {
            What::Launch => launch::launch(plan, progress),
            What::Collectives => launch::collectives(plan, progress),
        }
    }
}

impl LaunchBench {
    pub(super) fn collectives(self) -> Outcome {
        self.measure(What::Collectives, &self.plan()?)
    }

    fn measure(&self, what: What, plan: &LaunchPlan) -> Outcome {
        self.plot.check()?;
        let mut environment = Environment::observe();
        let mut progress = Progress::start();
        let figures = what
            .run(plan, &mut |at| progress.tell(|| format!("measuring: {at}")))
            .map_err(|error| Failure::new(format!("bench {}: {error}", what.name())))?;
        drop(progress);
        environment.finish();
        let mut out = output::stdout();
        if self.json {
            writeln!(out, "{}", launch::launch_json(what.name(), &figures, &environment))?;
        } else {
            writeln!(out, "{environment}\n\n{}", launch::launch_table(&figures))?;
        }
        out.flush()?;
        self.plot.write(what.name(), &launch::draw(what.title(), &figures.rows), self.json)?;
        Ok(ExitCode::SUCCESS)
    }

    fn plan(&self) -> Result<LaunchPlan, Failure> {
        let programs = match &self.member[..] {
            [] => Ok(vec![Program::beside_this()]),
            named => named.iter().map(|text| Program::named(text)).collect(),
        };
        let sizes = match (&self.members[..], self.quick) {
            ([], true) => QUICK_SIZES.to_vec(),
            ([], false) => SIZES.to_vec(),
            (chosen, _) => chosen.to_vec(),
        };
        let programs = programs.map_err(Failure::usage)?;
        Ok(LaunchPlan { sizes, programs, rivals: !self.quick, hosts: Vec::new(), staging: false })
    }
}
