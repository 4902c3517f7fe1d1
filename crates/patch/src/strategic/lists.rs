//! Merging lists.

use super::fault::Fault;
use super::lookup::{PatchMeta, go_kind};
use super::order::normalize;
use super::{DIRECTIVE, Object, merge_maps};
use serde_json::Value;
use std::collections::{BTreeSet, HashMap, HashSet, VecDeque};
use stowplan_apimachinery::go;

/// A merged list.
pub(super) struct MergedList {
    pub(super) list: Vec<Value>,
    /// What upstream finds in the memory of the original list afterwards, as far as the original
    /// reached. It goes by this order when there is a `$setElementOrder`.
    pub(super) original: Vec<Value>,
}

/// What the elements of lists are.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Elements {
    Maps,
    Scalars,
}

/// The type that the elements of both lists have.
pub(super) fn element_type(a: &[Value], b: &[Value]) -> Result<Elements, Fault> {
    let mut all = a.iter().chain(b);
    let Some(first) = all.next() else {
        return Err(Fault::Other(
            "no elements in any of the given slices".to_owned(),
        ));
    };
    if first.is_array() {
        return Err(Fault::ListOfLists);
    }
    if !all.all(|other| go::type_name(other) == go::type_name(first)) {
        let lists = Value::Array(vec![Value::Array(a.to_vec()), Value::Array(b.to_vec())]);
        return Err(Fault::Other(format!(
            "list element types are not identical: {}",
            go::plain(&lists)
        )));
    }
    match first {
        Value::Object(_) => Ok(Elements::Maps),
        _ => Ok(Elements::Scalars),
    }
}

pub(super) fn merge_lists(
    original: Vec<Value>,
    patch: &mut [Value],
    field: &PatchMeta<'_>,
    is_deletion: bool,
) -> Result<MergedList, Fault> {
    if original.is_empty() && patch.is_empty() {
        return Ok(MergedList {
            list: Vec::new(),
            original,
        });
    }
    match element_type(&original, patch)? {
        Elements::Scalars => merge_scalars(original, patch, field, is_deletion),
        Elements::Maps if field.merge_key.is_empty() => Err(Fault::Other(format!(
            "cannot merge lists without merge key for {}",
            field.ty.map_or("map", go_kind)
        ))),
        Elements::Maps => merge_elements(original, patch, field),
    }
}

fn merge_scalars(
    original: Vec<Value>,
    patch: &[Value],
    field: &PatchMeta<'_>,
    is_deletion: bool,
) -> Result<MergedList, Fault> {
    let list = if is_deletion {
        let gone: HashSet<&Value> = patch.iter().collect();
        let kept = original.iter().filter(|item| !gone.contains(item));
        kept.cloned().collect()
    } else {
        let mut both = original.clone();
        both.extend_from_slice(patch);
        let both = without_repeats(both);
        let key = field.merge_key;
        let (in_patch, others) = match key.is_empty() {
            true => {
                let patch: HashSet<&Value> = patch.iter().collect();
                both.into_iter().partition(|item| patch.contains(item))
            }
            false => partition(both, patch, key)?,
        };
        normalize(in_patch, others, patch, &original, key, Elements::Scalars)?
    };
    Ok(MergedList { list, original })
}

/// Takes out repeats; the last element takes the place of each.
fn without_repeats(list: Vec<Value>) -> Vec<Value> {
    let mut places: HashMap<&Value, BTreeSet<usize>> = HashMap::new();
    for (at, item) in list.iter().enumerate() {
        places.entry(item).or_default().insert(at);
    }
    // Indices of the list, which stays as it is meanwhile.
    let mut order: Vec<&Value> = list.iter().collect();
    let mut i = 0;
    while let Some(item) = order.get(i).copied() {
        while let Some(again) = next_place(&places, item, i) {
            let last = order.len() - 1;
            let moved = order.swap_remove(again);
            places.get_mut(moved).map(|places| places.remove(&again));
            if let (true, Some(moved)) = (again < last, order.get(again))
                && let Some(places) = places.get_mut(*moved)
            {
                places.remove(&last);
                places.insert(again);
            }
        }
        i += 1;
    }
    order.into_iter().cloned().collect()
}

/// Where the same value stands next.
fn next_place(
    places: &HashMap<&Value, BTreeSet<usize>>,
    item: &Value,
    after: usize,
) -> Option<usize> {
    places.get(item)?.range(after + 1..).next().copied()
}

fn merge_elements(
    original: Vec<Value>,
    patch: &mut [Value],
    field: &PatchMeta<'_>,
) -> Result<MergedList, Fault> {
    let key = field.merge_key;
    let (mut original, mut memory, replaced) = take_directives(original, patch, key)?;
    let plain = patch.iter_mut().filter(|item| !has_directive(item));
    let (merged, order) = if replaced {
        original = plain.map(|item| item.clone()).collect();
        (original.clone(), Vec::new())
    } else {
        let mut merged = Merged::of(original.clone(), key);
        let mut order = Vec::new();
        for item in plain {
            merged.merge(item, field, &mut memory)?;
            order.push(item.clone());
        }
        (merged.list, order)
    };
    let (in_patch, others) = partition(merged, &order, key)?;
    Ok(MergedList {
        list: normalize(in_patch, others, &order, &original, key, Elements::Maps)?,
        original: memory.list,
    })
}

/// Deletes what the patch says is to be deleted: what is left, the memory of it, and whether the patch
/// replaces the whole list.
fn take_directives(
    original: Vec<Value>,
    patch: &[Value],
    key: &str,
) -> Result<(Vec<Value>, Memory, bool), Fault> {
    let mut deleted = Deleted::none_of(&original, key);
    let mut replaced = false;
    for item in patch {
        let Value::Object(map) = item else { continue };
        let Some(directive) = map.get(DIRECTIVE) else {
            continue;
        };
        match directive.as_str() {
            Some("delete") => {
                let Some(value) = map.get(key) else {
                    return Err(Fault::no_merge_key(map, key));
                };
                deleted.delete(value);
            }
            Some("replace") => replaced = true,
            Some("merge") => {
                return Err(Fault::Other(
                    "merging lists cannot yet be specified in the patch".to_owned(),
                ));
            }
            _ => return Err(Fault::bad_directive(directive, map)),
        }
    }
    let (kept, memory) = deleted.finish();
    Ok((kept, memory, replaced))
}

/// Which elements of a list are deleted.
struct Deleted<'a> {
    list: &'a [Value],
    /// Where elements with each value of the key are.
    places: HashMap<&'a Value, Vec<usize>>,
    is_deleted: Vec<bool>,
    /// What was last in the list before each deletion.
    lasts: Vec<usize>,
    /// So many may be left: all from here on are deleted.
    end: usize,
}

impl<'a> Deleted<'a> {
    fn none_of(list: &'a [Value], key: &str) -> Self {
        let mut places: HashMap<&Value, Vec<usize>> = HashMap::new();
        for (at, item) in list.iter().enumerate() {
            if let Some(value) = item.get(key) {
                places.entry(value).or_default().push(at);
            }
        }
        Self {
            list,
            places,
            is_deleted: vec![false; list.len()],
            lasts: Vec::new(),
            end: list.len(),
        }
    }

    /// Deletes all elements with this value of the key.
    fn delete(&mut self, value: &Value) {
        for at in self.places.remove(value).unwrap_or_default() {
            while self.end > 0 && self.is_deleted.get(self.end - 1) == Some(&true) {
                self.end -= 1;
            }
            self.lasts.push(self.end.saturating_sub(1));
            if let Some(is_deleted) = self.is_deleted.get_mut(at) {
                *is_deleted = true;
            }
        }
    }

    /// What is left, and the array behind it: each deletion moves up what follows, and what was last
    /// stays where it was, too.
    fn finish(self) -> (Vec<Value>, Memory) {
        let pairs = self.list.iter().zip(&self.is_deleted);
        let kept: Vec<Value> = pairs
            .filter(|(_, d)| !**d)
            .map(|(v, _)| v.clone())
            .collect();
        let stale = self.lasts.iter().rev().filter_map(|at| self.list.get(*at));
        let memory = Memory {
            used: kept.len(),
            list: kept.iter().chain(stale).cloned().collect(),
        };
        (kept, memory)
    }
}

/// A list into which elements are merged.
struct Merged<'k> {
    list: Vec<Value>,
    key: &'k str,
    /// Where elements with each value of the key are, the first one first.
    places: HashMap<Value, VecDeque<usize>>,
}

impl<'k> Merged<'k> {
    fn of(list: Vec<Value>, key: &'k str) -> Self {
        let mut merged = Self {
            list: Vec::with_capacity(list.len()),
            key,
            places: HashMap::new(),
        };
        list.into_iter().for_each(|item| merged.push(item));
        merged
    }

    fn push(&mut self, item: Value) {
        if let Some(value) = item.get(self.key) {
            let places = self.places.entry(value.clone()).or_default();
            places.push_back(self.list.len());
        }
        self.list.push(item);
    }

    /// Merges one element into the list, or adds it.
    fn merge(
        &mut self,
        item: &mut Value,
        field: &PatchMeta<'_>,
        memory: &mut Memory,
    ) -> Result<(), Fault> {
        let Value::Object(patch) = item else {
            return Ok(()); // the elements are maps
        };
        let Some(value) = patch.get(self.key) else {
            return Err(Fault::no_merge_key(patch, self.key));
        };
        let places = self.places.get_mut(value);
        let at = places.as_ref().and_then(|places| places.front().copied());
        // The first of them loses a key that the patch takes away.
        if let (Value::Null, Some(places)) = (value, places) {
            places.pop_front();
        }
        match at.and_then(|at| self.list.get_mut(at)) {
            Some(Value::Object(here)) => {
                *here = merge_maps(std::mem::take(here), patch, field.ty)?;
            }
            _ => {
                memory.push(item.clone());
                self.push(item.clone());
            }
        }
        Ok(())
    }
}

/// The elements of a list by the value of their key.
struct ByKey<'a> {
    known: HashSet<&'a Value>,
    /// Where the first element is that is no map. Nobody looks beyond.
    odd: Option<usize>,
}

impl<'a> ByKey<'a> {
    fn of(list: &'a [Value], key: &str) -> Self {
        let odd = list.iter().position(|item| !item.is_object());
        let maps = list.get(..odd.unwrap_or(list.len())).unwrap_or_default();
        Self {
            known: maps.iter().filter_map(|item| item.get(key)).collect(),
            odd,
        }
    }

    fn has(&self, value: &Value) -> Result<bool, Fault> {
        match (self.known.contains(value), self.odd) {
            (true, _) => Ok(true),
            (false, None) => Ok(false),
            (false, Some(at)) => Err(Fault::Other(format!("value for key {at} is not a map"))),
        }
    }
}

/// Elements that a second list has too, by key, and the others.
pub(super) fn partition(
    list: Vec<Value>,
    by: &[Value],
    key: &str,
) -> Result<(Vec<Value>, Vec<Value>), Fault> {
    let by = ByKey::of(by, key);
    let (mut present, mut others) = (Vec::new(), Vec::new());
    for item in list {
        let Value::Object(map) = &item else {
            return Err(Fault::not_a_map(&item));
        };
        let Some(value) = map.get(key) else {
            return Err(Fault::no_merge_key(map, key));
        };
        match by.has(value)? {
            true => present.push(item),
            false => others.push(item),
        }
    }
    Ok((present, others))
}

/// The array behind upstream's original list, whose elements are shifted and overwritten in place
/// while the list is merged.
struct Memory {
    list: Vec<Value>,
    /// So many of its elements are in use.
    used: usize,
}

impl Memory {
    fn push(&mut self, item: Value) {
        if let Some(free) = self.list.get_mut(self.used) {
            *free = item;
            self.used += 1;
        }
    }
}

/// Elements of a patch that are no deletions.
pub(super) fn without_deletions(list: &[Value]) -> Result<Vec<Value>, Fault> {
    let mut kept = Vec::new();
    for item in list {
        let Value::Object(map) = item else {
            return Err(Fault::not_a_map(item));
        };
        if !is_deletion(map) {
            kept.push(item.clone());
        }
    }
    Ok(kept)
}

pub(super) fn is_deletion(map: &Object) -> bool {
    map.get(DIRECTIVE)
        .is_some_and(|directive| directive == "delete")
}

/// Whether an element of a list holds a directive.
pub(super) fn has_directive(item: &Value) -> bool {
    item.get(DIRECTIVE).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// Lists of few different values, which repeat.
    fn lists() -> impl Iterator<Item = Vec<u64>> {
        let mut state = 1_u64;
        (0..500).map(move |i| {
            let mut next = || {
                state = state
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1);
                (state >> 33) % 7
            };
            (0..i % 15).map(|_| next()).collect()
        })
    }

    fn values(list: &[u64]) -> Vec<Value> {
        list.iter().map(|v| json!(v)).collect()
    }

    #[test]
    fn repeats_are_taken_out_as_upstream_does_it() {
        for list in lists() {
            let mut expected = list.clone();
            let mut i = 0;
            while i < expected.len() {
                let mut j = i + 1;
                while j < expected.len() {
                    match expected[i] == expected[j] {
                        true => drop(expected.swap_remove(j)),
                        false => j += 1,
                    }
                }
                i += 1;
            }
            assert_eq!(
                without_repeats(values(&list)),
                values(&expected),
                "{list:?}"
            );
        }
    }

    #[test]
    fn what_is_deleted_leaves_what_upstream_leaves() {
        for (list, gone) in lists().zip(lists().skip(7)) {
            let (mut memory, mut used) = (list.clone(), list.len());
            for value in &gone {
                while let Some(at) = memory[..used].iter().position(|v| v == value) {
                    memory.copy_within(at + 1..used, at);
                    used -= 1;
                }
            }
            let item = |v: &u64| json!({"k": v});
            let original: Vec<Value> = list.iter().map(item).collect();
            let mut deleted = Deleted::none_of(&original, "k");
            gone.iter().for_each(|value| deleted.delete(&json!(value)));
            let (kept, made) = deleted.finish();
            let expected: Vec<Value> = memory.iter().map(item).collect();
            assert_eq!(made.list, expected, "{list:?} without {gone:?}");
            assert_eq!(kept, expected[..used]);
            assert_eq!(made.used, used);
        }
    }

    #[test]
    fn long_lists_are_merged_in_one_pass() {
        let ty = stowplan_schema::type_of("io.k8s.api.core.v1.PodSpec").expect("a type");
        let field = super::super::lookup::list_field(Some(ty), "containers").expect("a list");
        let item = |i: usize| json!({"name": format!("c{i}"), "image": "i"});
        let original: Vec<Value> = (0..100_000).map(item).collect();
        let mut patch: Vec<Value> = (0..100_000).map(|i| item(100_000 - i)).collect();
        let delete = |i: usize| json!({"name": format!("c{}", i * 2 + 1), "$patch": "delete"});
        patch.extend((0..50_000).map(delete));
        let merged = merge_lists(original, &mut patch, &field, false).expect("merged");
        assert_eq!(merged.list.len(), 100_001);
    }
}
