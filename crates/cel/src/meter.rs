//! What running an expression costs. Upstream: `cel-go/interpreter/runtimecost.go` and
//! `apiserver/pkg/cel/library/cost.go`.
//!
//! Upstream looks at the size of a list, not at what is in it, and at what goes into a function, not at
//! what comes out. Here the rest counts too, at a lower rate. What a rule holds itself does
//! not (see DIVERGENCES.md).

use crate::value::Val;
use std::cell::{Cell, RefCell};
use std::collections::HashSet;

/// What one run of one expression may cost. Upstream: `PerCallLimit`.
const CALL_MAX: u64 = 1_000_000;
/// Making a list and a map.
pub(crate) const LIST: u64 = 10;
pub(crate) const MAP: u64 = 30;
/// How many values within values are walked through for one unit.
const WALKED: u64 = 20;
/// What upstream does not count is free up to so many bytes.
const LARGE: usize = 10_000;
/// And up to so many elements.
const MANY: usize = 1_000;

/// How a run ends that costs too much.
pub(crate) const CANCELLED: &str = "operation cancelled: actual cost limit exceeded";

/// Counts what one run costs, and ends it.
#[derive(Debug, Default)]
pub(crate) struct Meter {
    spent: Cell<u64>,
    /// The regular expressions that data made the run compile.
    compiled: RefCell<HashSet<String>>,
}

impl Meter {
    /// Adds to the cost. Once there is too much of it, everything fails.
    pub(crate) fn spend(&self, cost: u64) -> Result<(), String> {
        let spent = self.spent.get().saturating_add(cost);
        self.spent.set(spent);
        match spent > CALL_MAX {
            true => Err(CANCELLED.to_owned()),
            false => Ok(()),
        }
    }

    /// What was spent.
    pub(crate) fn spent(&self) -> u64 {
        self.spent.get()
    }

    /// Adds what compiling a regular expression costs, the first time in the run.
    pub(crate) fn compiles(&self, pattern: &str) -> Result<(), String> {
        if self.compiled.borrow().contains(pattern) {
            return Ok(());
        }
        stowplan_apimachinery::regexp::compile_within(pattern, &mut |cost| self.spend(cost))?;
        self.compiled.borrow_mut().insert(pattern.to_owned());
        Ok(())
    }

    /// Adds what making a text of so many bytes costs, of which so many were paid for.
    pub(crate) fn makes(&self, bytes: usize, paid: usize) -> Result<(), String> {
        let cost = |bytes: usize| match bytes > LARGE {
            true => walk(bytes as u64),
            false => 0,
        };
        self.spend(cost(bytes).saturating_sub(cost(paid)))
    }

    /// Adds what a list costs that grows element by element, when it has so many.
    pub(crate) fn grows(&self, elements: usize) -> Result<(), String> {
        match elements > 0 && elements.is_multiple_of(MANY) {
            true => self.spend(MANY as u64 / 4),
            false => Ok(()),
        }
    }
}

/// What walking through so much text costs.
pub(crate) fn walk(size: u64) -> u64 {
    size.div_ceil(10)
}

fn pattern(text: u64, pattern: u64) -> u64 {
    walk(text + 1).saturating_mul(pattern.div_ceil(4))
}

/// What an operator costs.
pub(crate) fn operator(name: &str, a: &Val, b: &Val) -> u64 {
    let inner = a.inner_weight().min(b.inner_weight()) / WALKED;
    match (name, a, b) {
        ("==", Val::Opaque(_), _) => 1,
        ("==" | "!=", a, b) => walk(a.size().min(b.size())).saturating_add(inner),
        ("<" | "<=" | ">" | ">=", Val::Text(_) | Val::Bytes(_), b) => walk(a.size().min(b.size())),
        ("in", _, Val::List(list)) => (list.len() as u64).saturating_add(b.inner_weight() / WALKED),
        ("in", key, _) => 1 + long(key),
        ("+", Val::Text(_) | Val::Bytes(_), b) => walk(a.size().saturating_add(b.size())),
        // Upstream joins lists without a copy.
        ("+", Val::List(a), Val::List(b)) => (a.len() + b.len()).max(1) as u64,
        _ => 1,
    }
}

/// What looking at a text costs where upstream asks for one unit whatever its length.
pub(crate) fn long(value: &Val) -> u64 {
    match value {
        Val::Text(_) | Val::Bytes(_) => value.weight() / WALKED,
        _ => 0,
    }
}

/// What sorting by keys, or comparing each with each, costs. Upstream: `trackListSelfCompare` in
/// `cel-go/ext/lists.go`.
pub(crate) fn self_compare(list: &[Val]) -> u64 {
    let size = list.len() as u64;
    let squared = size.saturating_mul(size);
    let texts = match list.first() {
        Some(Val::Text(_) | Val::Bytes(_)) => squared / 10,
        _ => 0,
    };
    squared
        .saturating_mul(2)
        .saturating_add(texts)
        .saturating_add(LIST + 1)
}

/// What is spent before a function is called: the work that its arguments make, without the result.
pub(crate) fn call(name: &str, with: &[&Val]) -> u64 {
    let size = |i: usize| with.get(i).map_or(1, |v| v.size());
    let number = |i: usize| match with.get(i) {
        Some(Val::Int(n)) => u64::try_from(*n).unwrap_or_default(),
        _ => 1,
    };
    let own = match name {
        "isSorted" | "sum" | "max" | "min" | "indexOf" | "lastIndexOf" => {
            with.first().map_or(0, |v| v.bulk().traversal)
        }
        "url" | "lowerAscii" | "upperAscii" | "substring" | "trim" | "cidr" | "isIP" | "isCIDR"
        | "quantity" | "isQuantity" | "semver" | "isSemver" | "startsWith" | "endsWith"
        | "bytes" | "strings.quote" | "format" => walk(size(0)),
        "ip" => match with.first() {
            Some(Val::Text(_)) => walk(size(0)),
            _ => 1,
        },
        "replace" | "split" | "ip.isCanonical" => walk(size(0).saturating_mul(2)),
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
        "distinct" | "sort" => match with.first() {
            Some(Val::List(list)) => self_compare(list),
            _ => 1,
        },
        "reverse" => size(0) + LIST + 1,
        "slice" => number(2).saturating_sub(number(1)).min(size(0)) + LIST + 1,
        "flatten" => {
            let depth = if with.len() > 1 { number(1) } else { 1 };
            depth.saturating_mul(size(0)).saturating_add(LIST + 1)
        }
        "lists.range" => number(0).saturating_add(LIST + 1),
        // What is counted with the result.
        "join" | "or" | "orValue" => 0,
        _ => with.first().map_or(0, |v| long(v)) + 1,
    };
    own.saturating_add(within(name, with, own))
}

/// What is spent on what the sizes of arguments do not tell.
fn within(name: &str, with: &[&Val], own: u64) -> u64 {
    let inner = |i: usize| with.get(i).map_or(0, |v| v.inner_weight());
    let size = |i: usize| with.get(i).map_or(1, |v| v.size());
    match (name, with) {
        // These look at nothing.
        (
            "size" | "dyn" | "type" | "first" | "last" | "or" | "orValue" | "hasValue" | "value"
            | "reverse" | "slice",
            _,
        ) => 0,
        (name, _) if name.starts_with("optional.") => 0,
        // What these make can be as large as all that is in the list.
        ("flatten", [list, ..]) => list.weight().saturating_sub(own),
        ("join", [list, ..]) => list.weight() / WALKED,
        ("distinct", _) => size(0).saturating_mul(inner(0)) / WALKED,
        (name, _) if name.starts_with("sets.") => {
            let each = size(0).saturating_mul(inner(1));
            each.min(size(1).saturating_mul(inner(0))) / WALKED
        }
        (_, with) => {
            let all = with.iter().map(|v| v.inner_weight());
            all.fold(0, u64::saturating_add) / WALKED
        }
    }
}
