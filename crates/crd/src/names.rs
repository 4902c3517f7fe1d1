//! The names of a definition: granted if nobody else in the group has them.
//!
//! Upstream: `pkg/controller/{status/naming_controller,establish/establishing_controller}.go`.

use serde_json::{Value, json};
use std::collections::{BTreeSet, HashSet};
use stowplan_apimachinery::{Edit, View, go};

/// The names that the definitions of a group hold.
#[derive(Default)]
struct Taken {
    resources: BTreeSet<String>,
    kinds: BTreeSet<String>,
}

impl Taken {
    fn by<'a>(definitions: impl Iterator<Item = &'a Value>) -> Self {
        let mut taken = Self::default();
        for definition in definitions {
            let names = definition.at("status").at("acceptedNames");
            let short = names.list("shortNames").iter().filter_map(Value::as_str);
            let own = [names.text("plural"), names.text("singular")].into_iter();
            taken.resources.extend(own.chain(short).map(str::to_owned));
            let kinds = [names.text("kind"), names.text("listKind")];
            taken.kinds.extend(kinds.map(str::to_owned));
        }
        taken
    }
}

fn in_use(name: &str) -> String {
    format!("{} is already in use", go::quote(name))
}

/// Grants a definition its names and establishes it. `group` are all definitions of its group,
/// itself included. `None` if nothing changes.
pub fn settle<'a>(
    definition: &Value,
    group: impl Iterator<Item = &'a Value>,
    now: &str,
) -> Option<Value> {
    let wanted = definition.at("spec").at("names");
    let held = definition.at("status").at("acceptedNames");
    let mut new = definition.clone();
    if wanted != held {
        let (names, conflict) = grant(wanted, held, &Taken::by(group));
        let accepted = conflict.is_none();
        let (reason, message) =
            conflict.unwrap_or(("NoConflicts", "no conflicts found".to_owned()));
        new.at_mut("status").set("acceptedNames", names);
        set_condition(&mut new, "NamesAccepted", accepted, reason, &message, now);
        if condition(&new, "Established").is_none() {
            let why = "not all names are accepted";
            set_condition(&mut new, "Established", false, "NotAccepted", why, now);
        }
    }
    if is_true(&new, "NamesAccepted") && !is_true(&new, "Established") {
        let why = "the initial names have been accepted";
        set_condition(
            &mut new,
            "Established",
            true,
            "InitialNamesAccepted",
            why,
            now,
        );
    }
    (new != *definition).then_some(new)
}

/// The names that a definition gets, and why not all of them are what it wants.
fn grant(wanted: &Value, held: &Value, taken: &Taken) -> (Value, Option<(&'static str, String)>) {
    let mut names = held.clone();
    let mut conflict = None;
    for (field, reason, used) in [
        ("plural", "PluralConflict", &taken.resources),
        ("singular", "SingularConflict", &taken.resources),
        ("shortNames", "ShortNamesConflict", &taken.resources),
        ("kind", "KindConflict", &taken.kinds),
        ("listKind", "ListKindConflict", &taken.kinds),
    ] {
        let fault = match field {
            "shortNames" => short_names(wanted, held, used),
            _ => {
                let name = wanted.text(field);
                let free = name == held.text(field) || !used.contains(name);
                (!free).then(|| in_use(name))
            }
        };
        match fault {
            Some(message) => conflict = Some((reason, message)),
            None => copy(&mut names, wanted, field),
        }
    }
    copy(&mut names, wanted, "categories");
    (names, conflict)
}

fn short_names(wanted: &Value, held: &Value, used: &BTreeSet<String>) -> Option<String> {
    let own: HashSet<&Value> = held.list("shortNames").iter().collect();
    let names = wanted
        .list("shortNames")
        .iter()
        .filter(|n| !own.contains(n));
    let mut faults: Vec<String> = Vec::new();
    let mut said = HashSet::new();
    for name in names
        .filter_map(Value::as_str)
        .filter(|n| used.contains(*n))
    {
        if said.insert(name) {
            faults.push(in_use(name));
        }
    }
    match faults.as_slice() {
        [] => None,
        [one] => Some(one.clone()),
        many => Some(format!("[{}]", many.join(", "))),
    }
}

fn copy(to: &mut Value, from: &Value, field: &str) {
    match from.at(field) {
        Value::Null => drop(to.unset(field)),
        value => to.set(field, value.clone()),
    }
}

fn condition<'a>(definition: &'a Value, kind: &str) -> Option<&'a Value> {
    let mut conditions = definition.at("status").list("conditions").iter();
    conditions.find(|c| c.text("type") == kind)
}

/// Whether a condition of a definition is true.
pub fn is_true(definition: &Value, kind: &str) -> bool {
    condition(definition, kind).is_some_and(|c| c.text("status") == "True")
}

/// Sets a condition; its time changes with its status. Upstream: `SetCRDCondition`.
pub fn set_condition(
    definition: &mut Value,
    kind: &str,
    holds: bool,
    reason: &str,
    message: &str,
    now: &str,
) {
    let status = if holds { "True" } else { "False" };
    let old = condition(definition, kind);
    let same = old.filter(|c| c.text("status") == status);
    let since = same.map_or(now, |c| c.text("lastTransitionTime"));
    let new = json!({
        "type": kind,
        "status": status,
        "lastTransitionTime": since,
        "reason": reason,
        "message": message,
    });
    let conditions = definition.at_mut("status").list_mut("conditions");
    match conditions.iter_mut().find(|c| c.text("type") == kind) {
        Some(old) => *old = new,
        None => conditions.push(new),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn definition(plural: &str, short: &str) -> Value {
        json!({"spec": {"names": {"plural": plural, "singular": "x", "kind": plural, "listKind": "L",
                "shortNames": [short]}},
            "status": {"acceptedNames": {"plural": "", "kind": ""}, "conditions": null}})
    }

    #[test]
    fn names_are_granted_once() {
        let first = settle(&definition("as", "a"), std::iter::empty(), "now").expect("changes");
        assert_eq!(first["status"]["acceptedNames"], first["spec"]["names"]);
        assert!(is_true(&first, "Established"));
        assert!(settle(&first, [&first].into_iter(), "later").is_none());
        let second = settle(&definition("bs", "a"), [&first].into_iter(), "now").expect("changes");
        assert!(!is_true(&second, "Established"));
        let conditions = &second["status"]["conditions"];
        assert_eq!(conditions[0]["reason"], "ListKindConflict");
        assert_eq!(conditions[0]["message"], "\"L\" is already in use");
        assert_eq!(second["status"]["acceptedNames"]["plural"], "bs");
    }
}
