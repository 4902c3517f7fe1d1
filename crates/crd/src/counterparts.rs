//! Which elements of an old list those of a new one stem from.

use serde_json::Value;
use std::collections::HashMap;
use stowplan_apimachinery::View;

/// The elements of an old list by their keys.
pub(crate) struct Counterparts<'a> {
    keys: Vec<&'a str>,
    elements: HashMap<Vec<Option<&'a Value>>, &'a Value>,
}

impl<'a> Counterparts<'a> {
    /// Of a list with this schema; none unless its elements have keys.
    pub(crate) fn of(schema: &'a Value, old: &'a Value) -> Self {
        let keys = schema.list("x-kubernetes-list-map-keys").iter();
        let mut new = Self {
            keys: keys.filter_map(Value::as_str).collect(),
            elements: HashMap::new(),
        };
        if schema.text("x-kubernetes-list-type") == "map" {
            for element in old.as_array().into_iter().flatten() {
                let key = new.key(element);
                new.elements.entry(key).or_insert(element);
            }
        }
        new
    }

    /// The first old element with the same keys.
    pub(crate) fn of_element(&self, element: &Value) -> Option<&'a Value> {
        self.elements.get(&self.key(element)).copied()
    }

    fn key<'e>(&self, element: &'e Value) -> Vec<Option<&'e Value>> {
        self.keys.iter().map(|key| element.get(key)).collect()
    }
}
