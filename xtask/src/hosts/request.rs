//! What `cargo xtask hosts` can be asked to do.

use super::plan::{Kind, MAXIMUM_HOSTS, Name};

/// Make hosts for tests on this machine
///
/// Hosts are network namespaces, each with its own address, name, home directory, /tmp and sshd; with --slurm there is
/// also a Slurm cluster on them. Needs root. docs/test-hosts.md says more.
#[derive(clap::Args)]
pub(crate) struct Hosts {
    #[command(subcommand)]
    pub(super) request: Request,
}

#[derive(clap::Subcommand)]
pub(super) enum Request {
    /// Make hosts h1 to hN
    Up(Wanted),
    /// Remove hosts, also when they were half-made
    Down {
        #[command(flatten)]
        cluster: ClusterArgs,
        /// Every cluster
        #[arg(long, conflicts_with = "name")]
        all: bool,
    },
    /// Show clusters, hosts, addresses and processes
    List {
        /// This cluster only
        #[arg(long, value_parser = Name::parse)]
        name: Option<Name>,
        /// For programs
        #[arg(long)]
        json: bool,
    },
    /// Print variables: eval "$(cargo xtask hosts env)"
    Env(ClusterArgs),
    /// List what sessions left on hosts; status 1 if anything
    Leftovers {
        #[command(flatten)]
        cluster: ClusterArgs,
        /// Wait this long for everything to go
        #[arg(long, value_name = "SECONDS", default_value_t = 0)]
        within: u32,
        /// For programs
        #[arg(long)]
        json: bool,
    },
}

/// Which cluster.
#[derive(clap::Args)]
pub(super) struct ClusterArgs {
    /// The name of the cluster
    #[arg(long, value_parser = Name::parse, default_value_t)]
    pub(super) name: Name,
}

/// A cluster that is wanted.
#[derive(clap::Args)]
pub(super) struct Wanted {
    /// How many hosts
    #[arg(value_name = "N", value_parser = clap::value_parser!(u16).range(1..=i64::from(MAXIMUM_HOSTS)))]
    count: u16,
    #[command(flatten)]
    pub(super) cluster: ClusterArgs,
    /// Slurm, with each host a node
    #[arg(long)]
    pub(super) slurm: bool,
    /// The size of each host's /tmp, like 4m
    #[arg(long = "tmp-size", value_name = "SIZE", value_parser = size)]
    pub(super) temporary_size: Option<String>,
    /// The size of each host's home directory
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub(super) home_size: Option<String>,
    /// Show what was made as list --json does
    #[arg(long)]
    pub(super) json: bool,
    #[command(flatten)]
    misbehaving: Misbehaving,
}

/// Which hosts do not behave as they should.
#[derive(clap::Args)]
#[command(next_help_heading = "Hosts that misbehave (each can be repeated)")]
struct Misbehaving {
    /// Accepts no key
    #[arg(long, value_name = "HOST")]
    refuse_key: Vec<String>,
    /// Accepts connections and never says a word
    #[arg(long, value_name = "HOST")]
    silent: Vec<String>,
    /// Greets, and prints garbage before the output of every command
    #[arg(long, value_name = "HOST")]
    banner: Vec<String>,
    /// Answers nothing at all
    #[arg(long, value_name = "HOST")]
    dead: Vec<String>,
    /// Asks for a password
    #[arg(long, value_name = "HOST")]
    password: Vec<String>,
}

impl Wanted {
    /// How each host is to behave.
    pub(super) fn kinds(&self) -> Result<Vec<Kind>, String> {
        let Misbehaving { refuse_key, silent, banner, dead, password } = &self.misbehaving;
        let of_kinds = [
            (Kind::RefuseKey, refuse_key),
            (Kind::Silent, silent),
            (Kind::Banner, banner),
            (Kind::Dead, dead),
            (Kind::Password, password),
        ];
        let mut kinds = vec![Kind::Ordinary; self.count.into()];
        for (kind, hosts) in of_kinds {
            for host in hosts {
                let number = host.strip_prefix('h').and_then(|number| number.parse::<usize>().ok());
                let slot = number.and_then(|number| kinds.get_mut(number.checked_sub(1)?));
                let slot = slot.ok_or(format!("--{} {host}: the hosts are h1 to h{}", kind.name(), self.count))?;
                if *slot != Kind::Ordinary {
                    return Err(format!("{host} cannot be both {} and {}", slot.name(), kind.name()));
                }
                *slot = kind;
            }
        }
        Ok(kinds)
    }
}

/// A number of bytes as `mount` takes it: digits, and `k`, `m` or `g` behind them.
fn size(text: &str) -> Result<String, String> {
    let digits = text.strip_suffix(['k', 'm', 'g']).unwrap_or(text);
    match digits.parse::<u32>() {
        Ok(1..) if digits.bytes().all(|byte| byte.is_ascii_digit()) => Ok(text.to_owned()),
        _ => Err(format!("{text} is no size; sizes look like 512k, 4m, 1g")),
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Command {
        #[command(flatten)]
        hosts: Hosts,
    }

    fn up(line: &str) -> Result<(Wanted, Vec<Kind>), String> {
        let words = ["hosts", "up"].into_iter().chain(line.split_whitespace());
        let command = Command::try_parse_from(words).map_err(|error| error.to_string())?;
        let Request::Up(wanted) = command.hosts.request else { panic!("{line}") };
        let kinds = wanted.kinds()?;
        Ok((wanted, kinds))
    }

    #[test]
    fn hosts_are_ordinary_unless_said_otherwise() {
        let (wanted, kinds) = up("4 --name t --silent h2 --dead h4 --slurm --tmp-size 4m").unwrap();
        assert_eq!(kinds, [Kind::Ordinary, Kind::Silent, Kind::Ordinary, Kind::Dead]);
        assert!(wanted.slurm && !wanted.json && wanted.home_size.is_none());
        assert_eq!(wanted.cluster.name.to_string(), "t");
        assert_eq!(wanted.temporary_size.as_deref(), Some("4m"));
        assert_eq!(up("1").unwrap().0.cluster.name, Name::default());
    }

    #[test]
    fn wrong_arguments_are_refused_by_name() {
        let refused = [
            ("0", "1..=1000"),
            ("1001", "1..=1000"),
            ("3 --dead h4", "h1 to h3"),
            ("3 --dead h0", "h1 to h3"),
            ("3 --dead h1 --silent h1", "both silent and dead"),
            ("3 --tmp-size 4x", "4x"),
            ("3 --tmp-size 4m,mode=0", "4m,mode=0"),
            ("3 --name T", "lower-case"),
        ];
        for (line, part) in refused {
            assert!(up(line).as_ref().is_err_and(|wrong| wrong.contains(part)), "{line}: {:?}", up(line).err());
        }
    }
}
