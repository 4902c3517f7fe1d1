//! When two values mean the same.
//!
//! Upstream: `k8s.io/apimachinery/pkg/api/equality`.

use serde_json::Value;
use stowplan_apimachinery::quantity::Quantity;

/// Whether two values mean the same: an empty list is as good as none, and quantities are equal if
/// their amounts are.
pub fn same(a: &Value, b: &Value) -> bool {
    compare(a, b, false)
}

fn is_list_of_quantities(key: &str) -> bool {
    matches!(
        key,
        "requests" | "limits" | "overhead" | "capacity" | "allocatedResources"
    )
}

fn is_quantity(key: &str) -> bool {
    matches!(key, "sizeLimit" | "divisor")
}

/// `quantities`: the texts here, or in the map here, are quantities.
fn compare(a: &Value, b: &Value, quantities: bool) -> bool {
    match (a, b) {
        (Value::Object(a), Value::Object(b)) => {
            let at = |key: &str| quantities || is_list_of_quantities(key) || is_quantity(key);
            let known = a.iter().all(|(key, value)| {
                let other = b.get(key).unwrap_or(&Value::Null);
                compare(value, other, at(key))
            });
            let absent = |(key, value): (&String, &Value)| a.contains_key(key) || is_nothing(value);
            known && b.iter().all(absent)
        }
        (Value::Array(a), Value::Array(b)) => {
            let mut pairs = a.iter().zip(b);
            a.len() == b.len() && pairs.all(|(a, b)| compare(a, b, false))
        }
        (Value::String(text), Value::String(other)) if quantities && text != other => {
            let amounts = (Quantity::parse(text), Quantity::parse(other));
            matches!(amounts, (Ok(a), Ok(b)) if a == b)
        }
        (a, b) if a == b => true,
        (a, b) => is_nothing(a) && is_nothing(b),
    }
}

fn is_nothing(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(list) => list.is_empty(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::same;
    use serde_json::json;

    #[test]
    fn amounts_count_and_not_how_they_are_written() {
        let with = |cpu: &str| json!({"resources": {"limits": {"cpu": cpu}}, "name": cpu});
        assert!(!same(&with("1"), &with("1000m")));
        let with = |cpu: &str| json!({"resources": {"limits": {"cpu": cpu}}});
        assert!(same(&with("1"), &with("1000m")));
        assert!(!same(&with("1"), &with("2")));
    }

    #[test]
    fn an_empty_list_is_none_but_an_empty_struct_is_one() {
        assert!(same(&json!({"a": []}), &json!({"a": null})));
        assert!(same(&json!({}), &json!({"a": []})));
        assert!(!same(&json!({}), &json!({"a": {}})));
        assert!(!same(&json!({"a": 0}), &json!({})));
    }
}
