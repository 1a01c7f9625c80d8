//! `banyan demo`: a job of 64 processes hangs and is explained, answers are reduced on their way, an agent is killed and
//! nobody misses a wave.
//!
//! Everything is done with what tool builders have: a `Network`, its streams, and `banyan-stack`. The acts are in
//! [`acts`], what comes of the last one is counted in [`count`], the members' program is in [`member`], what the user sees
//! in [`story`].

mod acts;
mod count;
mod member;
mod story;

use std::io::Write;
use std::process::ExitCode;

use clap::Args;

use crate::config::Config;
use crate::failure::{Failure, Outcome};
use crate::limit::Limit;
use crate::{output, speech, status};
pub(crate) use member::become_member_if_asked;

use acts::Stage;
use story::Story;

/// See a tree of processes start, find the rank that hangs, and survive a killed agent
///
/// Starts 64 processes below 4 agents, merges their stacks, reduces what they send, and kills an agent with kill -9.
/// The demo then shows that every wave arrived once and complete. It needs no root and no configuration, takes a few
/// seconds, and leaves nothing running.
#[derive(Args)]
#[command(after_help = "\
Exit status: 0 success; 1 something failed or was lost; 2 wrong usage; 4 time limit; 5 this system does not permit \
reading stacks.

Examples:
  banyan demo
  banyan demo --json | jq .healed")]
pub(crate) struct Demo {
    /// One JSON object instead of the story
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    limit: Limit,
}

impl Demo {
    pub(crate) fn run(self) -> Outcome {
        self.limit.begin()?;
        let mut out = output::stdout();
        let color = speech::paints(&std::io::stdout(), Config::get()?.defaults.color);
        let mut story = Story::new(color);
        // Each act is told as soon as it is over.
        let mut tell = |text: String| -> Result<(), Failure> {
            if !self.json {
                out.write_all(text.as_bytes())?;
                out.flush()?;
            }
            Ok(())
        };
        tell(story.opening())?;
        let (mut stage, grown) = Stage::set()?;
        tell(story.grown(&grown))?;
        let hung = stage.hang()?;
        tell(story.hung(&hung))?;
        let reduced = stage.reduce()?;
        tell(story.reduced(&reduced))?;
        let healed = stage.heal()?;
        tell(story.healed(&healed))?;
        let left = stage.clear();
        tell(story.closing(left))?;
        if self.json {
            writeln!(out, "{}", story::json(&grown, &hung, &reduced, &healed, left))?;
            out.flush()?;
        }
        let is_well = left == 0 && healed.count.is_whole();
        Ok(match (is_well, &hung.suspects) {
            (false, _) => ExitCode::FAILURE,
            (true, Err(_)) => ExitCode::from(status::NOT_PERMITTED),
            (true, Ok(_)) => ExitCode::SUCCESS,
        })
    }
}
