//! What running an expression costs. Upstream: `cel-go/interpreter/runtimecost.go` and
//! `apiserver/pkg/cel/library/cost.go`.

use super::value::Val;
use std::cell::Cell;

/// What one run of one expression may cost. Upstream: `PerCallLimit`.
const CALL_MAX: u64 = 1_000_000;
/// What all rules together may cost for one object. Upstream: `RuntimeCELCostBudget`.
pub(super) const OBJECT_MAX: u64 = 10_000_000;
/// Making a list and a map.
pub(super) const LIST: u64 = 10;
pub(super) const MAP: u64 = 30;

/// How a run ends that costs too much.
pub(super) const CANCELLED: &str = "operation cancelled: actual cost limit exceeded";

/// Counts what one run costs, and ends it.
#[derive(Debug, Default)]
pub(super) struct Meter(Cell<u64>);

impl Meter {
    /// Adds to the cost. Once there is too much of it, everything fails.
    pub(super) fn spend(&self, cost: u64) -> Result<(), String> {
        let spent = self.0.get().saturating_add(cost);
        self.0.set(spent);
        match spent > CALL_MAX {
            true => Err(CANCELLED.to_owned()),
            false => Ok(()),
        }
    }

    /// What was spent.
    pub(super) fn spent(&self) -> u64 {
        self.0.get()
    }
}

/// What walking through so much text costs.
fn walk(size: u64) -> u64 {
    size.div_ceil(10)
}

fn pattern(text: u64, pattern: u64) -> u64 {
    walk(text + 1).saturating_mul(pattern.div_ceil(4))
}

/// What an operator costs.
pub(super) fn operator(name: &str, a: &Val, b: &Val) -> u64 {
    match (name, a, b) {
        ("==", Val::Opaque(_), _) => 1,
        ("==" | "!=", a, b) => walk(a.size().min(b.size())),
        ("<" | "<=" | ">" | ">=", Val::Text(_) | Val::Bytes(_), b) => walk(a.size().min(b.size())),
        ("in", _, Val::List(list)) => list.len() as u64,
        ("+", Val::Text(_) | Val::Bytes(_), b) => walk(a.size().saturating_add(b.size())),
        // Upstream joins lists without a copy.
        ("+", Val::List(a), Val::List(b)) => (a.len() + b.len()).max(1) as u64,
        _ => 1,
    }
}

/// What is spent before a function is called: the work that its arguments make, without the result.
pub(super) fn call(name: &str, with: &[&Val]) -> u64 {
    let size = |i: usize| with.get(i).map_or(1, |v| v.size());
    match name {
        "isSorted" | "sum" | "max" | "min" | "indexOf" | "lastIndexOf" => {
            with.first().map_or(0, |v| traversal(v))
        }
        "url" | "lowerAscii" | "upperAscii" | "substring" | "trim" | "cidr" | "isIP" | "isCIDR"
        | "quantity" | "isQuantity" | "semver" | "isSemver" | "startsWith" | "endsWith"
        | "bytes" | "quote" | "format" | "isURL" => walk(size(0)),
        "ip" => match with.first() {
            Some(Val::Text(_)) => walk(size(0)),
            _ => 1,
        },
        "replace" | "split" | "isCanonical" => walk(size(0).saturating_mul(2)),
        "find" | "findAll" | "matches" => pattern(size(0), size(1)),
        "contains" => walk(size(0)).saturating_mul(walk(size(1))),
        "containsIP" | "containsCIDR" => {
            let own = walk(size(0).saturating_mul(2));
            let masked = match name {
                "containsCIDR" => walk(size(0)) + 1,
                _ => 0,
            };
            let read = match with.get(1) {
                Some(Val::Text(_)) => walk(size(1)),
                _ => 0,
            };
            own + masked + read
        }
        "validate" => match with.first() {
            Some(Val::Opaque(format)) => pattern(size(1), format.pattern_size()),
            _ => 1,
        },
        "sets.contains" | "sets.intersects" => size(0).saturating_mul(size(1)) + 1,
        "sets.equivalent" => size(0).saturating_mul(size(1)).saturating_mul(2) + 1,
        // Every element is compared with others.
        "distinct" | "sort" => size(0).saturating_mul(size(0)).saturating_mul(2) + LIST + 1,
        "flatten" | "reverse" | "slice" => size(0) + LIST + 1,
        "lists.range" => LIST + 1,
        "or" | "orValue" => 0,
        _ => 1,
    }
}

/// What is spent on what a function made.
pub(super) fn result(name: &str, value: &Val) -> u64 {
    /// Upstream counts what goes into these alone, from which much can be made.
    const LARGE: u64 = 10_000;
    match name {
        "join" => walk(value.size().saturating_mul(2)),
        "replace" | "format" if value.size() > LARGE => walk(value.size()),
        _ => 0,
    }
}

/// What looking at all of a list costs, the texts in it included.
fn traversal(value: &Val) -> u64 {
    match value {
        Val::Text(text) => text.len() as u64 / 10,
        Val::Bytes(bytes) => bytes.len() as u64 / 10,
        Val::List(list) => list.iter().map(traversal).sum(),
        _ => 1,
    }
}
