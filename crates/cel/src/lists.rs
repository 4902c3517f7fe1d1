//! Methods of lists: those of Kubernetes, of cel-go's lists (version 3) and of optional values.

use crate::eval::{Outcome, overflow, overload};
use crate::meter::{self, Meter};
use crate::times;
use crate::value::Val;
use std::cmp::Ordering;
use std::sync::Arc;

fn extreme(list: &[Val], greatest: bool) -> Outcome {
    let wanted = match greatest {
        true => Ordering::Greater,
        false => Ordering::Less,
    };
    let mut best: Option<&Val> = None;
    for value in list {
        let better = match best {
            None => true,
            Some(best) => match value.order(best) {
                Some(order) => order == wanted,
                None => return overload(),
            },
        };
        if better {
            best = Some(value);
        }
    }
    let name = if greatest { "max" } else { "min" };
    best.cloned()
        .ok_or_else(|| format!("{name} called on empty list"))
}

fn sum(list: &[Val]) -> Outcome {
    let Some((first, rest)) = list.split_first() else {
        return Ok(Val::Int(0));
    };
    rest.iter()
        .try_fold(first.clone(), |sum, value| match (sum, value) {
            (Val::Int(a), Val::Int(b)) => a.checked_add(*b).map(Val::Int).ok_or_else(overflow),
            (Val::Uint(a), Val::Uint(b)) => {
                let why = || "unsigned integer overflow".to_owned();
                a.checked_add(*b).map(Val::Uint).ok_or_else(why)
            }
            (Val::Double(a), Val::Double(b)) => Ok(Val::Double(a + b)),
            (Val::Duration(a), Val::Duration(b)) => times::duration(a + b),
            _ => overload(),
        })
}

fn flattened(list: &[Val], depth: i64, out: &mut Vec<Val>) {
    for value in list {
        match value {
            Val::List(inner) if depth > 0 => flattened(inner, depth - 1, out),
            value => out.push(value.clone()),
        }
    }
}

/// The values in the order of their keys, which must be of one type. Upstream: `sortListByAssociatedKeys`
/// in `cel-go/ext/lists.go`.
pub(crate) fn sorted_by(keys: Vec<Val>, values: Vec<Val>) -> Outcome {
    let Some(first) = keys.first() else {
        return Ok(values.into());
    };
    if keys.iter().any(|key| key.type_name() != first.type_name()) {
        return Err("list elements must have the same type".to_owned());
    }
    if first.order(first).is_none() && !matches!(first, Val::Double(_)) {
        return overload();
    }
    let mut pairs: Vec<(Val, Val)> = keys.into_iter().zip(values).collect();
    pairs.sort_by(|(a, _), (b, _)| match (a, b) {
        // The order must be one, with numbers in it that are none.
        (Val::Double(a), Val::Double(b)) => (a + 0.0).total_cmp(&(b + 0.0)),
        (a, b) => a.order(b).unwrap_or(Ordering::Equal),
    });
    let sorted: Vec<Val> = pairs.into_iter().map(|(_, value)| value).collect();
    Ok(sorted.into())
}

/// The values that are there.
pub(crate) fn unwrapped(list: &[Val]) -> Outcome {
    let mut there = Vec::new();
    for value in list {
        match value {
            Val::Optional(inner) => there.extend(inner.iter().map(|inner| Val::clone(inner))),
            _ => return overload(),
        }
    }
    Ok(there.into())
}

/// Methods of a list.
pub(crate) fn method(list: &[Val], name: &str, with: &[Val], meter: &Meter) -> Outcome {
    let at =
        |found: Option<usize>| Val::Int(found.and_then(|n| i64::try_from(n).ok()).unwrap_or(-1));
    match (name, with) {
        ("isSorted", []) => {
            let ascends = |pair: &[Val]| match pair {
                [a, b] => a.order(b) != Some(Ordering::Greater),
                _ => true,
            };
            Ok(Val::Bool(list.windows(2).all(ascends)))
        }
        ("min", []) => extreme(list, false),
        ("max", []) => extreme(list, true),
        ("sum", []) => sum(list),
        ("indexOf", [value]) => Ok(at(list.iter().position(|v| v == value))),
        ("lastIndexOf", [value]) => Ok(at(list.iter().rposition(|v| v == value))),
        ("join", []) => join(list, "", meter),
        ("join", [Val::Text(by)]) => join(list, by, meter),
        ("first", []) => Ok(Val::optional(list.first().cloned())),
        ("last", []) => Ok(Val::optional(list.last().cloned())),
        ("unwrapOpt", []) => unwrapped(list),
        ("slice", [Val::Int(from), Val::Int(to)]) => slice(list, *from, *to),
        ("flatten", []) => method(list, "flatten", &[Val::Int(1)], meter),
        ("flatten", [Val::Int(depth)]) if *depth < 0 => {
            Err("level must be non-negative".to_owned())
        }
        ("flatten", [Val::Int(depth)]) => {
            let mut out = Vec::new();
            flattened(list, *depth, &mut out);
            Ok(out.into())
        }
        ("reverse", []) => Ok(list.iter().rev().cloned().collect::<Vec<_>>().into()),
        ("sort", []) => sorted_by(list.to_vec(), list.to_vec()),
        ("distinct", []) => {
            let mut out: Vec<Val> = Vec::new();
            for value in list {
                if !out.contains(value) {
                    out.push(value.clone());
                }
            }
            Ok(out.into())
        }
        _ => overload(),
    }
}

fn slice(list: &[Val], from: i64, to: i64) -> Outcome {
    let size = list.len();
    if from < 0 || to < 0 {
        return Err(format!(
            "cannot slice({from}, {to}), negative indexes not supported"
        ));
    }
    if from > to {
        return Err(format!(
            "cannot slice({from}, {to}), start index must be less than or equal to end index"
        ));
    }
    let range = usize::try_from(from).ok().zip(usize::try_from(to).ok());
    match range.and_then(|(from, to)| list.get(from..to)) {
        Some(part) => Ok(part.to_vec().into()),
        None => Err(format!("cannot slice({from}, {to}), list is length {size}")),
    }
}

fn join(list: &[Val], by: &str, meter: &Meter) -> Outcome {
    let text = |value: &Val| match value {
        Val::Text(text) => Ok(Arc::clone(text)),
        _ => overload(),
    };
    let texts: Vec<Arc<str>> = list.iter().map(text).collect::<Result<_, String>>()?;
    let between = by.chars().count().saturating_mul(list.len().max(1) - 1);
    let size = list
        .iter()
        .map(Val::size)
        .fold(between as u64, u64::saturating_add);
    meter.spend(meter::walk(size.saturating_mul(2)))?;
    Ok(texts.join(by).into())
}
