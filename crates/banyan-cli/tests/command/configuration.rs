//! The configuration file, and groups of hosts from everywhere they may be defined.

use std::os::unix::fs::PermissionsExt;

use crate::workshop::Workshop;

/// The hosts that arguments name, folded: members that are acted out here.
fn hosts(shop: &Workshop, arguments: &[&str]) -> String {
    let all = [&["run", "-b", "--launcher", "local", "--input", "none"], arguments, &["--", "echo"]].concat();
    let ran = shop.run(&all);
    assert_eq!((ran.status, ran.err.as_str()), (0, ""), "{arguments:?}");
    let title = ran.out.lines().next().expect("a title").to_owned();
    title.trim_start_matches("=== ").split(" (").next().expect("hosts").to_owned()
}

fn refusal(shop: &Workshop, arguments: &[&str]) -> String {
    let ran = shop.run(&[&["run", "--launcher", "local"], arguments, &["--", "true"]].concat());
    assert_eq!((ran.status, ran.out.as_str()), (2, ""), "{arguments:?}: {}", ran.err);
    ran.err
}

#[test]
fn groups_of_the_configuration_stand_wherever_hosts_stand() {
    let shop = Workshop::new();
    shop.write("config.toml", "[groups]\ngpu = \"g[1-4]\"\nall = \"@gpu,n[1-3]!n2\"\n");
    shop.write("hosts", "@gpu # all of them\n");
    assert_eq!(hosts(&shop, &["-w", "@all"]), "g[1-4],n[1,3]");
    assert_eq!(hosts(&shop, &["-g", "gpu", "-x", "@gpu&g[1-2]"]), "g[3-4]");
    assert_eq!(hosts(&shop, &["-g", "@gpu", "-w", "x"]), "g[1-4],x");
    assert_eq!(hosts(&shop, &["--hostfile", "hosts", "-x", "g1"]), "g[2-4]");
    let tree = shop.well(&["topo", "gen", "hosts:4:1", "-w", "@gpu"]);
    assert!(tree.contains("g[1-4]"), "{tree}");
}

#[test]
fn what_is_wrong_with_a_group_is_told_with_file_line_and_remedy() {
    let shop = Workshop::new();
    shop.write("config.toml", "");
    assert!(refusal(&shop, &["-w", "@gpu"]).contains("config.toml under [groups]"));
    shop.write("config.toml", "[groups]\nbad = \"n[\"\nself = \"x,@loop\"\nloop = \"@self\"\n");
    let unknown = refusal(&shop, &["-w", "a,@gpu"]);
    assert!(
        unknown.contains("-w: host set, line 1, column 3: @gpu: is no group; there are bad, loop, self"),
        "{unknown}"
    );
    let bad = refusal(&shop, &["-w", "@bad"]);
    assert!(bad.contains("config.toml, line 2: host set, line 1, column 2: `[` is not closed"), "{bad}");
    assert!(refusal(&shop, &["-g", "self"]).contains("is part of itself (@self of @loop)"));
    shop.write("config.toml", "[defaults]\nlauncher = \"pigeon\"\n");
    assert!(refusal(&shop, &["-w", "a"]).contains("config.toml, line 2: \"pigeon\": there are auto"));
}

#[test]
fn defaults_hold_for_options_that_are_not_given() {
    let shop = Workshop::new();
    shop.write("config.toml", "[defaults]\nlauncher = \"local\"\ntimeout = \"1s\"\ncolor = \"always\"\n");
    // Without the default these hosts would be looked for by ssh.
    let ran = shop.run(&["run", "-w", "n[1-2]", "-b", "--input", "none", "--", "echo", "here"]);
    assert_eq!((ran.out.as_str(), ran.status), ("\x1b[1;36m=== n[1-2] (2 of 2)\x1b[0m\nhere\n", 0));
    let slow = shop.run(&["run", "--input", "none", "--", "sleep", "600"]);
    assert_eq!(slow.status, 4, "{}", slow.err);
    let plain = shop.run(&["run", "-w", "n1", "-b", "--color", "never", "--timeout", "1m", "--", "echo", "here"]);
    assert_eq!(plain.out, "=== n1 (1 of 1)\nhere\n");
}

#[test]
fn groups_of_clustershell_are_known_here_too() {
    let shop = Workshop::new();
    std::fs::create_dir_all(shop.path("clustershell/groups.d")).expect("room");
    shop.write("clustershell/groups.conf", "[Main]\ndefault: roles\n[asked]\nmap: echo q-$GROUP\n");
    shop.write(
        "clustershell/groups.d/cluster.yaml",
        "roles:\n  io: 'n[1-2]'\n  all: '@io,@racks:r1'\nracks:\n  r1: n7\n",
    );
    shop.write("clustershell/groups", "adm: a0\n");
    assert_eq!(hosts(&shop, &["-w", "@all"]), "n[1-2,7]");
    assert_eq!(hosts(&shop, &["-w", "@racks:r1,@local:adm"]), "a0,n7");
    assert!(refusal(&shop, &["-w", "@asked:x"]).contains("upcalls = true"));
    shop.write("config.toml", "[clustershell]\nupcalls = true\n");
    assert_eq!(hosts(&shop, &["-w", "@asked:x"]), "q-x");
}

#[test]
fn partitions_and_jobs_of_slurm_are_groups() {
    let shop = Workshop::new();
    for (program, answer) in
        [("sinfo", "--partition=debug) echo 'h[1-8]'; echo h9"), ("squeue", "--jobs=7) echo 'h[2-3]'")]
    {
        shop.write(program, format!("#!/bin/sh\nfor word; do case $word in {answer};; esac; done\n"));
        std::fs::set_permissions(shop.path(program), std::fs::Permissions::from_mode(0o755)).expect("it is ours");
    }
    let run = |hosts: &str| {
        shop.shell(&format!("PATH=$PWD:$PATH banyan run -w {hosts} -b --launcher local --input none -- echo"))
    };
    assert_eq!(run("@slurm:debug,@slurm-job:7").out, "=== h[1-9] (9 of 9)\n\n");
    let none = run("@slurm:none");
    assert_eq!(none.status, 2);
    assert!(none.err.contains("Slurm has no nodes in a partition \"none\"; look at: sinfo -s"), "{}", none.err);
}

#[test]
fn more_hosts_than_there_are_cannot_be_asked_to_remain() {
    let shop = Workshop::new();
    shop.write("file", "content\n");
    for words in [
        &["run", "--", "true"][..],
        &["copy", "file", "there"],
        &["copy", "--gather", "file", "there"],
        &["stack", "--pid", "1"],
        &["top", "--once"],
        &["clock"],
        &["query", "select * from a"],
        &["doctor"],
    ] {
        let hosts = ["--launcher", "local", "--min-hosts", "5", "-w", "a,b"];
        let ran = shop.run(&[&words[..1], &hosts, &words[1..]].concat());
        assert_eq!((ran.status, ran.out.as_str()), (2, ""), "{words:?}: {}", ran.err);
        assert_eq!(
            ran.err,
            "banyan: --min-hosts 5: there are 2 hosts; write a smaller number, or name more hosts with -w, -g or \
             --hostfile\n"
        );
    }
    assert_eq!(shop.files(), ["file"], "nothing was left behind");
    let here = shop.run(&["run", "--min-hosts", "2", "--", "true"]);
    assert!(here.status == 2 && here.err.contains("--min-hosts 2: there is 1 host; "), "{}", here.err);
    // A default is for sets of hosts of any size.
    shop.write("config.toml", "[defaults]\nmin-hosts = 5\n");
    assert_eq!(hosts(&shop, &["-w", "a,b"]), "a,b");
    let missing =
        ["run", "--launcher", "command:false {hosts} {agent}", "--host-timeout", "2s", "-w", "a,b", "--", "true"];
    assert_eq!(shop.run(&missing).status, 3, "none may be missing then");
}

#[test]
fn a_file_that_is_named_must_be_there() {
    let shop = Workshop::new();
    let ran = shop.shell("BANYAN_CONFIG=gone.toml banyan run -- true");
    let says = "banyan: BANYAN_CONFIG=gone.toml: no such file; name one, or set BANYAN_CONFIG= to go without\n";
    assert_eq!((ran.status, ran.err.as_str()), (2, says));
    assert_eq!(shop.shell("BANYAN_CONFIG= banyan run -- true").status, 0);
}
