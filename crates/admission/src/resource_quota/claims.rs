//! What claims use: of storage (`persistent_volume_claims.go`) and of devices
//! (`resource_claims.go`).

use super::pods;
use crate::Attributes;
use crate::default_storage_class::class_of;
use serde_json::Value;
use stowplan_apimachinery::View;
use stowplan_apimachinery::lookup::Lookup;
use stowplan_apimachinery::meta;
use stowplan_apimachinery::quantity::Quantity;
use stowplan_apimachinery::resources::ResourceList;

const VOLUME_RESOURCES: [&str; 2] = ["persistentvolumeclaims", "requests.storage"];
const STORAGE_CLASS: &str = ".storageclass.storage.k8s.io/";
const DEVICE_CLASS: &str = ".deviceclass.resource.k8s.io/devices";
const IMPLICIT_CLASS: &str = "requests.deviceclass.resource.kubernetes.io/";
/// A claim for all devices counts as the most that one can get.
const MAX_DEVICES: i64 = 32;

/// Whether the name is of something that volume claims use, in all or by storage class.
pub(super) fn counts_volume(name: &str) -> bool {
    let by_class = |resource: &&str| {
        let class = name.strip_suffix(*resource);
        class.is_some_and(|class| class.ends_with(STORAGE_CLASS))
    };
    VOLUME_RESOURCES.contains(&name) || VOLUME_RESOURCES.iter().any(by_class)
}

pub(super) fn volume_usage(claim: &Value) -> ResourceList {
    let mut usage = ResourceList::default();
    let class = class_of(claim);
    let mut put = |resource: &str, quantity: Quantity| {
        if !class.is_empty() {
            usage.put(
                format!("{class}{STORAGE_CLASS}{resource}"),
                quantity.clone(),
            );
        }
        usage.put(resource, quantity);
    };
    put("persistentvolumeclaims", Quantity::units(1));
    let requests = ResourceList::of(claim.path(&["spec", "resources", "requests"]));
    if let Some(asked) = requests.get("storage") {
        let allocated = ResourceList::of(claim.at("status").at("allocatedResources"));
        let larger = allocated.get("storage").filter(|given| *given > asked);
        let mut storage = larger.unwrap_or(asked).clone();
        // Parts of a byte cannot be counted.
        storage.round_up(0);
        put("requests.storage", storage);
    }
    usage
}

/// Whether the name is of something that resource claims use: devices by class, or extended
/// resources that a class offers.
pub(super) fn counts_devices(name: &str, cluster: &dyn Lookup) -> bool {
    if name.ends_with(DEVICE_CLASS) {
        return true;
    }
    if let Some(class) = name.strip_prefix(IMPLICIT_CLASS)
        && offered_by(class, cluster).is_some()
    {
        return true;
    }
    let extended = name.strip_prefix("requests.");
    let Some(extended) = extended.filter(|_| pods::is_extended_for_quota(name)) else {
        return false;
    };
    let classes = cluster.list("resource.k8s.io", "deviceclasses", "");
    let mut offered = classes
        .iter()
        .map(|c| c.at("spec").text("extendedResourceName"));
    offered.any(|name| name == extended)
}

/// The extended resource as which a class offers its devices.
fn offered_by(class: &str, cluster: &dyn Lookup) -> Option<String> {
    let class = cluster.get("resource.k8s.io", "deviceclasses", "", class)?;
    let name = class.at("spec").text("extendedResourceName");
    (!name.is_empty()).then(|| name.to_owned())
}

fn devices(request: &Value) -> i64 {
    match request.text("allocationMode") {
        "ExactCount" => request.int("count").unwrap_or_default(),
        "All" => MAX_DEVICES,
        _ => 0,
    }
}

/// Devices by class. Of alternatives the worst counts.
pub(super) fn device_usage(
    claim: &Value,
    request: &Attributes<'_>,
    cluster: &dyn Lookup,
) -> ResourceList {
    let mut usage = ResourceList::default();
    for asked in claim.at("spec").at("devices").list("requests") {
        let mut worst = ResourceList::default();
        let alternatives = asked.list("firstAvailable");
        let exactly = Some(asked.at("exactly")).filter(|exactly| !exactly.is_null());
        for one in alternatives
            .iter()
            .chain(exactly.filter(|_| alternatives.is_empty()))
        {
            let name = format!("{}{DEVICE_CLASS}", one.text("deviceClassName"));
            let list = [(name, Quantity::units(devices(one)))];
            worst.raise_to(&list.into_iter().collect());
        }
        usage.add(&worst);
    }
    add_extended(&mut usage, claim, request, cluster);
    usage
}

/// Devices that a class offers as an extended resource count under that name too, as far as the
/// pod that the claim was made for does not count for them.
fn add_extended(
    usage: &mut ResourceList,
    claim: &Value,
    request: &Attributes<'_>,
    cluster: &dyn Lookup,
) {
    let pod = owner_usage(claim, request, cluster);
    let mut extended = ResourceList::default();
    for (name, quantity) in usage.iter() {
        let Some(class) = name.strip_suffix(DEVICE_CLASS).filter(|c| !c.is_empty()) else {
            continue;
        };
        extended.put(format!("{IMPLICIT_CLASS}{class}"), quantity.clone());
        if let Some(offered) = offered_by(class, cluster) {
            extended.put(format!("requests.{offered}"), quantity.clone());
        }
    }
    for (name, quantity) in extended.iter() {
        let mut rest = quantity.clone();
        if let Some(counted) = pod.get(name) {
            rest.sub(counted);
        }
        if !rest.is_zero() && !rest.is_negative() {
            usage.put(name.as_str(), rest);
        }
    }
}

/// What the pod uses that a claim was made for, if that is so.
fn owner_usage(claim: &Value, request: &Attributes<'_>, cluster: &dyn Lookup) -> ResourceList {
    let metadata = claim.at("metadata");
    let annotations = metadata.at("annotations");
    let made = annotations.text("resource.kubernetes.io/extended-resource-claim") == "true";
    let mut owners = metadata.list("ownerReferences").iter();
    let controller = owners.find(|owner| owner.flag("controller"));
    let controller = controller.filter(|o| o.text("kind") == "Pod" && o.text("apiVersion") == "v1");
    let Some(owner) = controller.filter(|_| made) else {
        return ResourceList::default();
    };
    let pod = cluster.get("", "pods", request.namespace, owner.text("name"));
    let Some(pod) = pod.filter(|pod| meta::uid(pod) == owner.text("uid")) else {
        return ResourceList::default();
    };
    let status = pod.at("status").at("extendedResourceClaimStatus");
    match status.is_null() || status.text("resourceClaimName") == meta::name(claim) {
        true => pods::usage(&pod, request.now),
        false => ResourceList::default(),
    }
}
