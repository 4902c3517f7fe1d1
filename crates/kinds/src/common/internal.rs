//! Values that upstream prints in the shape of its internal types.

use serde_json::{Map, Value};
use stowplan_apimachinery::field::Shown;

/// A value of a type that upstream keeps to itself: its messages show Go's names of the fields,
/// which are those of the API with a capital letter in front.
pub struct Internal<'a>(pub &'a Value);

impl Shown for Internal<'_> {
    fn shown(&self) -> String {
        capitalised(self.0).to_string()
    }
}

/// `value` with all the `fields` of its type: Go's own encoding leaves out none.
pub fn whole(value: &Value, fields: &[&str], absent: &Value) -> Value {
    let mut value = value.clone();
    if let Value::Object(given) = &mut value {
        for field in fields {
            given.entry(*field).or_insert_with(|| absent.clone());
        }
    }
    value
}

fn capitalised(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let fields = fields.iter();
            let named: Map<String, Value> = fields
                .map(|(name, value)| (go_name(name), capitalised(value)))
                .collect();
            Value::Object(named)
        }
        Value::Array(list) => list.iter().map(capitalised).collect(),
        other => other.clone(),
    }
}

fn go_name(name: &str) -> String {
    let mut chars = name.chars();
    let first = chars.next().map(|c| c.to_uppercase());
    first.into_iter().flatten().chain(chars).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn fields_not_given_are_shown() {
        let value = whole(&json!({"name": "a"}), &["kind", "name"], &json!(""));
        assert_eq!(value, json!({"kind": "", "name": "a"}));
        assert_eq!(whole(&Value::Null, &["kind"], &json!("")), Value::Null);
    }

    #[test]
    fn fields_have_capital_letters() {
        let value = json!([{"name": "a", "inner": {"x": 1}}]);
        assert_eq!(
            Internal(&value).shown(),
            r#"[{"Inner":{"X":1},"Name":"a"}]"#
        );
    }
}
