//! Node.
//!
//! Upstream: `ValidateNode` of `pkg/apis/core/validation/validation.go`,
//! `pkg/registry/core/node/strategy.go`, `pkg/apis/core/v1/{conversion,defaults}.go`.

use crate::common::cidr::{self, Cidr};
use crate::common::faults::Faults;
use crate::common::internal::Internal;
use crate::common::{ip, kube_metadata, labels, name_rules, quantities, taints};
use crate::fields::{Fields, Refusal};
use crate::subresource::{inherit, keep};
use crate::{Context, CreateStrategy, Strategy, UpdateStrategy};
use serde_json::{Value, json};
use std::collections::{BTreeSet, HashSet};
use stowplan_apimachinery::field::{Error, ErrorKind, ErrorList, Path};
use stowplan_apimachinery::quantity::Quantity;
use stowplan_apimachinery::{Edit, View, go, meta, names};

pub(crate) struct Node;

pub(crate) static FIELDS: Fields = Fields {
    known: &["metadata.name", "spec.unschedulable"],
    refusal: Refusal::NotSupported,
    value: |object, label| match label {
        "spec.unschedulable" => object.at("spec").flag("unschedulable").to_string(),
        _ => meta::name(object).to_owned(),
    },
};

static METADATA: Path<'static> = Path::new("metadata");
static SPEC: Path<'static> = Path::new("spec");
static STATUS: Path<'static> = Path::new("status");

impl CreateStrategy for Node {
    fn prepare_for_create(&self, object: &mut Value, _: &Context<'_>) {
        drop_field(object, "spec", "configSource");
        drop_field(object, "status", "config");
    }

    fn validate(&self, object: &Value, _: &Context<'_>) -> ErrorList {
        let mut errors = kube_metadata::validate(object, false, &name_rules::dns_subdomain);
        let (spec, status) = (object.at("spec"), object.at("status"));
        errors.extend(validate_annotations(object));
        errors.extend(validate_taints(
            spec.list("taints"),
            &METADATA.child("taints"),
        ));
        errors.extend(validate_resources(status));
        let capacity = status.path(&["nodeInfo", "swap"]).int("capacity");
        if let Some(capacity @ ..=0) = capacity {
            let path = METADATA.child("nodeSwapStatus");
            errors.invalid(&path.child("capacity"), capacity, quantities::NOT_POSITIVE);
        }
        errors.extend(validate_declared_features(status));
        errors.extend(validate_pod_cidrs(spec.list("podCIDRs")));
        errors
    }

    fn validate_name(&self, name: &str, prefix: bool) -> Vec<String> {
        name_rules::dns_subdomain(name, prefix)
    }
}

impl UpdateStrategy for Node {
    fn prepare_for_update(&self, new: &mut Value, old: &Value, _: &Context<'_>) {
        keep(new, old, "status");
        if !old.at("spec").has("configSource") {
            drop_field(new, "spec", "configSource");
        }
    }

    fn validate_update(&self, new: &Value, old: &Value, cx: &Context<'_>) -> ErrorList {
        let mut errors = self.validate(new, cx);
        errors.extend(validate_change(new, old));
        errors
    }
}

impl Strategy for Node {
    fn set_defaults(&self, object: &mut Value) {
        if let Some(spec) = object.child_mut("spec") {
            agree_on_pod_cidrs(spec);
        }
        let Some(status) = object.child_mut("status") else {
            return;
        };
        if !status.has("allocatable") && status.has("capacity") {
            let capacity = status.at("capacity").clone();
            status.set("allocatable", capacity);
        }
        quantities::round_up_list(status, "capacity");
        quantities::round_up_list(status, "allocatable");
    }

    fn warnings(&self, new: &Value, _: Option<&Value>) -> Vec<String> {
        let spec = new.at("spec");
        let mut warnings = Vec::new();
        if spec.has("configSource") {
            warnings.push("spec.configSource: the feature is removed".to_owned());
        }
        if !spec.text("externalID").is_empty() {
            warnings.push(
                "spec.externalID: this field is deprecated, and is unused by Kubernetes".to_owned(),
            );
        }
        let path = SPEC.child("podCIDRs");
        for (i, range) in spec.list("podCIDRs").iter().enumerate() {
            let range = range.as_str().unwrap_or_default();
            warnings.extend(cidr::warnings(&path.index(i), range));
        }
        warnings
    }

    fn status(&self) -> Option<&'static dyn Strategy> {
        Some(&NodeStatus)
    }

    fn reset_fields(&self) -> &'static [&'static [&'static str]] {
        &[&["status"]]
    }
}

struct NodeStatus;

impl CreateStrategy for NodeStatus {
    inherit!(create: Node);
}

impl UpdateStrategy for NodeStatus {
    inherit!(update: Node);

    fn prepare_for_update(&self, new: &mut Value, old: &Value, _: &Context<'_>) {
        keep(new, old, "spec");
        if !old.at("status").has("config") {
            drop_field(new, "status", "config");
        }
    }

    fn validate_update(&self, new: &Value, old: &Value, _: &Context<'_>) -> ErrorList {
        validate_change(new, old)
    }
}

impl Strategy for NodeStatus {
    inherit!(Node);

    fn reset_fields(&self) -> &'static [&'static [&'static str]] {
        &[&["spec"]]
    }
}

fn drop_field(object: &mut Value, part: &str, field: &str) {
    if let Some(part) = object.child_mut(part) {
        part.unset(field);
    }
}

/// `podCIDR` is the first of `podCIDRs`; where they differ, the older field is believed.
fn agree_on_pod_cidrs(spec: &mut Value) {
    let single = spec.text("podCIDR").to_owned();
    let first = spec.list("podCIDRs").first().and_then(Value::as_str);
    match (single.as_str(), first) {
        ("", None) => {}
        ("", Some(first)) => {
            let first = first.to_owned();
            spec.set("podCIDR", first);
        }
        (single, first) if first != Some(single) => spec.set("podCIDRs", json!([single])),
        _ => {}
    }
}

fn validate_annotations(object: &Value) -> ErrorList {
    let mut errors = ErrorList::new();
    let annotations = object.at("metadata").at("annotations");
    let path = METADATA.child("annotations");
    let old_taints = "scheduler.alpha.kubernetes.io/taints";
    let text = annotations.text(old_taints);
    if !text.is_empty() {
        match serde_json::from_str::<Vec<Value>>(text) {
            Ok(taints) => errors.extend(validate_taints(&taints, &path.child(old_taints))),
            Err(error) => errors.invalid(&path, old_taints, error.to_string()),
        }
    }
    let avoid = "scheduler.alpha.kubernetes.io/preferAvoidPods";
    let text = annotations.text(avoid);
    if !text.is_empty() {
        errors.extend(validate_avoided_pods(text, avoid, &path));
    }
    errors
}

fn validate_avoided_pods(text: &str, key: &str, path: &Path<'_>) -> ErrorList {
    let mut errors = ErrorList::new();
    let avoided = match serde_json::from_str::<Value>(text) {
        Ok(avoided) => avoided,
        Err(error) => {
            errors.invalid(&path.child("AvoidPods"), key, error.to_string());
            return errors;
        }
    };
    let path = path.child(key);
    for (i, entry) in avoided.list("preferAvoidPods").iter().enumerate() {
        let at = path.index(i);
        let at = at.child("PodSignature");
        let controller = entry.path(&["podSignature", "podController"]);
        if controller.is_null() {
            errors.required(&at, "");
        } else if !controller.flag("controller") {
            let at = at.child("PodController");
            let fault = "must point to a controller";
            errors.invalid(&at.child("Controller"), false, fault);
        }
    }
    errors
}

fn validate_taints(all: &[Value], path: &Path<'_>) -> ErrorList {
    let mut errors = ErrorList::new();
    let mut seen = BTreeSet::new();
    for (i, taint) in all.iter().enumerate() {
        let path = path.index(i);
        let (key, value) = (taint.text("key"), taint.text("value"));
        let effect = taint.text("effect");
        errors.extend(labels::validate_name(key, &path.child("key")));
        let faults = names::label_value(value);
        if !faults.is_empty() {
            errors.invalid(&path.child("value"), value, faults.join(";"));
        }
        errors.extend(taints::validate_effect(
            effect,
            false,
            &path.child("effect"),
        ));
        if !seen.insert((effect, key)) {
            let mut twice = Error::duplicate(&path, Internal(taint));
            "taints must be unique by key and effect pair".clone_into(&mut twice.detail);
            errors.push(twice);
        }
    }
    errors
}

fn validate_resources(status: &Value) -> ErrorList {
    let mut errors = ErrorList::new();
    for list in ["capacity", "allocatable"] {
        let path = STATUS.child(list);
        for (resource, amount) in status.entries(list) {
            let amount = Quantity::of(amount);
            quantities::of_resource(resource, &amount, &path.child(resource), &mut errors);
        }
    }
    errors
}

/// `UpperCamelCase`, or that and further words behind slashes.
fn is_feature_name(text: &str) -> bool {
    let word = |word: &str| word.bytes().all(|b| b.is_ascii_alphanumeric());
    let lettered = |word: &str| word.starts_with(|c: char| c.is_ascii_alphabetic());
    text.starts_with(|c: char| c.is_ascii_uppercase())
        && text.split('/').all(|part| lettered(part) && word(part))
}

fn validate_declared_features(status: &Value) -> ErrorList {
    let mut errors = ErrorList::new();
    let path = STATUS.child("declaredFeatures");
    let features = status.list("declaredFeatures").iter();
    let features: Vec<&str> = features.map(|f| f.as_str().unwrap_or_default()).collect();
    for (i, feature) in features.iter().enumerate() {
        let quoted = go::quote(feature);
        if feature.len() > 253 {
            let fault =
                format!("invalid feature name {quoted}: must be no more than 253 characters");
            errors.invalid(&path.index(i), *feature, fault);
        } else if !is_feature_name(feature) {
            let fault = format!(
                "invalid feature name {quoted}: must start with an UpperCamelCase segment, with subsequent segments separated by '/' (e.g., MyFeature or MyFeature/mySubFeature), and contain only alphanumeric characters and slashes"
            );
            errors.invalid(&path.index(i), *feature, fault);
        }
        match features.get(i + 1) {
            Some(next) if next == feature => errors.duplicate(&path.index(i + 1), *next),
            Some(next) if next < feature => {
                let fault = "list must be sorted alphabetically";
                errors.invalid(&path.index(i + 1), *next, fault);
            }
            _ => {}
        }
    }
    errors
}

fn validate_pod_cidrs(ranges: &[Value]) -> ErrorList {
    let mut errors = ErrorList::new();
    let path = SPEC.child("podCIDRs");
    let texts: Vec<&str> = ranges
        .iter()
        .map(|r| r.as_str().unwrap_or_default())
        .collect();
    for (i, range) in texts.iter().enumerate() {
        errors.extend(cidr::validate_new(&path.index(i), range));
    }
    if texts.len() < 2 {
        return errors;
    }
    let parsed: Result<Vec<_>, &str> = texts
        .iter()
        .map(|text| Cidr::parse(text).map(|range| range.address).ok_or(*text))
        .collect();
    if let Err(bad) = &parsed {
        let fault = format!(
            "invalid PodCIDRs. failed to check with dual stack with error:invalid CIDR[{}]: <nil> (invalid CIDR address: {bad})",
            texts
                .iter()
                .position(|text| text == bad)
                .unwrap_or_default(),
        );
        errors.push(Error::other(ErrorKind::Internal, &path, None, fault));
    }
    let dual = parsed.is_ok_and(|addresses| ip::is_dual_stack(&addresses));
    if !dual || texts.len() > 2 {
        let fault = "may specify no more than one CIDR for each IP family";
        errors.invalid(&path, json!(texts), fault);
    }
    errors
}

/// What a change of the object or of its status may not do.
fn validate_change(new: &Value, old: &Value) -> ErrorList {
    let mut errors = kube_metadata::validate_update(new, old);
    errors.extend(validate_annotations(new));
    let (spec, status) = (new.at("spec"), new.at("status"));
    let old_spec = old.at("spec");
    errors.extend(validate_resources(status));
    errors.extend(validate_declared_features(status));
    errors.extend(validate_addresses(status.list("addresses")));
    let fault = "node updates may not change podCIDR except from \"\" to valid";
    let (ranges, before) = (spec.list("podCIDRs"), old_spec.list("podCIDRs"));
    if !before.is_empty() {
        let path = SPEC.child("podCIDRs");
        if ranges.len() != before.len() {
            errors.forbidden(&path, fault);
        } else {
            for _ in ranges.iter().zip(before).filter(|(new, old)| new != old) {
                errors.forbidden(&path, fault);
            }
        }
    }
    let provider = old_spec.text("providerID");
    if !provider.is_empty() && provider != spec.text("providerID") {
        let fault = "node updates may not change providerID except from \"\" to valid";
        errors.forbidden(&SPEC.child("providerID"), fault);
    }
    errors.extend(validate_config(spec, status));
    errors.extend(validate_taints(
        spec.list("taints"),
        &METADATA.child("taints"),
    ));
    if spec.text("externalID") != old_spec.text("externalID") {
        errors.forbidden(&SPEC.child("externalID"), "may not be updated");
    }
    errors
}

fn validate_addresses(addresses: &[Value]) -> ErrorList {
    let mut errors = ErrorList::new();
    let path = STATUS.child("addresses");
    let mut seen = HashSet::new();
    for (i, address) in addresses.iter().enumerate() {
        if !seen.insert(address) {
            errors.duplicate(&path.index(i), Internal(address));
        }
    }
    errors
}

/// A removed feature whose fields are still checked where an old node has them.
fn validate_config(spec: &Value, status: &Value) -> ErrorList {
    let mut errors = ErrorList::new();
    if spec.has("configSource") {
        let path = SPEC.child("configSource");
        errors.extend(validate_config_source(
            spec.at("configSource"),
            false,
            &path,
        ));
    }
    let path = STATUS.child("config");
    for part in ["assigned", "active", "lastKnownGood"] {
        let source = status.at("config").at(part);
        if !source.is_null() {
            errors.extend(validate_config_source(source, true, &path.child(part)));
        }
    }
    errors
}

fn validate_config_source(source: &Value, in_status: bool, path: &Path<'_>) -> ErrorList {
    let mut errors = ErrorList::new();
    let map = source.at("configMap");
    if map.is_null() {
        let fault = "exactly one reference subfield must be non-nil";
        errors.invalid(path, json!({"ConfigMap": null}), fault);
        return errors;
    }
    let path = path.child("configMap");
    for field in ["uid", "resourceVersion"] {
        match (in_status, map.text(field).is_empty()) {
            (true, true) => errors.required(&path.child(field), ""),
            (false, false) => {
                errors.forbidden(
                    &path.child(field),
                    format!("{field} must not be set in spec"),
                );
            }
            _ => {}
        }
    }
    type Rule = fn(&str) -> Vec<String>;
    let rules: [(&str, Rule); 3] = [
        ("namespace", names::dns1123_label),
        ("name", names::dns1123_subdomain),
        ("kubeletConfigKey", names::config_map_key),
    ];
    for (field, rule) in rules {
        match map.text(field) {
            "" => errors.required(&path.child(field), ""),
            text => errors.invalid_each(&path.child(field), text, rule(text)),
        }
    }
    errors
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{faults, update_faults};

    fn node(spec: Value, status: Value) -> Value {
        let metadata = json!({"name": "a", "resourceVersion": "1"});
        json!({"metadata": metadata, "spec": spec, "status": status})
    }

    #[test]
    fn capacity_is_allocatable_and_ranges_agree() {
        let mut object = node(
            json!({"podCIDR": "10.0.0.0/24", "podCIDRs": ["10.1.0.0/24", "fd00::/64"]}),
            json!({"capacity": {"cpu": "1", "memory": "100u"}}),
        );
        Node.set_defaults(&mut object);
        assert_eq!(object["spec"]["podCIDRs"], json!(["10.0.0.0/24"]));
        let expected = json!({"cpu": "1", "memory": "1m"});
        assert_eq!(object["status"]["allocatable"], expected);
        let mut object = node(json!({"podCIDRs": ["10.1.0.0/24"]}), json!({}));
        Node.set_defaults(&mut object);
        assert_eq!(object["spec"]["podCIDR"], "10.1.0.0/24");
    }

    #[test]
    fn taints_are_unique_by_key_and_effect() {
        let taint = |effect: &str| json!({"key": "k", "value": "v", "effect": effect});
        let taints = [
            taint("NoSchedule"),
            taint("NoExecute"),
            taint("NoSchedule"),
            taint(""),
        ];
        let found = faults(&Node, &node(json!({"taints": taints}), json!({})));
        assert_eq!(
            found,
            [
                "metadata.taints[2]: Duplicate value: {\"Effect\":\"NoSchedule\",\"Key\":\"k\",\"Value\":\"v\"}: taints must be unique by key and effect pair",
                "metadata.taints[3].effect: Required value",
            ]
        );
    }

    #[test]
    fn amounts_and_ranges_are_checked() {
        let spec = json!({"podCIDRs": ["10.0.0.0/24", "10.1.0.0/24"]});
        let status = json!({"capacity": {"pods": "1500m"}, "declaredFeatures": ["B", "A", "x"]});
        let found = faults(&Node, &node(spec, status));
        let fields: Vec<&str> = found.iter().filter_map(|f| f.split(": ").next()).collect();
        let expected = [
            "status.capacity.pods",
            "status.declaredFeatures[1]",
            "status.declaredFeatures[2]",
            "spec.podCIDRs",
        ];
        assert_eq!(fields, expected);
    }

    #[test]
    fn what_is_set_once_stays() {
        let old = node(
            json!({"podCIDRs": ["10.0.0.0/24"], "providerID": "p"}),
            json!({}),
        );
        let address = json!({"type": "InternalIP", "address": "1.2.3.4"});
        let status = json!({"addresses": [address, address]});
        let new = node(
            json!({"podCIDRs": ["10.1.0.0/24"], "externalID": "e"}),
            status,
        );
        assert_eq!(
            update_faults(&NodeStatus, &new, &old),
            [
                "status.addresses[1]: Duplicate value: {\"Address\":\"1.2.3.4\",\"Type\":\"InternalIP\"}",
                "spec.podCIDRs: Forbidden: node updates may not change podCIDR except from \"\" to valid",
                "spec.providerID: Forbidden: node updates may not change providerID except from \"\" to valid",
                "spec.externalID: Forbidden: may not be updated",
            ]
        );
    }
}
