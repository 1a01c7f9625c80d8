//! Runs one simulation and prints everything that happens.
use std::time::Duration;
use banyan_tree::sim::{FaultPlan, Plan, simulate};
fn main() {
    let args: Vec<String> = std::env::args().collect();
    let n = |i: usize, d: u64| args.get(i).and_then(|a| a.parse().ok()).unwrap_or(d);
    let shape = args.get(1).map_or(vec![2, 2], |s| s.split('x').map(|n| n.parse().unwrap()).collect());
    let only_deaths = n(5, 1) == 1;
    let faults = FaultPlan { count: n(3, 0) as usize, within: Duration::from_millis(40), hits_members: n(6,0)==1, only_deaths };
    let plan = Plan { shape, seed: n(2, 0), waves: n(4, 5), streams: n(7,1) as usize, faults, ..Plan::default() };
    let quiet = std::env::var("QUIET").is_ok();
    let begin = std::time::Instant::now();
    let outcome = simulate(&plan, &mut |line| if !quiet { println!("{}", line()) });
    println!("{outcome:?} {:?}", begin.elapsed());
}
