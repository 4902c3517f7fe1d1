//! Objects in the other versions of their kind, for those who own fields there.

use crate::resource::Resource;
use serde_json::Value;
use stowplan_kinds::event;
use stowplan_merge::managed::{Unconvertible, Versions};
use stowplan_schema::{Type, type_of};

impl Versions for Resource {
    /// Only events are written in several groups or versions.
    fn convert(&self, object: &Value, api_version: &str) -> Result<(Value, &Type), Unconvertible> {
        let convert = match (self.kind(), api_version) {
            ("Event", "v1") => event::to_core,
            ("Event", "events.k8s.io/v1") => event::from_core,
            _ => return Err(Unconvertible::Missing),
        };
        let name = match api_version {
            "v1" => "io.k8s.api.core.v1.Event",
            _ => "io.k8s.api.events.v1.Event",
        };
        let ty = type_of(name).ok_or(Unconvertible::Missing)?;
        Ok((convert(object), ty))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resource::Resources;
    use serde_json::json;

    #[test]
    fn events_are_owned_in_two_groups() {
        let resources = Resources::default();
        let events = resources.find("events.k8s.io", "v1", "events");
        let events = events.expect("a built-in resource");
        let event = json!({"apiVersion": "events.k8s.io/v1", "kind": "Event", "note": "hello"});
        let (core, ty) = events.convert(&event, "v1").expect("the core group");
        assert_eq!(
            (&core["message"], ty.name.as_ref()),
            (&json!("hello"), "io.k8s.api.core.v1.Event")
        );
        let (back, ty) = events
            .convert(&core, "events.k8s.io/v1")
            .expect("its own group");
        assert_eq!(
            (&back["note"], ty.name.as_ref()),
            (&json!("hello"), "io.k8s.api.events.v1.Event")
        );
        assert!(matches!(
            events.convert(&event, "v9"),
            Err(Unconvertible::Missing)
        ));
    }
}
