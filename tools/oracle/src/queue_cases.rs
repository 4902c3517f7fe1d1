//! Recorded scripts against the scheduling queue: a small world, operations, and everything that
//! can be observed after each of them.

mod observe;
mod script;

pub use script::Hints;

use crate::diff::diff;
use serde_json::Value;
use stowplan_engine::fast::Path;

/// Runs one case on these paths; returns the differences, none if all is equal.
pub fn run_case(case: &Value, paths: &[Path]) -> Vec<String> {
    let mut differences = Vec::new();
    for path in paths {
        let name = match path {
            Path::Plain => "plain",
            Path::Fast => "fast",
        };
        let lines = run_case_with(case, Hints::Computed, *path).into_iter();
        differences.extend(lines.map(|line| format!("{name}: {line}")));
    }
    differences
}

/// Runs one case with hints from the plugins or from the recording; returns the differences.
pub fn run_case_with(case: &Value, hints: Hints, path: Path) -> Vec<String> {
    let mut script = match script::Script::load(case, hints, path) {
        Ok(script) => script,
        Err(error) => return vec![format!("the case cannot be loaded: {error:#}")],
    };
    let mut differences = Vec::new();
    for (i, step) in case["steps"].as_array().into_iter().flatten().enumerate() {
        let op = step["op"].as_str().unwrap_or_default();
        let at = |line: String| format!("step {i} ({op}): {line}");
        match script.run(step) {
            Ok(got) => {
                let expected = observe::expected(&step["expect"]);
                differences.extend(diff(&expected, &got.state).into_iter().map(at));
                let hints = observe::wrong_hints(&step["expect"]["hints"], &got.hints);
                differences.extend(hints.into_iter().map(at));
            }
            Err(error) => {
                differences.push(at(format!("cannot be run: {error:#}")));
                break;
            }
        }
    }
    differences
}
