//! `banyan bench predict`.

use serde_json::json;

use crate::environment::environment;
use crate::fields::assert_documented;
use crate::shape::assert_shape;
use crate::workshop::Workshop;

#[test]
fn predictions_reach_a_million_members_and_take_the_hop_that_is_given() {
    let shop = Workshop::new();
    let far = shop.run(&["bench", "predict", "--hop", "1000", "--json", "--plot", "plots"]);
    let object = &far.json()[0];
    assert_documented("command-bench.md", object);
    let costs = json!({ "hop_us": "number", "send_us": "number", "receive_us": "number", "wave_us": "number" });
    let row = json!({
        "fan_out": "count", "members": "count", "levels": "count", "round_trip_us": "number",
        "waves_per_second": "number",
    });
    let shape = json!({ "costs": costs, "hop_is_given": "flag", "rows": [row] });
    assert_shape(object, &json!({ "predict": shape, "environment": environment() }));
    let figures = &object["predict"];
    assert_eq!((far.status, &figures["costs"]["hop_us"]), (0, &1000.0.into()));
    let rows = figures["rows"].as_array().expect("rows");
    for fan_out in [8, 16, 32, 64] {
        let of = |row: &&serde_json::Value| row["fan_out"] == fan_out && row["members"] == 1_048_576;
        let row = rows.iter().find(of).expect("a million members");
        let (levels, round_trip) = (row["levels"].as_f64(), row["round_trip_us"].as_f64());
        assert!(round_trip > levels.map(|levels| levels * 2000.0), "every level costs two hops: {row}");
        assert!(row["waves_per_second"].as_f64() > Some(0.0), "{row}");
    }
    for name in ["sim-round-trip.svg", "sim-waves.svg"] {
        assert!(String::from_utf8_lossy(&shop.read(&format!("plots/{name}"))).contains("fan-out 8"), "{name}");
    }
}

#[test]
fn a_hop_that_takes_no_time_or_less_is_refused() {
    let refused = Workshop::new().run(&["bench", "predict", "--hop", "-1"]);
    assert_eq!((refused.status, refused.out.as_str()), (2, ""), "{}", refused.err);
}
