//! Objects without `metadata.managedFields`: nothing here reads them, and they would become trees of
//! maps.

use serde::de::{
    DeserializeSeed, Deserializer, IgnoredAny, IntoDeserializer, MapAccess, Visitor,
    value::StrDeserializer,
};
use serde::{Deserialize, forward_to_deserialize_any};
use std::fmt;

/// Reads an object of the API without its managed fields.
pub fn read_lean<K: for<'de> Deserialize<'de>>(text: &str) -> serde_json::Result<K> {
    let Lean(object) = serde_json::from_str(text)?;
    Ok(object)
}

/// An object of the API that is read without its managed fields.
#[derive(Clone, Debug)]
struct Lean<K>(K);

impl<'de, K: Deserialize<'de>> Deserialize<'de> for Lean<K> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        K::deserialize(Without(Place::Object, deserializer)).map(Self)
    }
}

/// Where in the object the reader is.
#[derive(Clone, Copy, PartialEq)]
enum Place {
    Object,
    Metadata,
}

/// A deserializer, visitor, map or value of which some keys are not seen.
struct Without<T>(Place, T);

impl<'de, D: Deserializer<'de>> Deserializer<'de> for Without<D> {
    type Error = D::Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
        self.1.deserialize_any(Without(self.0, visitor))
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
        self.1.deserialize_option(Without(self.0, visitor))
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit
        unit_struct newtype_struct seq tuple tuple_struct map struct enum identifier ignored_any
    }
}

/// Objects and their metadata are maps, or nothing; all else is refused in the visitor's words.
impl<'de, V: Visitor<'de>> Visitor<'de> for Without<V> {
    type Value = V::Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.1.expecting(f)
    }

    fn visit_none<E: serde::de::Error>(self) -> Result<V::Value, E> {
        self.1.visit_none()
    }

    fn visit_unit<E: serde::de::Error>(self) -> Result<V::Value, E> {
        self.1.visit_unit()
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<V::Value, D::Error> {
        self.1.visit_some(Without(self.0, deserializer))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<V::Value, A::Error> {
        self.1.visit_map(Fields {
            map,
            place: self.0,
            next: None,
        })
    }
}

/// The fields of an object or of its metadata.
struct Fields<A> {
    map: A,
    place: Place,
    /// What the value that follows is, if its fields matter.
    next: Option<Place>,
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for Fields<A> {
    type Error = A::Error;

    fn next_key_seed<S: DeserializeSeed<'de>>(
        &mut self,
        mut seed: S,
    ) -> Result<Option<S::Value>, A::Error> {
        loop {
            let key = Key {
                place: self.place,
                seed,
            };
            match self.map.next_key_seed(key)? {
                None => return Ok(None),
                Some(Read::Kept(value, next)) => {
                    self.next = next;
                    return Ok(Some(value));
                }
                Some(Read::Skipped(back)) => {
                    self.map.next_value::<IgnoredAny>()?;
                    seed = back;
                }
            }
        }
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, A::Error> {
        match self.next.take() {
            Some(place) => self.map.next_value_seed(Without(place, seed)),
            None => self.map.next_value_seed(seed),
        }
    }
}

impl<'de, S: DeserializeSeed<'de>> DeserializeSeed<'de> for Without<S> {
    type Value = S::Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<S::Value, D::Error> {
        self.1.deserialize(Without(self.0, deserializer))
    }
}

/// Reads the name of a field.
struct Key<S> {
    place: Place,
    seed: S,
}

/// What was read of it.
enum Read<S, T> {
    /// The field is not wanted; the seed is for the next one.
    Skipped(S),
    Kept(T, Option<Place>),
}

impl<'de, S: DeserializeSeed<'de>> DeserializeSeed<'de> for Key<S> {
    type Value = Read<S, S::Value>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_identifier(self)
    }
}

impl<'de, S: DeserializeSeed<'de>> Visitor<'de> for Key<S> {
    type Value = Read<S, S::Value>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the name of a field")
    }

    fn visit_str<E: serde::de::Error>(self, name: &str) -> Result<Self::Value, E> {
        let next = match (self.place, name) {
            (Place::Metadata, "managedFields") => return Ok(Read::Skipped(self.seed)),
            (Place::Object, "metadata") => Some(Place::Metadata),
            _ => None,
        };
        let name: StrDeserializer<'_, E> = name.into_deserializer();
        Ok(Read::Kept(self.seed.deserialize(name)?, next))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use k8s_openapi::api::core::v1::Pod;

    const POD: &str = r#"{
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {
            "name": "p", "labels": {"managedFields": "stays"},
            "managedFields": [{"manager": "m", "fieldsV1": {"f:spec": {}}}],
            "annotations": {"metadata": "stays"}
        },
        "spec": {"containers": [{"name": "c", "image": null}]},
        "status": {"phase": "Pending"}
    }"#;

    #[test]
    fn only_managed_fields_are_not_read() {
        let mut whole: Pod = serde_json::from_str(POD).unwrap();
        assert!(whole.metadata.managed_fields.take().is_some());
        let Lean(lean) = serde_json::from_str::<Lean<Pod>>(POD).unwrap();
        assert_eq!(lean, whole);
    }

    #[test]
    fn what_is_absent_or_of_the_wrong_type_is_told_as_without_it() {
        for text in [
            r#"{"metadata": null}"#,
            r#"{}"#,
            r#"{"metadata": []}"#,
            r#"{"metadata": {"name": 1}}"#,
            r#"[]"#,
            r#"{"kind": "Node"}"#,
        ] {
            let whole = serde_json::from_str::<Pod>(text).map_err(|error| error.to_string());
            let lean = serde_json::from_str::<Lean<Pod>>(text).map_err(|error| error.to_string());
            assert_eq!(lean.map(|Lean(pod)| pod), whole, "{text}");
        }
    }
}
