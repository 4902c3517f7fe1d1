//! Variables of containers, and what of a pod they and files can show.

use crate::common::faults::Faults;
use crate::common::{name_rules, paths};
use serde_json::Value;
use std::collections::BTreeMap;
use stowplan_apimachinery::field::{ErrorList, Path};
use stowplan_apimachinery::quantity::Quantity;
use stowplan_apimachinery::{View, names};

/// Where a field of the pod is shown.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Downward {
    /// In a variable.
    Variable,
    /// In a file of a volume.
    Volume,
}

impl Downward {
    fn fields(self) -> &'static [&'static str] {
        match self {
            Self::Variable => &[
                "metadata.name",
                "metadata.namespace",
                "metadata.uid",
                "spec.nodeName",
                "spec.serviceAccountName",
                "status.hostIP",
                "status.hostIPs",
                "status.podIP",
                "status.podIPs",
            ],
            Self::Volume => &[
                "metadata.annotations",
                "metadata.labels",
                "metadata.name",
                "metadata.namespace",
                "metadata.uid",
            ],
        }
    }
}

const RESOURCES: [&str; 6] = [
    "limits.cpu",
    "limits.ephemeral-storage",
    "limits.memory",
    "requests.cpu",
    "requests.ephemeral-storage",
    "requests.memory",
];

fn is_huge_pages(resource: &str) -> bool {
    resource.starts_with("requests.hugepages-") || resource.starts_with("limits.hugepages-")
}

pub(super) fn validate(variables: &[Value], path: &Path<'_>, errors: &mut ErrorList) {
    for (i, variable) in variables.iter().enumerate() {
        let path = path.index(i);
        let name = variable.text("name");
        if name.is_empty() {
            errors.required(&path.child("name"), "");
        } else {
            let faults = names::relaxed_env_var_name(name);
            errors.invalid_each(&path.child("name"), name, faults);
        }
        validate_source(variable, &path.child("valueFrom"), errors);
    }
}

fn validate_source(variable: &Value, path: &Path<'_>, errors: &mut ErrorList) {
    let source = variable.at("valueFrom");
    if source.is_null() {
        return;
    }
    let mut count = 0;
    for field in [
        "fieldRef",
        "resourceFieldRef",
        "configMapKeyRef",
        "secretKeyRef",
        "fileKeyRef",
    ] {
        if !source.has(field) {
            continue;
        }
        count += 1;
        let (own, at) = (source.at(field), path.child(field));
        match field {
            "fieldRef" => validate_field_ref(own, Downward::Variable, &at, errors),
            "resourceFieldRef" => validate_resource_ref(own, Downward::Variable, &at, errors),
            "fileKeyRef" => validate_file_key(own, &at, errors),
            _ => validate_key(own, &at, errors),
        }
    }
    if count == 0 {
        errors.invalid(
            path,
            "",
            "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`",
        );
    } else if !variable.text("value").is_empty() {
        errors.invalid(path, "", "may not be specified when `value` is not empty");
    } else if count > 1 {
        errors.invalid(
            path,
            "",
            "may not have more than one field specified at a time",
        );
    }
}

/// `metadata.labels['x']` is the path before the bracket and what stands in it.
pub(in crate::pod) fn split_subscript(field_path: &str) -> Option<(&str, &str)> {
    let (path, subscript) = field_path.strip_suffix("']")?.split_once("['")?;
    (!path.is_empty()).then_some((path, subscript))
}

fn convert_label(version: &str, label: &str) -> Result<String, String> {
    if version != "v1" {
        return Err(format!("unsupported pod version: {version}"));
    }
    if let Some((path, _)) = split_subscript(label) {
        return match path {
            "metadata.annotations" | "metadata.labels" => Ok(label.to_owned()),
            _ => Err(format!("field label does not support subscript: {label}")),
        };
    }
    match label {
        "metadata.annotations"
        | "metadata.labels"
        | "metadata.name"
        | "metadata.namespace"
        | "metadata.uid"
        | "spec.nodeName"
        | "spec.restartPolicy"
        | "spec.serviceAccountName"
        | "spec.schedulerName"
        | "status.phase"
        | "status.hostIP"
        | "status.hostIPs"
        | "status.podIP"
        | "status.podIPs" => Ok(label.to_owned()),
        "spec.host" => Ok("spec.nodeName".to_owned()),
        _ => Err(format!("field label not supported: {label}")),
    }
}

pub(super) fn validate_field_ref(
    selector: &Value,
    downward: Downward,
    path: &Path<'_>,
    errors: &mut ErrorList,
) {
    for field in ["apiVersion", "fieldPath"] {
        if selector.text(field).is_empty() {
            errors.required(&path.child(field), "");
            return;
        }
    }
    let field_path = selector.text("fieldPath");
    let at = path.child("fieldPath");
    let label = match convert_label(selector.text("apiVersion"), field_path) {
        Ok(label) => label,
        Err(fault) => {
            errors.invalid(
                &at,
                field_path,
                format!("error converting fieldPath: {fault}"),
            );
            return;
        }
    };
    match split_subscript(&label) {
        Some(("metadata.annotations", key)) => {
            let key = key.to_lowercase();
            errors.invalid_each(path, &key, names::label_key(&key));
        }
        Some(("metadata.labels", key)) => errors.invalid_each(path, key, names::label_key(key)),
        Some((other, _)) => errors.invalid(path, other, "does not support subscript"),
        None if downward.fields().contains(&label.as_str()) => {}
        None => errors.not_supported(&at, &label, downward.fields()),
    }
}

pub(super) fn validate_resource_ref(
    selector: &Value,
    downward: Downward,
    path: &Path<'_>,
    errors: &mut ErrorList,
) {
    let resource = selector.text("resource");
    if downward == Downward::Volume && selector.text("containerName").is_empty() {
        errors.required(&path.child("containerName"), "");
    } else if resource.is_empty() {
        errors.required(&path.child("resource"), "");
    } else if !RESOURCES.contains(&resource) && !is_huge_pages(resource) {
        errors.not_supported(&path.child("resource"), resource, &RESOURCES);
    }
    validate_divisor(
        resource,
        selector.at("divisor"),
        &path.child("divisor"),
        errors,
    );
}

const BYTES: [&str; 13] = [
    "1", "1k", "1M", "1G", "1T", "1P", "1E", "1Ki", "1Mi", "1Gi", "1Ti", "1Pi", "1Ei",
];

fn validate_divisor(resource: &str, divisor: &Value, path: &Path<'_>, errors: &mut ErrorList) {
    let divisor = Quantity::of(divisor);
    if divisor.is_zero() {
        return;
    }
    let (known, of): (&[&str], &str) = match resource {
        "limits.cpu" | "requests.cpu" => (&["1m", "1"], "cpu"),
        "limits.memory" | "requests.memory" => (&BYTES, "memory"),
        "limits.ephemeral-storage" | "requests.ephemeral-storage" => {
            (&BYTES, "local ephemeral storage")
        }
        other if is_huge_pages(other) => (&BYTES, "hugepages"),
        _ => return,
    };
    if known.contains(&divisor.to_string().as_str()) {
        return;
    }
    let values = match of {
        "cpu" => "1m and 1".to_owned(),
        _ => BYTES.join(", "),
    };
    let detail = format!("only divisor's values {values} are supported with the {of} resource");
    errors.invalid(path, resource, detail);
}

fn validate_key(selector: &Value, path: &Path<'_>, errors: &mut ErrorList) {
    let name = selector.text("name");
    let faults = name_rules::dns_subdomain(name, false);
    errors.invalid_each(&path.child("name"), name, faults);
    let key = selector.text("key");
    if key.is_empty() {
        errors.required(&path.child("key"), "");
    } else {
        errors.invalid_each(&path.child("key"), key, names::config_map_key(key));
    }
}

fn validate_file_key(selector: &Value, path: &Path<'_>, errors: &mut ErrorList) {
    let key = selector.text("key");
    if key.is_empty() {
        errors.required(&path.child("key"), "");
    } else {
        errors.invalid_each(&path.child("key"), key, names::relaxed_env_var_name(key));
    }
    let volume = selector.text("volumeName");
    if volume.is_empty() {
        errors.required(&path.child("volumeName"), "");
    } else {
        errors.invalid_each(
            &path.child("volumeName"),
            volume,
            names::dns1123_label(volume),
        );
    }
    let target = selector.text("path");
    if target.is_empty() {
        errors.required(&path.child("path"), "");
    } else {
        paths::no_backsteps(target, &path.child("path"), errors);
    }
}

/// Whole maps of variables.
pub(super) fn validate_maps(sources: &[Value], path: &Path<'_>, errors: &mut ErrorList) {
    for (i, source) in sources.iter().enumerate() {
        let at = path.index(i);
        let prefix = source.text("prefix");
        if !prefix.is_empty() {
            let faults = names::relaxed_env_var_name(prefix);
            errors.invalid_each(&at.child("prefix"), prefix, faults);
        }
        let mut count = 0;
        for field in ["configMapRef", "secretRef"] {
            if !source.has(field) {
                continue;
            }
            count += 1;
            let reference = at.child(field);
            let name_at = reference.child("name");
            let name = source.at(field).text("name");
            if name.is_empty() {
                errors.required(&name_at, "");
            } else {
                errors.invalid_each(&name_at, name, name_rules::dns_subdomain(name, true));
            }
        }
        if count == 0 {
            let detail = "must specify one of: `configMapRef` or `secretRef`";
            errors.invalid(path, "", detail);
        } else if count > 1 {
            let detail = "may not have more than one field specified at a time";
            errors.invalid(path, "", detail);
        }
    }
}

/// Variables read from files come from empty directories of the pod.
pub(super) fn validate_file_volumes(spec: &Value, path: &Path<'_>, errors: &mut ErrorList) {
    // Of several of a name the last one counts.
    let volumes = spec.list("volumes").iter();
    let volumes: BTreeMap<&str, &Value> = volumes.map(|v| (v.text("name"), v)).collect();
    super::each_container(spec, path, |container, at| {
        let env = at.child("env");
        for (i, variable) in container.list("env").iter().enumerate() {
            let source = variable.at("valueFrom");
            if !source.has("fileKeyRef") {
                continue;
            }
            let (item, name) = (env.index(i), source.at("fileKeyRef").text("volumeName"));
            let (from, file);
            from = item.child("valueFrom");
            file = from.child("fileKeyRef");
            let at = file.child("volumeName");
            match volumes.get(name) {
                None => errors.not_found(&at, name),
                Some(volume) if !volume.has("emptyDir") => {
                    errors.invalid(&at, name, "referenced volume must be of type emptyDir")
                }
                Some(_) => {}
            }
        }
    });
}
