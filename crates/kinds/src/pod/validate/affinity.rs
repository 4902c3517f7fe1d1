//! Which nodes and which other pods a pod wants to be with, or without.

use super::spread;
use crate::common::faults::Faults;
use crate::common::labels::{self, SelectorOptions};
use crate::common::node_selector;
use crate::pod::options::Options;
use serde_json::Value;
use stowplan_apimachinery::field::{ErrorList, Path};
use stowplan_apimachinery::{View, names};

const REQUIRED: &str = "requiredDuringSchedulingIgnoredDuringExecution";
const PREFERRED: &str = "preferredDuringSchedulingIgnoredDuringExecution";

pub(super) fn validate(
    affinity: &Value,
    options: &Options,
    path: &Path<'_>,
    errors: &mut ErrorList,
) {
    if affinity.has("nodeAffinity") {
        let own = affinity.at("nodeAffinity");
        validate_node(own, options, &path.child("nodeAffinity"), errors);
    }
    let selectors = SelectorOptions {
        allow_invalid_values: options.bad_value_in_selector,
    };
    for side in ["podAffinity", "podAntiAffinity"] {
        let (own, at) = (affinity.at(side), path.child(side));
        let list = at.child(REQUIRED);
        for (i, term) in own.list(REQUIRED).iter().enumerate() {
            validate_term(term, selectors, &list.index(i), errors);
        }
        let list = at.child(PREFERRED);
        for (i, weighted) in own.list(PREFERRED).iter().enumerate() {
            let at = list.index(i);
            validate_weight(weighted, &at, errors);
            let term = weighted.at("podAffinityTerm");
            validate_term(term, selectors, &at.child("podAffinityTerm"), errors);
        }
    }
}

fn validate_weight(weighted: &Value, path: &Path<'_>, errors: &mut ErrorList) {
    let weight = weighted.int("weight").unwrap_or_default();
    if !(1..=100).contains(&weight) {
        errors.invalid(&path.child("weight"), weight, "must be in the range 1-100");
    }
}

fn validate_node(affinity: &Value, options: &Options, path: &Path<'_>, errors: &mut ErrorList) {
    if affinity.has(REQUIRED) {
        errors.extend(node_selector::validate(
            affinity.at(REQUIRED),
            options.bad_value_in_node_affinity,
            &path.child(REQUIRED),
        ));
    }
    let list = path.child(PREFERRED);
    for (i, weighted) in affinity.list(PREFERRED).iter().enumerate() {
        let at = list.index(i);
        validate_weight(weighted, &at, errors);
        // Bad values are let through here: such a term may still matter to no node.
        let preference = weighted.at("preference");
        errors.extend(node_selector::validate_term(
            preference,
            true,
            &at.child("preference"),
        ));
    }
}

fn validate_term_selectors(
    term: &Value,
    options: SelectorOptions,
    path: &Path<'_>,
    errors: &mut ErrorList,
) {
    for field in ["labelSelector", "namespaceSelector"] {
        let selector = term.at(field);
        errors.extend(labels::validate_selector(
            selector,
            options,
            &path.child(field),
        ));
    }
}

fn validate_term(term: &Value, options: SelectorOptions, path: &Path<'_>, errors: &mut ErrorList) {
    validate_term_selectors(term, options, path, errors);
    for name in term.list("namespaces") {
        let name = name.as_str().unwrap_or_default();
        errors.invalid_each(&path.child("namespace"), name, names::dns1123_label(name));
    }
    spread::validate_label_keys(term, path, errors);
    let key = term.text("topologyKey");
    let at = path.child("topologyKey");
    if key.is_empty() {
        errors.required(&at, "can not be empty");
    }
    errors.extend(labels::validate_name(key, &at));
}

/// Whether a stored pod has a bad selector in its affinity to other pods.
pub(in crate::pod) fn has_bad_selector(affinity: &Value) -> bool {
    let mut errors = ErrorList::new();
    let options = SelectorOptions::default();
    for side in ["podAffinity", "podAntiAffinity"] {
        let own = affinity.at(side);
        let weighted = own.list(PREFERRED).iter();
        let terms = weighted.map(|weighted| weighted.at("podAffinityTerm"));
        for term in own.list(REQUIRED).iter().chain(terms) {
            validate_term_selectors(term, options, &Path::ROOT, &mut errors);
        }
    }
    !errors.is_empty()
}

/// Whether a stored pod has a bad label value in its required node affinity.
pub(in crate::pod) fn has_bad_required_value(affinity: &Value) -> bool {
    node_selector::has_invalid_value(affinity.at("nodeAffinity").at(REQUIRED))
}
