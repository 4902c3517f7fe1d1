//! Dynamic resource allocation: claims, slices and classes.

use super::{ConvertError, Interner, quantity};
use std::sync::Arc;
use stowplan_api::k8s::api::core::v1 as core;
use stowplan_api::k8s::api::resource::v1 as resource;
use stowplan_api::k8s::apimachinery::pkg::api::resource::Quantity;
use stowplan_api::k8s::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use stowplan_base::Time;
use stowplan_engine::model::{
    ClaimReservation, DeviceClass, OwnerRef, PodClaim, PodClaimSource, ResourceClaim, ResourceSlice,
};

/// What precedes a class's name in the extended resource that every class stands for.
const DEVICE_CLASS_PREFIX: &str = "deviceclass.resource.kubernetes.io/";

/// `spec.resourceClaims`, with what `status.resourceClaimStatuses` says of them.
pub fn pod_claims(interner: &mut Interner<'_>, pod: &core::Pod) -> Box<[PodClaim]> {
    let claims = pod.spec.iter().flat_map(|spec| &spec.resource_claims);
    claims
        .flatten()
        .map(|claim| PodClaim {
            name: interner.sym(&claim.name),
            source: claim_source(interner, pod, claim),
        })
        .collect()
}

fn claim_source(
    interner: &mut Interner<'_>,
    pod: &core::Pod,
    claim: &core::PodResourceClaim,
) -> PodClaimSource {
    if let Some(name) = &claim.resource_claim_name {
        return PodClaimSource::Named(interner.sym(name));
    }
    if claim.resource_claim_template_name.is_none() {
        return PodClaimSource::Unsupported;
    }
    let statuses = pod.status.iter().flat_map(|s| &s.resource_claim_statuses);
    let status = statuses.flatten().find(|status| status.name == claim.name);
    PodClaimSource::Template {
        generated: status.is_some(),
        claim: status
            .and_then(|status| status.resource_claim_name.as_deref())
            .map(|name| interner.sym(name)),
    }
}

/// All that a pod's status says of claims, as a text: equal texts are equal statuses.
pub fn claim_statuses(status: &core::PodStatus) -> Box<str> {
    let generated: Vec<_> = status
        .resource_claim_statuses
        .iter()
        .flatten()
        .map(|status| (&status.name, &status.resource_claim_name))
        .collect();
    let extended = &status.extended_resource_claim_status;
    if generated.is_empty() && extended.is_none() {
        return Box::default();
    }
    format!("{generated:?} {extended:?}").into()
}

/// A ResourceClaim.
pub fn resource_claim(
    interner: &mut Interner<'_>,
    claim: &resource::ResourceClaim,
) -> Result<ResourceClaim, ConvertError> {
    let meta = &claim.metadata;
    let status = claim.status.as_ref();
    let reserved_for = status
        .iter()
        .flat_map(|status| status.reserved_for.iter().flatten())
        .map(|consumer| ClaimReservation {
            uid: consumer.uid.as_str().into(),
        })
        .collect();
    Ok(ResourceClaim {
        namespace: interner.sym(meta.namespace.as_deref().unwrap_or_default()),
        name: interner.sym(meta.name.as_deref().unwrap_or_default()),
        uid: uid(meta),
        terminating: meta.deletion_timestamp.is_some(),
        controller: controller(interner, meta),
        allocated: status.is_some_and(|status| status.allocation.is_some()),
        reserved_for,
        status: format!("{:?}", comparable(status)?).into(),
    })
}

/// A ResourceSlice.
pub fn resource_slice(
    interner: &mut Interner<'_>,
    slice: &resource::ResourceSlice,
) -> ResourceSlice {
    ResourceSlice {
        name: interner.sym(slice.metadata.name.as_deref().unwrap_or_default()),
    }
}

/// A DeviceClass.
pub fn device_class(interner: &mut Interner<'_>, class: &resource::DeviceClass) -> DeviceClass {
    let meta = &class.metadata;
    let name = meta.name.as_deref().unwrap_or_default();
    DeviceClass {
        name: interner.sym(name),
        created: meta
            .creation_timestamp
            .as_ref()
            .map(|time| {
                time.0
                    .as_nanosecond()
                    .clamp(i64::MIN.into(), i64::MAX.into())
            })
            .and_then(|nanos| i64::try_from(nanos).ok())
            .map(Time::from_nanos),
        extended_resource_name: class
            .spec
            .extended_resource_name
            .as_deref()
            .map(|resource| interner.sym(resource)),
        implicit_resource_name: interner.sym(&format!("{DEVICE_CLASS_PREFIX}{name}")),
    }
}

fn uid(meta: &ObjectMeta) -> Arc<str> {
    meta.uid.as_deref().unwrap_or_default().into()
}

fn controller(interner: &mut Interner<'_>, meta: &ObjectMeta) -> Option<OwnerRef> {
    let owner = meta
        .owner_references
        .iter()
        .flatten()
        .find(|owner| owner.controller == Some(true))?;
    Some(OwnerRef {
        api_version: interner.sym(&owner.api_version),
        kind: interner.sym(&owner.kind),
        name: interner.sym(&owner.name),
        uid: owner.uid.as_str().into(),
    })
}

/// A status in the form in which equal means `apiequality.Semantic.DeepEqual`: an empty list is as
/// good as none, and quantities count by value.
fn comparable(
    status: Option<&resource::ResourceClaimStatus>,
) -> Result<resource::ResourceClaimStatus, ConvertError> {
    let mut status = status.cloned().unwrap_or_default();
    drop_empty(&mut status.reserved_for);
    drop_empty(&mut status.devices);
    for device in status.devices.iter_mut().flatten() {
        drop_empty(&mut device.conditions);
        if let Some(data) = &mut device.network_data {
            drop_empty(&mut data.ips);
        }
    }
    let Some(allocation) = &mut status.allocation else {
        return Ok(status);
    };
    for term in allocation
        .node_selector
        .iter_mut()
        .flat_map(|selector| &mut selector.node_selector_terms)
    {
        drop_empty(&mut term.match_expressions);
        drop_empty(&mut term.match_fields);
        let expressions = term.match_expressions.iter_mut().flatten();
        for requirement in expressions.chain(term.match_fields.iter_mut().flatten()) {
            drop_empty(&mut requirement.values);
        }
    }
    let devices = allocation.devices.get_or_insert_default();
    drop_empty(&mut devices.config);
    drop_empty(&mut devices.results);
    for config in devices.config.iter_mut().flatten() {
        drop_empty(&mut config.requests);
    }
    for result in devices.results.iter_mut().flatten() {
        drop_empty(&mut result.binding_conditions);
        drop_empty(&mut result.binding_failure_conditions);
        drop_empty(&mut result.tolerations);
        result
            .consumed_capacity
            .take_if(|amounts| amounts.is_empty());
        for (name, amount) in result.consumed_capacity.iter_mut().flatten() {
            let field = || format!("status.allocation.devices.results.consumedCapacity[{name}]");
            let value = quantity(&amount.0, field)?;
            *amount = Quantity(format!("{value:?}"));
        }
    }
    Ok(status)
}

fn drop_empty<T>(list: &mut Option<Vec<T>>) {
    list.take_if(|list| list.is_empty());
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};
    use stowplan_base::Names;
    use stowplan_engine::model::ResourceNames;

    /// Converts with an interner of its own; the names tell what the symbols mean.
    fn through<T>(convert: impl FnOnce(&mut Interner<'_>) -> T) -> (T, Names) {
        let mut names = Names::new();
        let converted = convert(&mut Interner {
            names: &mut names,
            resource_names: &mut ResourceNames::default(),
        });
        (converted, names)
    }

    fn claim(status: Value) -> ResourceClaim {
        let object = json!({
            "metadata": {"name": "c", "namespace": "ns", "uid": "u", "ownerReferences": [
                {"apiVersion": "v1", "kind": "Pod", "name": "other", "uid": "1"},
                {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "2", "controller": true},
            ]},
            "spec": {},
            "status": status,
        });
        let object = serde_json::from_value(object).expect("a claim");
        let (claim, _) = through(|interner| resource_claim(interner, &object));
        claim.expect("convertible")
    }

    #[test]
    fn a_pods_claims_are_named_or_generated() {
        let pod = json!({
            "metadata": {"name": "p"},
            "spec": {"containers": [], "resourceClaims": [
                {"name": "own", "resourceClaimName": "c"},
                {"name": "made", "resourceClaimTemplateName": "t"},
                {"name": "needless", "resourceClaimTemplateName": "t"},
                {"name": "awaited", "resourceClaimTemplateName": "t"},
                {"name": "odd"},
            ]},
            "status": {"resourceClaimStatuses": [
                {"name": "made", "resourceClaimName": "p-made"},
                {"name": "needless"},
            ]},
        });
        let pod = serde_json::from_value(pod).expect("a pod");
        let (claims, names) = through(|interner| pod_claims(interner, &pod));
        let sources: Vec<_> = claims.iter().map(|claim| claim.source.clone()).collect();
        let sym = |text: &str| names.get(text).expect("interned");
        let template = |generated, claim| PodClaimSource::Template { generated, claim };
        assert_eq!(
            sources,
            [
                PodClaimSource::Named(sym("c")),
                template(true, Some(sym("p-made"))),
                template(true, None),
                template(false, None),
                PodClaimSource::Unsupported,
            ]
        );
    }

    #[test]
    fn a_claim_knows_its_controller_and_whether_it_is_allocated() {
        let free = claim(json!(null));
        assert_eq!(free.controller.map(|owner| owner.uid), Some("2".into()));
        assert!(!free.allocated);
        assert!(claim(json!({"allocation": {}})).allocated);
    }

    #[test]
    fn statuses_that_mean_the_same_are_equal() {
        let with = |capacity: &str| {
            json!({"allocation": {"devices": {"results": [{
                "request": "r", "driver": "d", "pool": "p", "device": "x",
                "consumedCapacity": {"memory": capacity},
            }]}}})
        };
        for (a, b, equal) in [
            (json!(null), json!({"reservedFor": [], "devices": []}), true),
            (
                json!({"allocation": {}}),
                json!({"allocation": {"devices": {}}}),
                true,
            ),
            (json!(null), json!({"allocation": {}}), false),
            (with("1Gi"), with("1024Mi"), true),
            (with("1Gi"), with("1G"), false),
        ] {
            let [left, right] = [&a, &b].map(|status| claim(status.clone()).status);
            assert_eq!(left == right, equal, "{a} {b}");
        }
    }

    #[test]
    fn a_class_stands_for_an_extended_resource_of_its_own() {
        let class = json!({
            "metadata": {"name": "gpus", "creationTimestamp": "1970-01-01T00:00:07Z"},
            "spec": {"extendedResourceName": "example.com/gpu"},
        });
        let class = serde_json::from_value(class).expect("a class");
        let (class, names) = through(|interner| device_class(interner, &class));
        let implicit = names.text(class.implicit_resource_name);
        assert_eq!(implicit, "deviceclass.resource.kubernetes.io/gpus");
        assert_eq!(class.extended_resource_name, names.get("example.com/gpu"));
        assert_eq!(class.created, Some(Time::from_secs(7)));
    }
}
