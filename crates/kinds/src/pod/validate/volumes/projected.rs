//! Volumes that several sources write their files into.

use super::{validate_downward_file, validate_key_to_path};
use crate::common::faults::Faults;
use crate::common::paths;
use crate::pod::options::Options;
use serde_json::Value;
use std::collections::BTreeSet;
use stowplan_apimachinery::View;
use stowplan_apimachinery::field::{ErrorList, Path};

const CONFLICT: &str = "conflicting duplicate paths";

pub(super) fn validate(volume: &Value, options: &Options, path: &Path<'_>, errors: &mut ErrorList) {
    let mut taken = BTreeSet::new();
    let sources = path.child("sources");
    for (i, source) in volume.list("sources").iter().enumerate() {
        let at = sources.index(i);
        let mut count = 0;
        for field in ["secret", "configMap"] {
            if source.has(field) {
                count += 1;
                let own = source.at(field);
                validate_keys(own, &mut taken, path, &at.child(field), errors);
            }
        }
        if source.has("downwardAPI") {
            count += 1;
            for item in source.at("downwardAPI").list("items") {
                validate_downward_file(item, &at.child("downwardAPI"), errors);
                let target = item.text("path");
                if !target.is_empty() && !taken.insert(target) {
                    errors.invalid(path, target, CONFLICT);
                }
            }
        }
        if source.has("serviceAccountToken") {
            count += 1;
            let token = source.at("serviceAccountToken");
            validate_token(
                token,
                options,
                path,
                &at.child("serviceAccountToken"),
                errors,
            );
        }
        if count > 1 {
            errors.forbidden(&at, "may not specify more than 1 volume type per source");
        }
    }
}

/// `volume` is where the volume stands, `path` where this source does.
fn validate_keys<'a>(
    source: &'a Value,
    taken: &mut BTreeSet<&'a str>,
    volume: &Path<'_>,
    path: &Path<'_>,
    errors: &mut ErrorList,
) {
    let name = source.text("name");
    if name.is_empty() {
        errors.required(&path.child("name"), "");
    }
    let items = path.child("items");
    for (i, item) in source.list("items").iter().enumerate() {
        validate_key_to_path(item, &items.index(i), errors);
        let target = item.text("path");
        if !target.is_empty() && !taken.insert(target) {
            errors.invalid(volume, name, CONFLICT);
        }
    }
}

const TOKEN_SECONDS_MIN: i64 = 600;
const TOKEN_SECONDS_MAX: i64 = 1 << 32;

fn validate_token(
    token: &Value,
    options: &Options,
    volume: &Path<'_>,
    path: &Path<'_>,
    errors: &mut ErrorList,
) {
    let seconds = token.int("expirationSeconds").unwrap_or_default();
    let at = path.child("expirationSeconds");
    if seconds < TOKEN_SECONDS_MIN {
        let detail = "may not specify a duration less than 10 minutes";
        errors.invalid(&at, seconds, detail);
    }
    if seconds > TOKEN_SECONDS_MAX {
        let detail = "may not specify a duration larger than 2^32 seconds";
        errors.invalid(&at, seconds, detail);
    }
    let target = token.text("path");
    let at = volume.child("path");
    if target.is_empty() {
        errors.required(&at, "");
    } else if !options.non_local_token_path {
        paths::local_non_reserved(target, &at, errors);
    }
}
