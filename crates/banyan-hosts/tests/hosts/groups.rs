//! Groups in sets of hosts: they stand where hosts may stand, and what they lack is said with the place.

use banyan_hosts::HostSet;

/// Knows `gpu`, `slurm:debug` and `none`.
fn groups(name: &str) -> Result<HostSet, String> {
    match name {
        "gpu" => Ok(HostSet::parse("g[1-4]").unwrap()),
        "slurm:debug" => Ok(HostSet::parse("g4,n1").unwrap()),
        "none" => Ok(HostSet::default()),
        _ => Err("is no group; there are gpu and none".into()),
    }
}

fn with(text: &str) -> String {
    HostSet::parse_with(text, groups).unwrap_or_else(|error| panic!("{text:?}: {error}")).to_string()
}

fn refused(text: &str) -> String {
    HostSet::parse_with(text, groups).map(|set| panic!("{text:?} was taken for {set}")).unwrap_err().to_string()
}

#[test]
fn a_group_stands_for_all_its_hosts_whatever_joins_it() {
    assert_eq!(with("@gpu"), "g[1-4]");
    assert_eq!(with("a,@gpu!g2"), "a,g[1,3-4]");
    assert_eq!(with("g[1-9]!@gpu"), "g[5-9]");
    assert_eq!(with("@gpu&@slurm:debug"), "g4");
    assert_eq!(with("@none,x @none"), "x");
    assert_eq!(with("user@host"), "user@host");
}

#[test]
fn what_is_no_group_is_named_with_its_place() {
    assert_eq!(refused("a,@cpu"), "host set, line 1, column 3: @cpu: is no group; there are gpu and none");
    assert!(refused("a,@").contains("column 3: `@` lacks the name of a group"));
    assert!(refused("@gpu[1-2]").contains("column 5"));
    assert!(HostSet::parse("@gpu").unwrap_err().to_string().contains("USER@HOST"), "without groups it is no host");
}

#[test]
fn host_files_may_name_groups() {
    let file = std::env::temp_dir().join(format!("banyan-groups-{}", std::process::id()));
    std::fs::write(&file, "a # one\n@gpu\n!g1\n").unwrap();
    let read = HostSet::from_file_with(&file, groups);
    std::fs::remove_file(&file).unwrap();
    assert_eq!(read.unwrap().to_string(), "a,g[2-4]");
}
