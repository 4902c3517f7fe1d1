//! Objects in the other versions of their kind, for those who own fields there.

use crate::Resource;
use serde_json::Value;
use stowplan_apimachinery::View;
use stowplan_patch::managed::{Unconvertible, Versions};
use stowplan_schema::Type;

impl Versions for Resource {
    /// By way of the form in which objects are kept.
    fn convert(&self, object: &Value, api_version: &str) -> Result<(Value, &Type), Unconvertible> {
        let from = self.in_version(object.text("apiVersion"));
        let to = self.in_version(api_version);
        let (Some(from), Some(to)) = (from, to) else {
            return Err(Unconvertible::Missing);
        };
        Ok((to.shown(from.stored(object)).into_owned(), to.ty()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn events_are_owned_in_two_groups() {
        let events = Resource::by_plural("events.k8s.io", Some("v1"), "events");
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

    #[test]
    fn autoscalers_are_owned_in_two_versions() {
        for version in ["v1", "v2"] {
            let found =
                Resource::by_plural("autoscaling", Some(version), "horizontalpodautoscalers");
            let found = found.expect("a built-in resource");
            let old = json!({"apiVersion": "autoscaling/v1", "kind": "HorizontalPodAutoscaler",
                "spec": {"targetCPUUtilizationPercentage": 7}});
            let (new, ty) = found.convert(&old, "autoscaling/v2").expect("the newer");
            let target = &new["spec"]["metrics"][0]["resource"]["target"];
            assert_eq!(target["averageUtilization"], 7);
            assert_eq!(ty.name, "io.k8s.api.autoscaling.v2.HorizontalPodAutoscaler");
            let (back, ty) = found.convert(&new, "autoscaling/v1").expect("the older");
            assert_eq!(back["spec"]["targetCPUUtilizationPercentage"], 7);
            assert_eq!(ty.name, "io.k8s.api.autoscaling.v1.HorizontalPodAutoscaler");
        }
        let scheduled =
            Resource::by_plural("batch", Some("v1"), "cronjobs").expect("a built-in resource");
        let object = json!({"apiVersion": "batch/v1", "kind": "CronJob"});
        assert!(scheduled.convert(&object, "batch/v1beta1").is_err());
    }
}
