//! Many seeds; prints those that fail.
use std::time::Duration;
use banyan_tree::sim::{FaultPlan, Plan, simulate};
fn main() {
    let args: Vec<String> = std::env::args().collect();
    let n = |i: usize, d: u64| args.get(i).and_then(|a| a.parse().ok()).unwrap_or(d);
    let shape: Vec<usize> = args.get(1).map_or(vec![2, 2], |s| s.split('x').map(|n| n.parse().unwrap()).collect());
    let only_deaths = n(5, 1) == 1;
    let faults = FaultPlan { count: n(3, 0) as usize, within: Duration::from_millis(40), hits_members: n(6,0)==1, only_deaths };
    let (mut bad, mut moves, mut lost) = (0, 0, 0);
    for seed in n(8,0)..n(8,0)+n(2, 100) {
        let plan = Plan { shape: shape.clone(), seed, waves: n(4, 50), streams: n(7,1) as usize, faults, ..Plan::default() };
        match simulate(&plan, &mut |_| {}) {
            Ok(o) => { moves += o.moves; lost += o.lost; }
            Err(f) => { bad += 1; if bad < 10 { println!("{f}"); } }
        }
    }
    println!("{bad} bad; moves {moves} lost {lost}");
}
