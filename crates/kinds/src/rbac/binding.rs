//! RoleBinding and ClusterRoleBinding.

use super::{GROUP, name_rule};
use crate::common::faults::Faults;
use crate::common::internal::Internal;
use crate::common::{kube_metadata, name_rules};
use crate::{Context, CreateStrategy, Strategy, UpdateStrategy};
use serde_json::Value;
use stowplan_apimachinery::field::{ErrorList, Path};
use stowplan_apimachinery::{Edit, View};

pub(crate) struct RoleBinding;
pub(crate) struct ClusterRoleBinding;

static ROLE: Path<'static> = Path::new("roleRef");

impl CreateStrategy for RoleBinding {
    fn validate(&self, object: &Value, _: &Context<'_>) -> ErrorList {
        validate(object, true)
    }

    fn validate_name(&self, name: &str, prefix: bool) -> Vec<String> {
        name_rule(name, prefix)
    }
}

impl UpdateStrategy for RoleBinding {
    fn validate_update(&self, new: &Value, old: &Value, _: &Context<'_>) -> ErrorList {
        validate_update(new, old, true)
    }

    fn allow_create_on_update(&self) -> bool {
        true
    }
}

impl Strategy for RoleBinding {
    fn set_defaults(&self, object: &mut Value) {
        set_defaults(object);
    }
}

impl CreateStrategy for ClusterRoleBinding {
    fn validate(&self, object: &Value, _: &Context<'_>) -> ErrorList {
        validate(object, false)
    }

    fn validate_name(&self, name: &str, prefix: bool) -> Vec<String> {
        name_rule(name, prefix)
    }
}

impl UpdateStrategy for ClusterRoleBinding {
    fn validate_update(&self, new: &Value, old: &Value, _: &Context<'_>) -> ErrorList {
        validate_update(new, old, false)
    }

    fn allow_create_on_update(&self) -> bool {
        true
    }
}

impl Strategy for ClusterRoleBinding {
    fn set_defaults(&self, object: &mut Value) {
        set_defaults(object);
    }
}

fn set_defaults(binding: &mut Value) {
    let role = binding.at_mut("roleRef");
    if role.text("apiGroup").is_empty() {
        role.set("apiGroup", GROUP);
    }
    for subject in binding.each_mut("subjects") {
        let of_group = matches!(subject.text("kind"), "User" | "Group");
        if of_group && subject.text("apiGroup").is_empty() {
            subject.set("apiGroup", GROUP);
        }
    }
}

fn validate(binding: &Value, namespaced: bool) -> ErrorList {
    let mut errors = kube_metadata::validate(binding, namespaced, &name_rule);
    let role = binding.at("roleRef");
    if role.text("apiGroup") != GROUP {
        errors.not_supported(&ROLE.child("apiGroup"), role.text("apiGroup"), &[GROUP]);
    }
    let kinds: &[&str] = match namespaced {
        true => &["Role", "ClusterRole"],
        false => &["ClusterRole"],
    };
    let kind = role.text("kind");
    if !kinds.contains(&kind) {
        errors.not_supported(&ROLE.child("kind"), kind, kinds);
    }
    match role.text("name") {
        "" => errors.required(&ROLE.child("name"), ""),
        name => errors.invalid_each(&ROLE.child("name"), name, name_rule(name, false)),
    }
    let path = Path::new("subjects");
    for (i, subject) in binding.list("subjects").iter().enumerate() {
        validate_subject(subject, namespaced, &path.index(i), &mut errors);
    }
    errors
}

fn validate_update(new: &Value, old: &Value, namespaced: bool) -> ErrorList {
    let mut errors = validate(new, namespaced);
    errors.extend(kube_metadata::validate_update(new, old));
    let role = new.at("roleRef");
    if role != old.at("roleRef") {
        errors.invalid(&ROLE, Internal(role), "cannot change roleRef");
    }
    errors
}

fn validate_subject(subject: &Value, namespaced: bool, path: &Path<'_>, errors: &mut ErrorList) {
    let (name, group) = (subject.text("name"), subject.text("apiGroup"));
    if name.is_empty() {
        errors.required(&path.child("name"), "");
    }
    match subject.text("kind") {
        "ServiceAccount" => {
            if !name.is_empty() {
                let faults = name_rules::dns_subdomain(name, false);
                errors.invalid_each(&path.child("name"), name, faults);
            }
            if !group.is_empty() {
                errors.not_supported(&path.child("apiGroup"), group, &[""]);
            }
            if !namespaced && subject.text("namespace").is_empty() {
                errors.required(&path.child("namespace"), "");
            }
        }
        "User" | "Group" => {
            if group != GROUP {
                errors.not_supported(&path.child("apiGroup"), group, &[GROUP]);
            }
        }
        kind => {
            let known = &["ServiceAccount", "User", "Group"];
            errors.not_supported(&path.child("kind"), kind, known);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{faults, update_faults};
    use serde_json::json;

    fn binding(role: Value, subjects: Value) -> Value {
        let mut object = json!({"metadata": {"name": "a", "namespace": "n", "resourceVersion": "1"},
            "roleRef": role, "subjects": subjects});
        RoleBinding.set_defaults(&mut object);
        object
    }

    #[test]
    fn groups_are_filled_in() {
        let object = binding(
            json!({"kind": "Role", "name": "r"}),
            json!([{"kind": "User", "name": "u"}, {"kind": "ServiceAccount", "name": "s"}]),
        );
        assert_eq!(object["roleRef"]["apiGroup"], GROUP);
        assert_eq!(object["subjects"][0]["apiGroup"], GROUP);
        assert!(object["subjects"][1].get("apiGroup").is_none());
        assert!(faults(&RoleBinding, &object).is_empty());
    }

    #[test]
    fn subjects_are_of_known_kinds() {
        let object = binding(
            json!({"kind": "Thing", "name": ""}),
            json!([{"kind": "Robot", "name": ""}, {"kind": "ServiceAccount", "name": "S"}]),
        );
        let found = faults(&RoleBinding, &object);
        let fields: Vec<&str> = found.iter().filter_map(|f| f.split(": ").next()).collect();
        let expected = [
            "roleRef.kind",
            "roleRef.name",
            "subjects[0].name",
            "subjects[0].kind",
            "subjects[1].name",
        ];
        assert_eq!(fields, expected);
    }

    #[test]
    fn the_role_stays() {
        let old = binding(json!({"kind": "Role", "name": "a"}), json!([]));
        let new = binding(json!({"kind": "Role", "name": "b"}), json!([]));
        let fault = update_faults(&RoleBinding, &new, &old).join("");
        assert!(fault.starts_with("roleRef: Invalid value: {\"ApiGroup\""));
        assert!(fault.ends_with(": cannot change roleRef"));
    }
}
