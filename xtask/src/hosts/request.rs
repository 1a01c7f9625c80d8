//! What `cargo xtask hosts` can be asked to do.

use std::time::Duration;

use super::plan::{Kind, MAXIMUM_HOSTS, Name};

/// What the arguments ask for.
#[derive(Debug, PartialEq)]
pub(super) enum Request {
    Help,
    Up(Wanted),
    Down { names: Names },
    List { name: Option<Name>, json: bool },
    Env { name: Name },
    Leftovers { name: Name, within: Duration, json: bool },
}

/// Which clusters to remove.
#[derive(Debug, PartialEq)]
pub(super) enum Names {
    One(Name),
    All,
}

/// A cluster that is wanted.
#[derive(Debug, PartialEq)]
pub(super) struct Wanted {
    pub(super) name: Name,
    /// How each host is to behave.
    pub(super) kinds: Vec<Kind>,
    pub(super) slurm: bool,
    /// The size of each host's `/tmp`, as `mount` takes it.
    pub(super) temporary_size: Option<String>,
    /// The size of each host's home directory.
    pub(super) home_size: Option<String>,
    pub(super) json: bool,
}

/// Options and other arguments, before it is known what they are for.
#[derive(Default)]
struct Given {
    plain: Option<String>,
    name: Option<Name>,
    bad: Vec<(Kind, String)>,
    temporary_size: Option<String>,
    home_size: Option<String>,
    within: Duration,
    slurm: bool,
    json: bool,
    all: bool,
}

impl Request {
    /// Reads the arguments behind `cargo xtask hosts`.
    pub(super) fn parse(arguments: &[String]) -> Result<Request, String> {
        let Some((verb, arguments)) = arguments.split_first() else { return Err("what is to be done?".into()) };
        if arguments.iter().chain([verb]).any(|argument| matches!(argument.as_str(), "-h" | "--help")) {
            return Ok(Request::Help);
        }
        let (known, takes): (&[&str], bool) = match verb.as_str() {
            "up" => (&["--slurm", "--tmp-size", "--home-size", "--json"], true),
            "down" => (&["--all"], false),
            "list" => (&["--json"], false),
            "env" => (&[], false),
            "leftovers" => (&["--within", "--json"], false),
            other => return Err(format!("{other} is nothing that can be done with hosts")),
        };
        let given = Given::read(verb, arguments, known, takes)?;
        if verb == "up" {
            return given.wanted().map(Request::Up);
        }
        let json = given.json;
        let (within, all) = (given.within, given.all);
        let name = given.cluster()?;
        let one = name.clone().unwrap_or_default();
        Ok(match verb.as_str() {
            "down" if all && name.is_some() => return Err("--all removes every cluster; name none".into()),
            "down" => Request::Down { names: if all { Names::All } else { Names::One(one) } },
            "list" => Request::List { name, json },
            "env" => Request::Env { name: one },
            _ => Request::Leftovers { name: one, within, json },
        })
    }
}

impl Given {
    fn read(verb: &str, arguments: &[String], known: &[&str], bad_hosts: bool) -> Result<Given, String> {
        let mut given = Given::default();
        let mut arguments = arguments.iter();
        while let Some(argument) = arguments.next() {
            let mut value = || arguments.next().ok_or(format!("{argument} needs a value"));
            let kind = argument.strip_prefix("--").and_then(Kind::parse).filter(|kind| *kind != Kind::Ordinary);
            match argument.as_str() {
                "--name" => given.name = Some(Name::parse(value()?)?),
                option if option.starts_with('-') && !known.contains(&option) && !(bad_hosts && kind.is_some()) => {
                    return Err(format!("{option} is no option of hosts {verb}"));
                }
                "--slurm" => given.slurm = true,
                "--json" => given.json = true,
                "--all" => given.all = true,
                "--tmp-size" => given.temporary_size = Some(size(value()?)?),
                "--home-size" => given.home_size = Some(size(value()?)?),
                "--within" => {
                    let text = value()?;
                    let seconds: u32 = text.parse().map_err(|_| format!("{text} is no number of seconds"))?;
                    given.within = Duration::from_secs(seconds.into());
                }
                _ if let Some(kind) = kind => given.bad.push((kind, value()?.clone())),
                plain if given.plain.is_none() => given.plain = Some(plain.to_owned()),
                plain => return Err(format!("{plain} is one argument too many")),
            }
        }
        Ok(given)
    }

    fn wanted(self) -> Result<Wanted, String> {
        let count = self.plain.as_deref().ok_or("how many hosts? cargo xtask hosts up N")?;
        let range = 1..=MAXIMUM_HOSTS;
        let count = count.parse().ok().filter(|count| range.contains(count));
        let count = count.ok_or(format!("the number of hosts is 1 to {MAXIMUM_HOSTS}"))?;
        let mut kinds = vec![Kind::Ordinary; count.into()];
        for (kind, host) in self.bad {
            let number = host.strip_prefix('h').and_then(|number| number.parse::<usize>().ok());
            let slot = number.and_then(|number| kinds.get_mut(number.checked_sub(1)?));
            let slot = slot.ok_or(format!("--{} {host}: the hosts are h1 to h{count}", kind.name()))?;
            if *slot != Kind::Ordinary {
                return Err(format!("{host} cannot be both {} and {}", slot.name(), kind.name()));
            }
            *slot = kind;
        }
        let name = self.name.unwrap_or_default();
        let (temporary_size, home_size) = (self.temporary_size, self.home_size);
        Ok(Wanted { name, kinds, slurm: self.slurm, temporary_size, home_size, json: self.json })
    }

    /// The cluster meant, by option or as an argument.
    fn cluster(self) -> Result<Option<Name>, String> {
        match (self.name, self.plain) {
            (Some(_), Some(plain)) => Err(format!("{plain} is one argument too many: --name says which cluster")),
            (Some(name), None) => Ok(Some(name)),
            (None, Some(plain)) => Name::parse(&plain).map(Some),
            (None, None) => Ok(None),
        }
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
    use super::*;

    fn parse(line: &str) -> Result<Request, String> {
        Request::parse(&line.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
    }

    fn up(line: &str) -> Wanted {
        match parse(line) {
            Ok(Request::Up(wanted)) => wanted,
            other => panic!("{line}: {other:?}"),
        }
    }

    #[test]
    fn hosts_are_ordinary_unless_said_otherwise() {
        let wanted = up("up 4 --name t --silent h2 --dead h4 --slurm --tmp-size 4m");
        assert_eq!(wanted.kinds, [Kind::Ordinary, Kind::Silent, Kind::Ordinary, Kind::Dead]);
        assert!(wanted.slurm && !wanted.json && wanted.home_size.is_none());
        assert_eq!((wanted.name.to_string().as_str(), wanted.temporary_size.as_deref()), ("t", Some("4m")));
    }

    #[test]
    fn a_cluster_is_named_by_argument_or_option_or_not_at_all() {
        let env = |name: &str| Ok(Request::Env { name: Name::parse(name).expect("a name") });
        assert_eq!(parse("env"), env("banyan"));
        assert_eq!(parse("env t1"), env("t1"));
        assert_eq!(parse("env --name t1"), env("t1"));
        assert_eq!(parse("list"), Ok(Request::List { name: None, json: false }));
        assert_eq!(parse("down --all"), Ok(Request::Down { names: Names::All }));
    }

    #[test]
    fn wrong_arguments_are_refused_by_name() {
        let refused = [
            ("", "what is to be done"),
            ("rise 3", "rise"),
            ("up", "how many"),
            ("up 0", "1 to 1000"),
            ("up 1001", "1 to 1000"),
            ("up 3 --dead h4", "h1 to h3"),
            ("up 3 --dead h0", "h1 to h3"),
            ("up 3 --dead h1 --silent h1", "both dead and silent"),
            ("up 3 --ordinary h1", "--ordinary"),
            ("up 3 --tmp-size 4x", "4x"),
            ("up 3 --tmp-size 4m,mode=0", "4m,mode=0"),
            ("down --dead h1", "--dead"),
            ("down 64", "64"),
            ("down --all t", "name none"),
            ("env a b", "b is one"),
            ("leftovers --within soon", "soon"),
        ];
        for (line, part) in refused {
            assert!(parse(line).as_ref().is_err_and(|wrong| wrong.contains(part)), "{line}: {:?}", parse(line));
        }
    }
}
