//! Patches, mostly broken.

use super::corpus::Corpus;
use super::{once_in, pick, tree, values};
use serde_json::{Value, json};
use stowplan_base::Rng;

/// The media types of patches.
pub(super) const MEDIA_TYPES: &[&str] = &[
    "application/json-patch+json",
    "application/merge-patch+json",
    "application/strategic-merge-patch+json",
    "application/apply-patch+yaml",
];

const DIRECTIVES: &[&str] = &[
    "$patch",
    "$retainKeys",
    "$setElementOrder/containers",
    "$setElementOrder/ports",
    "$setElementOrder/finalizers",
    "$deleteFromPrimitiveList/finalizers",
    "$deleteFromPrimitiveList/args",
    "$setElementOrder/",
    "$unknown",
];

/// A patch of some type for something like `object`.
pub(super) fn patch(kind: &str, object: &Value, rng: &mut Rng, corpus: &Corpus) -> Value {
    if kind == "application/json-patch+json" {
        let operations = (0..rng.below(5)).map(|_| operation(object, rng, corpus));
        return operations.collect();
    }
    let mut patch = object.clone();
    for _ in 0..1 + rng.below(4) {
        tree::change(&mut patch, rng, corpus);
    }
    if kind == "application/strategic-merge-patch+json" || once_in(rng, 8) {
        for _ in 0..rng.below(4) {
            direct(tree::somewhere(&mut patch, rng), rng, corpus);
        }
    }
    patch
}

fn operation(object: &Value, rng: &mut Rng, corpus: &Corpus) -> Value {
    let words = ["add", "remove", "replace", "move", "copy", "test", "other"];
    let mut place = || match rng.below(6) {
        0 => values::text(rng, corpus),
        1 => format!("{}/-", tree::pointer(object, rng)),
        2 => format!("{}/{}", tree::pointer(object, rng), corpus.word(rng)),
        3 => "/metadata/labels/a".to_owned(),
        _ => tree::pointer(object, rng),
    };
    let (path, from) = (place(), place());
    let mut out = json!({
        "op": pick(rng, &words), "path": path, "from": from, "value": values::odd(rng, corpus),
    });
    if once_in(rng, 6) {
        tree::change(&mut out, rng, corpus);
    }
    out
}

/// Adds what strategic merge takes for an order.
fn direct(place: &mut Value, rng: &mut Rng, corpus: &Corpus) {
    match place {
        Value::Object(map) => {
            let directive = match rng.below(3) {
                0 => format!("$setElementOrder/{}", tree::some_key(map, rng)),
                1 => format!("$deleteFromPrimitiveList/{}", tree::some_key(map, rng)),
                _ => pick(rng, DIRECTIVES)
                    .copied()
                    .unwrap_or_default()
                    .to_owned(),
            };
            let value = match rng.below(6) {
                0 => json!("delete"),
                1 => json!("replace"),
                2 => json!("merge"),
                3 => json!([corpus.word(rng), corpus.word(rng)]),
                4 => json!([{"name": corpus.word(rng)}]),
                _ => values::odd(rng, corpus),
            };
            map.insert(directive, value);
        }
        Value::Array(list) => list.push(json!({"$patch": pick(rng, &["replace", "delete", "x"])})),
        _ => {}
    }
}
