//! Does a value fit a schema? The order of the checks and every sentence are upstream's
//! (`k8s.io/kube-openapi/pkg/validation/{validate,errors}`).

mod name;
mod number;

use crate::counterparts::Counterparts;
use crate::prune::{additional, items};
use name::Name;
use serde_json::Value;
use std::cell::Cell;
use std::collections::HashSet;
use stowplan_apimachinery::field::{Error, ErrorKind, ErrorList, Path, Shown};
use stowplan_apimachinery::go::quote;
use stowplan_apimachinery::limits::{ERRORS_TOLD_BYTES_MAX, ERRORS_TOLD_MAX};
use stowplan_apimachinery::{View, regexp, strfmt};

/// Faults of a value. `path` is where the value stands: [`Path::ROOT`] for a whole object.
pub fn validate(path: &Path<'_>, schema: &Value, value: &Value) -> ErrorList {
    let spent = Cell::new(0);
    let found = check(schema, value, &Name::root(&spent), None);
    found.faults.iter().map(|f| f.to_error(path)).collect()
}

/// Faults of a changed value. Where nothing changed, nothing is found fault with: schemas may have
/// become stricter since. Upstream: `RatchetingSchemaValidator`.
pub fn validate_change(path: &Path<'_>, schema: &Value, value: &Value, old: &Value) -> ErrorList {
    let spent = Cell::new(0);
    let found = check_changed(schema, value, &Name::root(&spent), Some(old));
    found.faults.iter().map(|f| f.to_error(path)).collect()
}

/// [`check`], forgiving if the value is what it was.
fn check_changed(schema: &Value, value: &Value, name: &Name<'_>, old: Option<&Value>) -> Findings {
    let found = check(schema, value, name, old);
    match old {
        Some(old) if !found.valid() && old == value => Findings::default(),
        _ => found,
    }
}

/// What checking came to. Upstream chooses among the branches of `oneOf` by the number of checks
/// that went well, so these are counted just as it does.
#[derive(Default)]
struct Findings {
    /// No more than are told.
    faults: Vec<Fault>,
    bytes: usize,
    checks: usize,
}

#[derive(Clone)]
struct Fault {
    /// The path of the value; `None` for a fault that upstream gives no place.
    name: Option<String>,
    kind: Kind,
    /// The value as printed.
    value: String,
    message: String,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Invalid,
    Type,
    Required,
    Enum,
    /// Too long: at most so many.
    Long(i64),
    /// Too many items or properties: so many, at most so many.
    Many(i64, i64),
}

impl Findings {
    fn add(&mut self, fault: Fault) {
        if self.faults.len() >= ERRORS_TOLD_MAX || self.bytes > ERRORS_TOLD_BYTES_MAX {
            return;
        }
        // The same sentence is said once.
        if !self.faults.iter().any(|f| f.message == fault.message) {
            self.bytes += fault.value.len() + 2 * fault.message.len();
            self.faults.push(fault);
        }
    }

    fn merge(&mut self, other: Self) {
        self.checks += other.checks;
        other.faults.into_iter().for_each(|fault| self.add(fault));
    }

    fn valid(&self) -> bool {
        self.faults.is_empty()
    }
}

impl Fault {
    fn new(
        kind: Kind,
        name: &Name<'_>,
        value: impl Shown,
        message: impl FnOnce(&str) -> String,
    ) -> Self {
        let Some(place) = name.spend() else {
            return Self::one_of_many();
        };
        let value = value.shown();
        let message = message(&place);
        name.charge(value.len() + message.len());
        Self {
            name: Some(place),
            kind,
            value,
            message,
        }
    }

    /// What is said in place of all faults that nobody will be told.
    fn one_of_many() -> Self {
        Self {
            name: None,
            kind: Kind::Type,
            value: quote(""),
            message: "there are many more faults".to_owned(),
        }
    }

    /// A fault without a place: what Go calls a plain error.
    fn plain(name: &Name<'_>, message: impl FnOnce(&str) -> String) -> Self {
        Self {
            name: None,
            ..Self::new(Kind::Invalid, name, "", message)
        }
    }

    fn wrong_type(name: &Name<'_>, wanted: &str, found: &str) -> Self {
        Self::new(Kind::Type, name, found, |name| {
            format!("{name} in body must be of type {wanted}: {}", quote(found))
        })
    }

    fn to_error(&self, path: &Path<'_>) -> Error {
        let name = self.name.as_deref().unwrap_or_default();
        let name = name.strip_prefix('.').unwrap_or(name);
        let place = match name.is_empty() {
            true => *path,
            false => path.child(name),
        };
        let value = Some(self.value.clone());
        match self.kind {
            Kind::Required => Error::required(&place, ""),
            Kind::Enum => Error::other(ErrorKind::NotSupported, &place, value, &*self.message),
            Kind::Long(max) => Error::too_long(&place, usize::try_from(max).unwrap_or_default()),
            Kind::Many(actual, max) => Error::too_many(
                &place,
                usize::try_from(actual).unwrap_or_default(),
                usize::try_from(max).unwrap_or_default(),
            ),
            Kind::Type => Error::other(ErrorKind::TypeInvalid, &place, value, &*self.message),
            Kind::Invalid => Error::other(ErrorKind::Invalid, &place, value, &*self.message),
        }
    }
}

/// The types that a schema allows.
fn types(schema: &Value) -> Vec<&str> {
    if schema.flag("x-kubernetes-int-or-string") {
        return vec!["integer", "string"];
    }
    match schema.text("type") {
        "" => Vec::new(),
        one => vec![one],
    }
}

/// The type of a value and the format that Go sees in it.
fn type_of(value: &Value) -> (&'static str, &'static str) {
    match value {
        Value::Null => ("null", ""),
        Value::Bool(_) => ("boolean", ""),
        Value::Number(n) if n.is_i64() => ("integer", "int64"),
        Value::Number(_) => ("number", "float64"),
        Value::String(_) => ("string", ""),
        Value::Array(_) => ("array", ""),
        Value::Object(_) => ("object", ""),
    }
}

fn check(schema: &Value, value: &Value, name: &Name<'_>, old: Option<&Value>) -> Findings {
    let mut found = Findings::default();
    let format = strfmt::known(schema.text("format")).unwrap_or_default();
    if value.is_null() {
        found.merge(check_type(schema, value, format, name));
        found.merge(check_enum(schema, value, name));
        return found;
    }
    let mut step = |outcome: Findings| {
        found.merge(outcome);
        found.checks += 1;
    };
    if !types(schema).is_empty() || !format.is_empty() {
        step(check_type(schema, value, format, name));
    }
    step(check_combined(schema, value, name, old));
    match value {
        Value::String(text) => {
            step(check_text(schema, text, name));
            if strfmt::is_text_format(format) {
                step(check_format(format, text, name));
            }
        }
        Value::Number(number) => step(number::check(schema, number, format, name)),
        Value::Array(list) => step(check_list(schema, list, name, old)),
        _ => {}
    }
    step(check_enum(schema, value, name));
    if let Value::Object(map) = value {
        step(check_object(schema, map, name, old));
    }
    found.checks += 1;
    found
}

fn check_type(schema: &Value, value: &Value, format: &str, name: &Name<'_>) -> Findings {
    let types = types(schema);
    let mut found = Findings {
        checks: 1,
        ..Findings::default()
    };
    let wrong = |wanted: &str, is: &str| one(Fault::wrong_type(name, wanted, is));
    let (is, is_format) = type_of(value);
    if value.is_null() {
        if !types.is_empty() && !schema.flag("nullable") {
            return wrong(&types.join(","), is);
        }
        return found;
    }
    let allows = |t: &str| types.contains(&t);
    let whole = value.as_f64().is_some_and(number::is_whole);
    let whole_float = is == "number" && whole && allows("integer");
    let int_as_float = is == "integer" && allows("number");
    let textual = matches!(is, "string" | "array");
    let fits = allows(is) || whole_float || int_as_float;
    let formatted = !format.is_empty();
    let fits_format = fits || is_format == format;
    if !textual && formatted && !fits_format {
        return wrong(format, is_format);
    }
    let numeric = allows("number") || allows("integer");
    if textual && formatted && !numeric {
        return found;
    }
    if !fits && !types.is_empty() {
        return wrong(&types.join(","), is);
    }
    if types.is_empty() && !fits {
        // A format without a type: upstream finds that no type is allowed.
        return wrong("", is);
    }
    found.checks = 1;
    found
}

fn check_combined(schema: &Value, value: &Value, name: &Name<'_>, old: Option<&Value>) -> Findings {
    let mut main = Findings::default();
    let branches = |key: &str| -> Vec<Findings> {
        let list = schema.list(key).iter();
        list.map(|branch| check(branch, value, name, old)).collect()
    };
    if !schema.list("anyOf").is_empty() {
        any_of(&mut main, schema, value, name, old);
    }
    let one_of = branches("oneOf");
    if !one_of.is_empty() {
        let valid = one_of.iter().filter(|f| f.valid()).count();
        if valid == 1 {
            let first = one_of.into_iter().find(Findings::valid);
            main.merge(first.unwrap_or_default());
        } else {
            let how = match valid {
                0 => "Found none valid".to_owned(),
                n => format!("Found {n} valid alternatives"),
            };
            main.add(Fault::plain(name, |name| {
                let quoted = quote(name);
                format!("{quoted} must validate one and only one schema (oneOf). {how}")
            }));
            if valid == 0 {
                main.merge(best(one_of));
            }
        }
    }
    let all_of = branches("allOf");
    if !all_of.is_empty() {
        let (count, valid) = (all_of.len(), all_of.iter().filter(|f| f.valid()).count());
        all_of.into_iter().for_each(|f| main.merge(f));
        if valid != count {
            let how = if valid == 0 { ". None validated" } else { "" };
            main.add(Fault::plain(name, |name| {
                format!("{} must validate all the schemas (allOf){how}", quote(name))
            }));
        }
    }
    if schema.has("not") && check(schema.at("not"), value, name, old).valid() {
        main.add(Fault::plain(name, |name| {
            format!("{} must not validate the schema (not)", quote(name))
        }));
    }
    main.checks += 1;
    main
}

fn any_of(
    main: &mut Findings,
    schema: &Value,
    value: &Value,
    name: &Name<'_>,
    old: Option<&Value>,
) {
    let mut failed = Vec::new();
    for branch in schema.list("anyOf") {
        let found = check(branch, value, name, old);
        if found.valid() {
            main.merge(found);
            return;
        }
        failed.push(found);
    }
    main.add(Fault::plain(name, |name| {
        format!("{} must validate at least one schema (anyOf)", quote(name))
    }));
    main.merge(best(failed));
}

/// The branch in which most went well; the first of several.
fn best(branches: Vec<Findings>) -> Findings {
    let better = |best: Option<Findings>, next: Findings| match best {
        Some(best) if best.checks >= next.checks => Some(best),
        _ => Some(next),
    };
    branches.into_iter().fold(None, better).unwrap_or_default()
}

fn one(fault: Fault) -> Findings {
    let mut found = Findings::default();
    found.add(fault);
    found
}

fn check_text(schema: &Value, text: &str, name: &Name<'_>) -> Findings {
    let length = text.chars().count() as i64;
    if let Some(max) = schema.int("maxLength").filter(|max| length > *max) {
        return one(Fault::new(Kind::Long(max), name, text, |name| {
            format!("{name} in body should be at most {max} chars long")
        }));
    }
    if let Some(min) = schema.int("minLength").filter(|min| length < *min) {
        return one(Fault::new(Kind::Invalid, name, text, |name| {
            format!("{name} in body should be at least {min} chars long")
        }));
    }
    let pattern = schema.text("pattern");
    if !pattern.is_empty() && !regexp::matches(pattern, text) {
        return one(Fault::new(Kind::Invalid, name, text, |name| {
            format!("{name} in body should match '{pattern}'")
        }));
    }
    Findings::default()
}

fn check_format(format: &str, text: &str, name: &Name<'_>) -> Findings {
    match strfmt::fits(format, text) {
        true => Findings::default(),
        false => one(Fault::wrong_type(name, format, text)),
    }
}

fn check_list(schema: &Value, list: &[Value], name: &Name<'_>, old: Option<&Value>) -> Findings {
    let mut found = Findings::default();
    if let Some(items) = items(schema) {
        let before = old.map(|old| Counterparts::of(schema, old));
        for (i, element) in list.iter().enumerate() {
            found.merge(check_changed(
                items,
                element,
                &name.index(i),
                before
                    .as_ref()
                    .and_then(|before| before.of_element(element)),
            ));
        }
    }
    let size = list.len() as i64;
    if let Some(min) = schema.int("minItems").filter(|min| size < *min) {
        found.add(Fault::new(Kind::Invalid, name, size, |name| {
            format!("{name} in body should have at least {min} items")
        }));
    }
    if let Some(max) = schema.int("maxItems").filter(|max| size > *max) {
        found.add(Fault::new(Kind::Many(size, max), name, size, |name| {
            format!("{name} in body should have at most {max} items")
        }));
    }
    let mut seen = HashSet::new();
    if schema.flag("uniqueItems") && !list.iter().all(|element| seen.insert(element)) {
        found.add(Fault::new(Kind::Invalid, name, "", |name| {
            format!("{name} in body shouldn't contain duplicates")
        }));
    }
    found.checks += 1;
    found
}

fn check_enum(schema: &Value, value: &Value, name: &Name<'_>) -> Findings {
    let allowed = schema.list("enum");
    if allowed.is_empty() || allowed.iter().any(|a| number::equal(a, value)) {
        return Findings::default();
    }
    one(Fault::new(Kind::Enum, name, value, |_| {
        let shown = allowed.iter().map(|a| match a {
            Value::String(text) => quote(text),
            other => quote(&other.to_string()),
        });
        let shown: Vec<String> = shown.collect();
        format!("supported values: {}", shown.join(", "))
    }))
}

fn check_object(
    schema: &Value,
    map: &serde_json::Map<String, Value>,
    name: &Name<'_>,
    old: Option<&Value>,
) -> Findings {
    let mut found = Findings::default();
    let size = map.len() as i64;
    if let Some(min) = schema.int("minProperties").filter(|min| size < *min) {
        found.add(Fault::new(Kind::Invalid, name, size, |name| {
            format!("{name} in body should have at least {min} properties")
        }));
    }
    if let Some(max) = schema.int("maxProperties").filter(|max| size > *max) {
        found.add(Fault::new(Kind::Many(size, max), name, size, |name| {
            format!("{name} in body should have at most {max} properties")
        }));
    }
    let properties = schema.at("properties");
    let before = |key: &str| {
        let is_meta = name.is_empty() && matches!(key, "apiVersion" | "kind" | "metadata");
        old.filter(|_| !is_meta).and_then(|old| old.get(key))
    };
    if let Some(Some(others)) = additional(schema) {
        for (key, value) in map.iter().filter(|(key, _)| properties.get(key).is_none()) {
            found.merge(check_changed(
                others,
                value,
                &name.entry(key),
                old.and_then(|old| old.get(key)),
            ));
        }
    }
    for (key, property) in schema.entries("properties") {
        if let Some(value) = map.get(key) {
            found.merge(check_changed(
                property,
                value,
                &name.field(key),
                before(key),
            ));
        }
    }
    for key in schema.list("required").iter().filter_map(Value::as_str) {
        if !map.contains_key(key) {
            let place = name.entry(key);
            found.add(Fault::new(Kind::Required, &place, "", |name| {
                format!("{name} in body is required")
            }));
        }
    }
    found
}

#[cfg(test)]
mod tests;
