//! The groups of ClusterShell, from its own files.
//!
//! Read are `groups.conf`, the flat file `groups` (or `groups.d/local.cfg`) with lines `name: hosts`, which is the source
//! `local`, the `*.yaml` of `autodir`, and the `*.conf` of `confdir`; from `CLUSTERSHELL_CFGDIR`, or from
//! `/etc/clustershell` and then the user's own directories, which have the last word. Sources that are made of commands
//! (`map:`) are asked only if the configuration file of this command allows it. Their `all:`, `list:` and `reverse:` are
//! not used, and neither are groups of all groups (`@*`).

use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use super::groups::Definition;
use super::yaml;
use crate::ask::ask;
use crate::config::{place, text_of, user_directory};

/// The source of the flat file.
const FLAT: &str = "local";

/// The source that `@name` means unless `groups.conf` says otherwise.
const DEFAULT_SOURCE: &str = "default";

/// How long a command of a source may take.
const PATIENCE: Duration = Duration::from_secs(20);

/// All sources.
#[derive(Debug, Default)]
pub(super) struct Clustershell {
    default: Option<String>,
    sources: BTreeMap<String, GroupSource>,
}

/// A source: groups from files, or a command that is asked for them.
#[derive(Debug, Default)]
struct GroupSource {
    /// Hosts and place, by name.
    groups: BTreeMap<String, (String, String)>,
    upcall: Option<Upcall>,
}

/// A command in which `$GROUP` stands for the name.
#[derive(Debug)]
struct Upcall {
    command: String,
    directory: PathBuf,
    place: String,
}

impl Clustershell {
    /// What the files of this machine and this user say; nothing if there are none.
    pub(super) fn read() -> Result<Clustershell, String> {
        let mut clustershell = Clustershell::default();
        for directory in directories() {
            clustershell.add_directory(&directory)?;
        }
        Ok(clustershell)
    }

    /// The hosts of a group; nothing if there is no such source or group.
    pub(super) fn group(&self, source: Option<&str>, name: &str, upcalls: bool) -> Result<Option<Definition>, String> {
        let source_name = source.or(self.default.as_deref()).unwrap_or(DEFAULT_SOURCE);
        let Some(source) = self.sources.get(source_name) else { return Ok(None) };
        if let Some((hosts, place)) = source.groups.get(name) {
            let source = Some(source_name.to_owned());
            return Ok(Some(Definition { hosts: hosts.clone(), place: place.clone(), source }));
        }
        // Groups that files hold are all that the source has: a command beside them only reads the same files.
        match &source.upcall {
            Some(upcall) if source.groups.is_empty() => upcall.ask(source_name, name, upcalls),
            _ => Ok(None),
        }
    }

    /// All groups that files name, those of the default source without it.
    pub(super) fn names(&self) -> impl Iterator<Item = String> {
        self.sources.iter().flat_map(|(source, groups)| {
            let is_default = self.default.as_deref().unwrap_or(DEFAULT_SOURCE) == source;
            groups.groups.keys().map(move |group| if is_default { group.clone() } else { format!("{source}:{group}") })
        })
    }

    fn add_directory(&mut self, directory: &Path) -> Result<(), String> {
        let settings = self.add_settings(&directory.join("groups.conf"), directory)?;
        for confdir in settings.confdir {
            for path in files(&confdir, "conf") {
                self.add_settings(&path, directory)?;
            }
        }
        for path in [directory.join("groups.d/local.cfg"), directory.join("groups")] {
            self.add_flat(&path)?;
        }
        for autodir in settings.autodir.unwrap_or_else(|| vec![directory.join("groups.d")]) {
            for path in files(&autodir, "yaml") {
                self.add_yaml(&path)?;
            }
        }
        Ok(())
    }

    /// Reads `groups.conf`, or one of the files beside it.
    fn add_settings(&mut self, path: &Path, directory: &Path) -> Result<Settings, String> {
        let mut settings = Settings::default();
        let Some(text) = text(path)? else { return Ok(settings) };
        let mut section = String::new();
        for (number, line) in (1..).zip(text.lines()) {
            if line.trim().is_empty() || line.starts_with(['#', ';', ' ', '\t']) {
                continue;
            }
            if let Some(name) = line.trim().strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
                section = name.to_owned();
                continue;
            }
            let Some((key, value)) = line.split_once([':', '=']) else {
                return Err(format!("{}: {line:?} is not understood; write `key: value`", place(path, number)));
            };
            let value = value.trim();
            let folders = || {
                let expanded = value.replace("$CFGDIR", &directory.display().to_string());
                expanded.split_whitespace().map(PathBuf::from).collect::<Vec<PathBuf>>()
            };
            match (section.as_str(), key.trim()) {
                ("Main", "default") => self.default = Some(value.to_owned()),
                ("Main", "confdir" | "groupsdir") => settings.confdir = folders(),
                ("Main", "autodir") => settings.autodir = Some(folders()),
                ("Main", _) => {}
                (names, "map") => {
                    // A section may be of several sources, with commas between.
                    for name in names.split(',') {
                        let (command, directory) = (value.to_owned(), directory.to_owned());
                        let upcall = Upcall { command, directory, place: place(path, number) };
                        self.sources.entry(name.trim().to_owned()).or_default().upcall = Some(upcall);
                    }
                }
                _ => {}
            }
        }
        Ok(settings)
    }

    fn add_flat(&mut self, path: &Path) -> Result<(), String> {
        let Some(text) = text(path)? else { return Ok(()) };
        let source = self.sources.entry(FLAT.to_owned()).or_default();
        // The flat file beside `local.cfg` is read instead of it, and so are those of users.
        source.groups.clear();
        for (number, line) in (1..).zip(text.lines()) {
            let line = line.split('#').next().unwrap_or_default().trim();
            if line.is_empty() {
                continue;
            }
            let Some((name, hosts)) = line.split_once(':') else {
                return Err(format!("{}: {line:?} is not understood; write `name: hosts`", place(path, number)));
            };
            let known = source.groups.entry(name.trim().to_owned());
            let (all, _) = known.or_insert_with(|| (String::new(), place(path, number)));
            *all += &format!("{}{}", if all.is_empty() { "" } else { "," }, hosts.trim());
        }
        self.default.get_or_insert_with(|| FLAT.to_owned());
        Ok(())
    }

    fn add_yaml(&mut self, path: &Path) -> Result<(), String> {
        let Some(text) = text(path)? else { return Ok(()) };
        let entries = yaml::read(&text).map_err(|(line, what)| format!("{}: {what}", place(path, line)))?;
        for entry in entries {
            let source = self.sources.entry(entry.source).or_default();
            source.groups.insert(entry.group, (entry.hosts, place(path, entry.line)));
        }
        Ok(())
    }
}

/// Where further files are.
#[derive(Default)]
struct Settings {
    confdir: Vec<PathBuf>,
    autodir: Option<Vec<PathBuf>>,
}

impl Upcall {
    fn ask(&self, source: &str, group: &str, allowed: bool) -> Result<Option<Definition>, String> {
        if !allowed {
            return Err(format!(
                "the source {source} asks a command ({}), which is not done unless the configuration file has, under \
                 [clustershell], upcalls = true",
                self.place
            ));
        }
        // Names of groups hold nothing that means anything to a shell.
        let command = self.command.replace("$GROUP", group).replace("$SOURCE", source);
        let command = command.replace("$CFGDIR", &self.directory.display().to_string());
        let mut shell = Command::new("sh");
        let answer = ask(shell.args(["-c", &command]).current_dir(&self.directory), PATIENCE);
        let answer = answer.map_err(|cause| format!("{}: {cause}", self.place))?;
        let hosts = answer.split_whitespace().collect::<Vec<_>>().join(",");
        if hosts.is_empty() {
            return Ok(None);
        }
        Ok(Some(Definition { hosts, place: self.place.clone(), source: Some(source.to_owned()) }))
    }
}

/// Where ClusterShell looks, the last having the last word.
fn directories() -> Vec<PathBuf> {
    if let Some(chosen) = env::var_os("CLUSTERSHELL_CFGDIR").filter(|chosen| !chosen.is_empty()) {
        return vec![chosen.into()];
    }
    let local = env::var_os("HOME").map(|home| Path::new(&home).join(".local/etc/clustershell"));
    let user = user_directory().map(|directory| directory.join("clustershell"));
    [Some("/etc/clustershell".into()), local, user].into_iter().flatten().collect()
}

/// The files of a directory with this ending, by name.
fn files(directory: &Path, ending: &str) -> Vec<PathBuf> {
    // A directory that is not there, or not ours to read, has none for us.
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == ending));
    paths.sort();
    paths
}

/// The text of a file; nothing if it is not there.
fn text(path: &Path) -> Result<Option<String>, String> {
    text_of(path).map_err(|failure| failure.message().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn directory(files: &[(&str, &str)]) -> tempfile::TempDir {
        let directory = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = directory.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        directory
    }

    fn read(files: &[(&str, &str)]) -> Result<Clustershell, String> {
        let mut clustershell = Clustershell::default();
        clustershell.add_directory(directory(files).path()).map(|()| clustershell)
    }

    fn hosts(clustershell: &Clustershell, source: Option<&str>, group: &str) -> Option<String> {
        clustershell.group(source, group, false).unwrap().map(|definition| definition.hosts)
    }

    #[test]
    fn flat_files_are_the_source_local_and_lines_of_one_group_add_up() {
        let read = read(&[("groups.d/local.cfg", "# none\nadm: n0\nall: n[1-2]\nall: n9 # old\n")]).unwrap();
        assert_eq!(hosts(&read, None, "all").as_deref(), Some("n[1-2],n9"));
        assert_eq!(hosts(&read, Some("local"), "adm").as_deref(), Some("n0"));
        assert_eq!(hosts(&read, None, "none"), None);
        assert_eq!(read.names().collect::<Vec<_>>(), ["adm", "all"]);
    }

    #[test]
    fn yaml_files_are_found_and_groups_conf_names_the_default() {
        let conf = "[Main]\ndefault: roles\nautodir: $CFGDIR/groups.d\n";
        let yaml = "roles:\n  io: 'n[4-5]'\nracks:\n  r1: 'n[1-9]'\n";
        let read = read(&[("groups.conf", conf), ("groups.d/cluster.yaml", yaml)]).unwrap();
        assert_eq!(hosts(&read, None, "io").as_deref(), Some("n[4-5]"));
        assert_eq!(hosts(&read, Some("racks"), "r1").as_deref(), Some("n[1-9]"));
    }

    #[test]
    fn commands_run_only_when_that_is_allowed() {
        let conf = "[Main]\ndefault: asked\n[asked]\nmap: echo n-$GROUP $SOURCE\n";
        let read = read(&[("groups.conf", conf)]).unwrap();
        let refused = read.group(None, "x", false).map(|_| ()).unwrap_err();
        assert!(refused.contains("upcalls = true") && refused.contains("groups.conf, line 4"), "{refused}");
    }

    #[test]
    fn a_command_that_is_allowed_gives_the_hosts() {
        let conf = "[Main]\ndefault: asked\n[asked]\nmap: echo n-$GROUP $SOURCE\n";
        let directory = directory(&[("groups.conf", conf)]);
        let mut clustershell = Clustershell::default();
        clustershell.add_directory(directory.path()).unwrap();
        let definition = clustershell.group(None, "x", true).unwrap().unwrap();
        assert_eq!(definition.hosts, "n-x,asked");
    }

    #[test]
    fn what_is_not_understood_is_named_with_file_and_line() {
        let error = read(&[("groups", "adm n0\n")]).unwrap_err();
        assert!(error.contains("groups, line 1: \"adm n0\" is not understood; write `name: hosts`"), "{error}");
        let error = read(&[("groups.d/c.yaml", "roles:\n  io: [a]\n")]).unwrap_err();
        assert!(error.contains("c.yaml, line 2"), "{error}");
    }
}
