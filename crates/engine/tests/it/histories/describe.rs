//! Events as a person reads them: names instead of symbols, and only what is worth mentioning.

use super::event::{Event, World};
use super::maker::POD_NAME;
use std::fmt::Debug;
use stowplan_base::Names;
use stowplan_engine::model::{Object, Pod};

/// One line (or a few) about an event that is about to happen in `world`.
pub(super) fn describe(event: &Event, world: &World) -> String {
    let names = &world.snapshot.names;
    let text = |sym| names.text(sym);
    match event {
        Event::Put(Object::Pod(pod)) => {
            let old = world.snapshot.pod(&pod.uid);
            let what = if old.is_some() { "change" } else { "add" };
            let old = old.map(|old| fields(&**old, names)).unwrap_or_default();
            format!("{what} Pod {}: {}", pod.uid, pod_text(pod, &old, names))
        }
        Event::Put(Object::Node(node)) => {
            let old = world.snapshot.node(node.name);
            let what = if old.is_some() { "change" } else { "add" };
            let old = old.map(|old| fields(&*old.node, names)).unwrap_or_default();
            let new = fields(&**node, names);
            format!("{what} Node {}: {}", text(node.name), changed(&old, &new))
        }
        Event::Put(object) => format!("put {}", spelled(&format!("{object:?}"), names)),
        Event::Remove(kind, namespace, name) => {
            format!(
                "remove {} {}/{}",
                kind.as_str(),
                text(*namespace),
                text(*name)
            )
        }
        Event::RemovePod(uid) => format!("remove Pod {uid}"),
        Event::Assume(pod, node) => format!(
            "assume Pod {} on {}: {}",
            pod.uid,
            text(*node),
            pod_text(pod, &[], names)
        ),
        Event::Nominate(pod, node) => format!(
            "nominate Pod {} to {}: {}",
            pod.uid,
            text(*node),
            pod_text(pod, &[], names)
        ),
        Event::Denominate(uid) => format!("denominate Pod {uid}"),
        Event::Churn(pod, times) => format!(
            "add and remove {times} times Pod {}: {}",
            pod.uid,
            pod_text(pod, &[], names)
        ),
        Event::Parade(pod, times) => format!(
            "add and remove {times} pods of different {POD_NAME}: {}",
            pod_text(pod, &[], names)
        ),
        Event::Decide(pod, profile) => format!(
            "decide in profile {profile} about Pod {}: {}",
            pod.uid,
            pod_text(pod, &[], names)
        ),
    }
}

fn pod_text(pod: &Pod, old: &[String], names: &Names) -> String {
    changed(old, &fields(pod, names))
}

/// Fields that the line names anyway, and those that follow from others.
const SAID_ALREADY: [&str; 5] = ["uid", "key", "name", "scheduler_name", "allocatable"];
/// Values that say nothing.
const EMPTY: [&str; 7] = [
    "None",
    "[]",
    "false",
    "0",
    "\"\"",
    "Labels([],)",
    "NodeAffinity {required: None,preferred: [],}",
];

/// Fields that are not in `old` already, empty ones left out.
fn changed(old: &[String], new: &[String]) -> String {
    let dull = |field: &&String| {
        let (name, value) = field.split_once(": ").unwrap_or_default();
        SAID_ALREADY.contains(&name)
            || (old.is_empty() && EMPTY.contains(&value))
            || old.contains(field)
    };
    let fields: Vec<_> = new.iter().filter(|field| !dull(field)).cloned().collect();
    fields.join("; ")
}

/// The fields of a struct, `name: value` each.
fn fields(object: &impl Debug, names: &Names) -> Vec<String> {
    let mut fields: Vec<String> = Vec::new();
    let text = format!("{object:#?}");
    for line in text.lines().skip(1).filter(|line| *line != "}") {
        let inner = line.strip_prefix("    ").unwrap_or(line);
        let opens = !inner.starts_with([' ', ')', ']', '}']);
        match fields.last_mut() {
            Some(field) if !opens => field.push_str(inner.trim()),
            _ => fields.push(inner.to_owned()),
        }
    }
    let tidy = |field: &String| spelled(field.trim_end_matches(','), names);
    fields.iter().map(tidy).collect()
}

/// Every `Sym(7)` replaced by the text that it stands for, every quantity by its amount.
pub(super) fn spelled(text: &str, names: &Names) -> String {
    let symbol = |index: i128| {
        let index = usize::try_from(index).unwrap_or(usize::MAX);
        names.texts().nth(index).unwrap_or("?").to_owned()
    };
    let amount = |nanos: i128| match nanos % 1_000_000_000 {
        0 => (nanos / 1_000_000_000).to_string(),
        _ => format!("{}m", nanos / 1_000_000),
    };
    let text = replaced(text, "Sym(", ")", symbol);
    let text = replaced(&text, "Quantity {nanos: ", "}", amount);
    replaced(&text, "Quantity { nanos: ", " }", amount)
}

/// Every number between `open` and `close` replaced, with them.
fn replaced(text: &str, open: &str, close: &str, by: impl Fn(i128) -> String) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, tail)) = rest.split_once(open) {
        let (number, after) = tail.split_once(close).unwrap_or((tail, ""));
        out.push_str(before);
        match number.trim_end_matches(',').parse() {
            Ok(number) => out.push_str(&by(number)),
            Err(_) => out.push_str(number),
        }
        rest = after;
    }
    out + rest
}
