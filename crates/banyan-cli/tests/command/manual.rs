//! Completions and manual pages: there for every verb, because they are made from the arguments themselves.

use crate::workshop::Workshop;

/// The verbs with a help of their own: that of bench is of another program, whose tests look at it.
fn own_verbs(shop: &Workshop) -> Vec<String> {
    verbs(shop).into_iter().filter(|verb| verb != "bench").collect()
}

/// The verbs that the help names.
fn verbs(shop: &Workshop) -> Vec<String> {
    verbs_in(&shop.well(&["--help"]))
}

/// The verbs that a help lists.
fn verbs_in(help: &str) -> Vec<String> {
    let list = help.split("Commands:\n").nth(1).unwrap_or_default();
    let lines = list.lines().take_while(|line| !line.is_empty());
    let verbs = lines.filter(|line| line.starts_with("  ") && !line.starts_with("   "));
    verbs.filter_map(|line| line.split_whitespace().next().map(str::to_owned)).filter(|verb| verb != "help").collect()
}

#[test]
fn completions_of_every_shell_know_every_verb() {
    let shop = Workshop::new();
    let verbs = verbs(&shop);
    assert!(verbs.contains(&"run".to_owned()) && verbs.len() > 7, "{verbs:?}");
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let text = shop.well(&["completions", shell]);
        verbs.iter().for_each(|verb| assert!(text.contains(verb.as_str()), "{shell}: {verb}"));
        assert!(text.contains("--min-hosts") || text.contains("-l min-hosts") || text.contains("min-hosts"), "{shell}");
    }
}

#[test]
fn completions_offer_nothing_that_is_hidden() {
    let shop = Workshop::new();
    // That of bash has no descriptions, only words.
    let bash = shop.well(&["completions", "bash"]);
    let offered: Vec<&str> = bash.lines().filter(|line| line.trim_start().starts_with("opts=")).collect();
    let has = |line: &&str, word: &str| line.split([' ', '"']).any(|other| other == word);
    for hidden in ["agent", "--send", "--inherited"] {
        assert!(!offered.iter().any(|line| has(line, hidden)), "{hidden}");
    }
    let of_stack = offered.iter().find(|line| has(line, "--python")).expect("the options of stack");
    assert!(!has(of_stack, "--member"), "{of_stack}");
    for shell in ["zsh", "fish", "elvish", "powershell"] {
        let text = shop.well(&["completions", shell]);
        assert!(!["--send", "-l send"].iter().any(|option| text.contains(option)), "{shell}");
    }
}

#[test]
fn every_verb_has_json_but_those_that_print_what_others_read() {
    let shop = Workshop::new();
    let without = |verb: &String| !shop.well(&[verb, "--help"]).contains("--json") && !has_verbs_with_json(&shop, verb);
    let without: Vec<String> = own_verbs(&shop).into_iter().filter(without).collect();
    assert_eq!(without, ["completions", "manual"]);
    let help = shop.well(&["--help"]).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(help.contains("Every verb except completions and manual takes --json"), "{help}");
}

/// Whether a verb has verbs of its own, all of them with `--json`.
fn has_verbs_with_json(shop: &Workshop, verb: &str) -> bool {
    let below = verbs_in(&shop.well(&[verb, "--help"]));
    !below.is_empty() && below.iter().all(|below| shop.well(&[verb, below, "--help"]).contains("--json"))
}

/// The words of each verb for what is written, `--as`, for where pictures go, `--plot`, and for the first record, `--start`, with
/// those they had once.
const OLD_WORDS: [(&str, &str, &str); 6] = [
    ("stack", "--format", "--as"),
    ("topo gen", "--notation", "--as"),
    ("records convert", "--to", "--as"),
    ("records dump", "--from", "--start"),
    ("top", "--interval", "--every"),
    ("sim", "--nodes", "--members"),
];

#[test]
fn verbs_have_one_word_for_one_thing() {
    let shop = Workshop::new();
    let bash = shop.well(&["completions", "bash"]);
    assert!(
        !bash.split([' ', '"', '\n', '|', ')']).any(|word| word == "--svg" || word == "--notation" || word == "--to")
    );
    for (verb, old, new) in OLD_WORDS {
        let help = shop.well(&verb.split(' ').chain(["--help"]).collect::<Vec<_>>());
        let has = |option: &str| help.lines().any(|line| line.trim_start().starts_with(&format!("{option} ")));
        assert!(has(new) && !has(old), "{verb}: {help}");
    }
    for verb in [["topo", "draw"], ["records", "schema"]] {
        assert!(shop.well(&[&verb[..], &["--help"]].concat()).contains("--as <"), "{verb:?}");
    }
}

#[test]
fn the_time_limit_stands_behind_the_options_of_the_verb_itself() {
    let shop = Workshop::new();
    for verb in [&["records", "dump"][..], &["topo", "gen"], &["sim"], &["demo"]] {
        let help = shop.well(&[verb, &["-h"]].concat());
        let options = help.split("\n\n").find(|part| part.starts_with("Options:")).expect("options");
        let is_option = |line: &&str| line.trim_start().starts_with('-');
        let last = options.lines().filter(is_option).rev().nth(1);
        assert!(last.is_some_and(|line| line.trim_start().starts_with("--timeout ")), "{verb:?}: {help}");
    }
}

#[test]
fn options_that_name_hosts_stand_behind_those_of_the_verb_and_short_ones_mean_one_thing() {
    let shop = Workshop::new();
    for verb in ["run", "stack", "copy", "top", "clock", "query", "doctor"] {
        let help = shop.well(&[verb, "-h"]);
        let headings: Vec<&str> = help.lines().filter(|line| line.ends_with(':') && !line.starts_with(' ')).collect();
        let at =
            |heading: &str| headings.iter().position(|it| *it == heading).unwrap_or_else(|| panic!("{verb}: {help}"));
        assert!(at("Options:") < at("Hosts:") && at("Hosts:") < at("Options of every verb:"), "{headings:?}");
        let (own, hosts) = help.split_once("\nHosts:\n").expect("a heading");
        assert!(own.contains("--json") && !own.contains("--hosts") && hosts.contains("--no-encrypt"), "{help}");
        assert!(!own.contains(" -n, ") || own.contains(" -n, --per-host <N>"), "{help}");
        assert!(help.matches("--nodes ").count() == 1 && help.contains("-N, --nodes <N>"), "{help}");
    }
}

#[test]
fn words_of_old_scripts_are_still_understood() {
    let shop = Workshop::with_readings(2);
    let pid = std::process::id().to_string();
    assert!(shop.run(&["stack", "--pid", &pid, "--format", "dot"]).out.starts_with("digraph"));
    let tree = |option: &str| shop.well(&["topo", "gen", "2x2", option, "mrnet"]);
    assert_eq!(tree("--notation"), tree("--as"));
    let table = |option: &str| shop.well(&["records", "convert", "readings.bny", "-", option, "csv"]);
    assert_eq!(table("--to"), table("--as"));
    let last = |option: &str| shop.well(&["records", "dump", "readings.bny", option, "1"]);
    assert_eq!(last("--from"), last("--start"));
}

#[test]
fn bash_takes_its_completions() {
    let ran =
        Workshop::new().shell("banyan completions bash > c && bash -n c && bash -c '. ./c && complete -p banyan'");
    assert_eq!(ran.status, 0, "{}", ran.err);
    assert!(ran.out.contains("banyan"), "{}", ran.out);
}

#[test]
fn the_help_of_whatever_does_something_tells_its_exit_statuses() {
    let shop = Workshop::new();
    let inner = [("records", "dump schema convert stat diff"), ("topo", "gen check draw")];
    let inner = inner.into_iter().flat_map(|(verb, names)| names.split(' ').map(move |name| vec![verb, name]));
    let verbs = ["demo", "run", "stack", "copy", "top", "clock", "query", "sim", "doctor"].map(|verb| vec![verb]);
    for verb in verbs.into_iter().chain(inner) {
        let help = shop.well(&[&verb[..], &["--help"]].concat());
        assert!(help.contains("Exit status: 0 "), "{verb:?}: {help}");
    }
}

#[test]
fn help_is_wrapped_where_lines_are_full_and_nowhere_else() {
    let shop = Workshop::new();
    let below = |verb: &String| {
        verbs_in(&shop.well(&[verb, "--help"])).into_iter().map(|below| vec![verb.clone(), below]).collect()
    };
    let pages = own_verbs(&shop).into_iter().flat_map(|verb| {
        let below: Vec<Vec<String>> = below(&verb);
        below.into_iter().chain([vec![verb]])
    });
    for page in pages {
        let words: Vec<&str> = page.iter().map(String::as_str).chain(["--help"]).collect();
        let help = shop.well(&words);
        let lines: Vec<&str> = help.lines().collect();
        let is_prose = |line: &&str| !line.is_empty() && !line.starts_with(' ') && !line.ends_with(':');
        for pair in lines.windows(2).filter(|pair| pair.iter().all(is_prose)) {
            let next = pair[1].split(' ').next().unwrap_or_default();
            let is_full = pair[0].chars().count() + 1 + next.chars().count() > 100;
            assert!(is_full, "{page:?}: {:?} goes on with {:?}", pair[0], pair[1]);
        }
    }
}

#[test]
fn every_verb_has_a_manual_page() {
    let shop = Workshop::new();
    shop.well(&["manual", "pages"]);
    for verb in verbs(&shop) {
        let page = String::from_utf8(shop.read(&format!("pages/banyan-{verb}.1"))).expect("text");
        assert!(page.starts_with(".ie") && page.contains(".SH NAME") && page.contains(".SH OPTIONS"), "{verb}: {page}");
    }
    let page = shop.well(&["manual"]);
    verbs(&shop).iter().for_each(|verb| assert!(page.contains(verb.as_str()), "{verb}"));
    assert_eq!(String::from_utf8(shop.read("pages/banyan.1")).expect("text"), page);
}
