//! From the text of a configuration file to what it says. Every key is known, and every error has its line.

use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::Path;

use clap::ValueEnum;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::{Config, Defaults, HostGroup, place};
use crate::failure::{Failure, cause};
use crate::hosts::{Least, launcher, time};
use crate::speech::Color;

/// Bytes of a configuration file: more is some other file.
const MAX_BYTES: u64 = 1 << 20;

const TABLES: &str = "there are [groups], [defaults] and [clustershell]";
const KEYS: &str =
    "there are launcher, ssh-args, fanout, timeout, host-timeout, silence, min-hosts, agent-dir and color";

/// The text of a file; nothing if it is not there.
pub fn text(path: &Path) -> Result<Option<String>, Failure> {
    let mut text = String::new();
    let read = File::open(path).and_then(|file| file.take(MAX_BYTES + 1).read_to_string(&mut text));
    match read {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => {
            let why = format!("{}: {}; make it a readable text file, or remove it", path.display(), cause(&error));
            Err(Failure::unreadable(why, &error))
        }
        Ok(bytes) if bytes as u64 > MAX_BYTES => {
            let path = path.display();
            Err(Failure::usage(format!("{path}: is longer than {MAX_BYTES} bytes; is it a file of this kind?")))
        }
        Ok(_) => Ok(Some(text)),
    }
}

/// A file that is being read.
pub struct ConfigText<'a> {
    /// Its name, for errors.
    pub path: &'a Path,
    /// Its text.
    pub text: &'a str,
}

/// A value with its place.
pub type Item<'i> = Spanned<DeValue<'i>>;

impl ConfigText<'_> {
    fn place<T>(&self, item: &Spanned<T>) -> String {
        self.place_at(item.span().start)
    }

    /// File and line of a byte of the text.
    pub fn place_at(&self, offset: usize) -> String {
        let before = self.text.get(..offset).unwrap_or_default();
        place(self.path, 1 + before.bytes().filter(|byte| *byte == b'\n').count())
    }

    /// What is wrong with something, behind its place.
    pub fn wrong<T>(&self, item: &Spanned<T>, what: impl std::fmt::Display) -> String {
        format!("{}: {what}", self.place(item))
    }
}

/// Adds what a file says; it has the last word on what was said before.
pub(super) fn add(config: &mut Config, path: &Path, text: &str) -> Result<(), String> {
    let source = ConfigText { path, text };
    let root = DeTable::parse(text).map_err(|error| {
        let at = error.span().map_or(0, |span| span.start);
        format!("{}: {}; the file is TOML, as in: gpu = \"node[1-8]\"", source.place_at(at), error.message())
    })?;
    for (name, item) in root.get_ref() {
        let table = item.get_ref().as_table();
        let table = || table.ok_or_else(|| source.wrong(item, format_args!("{} is a table; {TABLES}", name.get_ref())));
        match name.get_ref().as_ref() {
            "groups" => groups(&source, config, table()?)?,
            "defaults" => defaults(&source, &mut config.defaults, table()?)?,
            "clustershell" => clustershell(&source, config, table()?)?,
            other => return Err(source.wrong(name, format_args!("{other:?} is not known; {TABLES}"))),
        }
    }
    Ok(())
}

fn groups(source: &ConfigText<'_>, config: &mut Config, table: &DeTable<'_>) -> Result<(), String> {
    for (name, item) in table {
        let hosts = item.get_ref().as_str().ok_or_else(|| {
            source.wrong(item, format_args!("a group is a text of hosts; write {} = \"node[1-8]\"", name.get_ref()))
        })?;
        let name_of_group = name.get_ref().to_string();
        if !is_group_name(&name_of_group) {
            return Err(source.wrong(
                name,
                format_args!("{name_of_group:?} cannot be written as @GROUP; use letters, digits and -_."),
            ));
        }
        config.groups.insert(name_of_group, HostGroup { hosts: hosts.to_owned(), place: source.place(item) });
    }
    Ok(())
}

fn is_group_name(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte))
}

fn defaults(source: &ConfigText<'_>, defaults: &mut Defaults, table: &DeTable<'_>) -> Result<(), String> {
    for (name, item) in table {
        match name.get_ref().as_ref() {
            "launcher" => defaults.launcher = Some(word(source, item, launcher)?),
            "ssh-args" => defaults.ssh_args = Some(words(source, item)?),
            "fanout" => {
                let fanout = number(source, item)?;
                defaults.fanout = Some(u32::try_from(fanout).map_err(|_| source.wrong(item, "is more than any tree"))?);
            }
            "timeout" => defaults.timeout = Some(word(source, item, time)?),
            "host-timeout" => defaults.host_timeout = Some(word(source, item, time)?),
            "silence" => defaults.silence = Some(word(source, item, time)?),
            "min-hosts" => defaults.min_hosts = Some(least(source, item)?),
            "agent-dir" => defaults.agent_dir = Some(word(source, item, |text| Ok(text.to_owned()))?),
            "color" => defaults.color = Some(word(source, item, color)?),
            other => return Err(source.wrong(name, format_args!("{other:?} is not a default; {KEYS}"))),
        }
    }
    Ok(())
}

/// A number of hosts, or a text with a share of them.
fn least(source: &ConfigText<'_>, item: &Item<'_>) -> Result<Least, String> {
    match item.get_ref().as_str() {
        Some(_) => word(source, item, |text| text.parse()),
        None => number(source, item).map(Least::Number),
    }
}

fn clustershell(source: &ConfigText<'_>, config: &mut Config, table: &DeTable<'_>) -> Result<(), String> {
    for (name, item) in table {
        match name.get_ref().as_ref() {
            "upcalls" => {
                let allowed = item.get_ref().as_bool();
                config.upcalls = allowed.ok_or_else(|| source.wrong(item, "upcalls is true or false"))?;
            }
            other => return Err(source.wrong(name, format_args!("{other:?} is not known; there is upcalls"))),
        }
    }
    Ok(())
}

/// What a text stands for.
pub fn word<T>(
    source: &ConfigText<'_>,
    item: &Item<'_>,
    read: impl Fn(&str) -> Result<T, String>,
) -> Result<T, String> {
    let text = item.get_ref().as_str().ok_or_else(|| source.wrong(item, "is no text; write it in quotes"))?;
    read(text).map_err(|error| source.wrong(item, format_args!("{text:?}: {error}")))
}

fn words(source: &ConfigText<'_>, item: &Item<'_>) -> Result<Vec<String>, String> {
    let wrong = || source.wrong(item, "is no list of texts; write for example [\"-Fconfig\"]");
    let items = item.get_ref().as_array().ok_or_else(wrong)?;
    items.iter().map(|item| item.get_ref().as_str().map(str::to_owned).ok_or_else(wrong)).collect()
}

/// A number of at least one.
pub fn number(source: &ConfigText<'_>, item: &Item<'_>) -> Result<usize, String> {
    let number = item.get_ref().as_integer().filter(|number| number.radix() == 10);
    let number = number.and_then(|number| number.as_str().parse().ok()).filter(|number| *number > 0);
    number.ok_or_else(|| source.wrong(item, "is not a number of at least 1"))
}

fn color(text: &str) -> Result<Color, String> {
    Color::from_str(text, false).map_err(|_| "there are auto, always and never".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Config, String> {
        let mut config = Config::default();
        add(&mut config, Path::new("c.toml"), text).map(|()| config)
    }

    #[test]
    fn everything_that_can_be_configured_is_read() {
        let config = read(
            "# comment\n[groups]\ngpu = \"g[1-4]\"\n[defaults]\nlauncher = \"ssh\"\nssh-args = [\"-Fx\"]\n\
             fanout = 16\ntimeout = \"10m\"\nhost-timeout = \"5s\"\nsilence = \"9s\"\nmin-hosts = 3\nagent-dir = \"/scratch\"\ncolor = \"never\"\n\
             [clustershell]\nupcalls = true\n",
        )
        .unwrap();
        assert_eq!(config.groups["gpu"].hosts, "g[1-4]");
        assert_eq!(config.groups["gpu"].place, "c.toml, line 3");
        assert_eq!((config.defaults.fanout, config.defaults.min_hosts), (Some(16), Some(Least::Number(3))));
        assert_eq!(config.defaults.timeout.map(|time| time.as_secs()), Some(600));
        assert_eq!(config.defaults.ssh_args.as_deref(), Some(&["-Fx".to_owned()][..]));
        assert_eq!((config.defaults.color, config.upcalls), (Some(Color::Never), true));
    }

    #[test]
    fn what_is_wrong_is_told_with_line_and_remedy() {
        for (text, says) in [
            ("[groups]\ngpu = 3\n", "c.toml, line 2: a group is a text of hosts; write gpu ="),
            ("[groups]\n\"a b\" = \"x\"\n", "line 2: \"a b\" cannot be written as @GROUP"),
            ("[group]\n", "line 1: \"group\" is not known; there are [groups]"),
            ("groups = 1\n", "line 1: groups is a table"),
            ("[defaults]\n\nfan-out = 3\n", "line 3: \"fan-out\" is not a default; there are launcher"),
            ("[defaults]\nfanout = 0\n", "line 2: is not a number of at least 1"),
            ("[defaults]\ntimeout = \"soon\"\n", "line 2: \"soon\": write for example"),
            ("[defaults]\nlauncher = \"pigeon\"\n", "line 2: \"pigeon\": there are auto, local"),
            ("[defaults]\ncolor = true\n", "line 2: is no text"),
            ("[groups]\ngpu = g[1-4]\n", "line 2: "),
            ("[groups\n", "line 1: "),
        ] {
            let error = read(text).expect_err(text);
            assert!(error.contains(says), "{text:?}: {error}");
        }
    }

    #[test]
    fn the_last_file_has_the_last_word() {
        let mut config = read("[groups]\na = \"x\"\nb = \"y\"\n").unwrap();
        add(&mut config, Path::new("d.toml"), "[groups]\nb = \"z\"\n").unwrap();
        assert_eq!((config.groups["a"].hosts.as_str(), config.groups["b"].hosts.as_str()), ("x", "z"));
    }
}
