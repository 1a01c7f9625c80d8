//! The demo loses nothing and leaves nothing.

use serde_json::json;

use crate::shape::assert_shape;
use crate::workshop::{Workshop, json_lines};

#[test]
fn the_demo_names_the_rank_that_hangs_and_misses_nothing() {
    let shop = Workshop::new();
    let story = shop.well(&["demo"]);
    assert!(story.lines().count() <= 60 && story.lines().all(|line| line.chars().count() <= 100), "{story}");
    assert!(story.contains("The one to look at is rank 37") && story.contains("no process is left"), "{story}");
    assert!(story.contains("1,920,000 records emitted = 1,920,000 delivered"), "{story}");
    let facts = &json_lines(&shop.well(&["demo", "--json"]))[0];
    assert_eq!(facts["hung"]["ranks"], "37", "{facts}");
    assert_eq!(facts["healed"]["emitted"], facts["healed"]["delivered"], "{facts}");
    assert_eq!((&facts["healed"]["waves"], &facts["healed"]["wrong"]), (&30_000.into(), &0.into()), "{facts}");
    assert_eq!((&facts["grown"]["members"], &facts["left"]), (&64.into(), &0.into()), "{facts}");
    let tree = json!([{ "node": "count", "ranks": "text" }]);
    let last = json!({ "ranks": "text", "cells": "count", "mean": "number", "worst": "number", "who": "count" });
    let shape = json!({
        "demo": "text",
        "grown": { "members": "count", "ms": "number", "tree": tree },
        "hung": { "ranks": "text", "unread": "nothing", "ms": "number", "stacks": "object" },
        "reduced": { "waves": "count", "ms": "number", "last": last },
        "healed": {
            "killed": "count", "orphans": "text", "tree": tree, "waves": "count", "wrong": "count",
            "emitted": "count", "delivered": "count", "pause_ms": "number",
        },
        "left": "count",
    });
    assert_shape(facts, &shape);
}
