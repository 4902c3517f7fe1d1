//! A page of a list, read in one go.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ListMeta;
use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;
use std::fmt;

/// What a page holds.
#[derive(Debug)]
pub(super) struct Page<T> {
    /// The version of the list, from which a watch may go on.
    pub(super) version: String,
    pub(super) objects: Vec<T>,
    /// Those that are no objects of the kind, and why.
    pub(super) unreadable: Vec<(Key, serde_json::Error)>,
}

/// What tells an object from others of its kind.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Key {
    pub(super) namespace: String,
    pub(super) name: String,
    pub(super) resource_version: String,
}

/// The key of an object that may make no sense otherwise; empty if it has none.
pub(super) fn key_of(raw: &RawValue) -> Key {
    #[derive(Default, Deserialize)]
    #[serde(default)]
    struct Object {
        metadata: Key,
    }
    let object: Object = serde_json::from_str(raw.get()).unwrap_or_default();
    object.metadata
}

/// Reads one object.
pub(super) type ReadOne<T> = fn(&str) -> serde_json::Result<T>;

/// Told which page comes next, if any.
pub(super) type Ahead<'a> = &'a mut dyn FnMut(Option<String>);

/// Reads a page. `ahead` is told at once which one comes next: that stands before the objects, so that
/// the server can write the next page while this one is read.
pub(super) fn read<T>(
    text: &str,
    read_one: ReadOne<T>,
    ahead: Ahead<'_>,
) -> serde_json::Result<Page<T>> {
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let reader = Reader { ahead, read_one };
    let page = deserializer.deserialize_map(reader)?;
    deserializer.end()?;
    Ok(page)
}

struct Reader<'a, T> {
    ahead: Ahead<'a>,
    read_one: ReadOne<T>,
}

impl<'de, T> Visitor<'de> for Reader<'_, T> {
    type Value = Page<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Page<T>, A::Error> {
        let mut page = Page {
            version: String::new(),
            objects: Vec::new(),
            unreadable: Vec::new(),
        };
        while let Some(key) = map.next_key::<String>()? {
            match key.as_str() {
                "metadata" => {
                    let meta: ListMeta = map.next_value()?;
                    page.version = meta.resource_version.unwrap_or_default();
                    (self.ahead)(meta.continue_.filter(|token| !token.is_empty()));
                }
                // Go writes an empty list as null.
                "items" => {
                    let items: Option<Vec<&RawValue>> = map.next_value()?;
                    for item in items.into_iter().flatten() {
                        match (self.read_one)(item.get()) {
                            Ok(object) => page.objects.push(object),
                            // The rest of the kind must not wait for this one.
                            Err(error) => page.unreadable.push((key_of(item), error)),
                        }
                    }
                }
                _ => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        Ok(page)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use k8s_openapi::api::core::v1::Namespace;
    use stowplan_cache::read_lean;

    /// The version, the names, and which page was said to come next.
    fn check(text: &str, version: &str, names: &[&str], next: &[Option<&str>]) {
        let mut told = Vec::new();
        let page = read::<Namespace>(text, read_lean, &mut |token| told.push(token)).unwrap();
        let name = |object: &Namespace| object.metadata.name.clone().unwrap_or_default();
        assert_eq!(page.version, version);
        assert_eq!(page.objects.iter().map(name).collect::<Vec<_>>(), names);
        let told: Vec<_> = told.iter().map(Option::as_deref).collect();
        assert_eq!(told, next);
    }

    #[test]
    fn a_page_tells_its_objects_and_the_page_after_it() {
        check(
            r#"{"kind":"NamespaceList","apiVersion":"v1",
                "metadata":{"resourceVersion":"7","continue":"t","remainingItemCount":3},
                "items":[{"metadata":{"name":"a","managedFields":[]}},{"metadata":{"name":"b"}}]}"#,
            "7",
            &["a", "b"],
            &[Some("t")],
        );
        check(
            r#"{"items":null,"metadata":{"resourceVersion":"8","continue":""}}"#,
            "8",
            &[],
            &[None],
        );
    }

    #[test]
    fn one_object_that_cannot_be_read_does_not_stop_the_others() {
        let text = r#"{"metadata":{"resourceVersion":"7"},"items":[
            {"metadata":{"name":"odd","resourceVersion":"5"},"spec":[]},
            {"metadata":{"name":"even"}}]}"#;
        let page = read::<Namespace>(text, read_lean, &mut |_| {}).unwrap();
        assert_eq!(page.objects.len(), 1);
        let (key, _) = &page.unreadable[0];
        assert_eq!((&*key.name, &*key.resource_version), ("odd", "5"));
    }

    #[test]
    fn the_next_page_is_known_before_the_objects_are_read() {
        let mut told = None;
        let broken = r#"{"metadata":{"continue":"t"},"items":[{"metadata":"#;
        assert!(read::<Namespace>(broken, read_lean, &mut |token| told = token).is_err());
        assert_eq!(told.as_deref(), Some("t"));
    }
}
