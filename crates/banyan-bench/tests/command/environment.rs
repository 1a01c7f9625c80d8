//! The machine, as every object of a bench has it.

use serde_json::{Value, json};

/// The shape of `environment` in what benches say.
pub(crate) fn environment() -> Value {
    json!({
        "host": "text", "cpu": "text", "cores": "count", "kernel": "text", "arch": "text", "load_before": "number",
        "load_after": "number", "version": "text", "build": "text", "commit?": "text",
    })
}
