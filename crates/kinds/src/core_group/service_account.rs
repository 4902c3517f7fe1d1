//! ServiceAccount.
//!
//! Upstream: `pkg/registry/core/serviceaccount/strategy.go`.

use crate::common::{kube_metadata, name_rules};
use crate::{
    Context, CreateStrategy, DeleteStrategy, ReturnsDeletedObject, Strategy, UpdateStrategy,
};
use serde_json::{Value, json};
use stowplan_apimachinery::field::ErrorList;
use stowplan_apimachinery::{Edit, View};

pub(crate) struct ServiceAccount;

const ENFORCE: &str = "kubernetes.io/enforce-mountable-secrets";

impl CreateStrategy for ServiceAccount {
    fn prepare_for_create(&self, object: &mut Value, _: &Context<'_>) {
        keep_only_names(object);
    }

    fn validate(&self, object: &Value, _: &Context<'_>) -> ErrorList {
        kube_metadata::validate(object, true, &name_rules::dns_subdomain)
    }

    fn validate_name(&self, name: &str, prefix: bool) -> Vec<String> {
        name_rules::dns_subdomain(name, prefix)
    }
}

impl UpdateStrategy for ServiceAccount {
    fn prepare_for_update(&self, new: &mut Value, _: &Value, _: &Context<'_>) {
        keep_only_names(new);
    }

    fn validate_update(&self, new: &Value, old: &Value, cx: &Context<'_>) -> ErrorList {
        let mut errors = kube_metadata::validate_update(new, old);
        errors.extend(self.validate(new, cx));
        errors
    }
}

impl Strategy for ServiceAccount {
    fn warnings(&self, new: &Value, old: Option<&Value>) -> Vec<String> {
        let has = |object: &Value| object.at("metadata").at("annotations").has(ENFORCE);
        match has(new) && !old.is_some_and(has) {
            true => vec![format!(
                "metadata.annotations[{ENFORCE}]: deprecated in v1.32+; prefer separate namespaces to isolate access to mounted secrets"
            )],
            false => Vec::new(),
        }
    }

    fn deletion(&self) -> &dyn DeleteStrategy {
        &ReturnsDeletedObject
    }
}

/// Of a reference to a secret nothing but the name is kept.
fn keep_only_names(account: &mut Value) {
    for secret in account.each_mut("secrets") {
        *secret = match secret.text("name") {
            "" => json!({}),
            name => json!({"name": name}),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::create;

    #[test]
    fn references_are_names() {
        let mut account = json!({"secrets": [{"name": "s", "namespace": "x"}, {"kind": "y"}]});
        create(&ServiceAccount, &mut account);
        assert_eq!(account["secrets"], json!([{"name": "s"}, {}]));
    }

    #[test]
    fn an_old_annotation_is_pointed_out_once() {
        let account = json!({"metadata": {"annotations": {ENFORCE: "true"}}});
        assert_eq!(ServiceAccount.warnings(&account, None).len(), 1);
        assert!(ServiceAccount.warnings(&account, Some(&account)).is_empty());
    }
}
