//! What people see of benches: the whole output, with every figure that is measured replaced by `#`.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use serde_json::{Value, json};

use crate::environment::environment;
use crate::fields::assert_documented;
use crate::shape::assert_shape;
use crate::shown::assert_shown;
use crate::workshop::{Ran, Workshop};

/// The first line of every bench, for this machine.
fn machine() -> String {
    let read = |path: &str| fs::read_to_string(path).expect("/proc");
    let processors = read("/proc/cpuinfo");
    let model = processors.lines().find_map(|line| line.strip_prefix("model name")?.split_once(':'));
    let processor = model.map_or("unknown processor", |(_, model)| model.trim());
    format!(
        "{processor} (# cores, {}), Linux {}, load # before and # after, Banyan {}",
        std::env::consts::ARCH,
        read("/proc/sys/kernel/osrelease").trim(),
        env!("CARGO_PKG_VERSION")
    )
}

fn assert_bench_shown(text: &str, wanted: &str) {
    assert_shown(&all_kept(text), &format!("{}\n\n{wanted}", machine()));
}

/// Whether a promise is kept is a matter of the machine, too.
pub(crate) fn all_kept(text: &str) -> String {
    text.replace("missed here\n", "kept\n").replace("missed here", "kept       ")
}

const RECORDS: &str = "\
plain record                                   96 B           992 B         10016 B         99872 B
  memcpy copy                              #               #               #               #
  banyan encode                            #      #        #      #        #      #        #      #
  banyan decode_same                       #      #        #      #        #      #        #      #
  banyan decode_extra_field                #      #        #      #        #      #        #      #
  banyan decode_foreign                    #      #        #      #        #      #        #      #
  banyan decode_foreign_layout             #      #        #      #        #      #        #      #
  banyan decode_foreign_interpreted        #      #        #      #        #      #        #      #

mixed record                                  160 B           896 B         32896 B
  memcpy copy                              #               #               #
  banyan encode                            #      #        #      #        #      #
  banyan decode_same                       #      #        #      #        #      #
  banyan decode_owned                      #      #        #      #        #      #
  banyan decode_extra_field                #      #        #      #        #      #
  banyan decode_foreign                    #      #        #      #        #      #
  banyan decode_foreign_layout             #      #        #      #        #      #
  banyan decode_foreign_interpreted        #      #        #      #        #      #

  banyan lookup_1000                      #
  banyan compile                          #

promised (plain record)                                       measured
  encode in at most 25.0 ns                                          #  kept
  decode_same in at most 10.0 ns                                     #  kept
  lookup_1000 in at most 20.0 ns                                     #  kept
  compile in at most 150 µs                                          #  kept
  decode_extra_field, 99872 B, at most 1.3 x memcpy                # x  kept
  decode_foreign, 99872 B, at most 1.2 x memcpy                    # x  kept
  decode_foreign, 992 B, at most 2.5 x memcpy                      # x  kept
  decode_foreign_layout, 99872 B, at most 1.6 x memcpy             # x  kept
  decode_foreign_interpreted, 99872 B, at most 2 x memcpy          # x  kept

";

#[test]
fn the_bench_of_records_shows_both_records_and_every_promise() {
    let text = Workshop::new().well(&["bench", "records", "--quick", "--plot", "plot.svg"]);
    assert_bench_shown(&text, &format!("{RECORDS}plot: plot.svg\n"));
}

const TREE: &str = "\
round_trip (µs): an integer to all members and the sum of their answers, median
                     floor          banyan    banyan/floor  promised                      MRNet, quoted
  1x16                   #               #               #  ≤ 1.5 x floor  kept           1070-1280

memory (MB): what the largest inner process holds, with the text it shares with others
                     floor          banyan    banyan/floor  promised                      MRNet, quoted
  1x16                   #               #               #                                14-20

";

#[test]
fn the_bench_of_trees_shows_the_floor_what_is_promised_and_what_is_quoted() {
    let words = ["bench", "tree", "--quick", "--shape", "1x16", "--op", "round_trip", "--op", "memory"];
    assert_bench_shown(&Workshop::new().well(&words), TREE);
}

const LAYERS: &str = "\
latency: µs of a round trip, and how many each layer adds
                    64 B
  memory copy          #
  Unix socket          #        #
  link                 #        #
  hop                  #        #
  filter               #        #
  typed value          #        #
over TCP, as between hosts; TCP beside the Unix socket:
  TCP                  #        #
  link                 #        #
  encryption           #        #
  hop                  #        #
  filter               #        #
  typed value          #        #

throughput: MB/s in one direction, and µs that each layer adds to a message
                    64 B
  memory copy          #
  Unix socket          #        #
  link                 #        #
  hop                  #        #
  filter               #        #
  typed value          #        #
over TCP, as between hosts; TCP beside the Unix socket:
  TCP                  #        #
  link                 #        #
  encryption           #        #
  hop                  #        #
  filter               #        #
  typed value          #        #

64 B there and back, through an agent, takes #; the layer that takes most: LAYER.
    memory copy # %, Unix socket # %, link # %, hop # %, filter # %, typed value # %
64 B in a stream, through an agent, takes #; the layer that takes most: LAYER.
    memory copy # %, Unix socket # %, link # %, hop # %, filter # %, typed value # %
64 B there and back, through an agent over TCP, takes #; the layer that takes most: LAYER.
    memory copy # %, Unix socket # %, TCP # %, link # %, encryption # %, hop # %,
    filter # %, typed value # %
64 B in a stream, through an agent over TCP, takes #; the layer that takes most: LAYER.
    memory copy # %, Unix socket # %, TCP # %, link # %, encryption # %, hop # %,
    filter # %, typed value # %
";

/// Only where there is noise.
const NOISE: &str = "# of 22 differences are no more than repetitions differ by (~).\n";

/// Layers without what is found by measuring: which takes most, and which differences are noise.
pub(crate) fn without_noise(text: &str) -> String {
    let mut shown = String::new();
    for line in text.lines().filter(|line| !line.ends_with("(~).")) {
        let line = line.replace(" ~", " ").replace('~', " ");
        match line.split_once("the layer that takes most: ") {
            Some((before, layer)) => {
                let title = layer.trim_end_matches('.');
                assert!(text.contains(&format!("\n  {title} ")), "{title} is no layer");
                shown += &format!("{before}the layer that takes most: LAYER.\n");
            }
            None => shown += &format!("{}\n", line.trim_end()),
        }
    }
    shown
}

#[test]
fn the_bench_of_layers_shows_what_each_adds_and_says_in_words_which_takes_most() {
    let text = Workshop::new().well(&["bench", "layers", "--quick", "--size", "64", "--plot", "none"]);
    for noise in text.lines().filter(|line| line.ends_with("(~).")) {
        assert_shown(&format!("{noise}\n"), NOISE);
    }
    assert_bench_shown(&without_noise(&text), &format!("{LAYERS}\n"));
}

const EXCHANGE: &str = "\
one exchange over TCP on this machine, µs
                                there:                         back:
                                encode   network    decode    encode   network    decode       all   records
      96 B  bare bytes               -         #         -         -         #         -         #         -
      96 B  same layout              #         #         #         #         #         #         #       # %
      96 B  other byte order         #         #         #         #         #         #         #       # %
      96 B  … and layout             #         #         #         #         #         #         #       # %
     992 B  bare bytes               -         #         -         -         #         -         #         -
     992 B  same layout              #         #         #         #         #         #         #       # %
     992 B  other byte order         #         #         #         #         #         #         #       # %
     992 B  … and layout             #         #         #         #         #         #         #       # %
   10016 B  bare bytes               -         #         -         -         #         -         #         -
   10016 B  same layout              #         #         #         #         #         #         #       # %
   10016 B  other byte order         #         #         #         #         #         #         #       # %
   10016 B  … and layout             #         #         #         #         #         #         #       # %
   99872 B  bare bytes               -         #         -         -         #         -         #         -
   99872 B  same layout              #         #         #         #         #         #         #       # %
   99872 B  other byte order         #         #         #         #         #         #         #       # %
   99872 B  … and layout             #         #         #         #         #         #         #       # %

99872 B, same layout: encoding and decoding take # of # (# %); bare bytes take #.
99872 B, other byte order: encoding and decoding take # of # (# %); bare bytes take #.
99872 B, other byte order and layout: encoding and decoding take # of # (# %); bare bytes take #.

";

#[test]
fn the_bench_of_exchanges_shows_every_part_and_says_in_words_what_records_cost() {
    let text = Workshop::new().well(&["bench", "exchange", "--quick", "--plot", "none"]);
    assert_bench_shown(&text, EXCHANGE);
}

const COLLECTIVES: &str = "\
ms                                                           1         4
point-to-point broadcast+barrier (dynamic)                   #         #
point-to-point scatter+gather (dynamic)                      #         #
wake broadcast+barrier (dynamic)                             #         #
  to point-to-point                                          #         #
wake scatter+gather (dynamic)                                #         #
  to point-to-point                                          #         #
banyan broadcast+barrier (dynamic)                           #         #
  to point-to-point                                          #         #
  to wake                                                    #         #
banyan scatter+gather (dynamic)                              #         #
  to point-to-point                                          #         #
  to wake                                                    #         #

";

const LAUNCH: &str = "\
ms                                                           1         4
floor launch (dynamic)                                       #         #
banyan launch (dynamic)                                      #         #
  to floor                                                   #         #
sequential launch (dynamic)                                  #         #
  to floor                                                   #         #
pdsh launch (/bin/true)                                      #         -
  to floor                                                   #         -
clush launch (/bin/true)                                     #         #
  to floor                                                   #         #
banyan agent, one member (dynamic, 4)                                       #
banyan agents, each further member (dynamic, 4)                             #
banyan member (dynamic, 4)                                                  #
banyan member without the library (dynamic, 4)                              #
left out: mpiexec (hydra): not installed: there is no mpiexec.hydra in PATH
left out: mpirun (Open MPI): mpirun is another program: mpirun --version does not say Open MPI
left out: srun: there is no cluster: SLURM_CONF names no configuration
left out: pdsh: with 4 members: failed (exit status: 1): pdsh: no more than one

";

#[test]
fn the_bench_of_collectives_shows_the_tree_beside_messages_from_one_process() {
    let shop = Workshop::new();
    let words = ["bench", "collectives", "--members", "1", "--members", "4", "--plot"];
    assert_bench_shown(&shop.well(&[&words[..], &["none"]].concat()), COLLECTIVES);
    let ran = shop.run(&[&words[..], &["none", "--json"]].concat());
    let row = json!({
        "system": "text", "op": "text", "program": "text", "members": "count", "ms": "number",
        "ratio?": { "to": "text", "times": "number" }, "ceiling?": { "to": "text", "times": "number" },
    });
    let shape = json!({ "bench": "text", "environment": environment(), "rows": [row], "left_out": "list" });
    assert_shape(&ran.json()[0], &shape);
    assert_documented("command-bench.md", &ran.json()[0]);
}

/// Runs `bench launch` where these are the only starters: the content of a script for each.
pub(crate) fn launch(starters: &[(&str, &str)], options: &str) -> Ran {
    let shop = Workshop::new();
    fs::create_dir(shop.path("bin")).expect("room");
    for (name, content) in starters {
        let name = format!("bin/{name}");
        shop.write(&name, format!("#!/bin/sh\n{content}\n"));
        fs::set_permissions(shop.path(&name), fs::Permissions::from_mode(0o755)).expect("it is ours");
    }
    let bench = env!("CARGO_BIN_EXE_banyan-bench");
    shop.shell(&format!(
        "ln -s \"$(command -v timeout)\" bin; unset SLURM_CONF; PATH=\"$PWD/bin\"\n\
         '{bench}' launch --members 1 --members 4 --plot none {options}"
    ))
}

#[test]
fn the_bench_of_launches_shows_the_floor_the_starters_that_work_and_why_others_have_no_figure() {
    let starters = [
        ("mpirun", "echo mpirun of somebody else"),
        ("srun", "echo slurm 24.05.1"),
        ("pdsh", "case \"$*\" in *n\\[1-4\\]*) echo pdsh: no more than one >&2; exit 1;; esac"),
        ("clush", "exit 0"),
    ];
    let ran = launch(&starters, "");
    assert_eq!((ran.status, ran.err.as_str()), (0, ""));
    assert_bench_shown(&ran.out, LAUNCH);
    let json = launch(&starters, "--json");
    let row = json!({
        "system": "text", "op": "text", "program": "text", "members": "count", "ms?": "number",
        "value?": "number", "unit?": "text", "ratio?": { "to": "text", "times": "number" },
    });
    let left_out = json!({ "system": "text", "reason": "text" });
    let object = &json.json()[0];
    assert_shape(
        object,
        &json!({ "bench": "text", "environment": environment(), "rows": [row], "left_out": [left_out] }),
    );
    assert_documented("command-bench.md", object);
    let told: String = object["left_out"].as_array().expect("a list").iter().map(line).collect();
    assert!(LAUNCH.ends_with(&format!("{told}\n")), "{told}");
}

#[test]
fn where_there_is_no_program_for_members_the_command_is_one() {
    let shop = Workshop::new();
    // A copy in a directory of its own, with nothing beside it.
    fs::copy(env!("CARGO_BIN_EXE_banyan-bench"), shop.path("banyan-bench")).expect("room");
    for bench in ["launch", "collectives"] {
        let ran = shop.shell(&format!("./banyan-bench {bench} --quick --members 3 --plot none --json"));
        assert_eq!((ran.status, ran.err.as_str()), (0, ""));
        let object = &ran.json()[0];
        let rows = object["rows"].as_array().expect("rows");
        let is_whole = |system: &str| rows.iter().any(|row| row["system"] == system && row["members"] == 3);
        assert!(is_whole("banyan") && rows.iter().all(|row| row["program"] != "dynamic"), "{object}");
        assert!(rows.iter().any(|row| row["program"] == "the command"), "{object}");
    }
}

/// How people see somebody who was left out.
fn line(left_out: &Value) -> String {
    let text = |name: &str| left_out[name].as_str().expect("a text").to_owned();
    format!("left out: {}: {}\n", text("system"), text("reason"))
}
