//! Sets of fields.
//!
//! Upstream: `structured-merge-diff/v6/fieldpath/set.go` and `serialize.go`.

use super::element::{Decoded, Element};
use serde_json::{Map, Value};
use std::cmp::Ordering;
use stowplan_apimachinery::limits::ERRORS_TOLD_BYTES_MAX;
use stowplan_schema::Type;

/// Fields of an object, as a tree of the steps to them. A field may be in the set without those
/// inside it, and the other way round.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Set<'a> {
    /// In order of their elements. Each is a member or has children, or both.
    entries: Vec<Entry<'a>>,
}

/// One step into the tree.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Entry<'a> {
    pub(crate) element: Element<'a>,
    /// Whether the field here is in the set itself.
    pub(crate) member: bool,
    /// Fields inside it that are in the set.
    pub(crate) children: Set<'a>,
}

impl Entry<'_> {
    fn is_empty(&self) -> bool {
        !self.member && self.children.is_empty()
    }
}

impl<'a> Set<'a> {
    /// Nothing.
    pub(crate) const fn new() -> Self {
        Self {
            entries: Vec::new(),
        }
    }

    /// Nothing, with room for so many steps.
    pub(crate) fn with_room(steps: usize) -> Self {
        Self {
            entries: Vec::with_capacity(steps),
        }
    }

    /// A set of these steps, in whatever order they are.
    fn of_entries(mut entries: Vec<Entry<'a>>) -> Self {
        entries.sort_by(|a, b| a.element.cmp(&b.element));
        let mut set = Self::with_room(entries.len());
        for entry in entries {
            set.add(entry.element, entry.member, entry.children);
        }
        set
    }

    /// What is in one of many.
    pub(crate) fn union_of(mut sets: Vec<Self>) -> Self {
        while sets.len() > 1 {
            let mut halved = Vec::with_capacity(sets.len().div_ceil(2));
            let mut sets_left = sets.into_iter();
            while let Some(first) = sets_left.next() {
                halved.push(first.union(sets_left.next().unwrap_or_default()));
            }
            sets = halved;
        }
        sets.pop().unwrap_or_default()
    }

    /// A set of named fields: `&["metadata", "name"]` leads to the name.
    pub(crate) fn of_paths(paths: &[&[&'a str]]) -> Self {
        let mut set = Self::new();
        for path in paths {
            let elements: Vec<Element<'a>> = path.iter().map(|n| Element::Field(n)).collect();
            set.insert(&elements);
        }
        set
    }

    /// Whether there is nothing in it.
    pub(crate) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The steps at this level.
    pub(crate) fn entries(&self) -> &[Entry<'a>] {
        &self.entries
    }

    fn position(&self, element: &Element<'_>) -> Result<usize, usize> {
        self.entries.binary_search_by(|e| e.element.cmp(element))
    }

    /// What is known of one step.
    pub(crate) fn get(&self, element: &Element<'_>) -> Option<&Entry<'a>> {
        self.entries.get(self.position(element).ok()?)
    }

    /// Adds a step: a member, fields inside it, both or neither.
    pub(crate) fn add(&mut self, element: Element<'a>, member: bool, children: Set<'a>) {
        if !member && children.is_empty() {
            return;
        }
        let entry = Entry {
            element,
            member,
            children,
        };
        // Mostly they come in order.
        match self.entries.last() {
            Some(last) if last.element >= entry.element => match self.position(&entry.element) {
                Ok(at) => {
                    let here = &mut self.entries[at];
                    here.member |= entry.member;
                    here.children = std::mem::take(&mut here.children).union(entry.children);
                }
                Err(at) => self.entries.insert(at, entry),
            },
            _ => self.entries.push(entry),
        }
    }

    /// Adds the field at the end of a path; nobody owns the object as a whole.
    pub(crate) fn insert(&mut self, path: &[Element<'a>]) {
        if let [first, rest @ ..] = path {
            let mut children = Set::new();
            children.insert(rest);
            self.add(first.clone(), rest.is_empty(), children);
        }
    }

    /// Whether the field at the end of the path is in it.
    pub(crate) fn has(&self, path: &[Element<'_>]) -> bool {
        match path {
            [] => false,
            [last] => self.get(last).is_some_and(|entry| entry.member),
            [first, rest @ ..] => self.get(first).is_some_and(|e| e.children.has(rest)),
        }
    }

    /// What is in one of them.
    pub(crate) fn union(self, other: Set<'a>) -> Self {
        if self.is_empty() {
            return other;
        }
        if other.is_empty() {
            return self;
        }
        let mut entries = Vec::with_capacity(self.entries.len().max(other.entries.len()));
        let mut theirs = other.entries.into_iter().peekable();
        for mut ours in self.entries {
            while let Some(their) = theirs.next_if(|their| their.element < ours.element) {
                entries.push(their);
            }
            if let Some(their) = theirs.next_if(|their| their.element == ours.element) {
                ours.member |= their.member;
                ours.children = ours.children.union(their.children);
            }
            entries.push(ours);
        }
        entries.extend(theirs);
        Self { entries }
    }

    /// What is in both.
    pub(crate) fn intersection(&self, other: &Set<'_>) -> Self {
        let mut set = Self::new();
        for (ours, their) in pairs(&self.entries, &other.entries) {
            let Some(their) = their else { continue };
            let children = ours.children.intersection(&their.children);
            let member = ours.member && their.member;
            set.add(ours.element.clone(), member, children);
        }
        set
    }

    /// What is in this one only. Fields inside one that goes away stay.
    pub(crate) fn difference(mut self, other: &Set<'_>) -> Self {
        self.subtract(other, &mut |ours, their| {
            ours.member &= !their.member;
            ours.children = std::mem::take(&mut ours.children).difference(&their.children);
        });
        self
    }

    /// What is in this one only. Fields inside one that goes away go with it.
    pub(crate) fn recursive_difference(mut self, other: &Set<'_>) -> Self {
        self.subtract(other, &mut |ours, their| {
            let children = std::mem::take(&mut ours.children);
            if !their.member {
                ours.children = children.recursive_difference(&their.children);
            }
            ours.member &= !their.member;
        });
        self
    }

    fn subtract(&mut self, other: &Set<'_>, take: &mut dyn FnMut(&mut Entry<'a>, &Entry<'_>)) {
        if other.is_empty() {
            return;
        }
        let mut theirs = other.entries.as_slice();
        self.entries.retain_mut(|ours| {
            theirs = from_element(theirs, &ours.element);
            if let Some(their) = theirs.first()
                && their.element == ours.element
            {
                take(ours, their);
            }
            !ours.is_empty()
        });
    }

    /// The same and every declared field on the way to a member: structs are not members by
    /// themselves, but go when all that is in them goes.
    pub(crate) fn with_named_fields(&self, ty: Option<&Type>) -> Self {
        let entries = self.entries.iter().map(|entry| {
            let (named, inner) = match &entry.element {
                Element::Field(name) => {
                    let named = ty.is_some_and(|ty| ty.field(name).is_some());
                    (named, ty.and_then(|ty| ty.key(name)))
                }
                Element::Key(_) => (false, ty.and_then(Type::item)),
                Element::Value(_) | Element::Index(_) => (false, None),
            };
            Entry {
                element: entry.element.clone(),
                member: entry.member || (named && !entry.children.is_empty()),
                children: entry.children.with_named_fields(inner),
            }
        });
        Self {
            entries: entries.collect(),
        }
    }

    /// The printed paths of all members: at each level first those that end there. Each repeats the
    /// steps above it, so there are only as many as have few enough bytes together.
    pub(crate) fn paths(&self) -> Vec<String> {
        let mut paths = Vec::new();
        self.collect_paths("", &mut paths, &mut 0);
        paths
    }

    fn collect_paths(&self, prefix: &str, paths: &mut Vec<String>, bytes: &mut usize) {
        let path = |entry: &Entry<'_>| {
            let mut path = prefix.to_owned();
            entry.element.print(&mut path);
            path
        };
        for entry in self.entries.iter().filter(|entry| entry.member) {
            if *bytes > ERRORS_TOLD_BYTES_MAX {
                return;
            }
            paths.push(path(entry));
            *bytes += paths.last().map_or(0, String::len);
        }
        for entry in &self.entries {
            if *bytes > ERRORS_TOLD_BYTES_MAX {
                return;
            }
            if !entry.children.is_empty() {
                let prefix = path(entry);
                *bytes += prefix.len();
                entry.children.collect_paths(&prefix, paths, bytes);
            }
        }
    }

    /// As `fieldsV1`.
    pub(crate) fn encode(&self) -> Value {
        Value::Object(self.encode_entries(false))
    }

    fn encode_entries(&self, member: bool) -> Map<String, Value> {
        // Mostly few, and in order: to put them in one by one is cheaper than to collect them.
        let mut map = Map::new();
        if member && !self.is_empty() {
            map.insert(".".to_owned(), Value::Object(Map::new()));
        }
        for entry in &self.entries {
            let inside = entry.children.encode_entries(entry.member);
            map.insert(entry.element.encode(), Value::Object(inside));
        }
        map
    }

    /// Reads `fieldsV1`.
    pub(crate) fn decode(fields: &'a Value) -> Result<Self, String> {
        Ok(decode_node(fields)?.1)
    }
}

/// Whether the node is a member of the set around it, and what is inside it.
fn decode_node(node: &Value) -> Result<(bool, Set<'_>), String> {
    let map = match node {
        Value::Object(map) => map,
        Value::Null => return Ok((true, Set::new())),
        _ => return Err("expected a map of fields".to_owned()),
    };
    let (mut member, mut entries) = (false, Vec::new());
    for (key, inner) in map {
        if key == "." {
            member = true;
            continue;
        }
        match Decoded::read(key) {
            Decoded::Unknown => {}
            Decoded::Bad(why) => return Err(why),
            Decoded::Element(element) => {
                let (member, children) = decode_node(inner)?;
                entries.push(Entry {
                    element,
                    member,
                    children,
                });
            }
        }
    }
    let set = Set::of_entries(entries);
    Ok((member || set.is_empty(), set))
}

/// Each entry of the first with the one of the second that is about the same step.
fn pairs<'s, 'a, 'b>(
    ours: &'s [Entry<'a>],
    theirs: &'s [Entry<'b>],
) -> impl Iterator<Item = (&'s Entry<'a>, Option<&'s Entry<'b>>)> {
    let mut theirs = theirs;
    ours.iter().map(move |ours| {
        theirs = from_element(theirs, &ours.element);
        let their = theirs.first();
        (ours, their.filter(|their| their.element == ours.element))
    })
}

/// The entries from an element on. It mostly is near, but many may have to be passed over: steps double.
fn from_element<'s, 'b>(entries: &'s [Entry<'b>], element: &Element<'_>) -> &'s [Entry<'b>] {
    let is_before = |entry: &Entry<'_>| entry.element.cmp(element) == Ordering::Less;
    let (mut rest, mut step) = (entries, 1);
    while rest.get(step - 1).is_some_and(is_before) {
        rest = rest.get(step..).unwrap_or_default();
        step *= 2;
    }
    let near = rest.get(..step).unwrap_or(rest);
    rest.get(near.partition_point(is_before)..)
        .unwrap_or_default()
}
