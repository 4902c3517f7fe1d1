//! Lists of resources: quantities by name.

use crate::quantity::Quantity;
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::ops::{Deref, DerefMut};
use stowplan_base::amounts::Amounts;

/// Quantities by resource name: `requests`, `limits`, `hard`, `used`.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ResourceList(BTreeMap<String, Quantity>);

impl ResourceList {
    /// The list in a JSON value; what is absent is empty.
    pub fn of(value: &Value) -> Self {
        let entries = value.as_object().into_iter().flatten();
        Self(entries.map(|(k, v)| (k.clone(), Quantity::of(v))).collect())
    }

    /// The list as JSON.
    pub fn to_json(&self) -> Value {
        let entries = self.0.iter();
        let map: Map<String, Value> = entries
            .map(|(k, v)| (k.clone(), v.to_string().into()))
            .collect();
        Value::Object(map)
    }

    /// Puts a quantity under a name.
    pub fn put(&mut self, name: impl Into<String>, quantity: Quantity) {
        self.0.insert(name.into(), quantity);
    }

    /// Adds every quantity of another list.
    pub fn add(&mut self, other: &Self) {
        Amounts::add(&mut self.0, &other.0);
    }

    /// Raises every quantity to that of another list.
    pub fn raise_to(&mut self, other: &Self) {
        self.0.raise_to(&other.0);
    }
}

impl Amounts for ResourceList {
    fn add(&mut self, more: &Self) {
        Self::add(self, more);
    }

    fn raise_to(&mut self, floor: &Self) {
        Self::raise_to(self, floor);
    }

    fn set_pod_level(&mut self, amounts: &Self) {
        self.0.set_pod_level(&amounts.0);
    }

    fn add_to_present(&mut self, more: &Self) {
        self.0.add_to_present(&more.0);
    }
}

impl Deref for ResourceList {
    type Target = BTreeMap<String, Quantity>;
    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl DerefMut for ResourceList {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.0
    }
}

impl FromIterator<(String, Quantity)> for ResourceList {
    fn from_iter<I: IntoIterator<Item = (String, Quantity)>>(entries: I) -> Self {
        Self(entries.into_iter().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn lists_add_and_rise_name_by_name() {
        let mut list = ResourceList::of(&json!({"cpu": "500m", "memory": "1Gi"}));
        let other = ResourceList::of(&json!({"cpu": "750m", "memory": "1Mi", "x/y": "2"}));
        let mut risen = list.clone();
        risen.raise_to(&other);
        assert_eq!(
            risen.to_json(),
            json!({"cpu": "750m", "memory": "1Gi", "x/y": "2"})
        );
        list.add(&other);
        assert_eq!(
            list.to_json(),
            json!({"cpu": "1250m", "memory": "1025Mi", "x/y": "2"})
        );
    }
}
