//! What `pods/status` may say.

use super::super::options::Options;
use super::{METADATA, annotations};
use crate::common::faults::Faults;
use crate::common::internal::Internal;
use crate::common::{IMMUTABLE, ip, kube_metadata, name_rules};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use stowplan_apimachinery::field::{Error, ErrorKind, ErrorList, Path};
use stowplan_apimachinery::limits::ERRORS_TOLD_MAX;
use stowplan_apimachinery::{View, names};

const STATUS: Path<'static> = Path::new("status");
const NOT_NEGATIVE: &str = "must be a non-negative integer";

/// Faults of a change of status (`ValidatePodStatusUpdate`).
pub(in crate::pod) fn validate_status_update(new: &Value, old: &Value) -> ErrorList {
    let options = Options::for_pod(old);
    let mut errors = kube_metadata::validate_update(new, old);
    annotations::validate_update(
        new,
        old,
        options.bad_deletion_cost,
        &METADATA.child("annotations"),
        &mut errors,
    );
    let (status, before) = (new.at("status"), old.at("status"));
    validate_conditions(status, &STATUS.child("conditions"), &mut errors);
    validate_nominated_node(new, old, &STATUS.child("nominatedNodeName"), &mut errors);
    let observed = status.int("observedGeneration").unwrap_or_default();
    if observed < 0 {
        errors.invalid(&STATUS.child("observedGeneration"), observed, NOT_NEGATIVE);
    }
    if status.text("qosClass") != before.text("qosClass") {
        errors.invalid(
            &STATUS.child("qosClass"),
            status.text("qosClass"),
            IMMUTABLE,
        );
    }
    validate_transitions(status, before, old.at("spec"), &mut errors);
    validate_claim_statuses(new, &STATUS.child("resourceClaimStatuses"), &mut errors);
    validate_extended_claim(
        new,
        &STATUS.child("extendedResourceClaimStatus"),
        &mut errors,
    );
    validate_addresses(status, before, "podIPs", &mut errors);
    if let Some(first) = status.list("hostIPs").first() {
        let ip = first.text("ip");
        if ip != status.text("hostIP") {
            let list = STATUS.child("hostIPs");
            let at = list.index(0);
            errors.invalid(&at.child("ip"), ip, "must be equal to `hostIP`");
        }
    }
    validate_addresses(status, before, "hostIPs", &mut errors);
    for list in LISTS {
        validate_users(status, new.at("spec"), list, &mut errors);
    }
    for (list, containers) in [
        ("containerStatuses", "containers"),
        ("initContainerStatuses", "initContainers"),
    ] {
        let containers = new.at("spec").list(containers);
        validate_allocations(
            status.list(list),
            containers,
            &STATUS.child(list),
            &mut errors,
        );
    }
    let list = STATUS.child("ephemeralContainerStatuses");
    for (i, own) in status.list("ephemeralContainerStatuses").iter().enumerate() {
        if !own.list("allocatedResourcesStatus").is_empty() {
            errors.forbidden(
                &list.index(i).child("allocatedResourcesStatus"),
                "must not be specified in container status",
            );
        }
    }
    errors
}

const LISTS: [&str; 3] = [
    "containerStatuses",
    "initContainerStatuses",
    "ephemeralContainerStatuses",
];

fn validate_conditions(status: &Value, path: &Path<'_>, errors: &mut ErrorList) {
    for (i, condition) in status.list("conditions").iter().enumerate() {
        let at = path.index(i);
        let observed = condition.int("observedGeneration").unwrap_or_default();
        if observed < 0 {
            errors.invalid(&at.child("observedGeneration"), observed, NOT_NEGATIVE);
        }
        let kind = condition.text("type");
        if !matches!(kind, "PodScheduled" | "Ready" | "Initialized") {
            errors.invalid_each(&at.child("Type"), kind, names::label_key(kind));
        }
    }
}

fn validate_nominated_node(new: &Value, old: &Value, path: &Path<'_>, errors: &mut ErrorList) {
    let name = |pod: &Value| pod.at("status").text("nominatedNodeName").to_owned();
    let (after, before) = (name(new), name(old));
    if after.is_empty() || after == before {
        return;
    }
    errors.invalid_each(path, &after, name_rules::dns_subdomain(&after, false));
    if !old.at("spec").text("nodeName").is_empty() {
        let detail = "may not be set on pods that are already bound to a node";
        errors.forbidden(path, detail);
    }
}

/// What has ended runs again only if it is to be restarted.
fn validate_transitions(new: &Value, old: &Value, spec: &Value, errors: &mut ErrorList) {
    let restarts_all = ["initContainers", "containers"]
        .iter()
        .flat_map(|list| spec.list(list))
        .flat_map(|container| container.list("restartPolicyRules"))
        .any(|rule| rule.text("action") == "RestartAllContainers");
    for (list, containers) in [
        ("containerStatuses", Some("containers")),
        ("initContainerStatuses", Some("initContainers")),
        ("ephemeralContainerStatuses", None),
    ] {
        if restarts_all && containers.is_some() {
            continue;
        }
        let path = STATUS.child(list);
        let mut running: BTreeMap<&str, usize> = BTreeMap::new();
        for status in new.list(list) {
            if !status.at("state").has("terminated") {
                *running.entry(status.text("name")).or_default() += 1;
            }
        }
        let by_name = by_name(containers.into_iter().flat_map(|list| spec.list(list)));
        for (i, before) in old.list(list).iter().enumerate() {
            let name = before.text("name");
            let terminated = before.at("state").at("terminated");
            let again = running.get(name).copied().unwrap_or_default();
            if terminated.is_null() || again == 0 {
                continue;
            }
            let exit_code = terminated.int("exitCode").unwrap_or_default();
            let own = by_name.get(name);
            if own.is_some_and(|container| should_restart(container, spec, exit_code)) {
                continue;
            }
            // Ephemeral containers are looked at one by one, the others by name.
            let times = if containers.is_some() { 1 } else { again };
            for _ in 0..times.min(ERRORS_TOLD_MAX) {
                errors.forbidden(
                    &path.index(i).child("state"),
                    "may not be transitioned to non-terminated state",
                );
            }
        }
    }
}

/// The first of each name.
fn by_name<'a>(list: impl Iterator<Item = &'a Value>) -> BTreeMap<&'a str, &'a Value> {
    let mut by_name = BTreeMap::new();
    for element in list {
        by_name.entry(element.text("name")).or_insert(element);
    }
    by_name
}

/// Whether a container that exited with that code is started again.
fn should_restart(container: &Value, spec: &Value, exit_code: i64) -> bool {
    let by_policy = |policy: &str| match policy {
        "Always" => Some(true),
        "OnFailure" => Some(exit_code != 0),
        "Never" => Some(false),
        _ => None,
    };
    if container.has("restartPolicy") {
        let rule = container.list("restartPolicyRules").iter().find(|rule| {
            let codes = rule.at("exitCodes");
            let listed = codes
                .list("values")
                .iter()
                .any(|c| c.as_i64() == Some(exit_code));
            match codes.text("operator") {
                "In" => listed,
                "NotIn" => !listed,
                _ => false,
            }
        });
        if rule.is_some_and(|r| matches!(r.text("action"), "Restart" | "RestartAllContainers")) {
            return true;
        }
        if let Some(restarts) = by_policy(container.text("restartPolicy")) {
            return restarts;
        }
    }
    by_policy(spec.text("restartPolicy")).unwrap_or(true)
}

fn validate_claim_statuses(pod: &Value, path: &Path<'_>, errors: &mut ErrorList) {
    let claims = by_name(pod.at("spec").list("resourceClaims").iter());
    let mut taken = BTreeSet::new();
    let statuses = pod.at("status").list("resourceClaimStatuses");
    for (i, status) in statuses.iter().enumerate() {
        let at = path.index(i);
        let name = status.text("name");
        if !claims.contains_key(name) {
            errors.invalid(
                &at.child("name"),
                name,
                "must match the name of an entry in `spec.resourceClaims`",
            );
        }
        if !taken.insert(name) {
            errors.duplicate(&at.child("name"), name);
        }
        if status.has("resourceClaimName") {
            let claim = status.text("resourceClaimName");
            let faults = name_rules::dns_subdomain(claim, false);
            errors.invalid_each(&at.child("resourceClaimName"), claim, faults);
        }
    }
}

fn validate_extended_claim(pod: &Value, path: &Path<'_>, errors: &mut ErrorList) {
    let status = pod.at("status").at("extendedResourceClaimStatus");
    if status.is_null() {
        return;
    }
    let list = path.child("requestMappings");
    let mappings = status.list("requestMappings");
    if mappings.is_empty() {
        errors.required(&list, "at least one request mapping is required");
    }
    let spec = pod.at("spec");
    let lists = ["containers", "initContainers"].into_iter();
    let containers = by_name(lists.flat_map(|list| spec.list(list)));
    let mut taken = BTreeSet::new();
    for (i, mapping) in mappings.iter().enumerate() {
        let at = list.index(i);
        let [container, resource, request] =
            ["containerName", "resourceName", "requestName"].map(|field| mapping.text(field));
        match containers.get(container) {
            Some(own) if own.path(&["resources", "requests"]).has(resource) => {}
            Some(_) => errors.invalid(
                &at.child("resourceName"),
                resource,
                "must match the extended resource name of an entry in spec.initContainers.resources.requests or spec.containers.resources.requests",
            ),
            None => errors.invalid(
                &at.child("containerName"),
                container,
                "must match the name of an entry in spec.initContainers.name or spec.containers.name",
            ),
        }
        errors.invalid_each(
            &path.child("requestName"),
            request,
            names::dns1123_label(request),
        );
        if !taken.insert((container, resource, request)) {
            errors.duplicate(&at.child("containerName"), container);
            errors.duplicate(&at.child("resourceName"), resource);
            errors.duplicate(&at.child("requestName"), request);
        }
    }
    let (name, at) = (
        status.text("resourceClaimName"),
        path.child("resourceClaimName"),
    );
    if name.is_empty() {
        errors.required(&at, "");
    } else {
        errors.invalid_each(&at, name, name_rules::dns_subdomain(name, false));
    }
}

/// Addresses are new and valid or old, and at most one of each family.
fn validate_addresses(new: &Value, old: &Value, field: &str, errors: &mut ErrorList) {
    let path = STATUS.child(field);
    let texts = |status: &Value| -> Vec<String> {
        let list = status.list(field).iter();
        list.map(|ip| ip.text("ip").to_owned()).collect()
    };
    let (after, before) = (texts(new), texts(old));
    let before: BTreeSet<&str> = before.iter().map(String::as_str).collect();
    let after: Vec<&str> = after.iter().map(String::as_str).collect();
    for (i, text) in after.iter().enumerate() {
        errors.extend(ip::validate(&path.index(i), text, &before));
    }
    if after.len() < 2 {
        return;
    }
    let parsed: Option<Vec<IpAddr>> = after.iter().map(|text| ip::parse(text)).collect();
    if parsed.is_none() {
        let bad = after.iter().position(|text| ip::parse(text).is_none());
        let bad = bad.unwrap_or_default();
        let text = after.get(bad).copied().unwrap_or_default();
        let detail =
            format!("failed to check for dual stack with error:invalid IP[{bad}]: <nil> ({text})");
        errors.push(Error::other(ErrorKind::Internal, &path, None, detail));
    }
    let dual = parsed.is_some_and(|addresses| ip::is_dual_stack(&addresses));
    if !dual || after.len() > 2 {
        errors.invalid(
            &path,
            Internal(new.at(field)),
            "may specify no more than one IP for each IP family",
        );
    }
}

fn validate_users(status: &Value, spec: &Value, list: &str, errors: &mut ErrorList) {
    let path = STATUS.child(list);
    for (i, container) in status.list(list).iter().enumerate() {
        let user = container.at("user").at("linux");
        if user.is_null() {
            continue;
        }
        let (item, outer);
        item = path.index(i);
        outer = item.child("user");
        let at = outer.child("linux");
        match spec.at("os").text("name") {
            "windows" => errors.forbidden(&at, "cannot be set for a windows pod"),
            "" | "linux" => {
                for field in ["uid", "gid"] {
                    let id = user.int(field).unwrap_or_default();
                    errors.invalid_each(&at.child(field), id, names::user_or_group_id(id));
                }
                let groups = at.child("supplementalGroups");
                for (g, id) in user.list("supplementalGroups").iter().enumerate() {
                    let id = id.as_i64().unwrap_or_default();
                    errors.invalid_each(&groups.index(g), id, names::user_or_group_id(id));
                }
            }
            _ => {}
        }
    }
}

const HEALTH_MESSAGE_BYTES_MAX: usize = 1024;

/// Health of devices names devices that the container asked for.
fn validate_allocations(
    statuses: &[Value],
    containers: &[Value],
    path: &Path<'_>,
    errors: &mut ErrorList,
) {
    let containers = by_name(containers.iter());
    for (i, status) in statuses.iter().enumerate() {
        let item = path.index(i);
        let list = item.child("allocatedResourcesStatus");
        let own = containers.get(status.text("name"));
        for (j, allocated) in status.list("allocatedResourcesStatus").iter().enumerate() {
            let at = list.index(j);
            if let Some(fault) = own.and_then(|own| unknown_resource(allocated, own)) {
                errors.invalid(&at.child("name"), allocated.text("name"), fault);
            }
            validate_health(allocated, &at.child("resources"), errors);
        }
    }
}

fn unknown_resource(allocated: &Value, container: &Value) -> Option<&'static str> {
    let name = allocated.text("name");
    let resources = container.at("resources");
    match name.strip_prefix("claim:") {
        Some(claim) => {
            let known = resources
                .list("claims")
                .iter()
                .any(|own| match own.text("request") {
                    "" => own.text("name") == claim,
                    request => format!("{}/{request}", own.text("name")) == claim,
                });
            (!known).then_some("must match one of the container's resource claims in a format 'claim:<claimName>/<request>' or 'claim:<claimName>' if request is empty")
        }
        None => {
            let known = resources.at("requests").has(name);
            (!known).then_some("must match one of the container's resource requests")
        }
    }
}

fn validate_health(allocated: &Value, path: &Path<'_>, errors: &mut ErrorList) {
    const KNOWN: [&str; 3] = ["Healthy", "Unhealthy", "Unknown"];
    let mut taken = BTreeSet::new();
    for (i, device) in allocated.list("resources").iter().enumerate() {
        let at = path.index(i);
        let health = device.text("health");
        if !KNOWN.contains(&health) {
            errors.not_supported(&at.child("health"), health, &KNOWN);
        }
        if device.has("message") {
            let length = device.text("message").len();
            if length == 0 {
                errors.required(&at.child("message"), "must be non-empty if specified");
            } else if length > HEALTH_MESSAGE_BYTES_MAX {
                let at = at.child("message");
                errors.push(Error::too_long(&at, HEALTH_MESSAGE_BYTES_MAX));
            }
        }
        let id = device.text("resourceID");
        if !taken.insert(id) {
            errors.duplicate(&at.child("resourceID"), id);
        }
    }
}
