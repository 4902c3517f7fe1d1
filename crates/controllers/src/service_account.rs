//! The ServiceAccount `default` of every namespace. Upstream:
//! `pkg/controller/serviceaccount/serviceaccounts_controller.go`.

use crate::{Controller, Cx, Delta, Key, Plan, Watches, Write};
use k8s_openapi::api::core::v1::{Namespace, ServiceAccount};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

/// The account that every namespace has.
const DEFAULT: &str = "default";

/// Makes the account `default` in each active namespace. Its keys are namespaces.
#[derive(Default)]
pub struct Accounts;

impl Controller for Accounts {
    fn watch(&self, watches: &mut Watches) {
        watches.on::<Namespace>(|_, delta, keys| {
            if !matches!(delta, Delta::Deleted(_)) {
                keys.add_object(&**delta.object());
            }
        });
        watches.on::<ServiceAccount>(|_, delta, keys| {
            if let Delta::Deleted(account) = delta {
                let namespace = account.metadata.namespace.as_deref();
                keys.add(Key::new("", namespace.unwrap_or_default()));
            }
        });
    }

    fn sync(&self, cx: &Cx<'_>, key: &Key) -> Plan {
        let is_wanted = cx
            .cluster
            .get::<Namespace>("", &key.name)
            .is_some_and(|namespace| is_active(&namespace));
        let exists = || cx.cluster.get::<ServiceAccount>(&key.name, DEFAULT);
        if !is_wanted || exists().is_some() {
            return Plan::nothing();
        }
        let account = ServiceAccount {
            metadata: ObjectMeta {
                namespace: Some(key.name.to_string()),
                name: Some(DEFAULT.to_owned()),
                ..ObjectMeta::default()
            },
            ..ServiceAccount::default()
        };
        let create = Write::create(&account);
        Plan::write(create.tolerating(&[409]).tolerating_terminating())
    }
}

/// Whether things can be made in a namespace.
pub(crate) fn is_active(namespace: &Namespace) -> bool {
    let status = namespace.status.as_ref();
    let phase = status.and_then(|status| status.phase.as_deref());
    phase == Some("Active")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Failure;
    use crate::testing::World;
    use serde_json::json;
    use std::time::Duration;

    const PATH: &str = "POST /api/v1/namespaces/shop/serviceaccounts";

    fn namespace(world: &mut World, phase: &str) {
        let namespace = json!({"metadata": {"name": "shop"}, "status": {"phase": phase}});
        world.add_json::<Namespace>(namespace);
    }

    /// Upstream: `TestServiceAccountCreation`.
    #[test]
    fn an_active_namespace_has_its_account() {
        for (phase, account, wanted) in [
            (Some("Active"), None, true),
            (Some("Active"), Some("default"), false),
            (Some("Active"), Some("other"), true),
            (Some("Terminating"), None, false),
            (None, None, false),
        ] {
            let mut world = World::default();
            if let Some(phase) = phase {
                namespace(&mut world, phase);
            }
            if let Some(name) = account {
                let account = json!({"metadata": {"name": name, "namespace": "shop"}});
                world.add_json::<ServiceAccount>(account);
            }
            world.sync(&Accounts, "", "shop");
            let writes = world.take_writes();
            assert_eq!(writes == [PATH], wanted, "{phase:?} {account:?} {writes:?}");
            assert_eq!(writes.is_empty(), !wanted);
        }
    }

    #[test]
    fn an_account_that_is_deleted_comes_back() {
        let mut world = World::default();
        world.join(0, &Accounts);
        namespace(&mut world, "Active");
        world.settle(&[&Accounts], Duration::from_secs(1));
        world.remove::<ServiceAccount>("shop", "default");
        world.settle(&[&Accounts], Duration::from_secs(1));
        assert_eq!(world.take_writes(), [PATH, PATH]);
        world.change::<Namespace>("", "shop", |namespace| {
            namespace.status.get_or_insert_default().phase = Some("Terminating".to_owned());
        });
        world.remove::<ServiceAccount>("shop", "default");
        world.settle(&[&Accounts], Duration::from_secs(1));
        assert!(world.take_writes().is_empty());
    }

    #[test]
    fn only_what_may_pass_is_tried_again() {
        for (code, cause, failed) in [
            (409, "", false),
            (403, "NamespaceTerminating", false),
            (403, "", true),
            (500, "", true),
        ] {
            let mut world = World::default();
            namespace(&mut world, "Active");
            world.refuse(move |_| {
                Some(Failure {
                    code,
                    causes: vec![cause.to_owned()],
                    ..Failure::default()
                })
            });
            world.sync(&Accounts, "", "shop");
            assert_eq!(world.errors.len(), usize::from(failed), "{code} {cause}");
        }
    }
}
