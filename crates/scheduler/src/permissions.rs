//! What a reader is shown of a pod's decisions: names only of what he may list.

use crate::engine::Decision;
use futures::future::BoxFuture;
use serde_json::Value;
use std::collections::BTreeSet;
use stowplan_report::{Readable, Report};

/// For at most so many namespaces it is checked whether the reader may list their pods. Pods of others stay
/// hidden.
const NAMESPACES_MAX: usize = 64;

/// What a reader must be allowed to do to see names.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Permission {
    /// To list nodes.
    ListNodes,
    /// To list the pods of this namespace, or of all of them.
    ListPods(Option<String>),
}

/// What a reader may do.
pub trait Permissions: Send + Sync {
    /// Whether he may do this.
    fn may(&self, permission: Permission) -> BoxFuture<'_, bool>;
}

/// The permissions of a reader who may do everything.
pub struct AllPermissions;

impl Permissions for AllPermissions {
    fn may(&self, _: Permission) -> BoxFuture<'_, bool> {
        Box::pin(std::future::ready(true))
    }
}

/// What the engine knows of a pod, with all names.
pub(crate) enum Found {
    Decision(Decision),
    Tournament(Box<Report>),
}

impl Found {
    /// As a reader with these permissions may read it.
    pub(crate) async fn for_reader(mut self, permissions: &dyn Permissions) -> Option<Value> {
        let readable = readable(self.namespaces(), permissions).await;
        // Of a large cluster it is long.
        let told = tokio::task::spawn_blocking(move || {
            match &mut self {
                Self::Decision(decision) => decision.redact(&readable),
                Self::Tournament(report) => report.redact(&readable),
            }
            self.into_json()
        });
        told.await.ok().flatten()
    }

    /// The namespaces of other pods that it names.
    fn namespaces(&self) -> BTreeSet<String> {
        match self {
            Self::Decision(_) => BTreeSet::new(),
            Self::Tournament(report) => report.namespaces(),
        }
    }

    fn into_json(self) -> Option<Value> {
        match self {
            Self::Decision(decision) => Some(decision.to_json()),
            Self::Tournament(report) => serde_json::to_value(report)
                .inspect_err(|error| tracing::error!(%error, "an explanation cannot be told"))
                .ok(),
        }
    }
}

/// What a reader may know of nodes, and of the pods of these namespaces.
async fn readable(mut namespaces: BTreeSet<String>, permissions: &dyn Permissions) -> Readable {
    let nodes = permissions.may(Permission::ListNodes).await;
    let pods = !namespaces.is_empty() && permissions.may(Permission::ListPods(None)).await;
    if pods {
        namespaces.clear();
    }
    let mut readable = Readable {
        nodes,
        pods,
        namespaces: BTreeSet::new(),
    };
    for namespace in namespaces.into_iter().take(NAMESPACES_MAX) {
        if permissions
            .may(Permission::ListPods(Some(namespace.clone())))
            .await
        {
            readable.namespaces.insert(namespace);
        }
    }
    readable
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Mutex;

    /// May list the pods of namespaces that begin so; writes down what is asked.
    struct Some(&'static str, Mutex<Vec<Permission>>);

    impl Permissions for Some {
        fn may(&self, permission: Permission) -> BoxFuture<'_, bool> {
            let may = match &permission {
                Permission::ListPods(Option::Some(namespace)) => namespace.starts_with(self.0),
                _ => false,
            };
            self.1.lock().expect("alone").push(permission);
            Box::pin(std::future::ready(may))
        }
    }

    #[tokio::test]
    async fn so_many_questions_are_asked_about_a_reader() {
        let namespaces: BTreeSet<String> = (0..1000).map(|i| format!("n{i:03}")).collect();
        let some = Some("n01", Mutex::default());
        let found = readable(namespaces.clone(), &some).await;
        assert_eq!((found.nodes, found.pods), (false, false));
        let expected: BTreeSet<String> = (10..20).map(|i| format!("n{i:03}")).collect();
        assert_eq!(found.namespaces, expected);
        let asked = some.1.lock().expect("alone").len();
        assert_eq!(asked, 2 + NAMESPACES_MAX);
        let all = readable(namespaces, &AllPermissions).await;
        assert!(all.nodes && all.pods && all.namespaces.is_empty());
        let some = Some("", Mutex::default());
        readable(BTreeSet::new(), &some).await;
        assert_eq!(*some.1.lock().expect("alone"), [Permission::ListNodes]);
    }
}
