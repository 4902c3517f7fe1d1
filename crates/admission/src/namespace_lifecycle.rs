//! NamespaceLifecycle: nothing comes to be where there is no namespace, or where it is on its way
//! out. Upstream: `apiserver/pkg/admission/plugin/namespace/lifecycle`.

use crate::{Attributes, Operation};
use stowplan_apimachinery::lookup::Lookup;
use stowplan_apimachinery::meta::GroupResource;
use stowplan_apimachinery::{Cause, Status, View};

const IMMORTAL: [&str; 3] = ["default", "kube-system", "kube-public"];

pub(crate) fn admit(request: &mut Attributes<'_>, cluster: &dyn Lookup) -> Result<(), Status> {
    let deletes = request.operation == Operation::Delete;
    if request.operation == Operation::Connect {
        return Ok(());
    }
    if request.kind.group.is_empty() && request.kind.kind == "Namespace" {
        if deletes && IMMORTAL.contains(&request.name) {
            let why = "this namespace may not be deleted";
            return Err(Status::forbidden(request.resource, request.name, why));
        }
        return Ok(());
    }
    let review = request.is("authorization.k8s.io", "localsubjectaccessreviews");
    if deletes || review || request.namespace.is_empty() {
        return Ok(());
    }
    let Some(namespace) = cluster.get("", "namespaces", "", request.namespace) else {
        let namespaces = GroupResource::new("", "namespaces");
        return Err(Status::not_found(&namespaces, request.namespace));
    };
    let terminating = namespace.at("status").text("phase") == "Terminating";
    if request.operation == Operation::Create && terminating {
        return Err(is_terminating(request));
    }
    Ok(())
}

fn is_terminating(request: &Attributes<'_>) -> Status {
    let namespace = request.namespace;
    let why = format!(
        "unable to create new content in namespace {namespace} because it is being terminated"
    );
    request.forbidden(why).because(Cause {
        reason: "NamespaceTerminating".to_owned(),
        message: format!("namespace {namespace} is being terminated"),
        field: "metadata.namespace".to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use crate::testing::{Case, cluster};
    use serde_json::json;

    #[test]
    fn nothing_is_created_without_a_live_namespace() {
        let world = cluster([
            json!({"kind": "Namespace", "metadata": {"name": "ns"}, "status": {"phase": "Active"}}),
            json!({"kind": "Namespace", "metadata": {"name": "gone"}, "status": {"phase": "Terminating"}}),
        ]);
        let secret = json!({"metadata": {"name": "s"}});
        let create =
            |namespace| Case::create("", "secrets", secret.clone()).in_namespace(namespace);
        assert!(create("ns").admit(&world).is_ok());
        let missing = create("nowhere").admit(&world).unwrap_err();
        assert_eq!(missing.message, r#"namespaces "nowhere" not found"#);
        let refused = create("gone").admit(&world).unwrap_err();
        assert_eq!(
            refused.message,
            r#"secrets "s" is forbidden: unable to create new content in namespace gone because it is being terminated"#
        );
        assert_eq!(
            refused.to_json()["details"]["causes"],
            json!([{"reason": "NamespaceTerminating", "field": "metadata.namespace",
                    "message": "namespace gone is being terminated"}])
        );
        let update = Case::update("", "secrets", secret.clone(), secret).in_namespace("gone");
        assert!(update.admit(&world).is_ok());
    }

    #[test]
    fn three_namespaces_stay() {
        let delete = |name| Case::delete("", "namespaces", name).admit(&cluster([]));
        assert!(delete("other").is_ok());
        assert_eq!(
            delete("kube-system").unwrap_err().message,
            r#"namespaces "kube-system" is forbidden: this namespace may not be deleted"#
        );
    }
}
