//! Changes somewhere in a JSON value.

use super::corpus::Corpus;
use super::{once_in, values};
use serde_json::{Map, Value, json};
use stowplan_base::Rng;

fn size(value: &Value) -> usize {
    1 + match value {
        Value::Array(list) => list.iter().map(size).sum(),
        Value::Object(map) => map.values().map(size).sum(),
        _ => 0,
    }
}

/// The value that is passed at the `n`th step through all of them.
fn nth<'a>(value: &'a mut Value, n: &mut usize) -> Option<&'a mut Value> {
    if *n == 0 {
        return Some(value);
    }
    *n -= 1;
    match value {
        Value::Array(list) => list.iter_mut().find_map(|v| nth(v, n)),
        Value::Object(map) => map.values_mut().find_map(|v| nth(v, n)),
        _ => None,
    }
}

/// Any value inside, or the whole.
pub(super) fn somewhere<'a>(value: &'a mut Value, rng: &mut Rng) -> &'a mut Value {
    let mut n = rng.below(size(value));
    nth(value, &mut n).expect("there are as many values as were counted")
}

/// A JSON pointer to some value inside.
pub(super) fn pointer(value: &Value, rng: &mut Rng) -> String {
    let (mut at, mut out) = (value, String::new());
    loop {
        let (key, next) = match at {
            Value::Object(map) if !map.is_empty() => {
                let chosen = map.iter().nth(rng.below(map.len()));
                let (key, next) = chosen.expect("chosen among those that are there");
                (key.replace('~', "~0").replace('/', "~1"), next)
            }
            Value::Array(list) if !list.is_empty() => {
                let i = rng.below(list.len());
                (i.to_string(), &list[i])
            }
            _ => return out,
        };
        out.push('/');
        out.push_str(&key);
        at = next;
        if once_in(rng, 4) {
            return out;
        }
    }
}

/// Changes one thing.
pub(super) fn change(value: &mut Value, rng: &mut Rng, corpus: &Corpus) {
    let place = somewhere(value, rng);
    match rng.below(9) {
        0 | 1 => *place = values::odd(rng, corpus),
        2 => {
            let mut other = corpus.body(rng);
            *place = somewhere(&mut other, rng).clone();
        }
        3 => *place = json!([place.clone()]),
        _ => match place {
            Value::Object(map) => change_map(map, rng, corpus),
            Value::Array(list) => change_list(list, rng, corpus),
            Value::Number(number) => *place = change_number(number.as_f64(), number.as_i64(), rng),
            Value::String(text) => *place = change_text(text, rng, corpus).into(),
            other => *other = values::odd(rng, corpus),
        },
    }
}

/// One of the keys; empty if there are none.
pub(super) fn some_key(map: &Map<String, Value>, rng: &mut Rng) -> String {
    match map.is_empty() {
        true => String::new(),
        false => map
            .keys()
            .nth(rng.below(map.len()))
            .cloned()
            .unwrap_or_default(),
    }
}

fn change_map(map: &mut Map<String, Value>, rng: &mut Rng, corpus: &Corpus) {
    let key = some_key(map, rng);
    match rng.below(4) {
        0 => drop(map.remove(&key)),
        1 => drop(map.insert(corpus.word(rng), values::odd(rng, corpus))),
        2 => {
            let value = map.remove(&key).unwrap_or_default();
            map.insert(values::text(rng, corpus), value);
        }
        _ => drop(map.insert(key, values::odd(rng, corpus))),
    }
}

fn change_list(list: &mut Vec<Value>, rng: &mut Rng, corpus: &Corpus) {
    if list.is_empty() {
        list.push(values::odd(rng, corpus));
        return;
    }
    let i = rng.below(list.len());
    match rng.below(4) {
        0 => drop(list.remove(i)),
        1 => list.push(list[i].clone()),
        2 => list.insert(i, values::odd(rng, corpus)),
        _ => {
            // More of the same, as far as lists are usually bounded.
            let more = vec![list[i].clone(); 1 + rng.below(20)];
            list.extend(more);
        }
    }
}

fn change_number(float: Option<f64>, int: Option<i64>, rng: &mut Rng) -> Value {
    match (int, rng.below(5)) {
        (Some(int), 0) => json!(int.wrapping_add(1)),
        (Some(int), 1) => json!(int.wrapping_sub(1)),
        (Some(int), 2) => json!(int.wrapping_neg()),
        (Some(int), 3) => json!(int.wrapping_mul(1_000_003)),
        _ => json!(float.unwrap_or_default() + 0.5),
    }
}

fn change_text(text: &str, rng: &mut Rng, corpus: &Corpus) -> String {
    let middle = text.char_indices().nth(text.chars().count() / 2);
    let (head, tail) = text.split_at(middle.map_or(0, |(at, _)| at));
    match rng.below(6) {
        0 => format!("{head}{}{tail}", values::text(rng, corpus)),
        1 => head.to_owned(),
        2 => text.to_uppercase(),
        3 => format!("{text}{text}"),
        4 => format!("{text}-"),
        _ => values::text(rng, corpus),
    }
}
