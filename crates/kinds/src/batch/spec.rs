//! The spec of a job, in a Job or a CronJob.

use super::policies;
use crate::common::NEGATIVE;
use crate::common::faults::Faults;
use crate::common::internal::Internal;
use crate::pod::{self, Options};
use serde_json::Value;
use stowplan_apimachinery::field::{Error, ErrorList, Path};
use stowplan_apimachinery::{View, names};

const PARALLELISM_MAX: i64 = 100_000;
const FAILED_INDEXES_MAX: i64 = 100_000;
const MANY_COMPLETIONS: i64 = 100_000;
const PARALLELISM_OF_MANY_MAX: i64 = 10_000;
const FAILED_INDEXES_OF_MANY_MAX: i64 = 10_000;
const MANAGED_BY_BYTES_MAX: usize = 63;

/// Faults of a job's spec but for its selector (`validateJobSpec`).
pub(super) fn validate(spec: &Value, options: &Options, path: &Path<'_>, errors: &mut ErrorList) {
    for field in [
        "parallelism",
        "completions",
        "activeDeadlineSeconds",
        "backoffLimit",
        "ttlSecondsAfterFinished",
        "backoffLimitPerIndex",
        "maxFailedIndexes",
    ] {
        if let Some(value) = spec.int(field).filter(|value| *value < 0) {
            errors.invalid(&path.child(field), value, NEGATIVE);
        }
    }
    if spec.has("maxFailedIndexes") && !spec.has("backoffLimitPerIndex") {
        let at = path.child("backoffLimitPerIndex");
        errors.required(&at, "when maxFailedIndexes is specified");
    }
    if spec.has("managedBy") {
        validate_managed_by(spec.text("managedBy"), &path.child("managedBy"), errors);
    }
    validate_completion_mode(spec, path, errors);
    if spec.has("podFailurePolicy") {
        policies::validate_failure(spec, &path.child("podFailurePolicy"), errors);
    }
    if spec.has("successPolicy") {
        let at = path.child("successPolicy");
        match spec.text("completionMode") {
            "Indexed" => policies::validate_success(spec, &at, errors),
            _ => errors.invalid(
                &at,
                Internal(spec.at("successPolicy")),
                "requires indexed completion mode",
            ),
        }
    }
    validate_replacement(spec, &path.child("podReplacementPolicy"), errors);
    let template = path.child("template");
    pod::validate_template(spec.at("template"), options, &template, errors);
    let pod = template.child("spec");
    validate_restarts(spec, &pod.child("restartPolicy"), errors);
}

fn validate_managed_by(manager: &str, path: &Path<'_>, errors: &mut ErrorList) {
    const PATH: &str = r"[A-Za-z0-9/\-._~%!$&'()*+,;=:]+";
    match manager.split_once('/') {
        _ if manager.is_empty() => errors.required(path, ""),
        Some((host, rest)) if !host.is_empty() && !rest.is_empty() => {
            errors.invalid_each(path, host, names::dns1123_subdomain(host));
            let known = |c: char| c.is_ascii_alphanumeric() || "/-._~%!$&'()*+,;=:".contains(c);
            if !rest.chars().all(known) {
                let detail = names::regex_error("Invalid path", PATH, &[]);
                errors.invalid(path, rest, detail);
            }
        }
        _ => errors.invalid(
            path,
            manager,
            "must be a domain-prefixed path (such as \"acme.io/foo\")",
        ),
    }
    if manager.len() > MANAGED_BY_BYTES_MAX {
        errors.push(Error::too_long(path, MANAGED_BY_BYTES_MAX));
    }
}

fn validate_completion_mode(spec: &Value, path: &Path<'_>, errors: &mut ErrorList) {
    let mode = spec.text("completionMode");
    if spec.has("completionMode") && !matches!(mode, "NonIndexed" | "Indexed") {
        let at = path.child("completionMode");
        errors.not_supported(&at, mode, &["NonIndexed", "Indexed"]);
    }
    if mode == "Indexed" {
        validate_indexed(spec, path, errors);
    }
    if !spec.has("completionMode") || mode == "NonIndexed" {
        for field in ["backoffLimitPerIndex", "maxFailedIndexes"] {
            if let Some(value) = spec.int(field) {
                let detail = "requires indexed completion mode";
                errors.invalid(&path.child(field), value, detail);
            }
        }
    }
}

fn validate_indexed(spec: &Value, path: &Path<'_>, errors: &mut ErrorList) {
    let number = |field: &str| spec.int(field);
    let (completions, parallelism) = (number("completions"), number("parallelism"));
    let failed = number("maxFailedIndexes");
    let parallelism_at = path.child("parallelism");
    let failed_at = path.child("maxFailedIndexes");
    if completions.is_none() {
        let at = path.child("completions");
        errors.required(&at, "when completion mode is Indexed");
    }
    if let Some(value) = parallelism.filter(|value| *value > PARALLELISM_MAX) {
        errors.invalid(
            &parallelism_at,
            value,
            format!(
                "must be less than or equal to {PARALLELISM_MAX} when completion mode is Indexed"
            ),
        );
    }
    if let (Some(failed), Some(completions)) = (failed, completions)
        && failed > completions
    {
        errors.invalid(
            &failed_at,
            failed,
            "must be less than or equal to completions",
        );
    }
    if let Some(value) = failed.filter(|value| *value > FAILED_INDEXES_MAX) {
        let detail = format!("must be less than or equal to {FAILED_INDEXES_MAX}");
        errors.invalid(&failed_at, value, detail);
    }
    let many = completions.is_some_and(|completions| completions > MANY_COMPLETIONS);
    if !many || !spec.has("backoffLimitPerIndex") {
        return;
    }
    let bound = |max: i64| {
        format!(
            "must be less than or equal to {max} when completions are above {MANY_COMPLETIONS} and used with backoff limit per index"
        )
    };
    if failed.is_none() {
        errors.required(
            &failed_at,
            format!("must be specified when completions is above {MANY_COMPLETIONS}"),
        );
    }
    if let Some(value) = parallelism.filter(|value| *value > PARALLELISM_OF_MANY_MAX) {
        errors.invalid(&parallelism_at, value, bound(PARALLELISM_OF_MANY_MAX));
    }
    if let Some(value) = failed.filter(|value| *value > FAILED_INDEXES_OF_MANY_MAX) {
        errors.invalid(&failed_at, value, bound(FAILED_INDEXES_OF_MANY_MAX));
    }
}

fn validate_replacement(spec: &Value, path: &Path<'_>, errors: &mut ErrorList) {
    if !spec.has("podReplacementPolicy") {
        return;
    }
    let known: &[&str] = match spec.has("podFailurePolicy") {
        true => &["Failed"],
        false => &["Failed", "TerminatingOrFailed"],
    };
    let policy = spec.text("podReplacementPolicy");
    if !known.contains(&policy) {
        errors.not_supported(path, policy, known);
    }
}

/// A job's pods end, so they cannot always be restarted.
fn validate_restarts(spec: &Value, path: &Path<'_>, errors: &mut ErrorList) {
    let policy = spec.path(&["template", "spec"]).text("restartPolicy");
    match policy {
        "" | "Always" => errors.required(path, "valid values: \"OnFailure\", \"Never\""),
        "OnFailure" | "Never" => {
            if spec.has("podFailurePolicy") && policy != "Never" {
                errors.invalid(
                    path,
                    policy,
                    "only \"Never\" is supported when podFailurePolicy is specified",
                );
            }
        }
        other => errors.not_supported(path, other, &["OnFailure", "Never"]),
    }
}
