//! Requests, limits, capacities.

use super::Errors;
use crate::field::Path;
use crate::names;
use crate::resource_names as resources;
use crate::resources::{PodResources, RequestOptions, is_supported_pod_level_resource};
use k8s_openapi::api::core::v1::{Pod, PodSpec, ResourceRequirements};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity as Text;
use std::collections::BTreeMap;
use stowplan_base::Quantity;

type ResourceList = BTreeMap<String, Text>;

/// Parses a quantity, or says what is wrong with it.
pub(super) fn quantity(text: &Text, path: &Path, errors: &mut Errors) -> Option<Quantity> {
    match text.0.parse() {
        Ok(quantity) => Some(quantity),
        Err(error) => {
            errors.push(path.invalid(&text.0, error.to_string()));
            None
        }
    }
}

/// Upstream's `ValidateResourceQuantityValue`.
fn amount(name: &str, text: &Text, path: &Path, errors: &mut Errors) -> Option<Quantity> {
    let quantity = quantity(text, path, errors)?;
    if quantity.is_negative() {
        errors.push(path.invalid(&text.0, "must be greater than or equal to 0"));
    }
    if resources::is_integer(name) && quantity.milli_value() % 1000 != 0 {
        errors.push(path.invalid(&text.0, "must be an integer"));
    }
    Some(quantity)
}

/// A list of amounts: a node's capacity, a pod's overhead.
pub(super) fn amounts(list: Option<&ResourceList>, path: &Path, errors: &mut Errors) {
    for (name, text) in list.into_iter().flatten() {
        amount(name, text, &path.key(name), errors);
    }
}

/// An amount that must be more than nothing.
pub(super) fn positive(text: &Text, path: &Path, errors: &mut Errors) {
    if let Some(quantity) = quantity(text, path, errors)
        && quantity <= Quantity::ZERO
    {
        errors.push(path.invalid(&text.0, "must be greater than zero"));
    }
}

/// Which names a list of requests or limits may hold.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Level {
    Container,
    Pod,
}

fn resource_name(name: &str, level: Level, path: &Path, errors: &mut Errors) {
    let wrong = names::label_key(name);
    if !wrong.is_empty() {
        return wrong
            .iter()
            .for_each(|detail| errors.push(path.invalid(name, detail)));
    }
    match level {
        Level::Container if !name.contains('/') => {
            if !resources::is_standard_for_containers(name) {
                errors.push(path.invalid(name, "must be a standard resource for containers"));
            }
        }
        Level::Container => {
            if !resources::is_native(name) && !resources::is_extended(name) {
                errors.push(path.invalid(name, "doesn't follow extended resource name standard"));
            }
        }
        Level::Pod => {
            if !is_supported_pod_level_resource(name) {
                errors.push(path.not_supported(name, &["cpu", "hugepages-", "memory"]));
            }
        }
    }
}

/// Upstream's `validateResourceRequirements`.
pub(super) fn requirements(
    given: &ResourceRequirements,
    level: Level,
    path: &Path,
    errors: &mut Errors,
) {
    let (limits_path, requests_path) = (path.child("limits"), path.child("requests"));
    let empty = BTreeMap::new();
    let limits = given.limits.as_ref().unwrap_or(&empty);
    let requests = given.requests.as_ref().unwrap_or(&empty);
    for (list, path) in [(limits, &limits_path), (requests, &requests_path)] {
        for (name, text) in list {
            let path = path.key(name);
            resource_name(name, level, &path, errors);
            let quantity = amount(name, text, &path, errors);
            if quantity.is_some_and(|quantity| !resources::is_divisible(name, quantity)) {
                let detail = format!("{} is not positive integer multiple of {name}", text.0);
                errors.push(path.invalid(&text.0, detail));
            }
        }
    }
    for (name, text) in requests {
        let overcommit = resources::allows_overcommit(name);
        let Some(limit) = limits.get(name) else {
            if !overcommit {
                errors.push(
                    limits_path.required("Limit must be set for non overcommitable resources"),
                );
            }
            continue;
        };
        let (Ok(request), Ok(limit_amount)) = (text.0.parse::<Quantity>(), limit.0.parse()) else {
            continue;
        };
        if request != limit_amount && !overcommit {
            let detail = format!("must be equal to {name} limit of {}", limit.0);
            errors.push(requests_path.invalid(&text.0, detail));
        } else if request > limit_amount {
            let detail = format!("must be less than or equal to {name} limit of {}", limit.0);
            errors.push(requests_path.invalid(&text.0, detail));
        }
    }
    let named = |wanted: fn(&str) -> bool| {
        limits
            .keys()
            .chain(requests.keys())
            .any(|name| wanted(name))
    };
    if named(resources::is_huge_page) && !named(|name| name == "cpu" || name == "memory") {
        errors.push(path.forbidden("HugePages require cpu or memory"));
    }
}

/// Resources of the pod as a whole: on their own, and against those of its containers.
pub(super) fn pod_level(spec: &PodSpec, path: &Path, errors: &mut Errors) {
    let Some(given) = &spec.resources else { return };
    let path = path.child("resources");
    if given.claims.is_some() {
        errors.push(
            path.child("claims")
                .forbidden("claims may not be set for Resources at pod-level"),
        );
    }
    let before = errors.len();
    requirements(given, Level::Pod, &path, errors);
    if errors.len() > before {
        return;
    }
    let pod = Pod {
        spec: Some(spec.clone()),
        ..Pod::default()
    };
    let Ok(parsed) = PodResources::of(&pod) else {
        return;
    };
    let requests_path = path.child("requests");
    for (name, sum) in parsed.container_requests(RequestOptions::default()) {
        let Some(text) = given.requests.as_ref().and_then(|list| list.get(name)) else {
            continue;
        };
        if text.0.parse::<Quantity>().is_ok_and(|pod| sum > pod) {
            let detail = format!(
                "must be greater than or equal to aggregate container requests of {}",
                resources::text_of(sum).0
            );
            errors.push(requests_path.key(name).invalid(&text.0, detail));
        }
    }
}
