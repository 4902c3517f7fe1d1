//! Writes that change nothing keep the times of their owners.
//!
//! Upstream: `apiserver/pkg/endpoints/handlers/fieldmanager/equality.go`.

use serde_json::{Map, Value};
use stowplan_apimachinery::{Edit, View};

/// Puts back the old times into `managedFields` if they are all that is different between the old
/// object and the new one. Call it last, when the new object is ready to be stored.
pub fn keep_times(new: &mut Value, old: &Value) {
    let old_entries = old.at("metadata").list("managedFields");
    let new_entries = new.at("metadata").list("managedFields");
    let times_differ = old_entries.len() == new_entries.len()
        && old_entries
            .iter()
            .zip(new_entries)
            .any(|(a, b)| a.at("time") != b.at("time"));
    let same_owners = || {
        old_entries
            .iter()
            .zip(new_entries)
            .all(|(a, b)| same_but(a, b, &["time"]))
    };
    if times_differ
        && same_owners()
        && same_but(new, old, &["metadata"])
        && same_but(new.at("metadata"), old.at("metadata"), &["managedFields"])
    {
        let entries = old_entries.to_vec();
        new.at_mut("metadata").set("managedFields", entries);
    }
}

/// Whether two maps have the same entries, these aside.
fn same_but(a: &Value, b: &Value, except: &[&str]) -> bool {
    fn rest<'v>(
        value: &'v Value,
        except: &[&str],
    ) -> impl Iterator<Item = (&'v String, &'v Value)> {
        let map: Option<&Map<String, Value>> = value.as_object();
        map.into_iter()
            .flatten()
            .filter(move |(key, _)| !except.contains(&key.as_str()))
    }
    rest(a, except).eq(rest(b, except))
}
