//! Requests and limits, of containers and of the pod as a whole.

use crate::common::faults::Faults;
use crate::common::resource_names as known;
use crate::common::{quantities, resource_name_rules};
use crate::pod::options::Options;
use crate::pod::resources::{Half, aggregate, is_pod_level};
use serde_json::Value;
use std::collections::BTreeSet;
use stowplan_apimachinery::field::{Error, ErrorList, Path};
use stowplan_apimachinery::quantity::Quantity;
use stowplan_apimachinery::resources::ResourceList;
use stowplan_apimachinery::{View, names};

/// Whose resources they are: that decides which names are known.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Owner {
    Container,
    Pod,
}

/// Faults of a container's resources, or of the overhead that every pod of a class has.
pub(super) fn validate_container(
    resources: &Value,
    spec: &Value,
    options: &Options,
    path: &Path<'_>,
    errors: &mut ErrorList,
) {
    validate_lists(resources, Owner::Container, options, path, errors);
    validate_claims(
        resources.list("claims"),
        spec,
        &path.child("claims"),
        errors,
    );
}

/// Faults of what the pod asks for as a whole.
pub(super) fn validate_pod(
    spec: &Value,
    options: &Options,
    path: &Path<'_>,
    errors: &mut ErrorList,
) {
    let resources = spec.at("resources");
    if resources.is_null() {
        return;
    }
    if spec.at("os").text("name") == "windows" {
        errors.forbidden(path, "may not be set for a windows pod");
        return;
    }
    if resources.has("claims") {
        let detail = "claims may not be set for Resources at pod-level";
        errors.forbidden(&path.child("claims"), detail);
    }
    validate_lists(resources, Owner::Pod, options, path, errors);
    validate_claims(
        resources.list("claims"),
        spec,
        &path.child("claims"),
        errors,
    );
    validate_consistency(spec, path, errors);
}

fn validate_lists(
    resources: &Value,
    owner: Owner,
    options: &Options,
    path: &Path<'_>,
    errors: &mut ErrorList,
) {
    let limits = ResourceList::of(resources.at("limits"));
    let requests = ResourceList::of(resources.at("requests"));
    let (limits_at, requests_at) = (path.child("limits"), path.child("requests"));
    for (name, quantity) in limits.iter() {
        let at = limits_at.key(name);
        validate_name(name, owner, &at, errors);
        quantities::of_resource(name, quantity, &at, errors);
        validate_huge_pages(name, quantity, options, &at, errors);
    }
    for (name, quantity) in requests.iter() {
        let at = requests_at.key(name);
        validate_name(name, owner, &at, errors);
        quantities::of_resource(name, quantity, &at, errors);
        match limits.get(name) {
            Some(limit) if quantity != limit && !known::may_overcommit(name) => errors.invalid(
                &requests_at,
                quantity.to_string(),
                format!("must be equal to {name} limit of {limit}"),
            ),
            Some(limit) if quantity > limit => errors.invalid(
                &requests_at,
                quantity.to_string(),
                format!("must be less than or equal to {name} limit of {limit}"),
            ),
            None if !known::may_overcommit(name) => errors.required(
                &limits_at,
                "Limit must be set for non overcommitable resources",
            ),
            _ => {}
        }
        validate_huge_pages(name, quantity, options, &at, errors);
    }
    let all = || limits.keys().chain(requests.keys());
    let computes = |name: &String| matches!(name.as_str(), "cpu" | "memory");
    if all().any(|name| known::is_huge_page(name)) && !all().any(computes) {
        errors.forbidden(path, "HugePages require cpu or memory");
    }
}

fn validate_huge_pages(
    name: &str,
    quantity: &Quantity,
    options: &Options,
    path: &Path<'_>,
    errors: &mut ErrorList,
) {
    let fits = !known::is_huge_page(name) || known::fits_huge_pages(name, quantity);
    if !fits && !options.indivisible_huge_pages {
        let text = quantity.to_string();
        let detail = format!("{text} is not positive integer multiple of {name}");
        errors.invalid(path, text, detail);
    }
}

fn validate_name(name: &str, owner: Owner, path: &Path<'_>, errors: &mut ErrorList) {
    let before = errors.len();
    match owner {
        Owner::Container => resource_name_rules::validate_for_containers(name, path, errors),
        Owner::Pod => {
            resource_name_rules::validate(name, path, errors);
            if errors.len() == before && !is_pod_level(name) {
                errors.not_supported(path, name, &["cpu", "hugepages-", "memory"]);
            }
        }
    }
}

/// `spec` is the pod's: it says which claims there are.
fn validate_claims(claims: &[Value], spec: &Value, path: &Path<'_>, errors: &mut ErrorList) {
    let of_pod = spec.list("resourceClaims").iter();
    let of_pod: BTreeSet<&str> = of_pod
        .map(|claim| claim.text("name"))
        .filter(|name| !name.is_empty())
        .collect();
    let mut taken: BTreeSet<String> = BTreeSet::new();
    for (i, claim) in claims.iter().enumerate() {
        let at = path.index(i);
        let (name, request) = (claim.text("name"), claim.text("request"));
        if name.is_empty() {
            errors.required(&at, "");
            continue;
        }
        if taken.contains(name) {
            errors.duplicate(&at, name);
        } else {
            let mut key = name.to_owned();
            if !request.is_empty() {
                let faults = names::dns1123_label(request);
                errors.invalid_each(&at.child("request"), request, faults);
                key = format!("{name}/{request}");
            }
            if taken.contains(&key) {
                errors.duplicate(&at, &key);
            } else if request.is_empty() {
                let prefix = format!("{name}/");
                let below = taken.range(prefix.clone()..);
                for _ in below.take_while(|key| key.starts_with(&prefix)) {
                    errors.duplicate(&at, name);
                }
            }
            taken.insert(key);
        }
        if !of_pod.contains(name) {
            /// Each fault lists the names: of very many, the first.
            const NAMES_MAX: usize = 100;
            let names: Vec<&str> = of_pod.iter().copied().take(NAMES_MAX).collect();
            let which = match names.is_empty() {
                true => " which is empty".to_owned(),
                false => format!(": {}", names.join(", ")),
            };
            let mut error = Error::not_found(&at, name);
            error.detail = format!("must be one of the names in pod.spec.resourceClaims{which}");
            errors.push(error);
        }
    }
}

/// The pod asks for no less than its containers together, and limits none of them below its own.
fn validate_consistency(spec: &Value, path: &Path<'_>, errors: &mut ErrorList) {
    let own = |half: Half| ResourceList::of(spec.at("resources").at(half.field()));
    let (requests, limits) = (own(Half::Requests), own(Half::Limits));
    let at = path.child("requests");
    for (name, sum) in aggregate(spec, Half::Requests).iter() {
        if let Some(request) = requests.get(name).filter(|request| sum > *request) {
            errors.invalid(
                &at.key(name),
                request.to_string(),
                format!("must be greater than or equal to aggregate container requests of {sum}"),
            );
        }
    }
    let at = path.child("limits");
    for (name, sum) in aggregate(spec, Half::Limits).iter() {
        if !known::is_huge_page(name) {
            continue;
        }
        if let Some(limit) = limits.get(name).filter(|limit| sum > *limit) {
            errors.invalid(
                &at.key(name),
                limit.to_string(),
                format!("must be greater than or equal to aggregate container limits of {sum}"),
            );
        }
    }
    let at = path.child("containers");
    for (i, container) in spec.list("containers").iter().enumerate() {
        let container_at = at.index(i);
        for (name, own) in ResourceList::of(container.at("resources").at("limits")).iter() {
            if let Some(limit) = limits.get(name).filter(|limit| own > *limit) {
                let key = container_at.key(name);
                errors.invalid(
                    &key.child("limits"),
                    own.to_string(),
                    format!("must be less than or equal to pod limits of {limit}"),
                );
            }
        }
    }
}

/// Amounts that every pod of a runtime class needs beside its containers.
pub(super) fn validate_overhead(
    spec: &Value,
    options: &Options,
    path: &Path<'_>,
    errors: &mut ErrorList,
) {
    let as_limits = serde_json::json!({"limits": spec.at("overhead")});
    validate_lists(&as_limits, Owner::Container, options, path, errors);
}
