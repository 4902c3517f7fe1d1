//! Reading and writing JSON objects without saying "maybe" at every step.

use serde_json::{Map, Value};

static NULL: Value = Value::Null;

/// Reads fields as Go reads a decoded struct: what is absent, null or of another type is the zero
/// value.
pub trait View {
    /// The field, or null.
    fn at(&self, key: &str) -> &Value;

    /// The field down a path, or null: `object.path(&["spec", "template", "spec"])`.
    fn path(&self, keys: &[&str]) -> &Value;

    /// The text in the field, or the empty one.
    fn text(&self, key: &str) -> &str {
        self.at(key).as_str().unwrap_or_default()
    }

    /// The number in the field.
    fn int(&self, key: &str) -> Option<i64> {
        self.at(key).as_i64()
    }

    /// Whether the field is there and true.
    fn flag(&self, key: &str) -> bool {
        self.at(key).as_bool().unwrap_or_default()
    }

    /// The elements of the list in the field, or none.
    fn list(&self, key: &str) -> &[Value] {
        self.at(key)
            .as_array()
            .map(Vec::as_slice)
            .unwrap_or_default()
    }

    /// The entries of the map in the field, in key order; or none.
    fn entries<'a>(&'a self, key: &str) -> impl Iterator<Item = (&'a str, &'a Value)> {
        let map = self.at(key).as_object();
        map.into_iter().flatten().map(|(k, v)| (k.as_str(), v))
    }

    /// Whether the field is there and not null.
    fn has(&self, key: &str) -> bool {
        !self.at(key).is_null()
    }
}

/// Up to here a map is walked. Names differ in length more often than not, so that few texts are looked
/// at; the search of the map itself looks at one per step.
const WALKED_MAX: usize = 16;

/// Whether two texts are the same. Names are short: most are compared by a word from either end, without
/// a call.
#[inline]
fn is_same(one: &str, other: &str) -> bool {
    fn ends<const N: usize>(bytes: &[u8]) -> Option<([u8; N], [u8; N])> {
        Some((*bytes.first_chunk()?, *bytes.last_chunk()?))
    }
    let (one, other) = (one.as_bytes(), other.as_bytes());
    if one.len() != other.len() {
        return false;
    }
    match one.len() {
        4..8 => ends::<4>(one) == ends(other),
        8..=16 => ends::<8>(one) == ends(other),
        _ => one == other,
    }
}

fn field<'a>(map: &'a Map<String, Value>, key: &str) -> &'a Value {
    let found = match map.len() <= WALKED_MAX {
        true => map.iter().find(|(name, _)| is_same(name, key)),
        false => return map.get(key).unwrap_or(&NULL),
    };
    found.map_or(&NULL, |(_, value)| value)
}

impl View for Value {
    fn at(&self, key: &str) -> &Value {
        self.as_object().map_or(&NULL, |map| field(map, key))
    }

    fn path(&self, keys: &[&str]) -> &Value {
        keys.iter().fold(self, |value, key| value.at(key))
    }
}

impl View for Map<String, Value> {
    fn at(&self, key: &str) -> &Value {
        field(self, key)
    }

    fn path(&self, keys: &[&str]) -> &Value {
        match keys {
            [] => &NULL,
            [first, rest @ ..] => self.at(first).path(rest),
        }
    }
}

/// Writes fields, making the maps on the way.
pub trait Edit {
    /// The map that is here; anything else is replaced by an empty one.
    fn fields(&mut self) -> &mut Map<String, Value>;

    /// The field, null if it was absent.
    fn at_mut(&mut self, key: &str) -> &mut Value {
        self.fields().entry(key).or_insert(Value::Null)
    }

    /// The list in the field; anything else there is replaced by an empty one.
    fn list_mut(&mut self, key: &str) -> &mut Vec<Value> {
        let here = self.at_mut(key);
        if !here.is_array() {
            *here = Value::Array(Vec::new());
        }
        match here {
            Value::Array(list) => list,
            _ => unreachable!("made a list above"),
        }
    }

    /// The elements of the list in the field, if there is one: unlike `list_mut` it makes none.
    fn each_mut(&mut self, key: &str) -> impl Iterator<Item = &mut Value> {
        let list = self.fields().get_mut(key).and_then(Value::as_array_mut);
        list.into_iter().flatten()
    }

    /// The map in the field if there is one: unlike `at_mut` it makes none.
    fn child_mut(&mut self, key: &str) -> Option<&mut Value> {
        self.fields().get_mut(key).filter(|v| v.is_object())
    }

    /// Puts a value into the field.
    fn set(&mut self, key: &str, value: impl Into<Value>) {
        self.fields().insert(key.to_owned(), value.into());
    }

    /// Takes the field away.
    fn unset(&mut self, key: &str) -> Option<Value> {
        self.fields().remove(key)
    }

    /// Puts a value into the field if it is absent or null. Says whether it did.
    fn default_to(&mut self, key: &str, value: impl Into<Value>) -> bool {
        let here = self.at_mut(key);
        let missing = here.is_null();
        if missing {
            *here = value.into();
        }
        missing
    }
}

impl Edit for Value {
    fn fields(&mut self) -> &mut Map<String, Value> {
        if !self.is_object() {
            *self = Value::Object(Map::new());
        }
        match self {
            Value::Object(map) => map,
            _ => unreachable!("made a map above"),
        }
    }
}

impl Edit for Map<String, Value> {
    fn fields(&mut self) -> &mut Map<String, Value> {
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_is_missing_is_the_zero_value() {
        let object = json!({"spec": {"replicas": 3, "paused": true, "list": [1]}, "x": null});
        assert_eq!(object.path(&["spec", "replicas"]), &json!(3));
        assert_eq!(object.path(&["spec", "a", "b"]), &Value::Null);
        assert_eq!(object.at("spec").text("replicas"), "");
        assert!(object.at("spec").flag("paused"));
        assert_eq!(object.at("spec").list("list").len(), 1);
        assert!(object.at("spec").list("none").is_empty());
        assert!(!object.has("x"));
    }

    #[test]
    fn texts_are_compared_whole() {
        let text = "abcdefghijklmnopqrstuvwxyz";
        for length in 0..=text.len() {
            let whole = &text[..length];
            let copy: String = whole.chars().collect();
            assert!(is_same(whole, &copy));
            for at in 0..length {
                let mut other = whole.to_owned();
                other.replace_range(at..=at, "-");
                assert!(!is_same(whole, &other), "{other}");
            }
            assert!(!is_same(whole, &format!("{whole}-")));
        }
    }

    #[test]
    fn fields_are_found_in_small_and_large_maps() {
        for count in [0, 1, WALKED_MAX, WALKED_MAX + 1, 100] {
            let map: Map<_, _> = (0..count).map(|i| (i.to_string(), json!(i))).collect();
            for i in 0..=count {
                let wanted = map.get(&i.to_string()).unwrap_or(&Value::Null);
                assert_eq!(map.at(&i.to_string()), wanted);
                assert_eq!(Value::from(map.clone()).at(&i.to_string()), wanted);
            }
        }
        assert_eq!(json!([1]).at("0"), &Value::Null);
    }

    #[test]
    fn writing_makes_the_maps_on_the_way() {
        let mut object = json!({});
        object.at_mut("spec").set("replicas", 1);
        assert!(!object.at_mut("spec").default_to("replicas", 2));
        object.at_mut("spec").list_mut("args").push(json!("a"));
        assert_eq!(object, json!({"spec": {"replicas": 1, "args": ["a"]}}));
        assert_eq!(object.each_mut("none").count(), 0);
    }
}
