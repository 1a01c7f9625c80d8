//! The help of every bench, and the manual pages.

use crate::workshop::Workshop;

/// The benches, and what else has figures.
const BENCHES: [&str; 8] = ["records", "launch", "collectives", "tree", "layers", "exchange", "events", "predict"];

/// Those that have no picture.
const WITHOUT_PLOT: [&str; 1] = ["events"];

fn help(shop: &Workshop, verb: &str) -> String {
    shop.well(&["bench", verb, "--help"])
}

#[test]
fn every_bench_has_the_options_of_all_and_tells_its_exit_statuses() {
    let shop = Workshop::new();
    let of_all = shop.well(&["bench", "--help"]);
    assert!(of_all.contains("Usage: banyan bench BENCH [OPTIONS]"), "{of_all}");
    assert!(of_all.contains("Exit status: 0 ") && of_all.contains("--json"), "{of_all}");
    for bench in BENCHES {
        let help = help(&shop, bench);
        assert!(of_all.contains(&format!("\n  {bench} ")), "{bench}: {of_all}");
        assert!(help.contains(&format!("Usage: banyan bench {bench} ")), "{help}");
        assert!(help.contains("Exit status: 0 "), "{help}");
        for option in ["--json", "--plot <", "--color", "--quiet", "--verbose", "--log", "--timeout"] {
            let wanted = option != "--plot <" || !WITHOUT_PLOT.contains(&bench);
            assert_eq!(help.contains(option), wanted, "{bench}: {option}: {help}");
        }
        assert!(!help.contains("--svg") && help.lines().all(|line| line.chars().count() <= 100), "{help}");
    }
}

#[test]
fn options_of_every_verb_may_stand_before_bench() {
    let ran = Workshop::new().run(&["--color", "never", "-q", "bench", "tree", "--shape", "4x"]);
    assert_eq!((ran.status, ran.out.as_str()), (2, ""));
    assert!(ran.err.starts_with("banyan: invalid value '4x' for '--shape <AxB>'"), "{}", ran.err);
}

#[test]
fn every_bench_has_a_manual_page() {
    let shop = Workshop::new();
    shop.well(&["bench", "manual", "pages"]);
    for page in ["banyan-bench".to_owned()].into_iter().chain(BENCHES.map(|bench| format!("banyan-bench-{bench}"))) {
        let text = String::from_utf8(shop.read(&format!("pages/{page}.1"))).expect("text");
        assert!(text.contains(".SH NAME") && text.contains(".SH OPTIONS"), "{page}: {text}");
    }
}
