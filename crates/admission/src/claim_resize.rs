//! PersistentVolumeClaimResize: a claim grows only if it is bound and its class allows it.
//! Upstream: `plugin/pkg/admission/storage/persistentvolume/resize`.

use crate::default_storage_class::class_of;
use crate::{Attributes, Operation};
use serde_json::Value;
use stowplan_apimachinery::lookup::Lookup;
use stowplan_apimachinery::quantity::Quantity;
use stowplan_apimachinery::{Status, View};

pub(crate) fn validate(request: &Attributes<'_>, cluster: &dyn Lookup) -> Result<(), Status> {
    if request.operation != Operation::Update || !request.is("", "persistentvolumeclaims") {
        return Ok(());
    }
    let (claim, old) = (request.object(), request.old());
    if size(claim) <= size(old) {
        return Ok(());
    }
    if old.at("status").text("phase") != "Bound" {
        return Err(request.forbidden("Only bound persistent volume claims can be expanded"));
    }
    let class = class_of(claim);
    let allows = !class.is_empty() && class == class_of(old) && {
        let found = cluster.get("storage.k8s.io", "storageclasses", "", class);
        found.is_some_and(|class| class.flag("allowVolumeExpansion"))
    };
    match allows {
        true => Ok(()),
        false => Err(request.forbidden(
            "only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc must support resize",
        )),
    }
}

fn size(claim: &Value) -> Quantity {
    Quantity::of(claim.path(&["spec", "resources", "requests", "storage"]))
}

#[cfg(test)]
mod tests {
    use crate::testing::{Case, cluster};
    use serde_json::{Value, json};

    fn claim(size: &str, class: &str, phase: &str) -> Value {
        json!({"metadata": {"name": "c"}, "status": {"phase": phase}, "spec": {
            "storageClassName": class, "resources": {"requests": {"storage": size}}}})
    }

    #[test]
    fn growing_needs_a_bound_claim_and_a_willing_class() {
        let world = cluster([
            json!({"kind": "StorageClass", "metadata": {"name": "yes"}, "allowVolumeExpansion": true}),
            json!({"kind": "StorageClass", "metadata": {"name": "no"}}),
        ]);
        let ask = |old: Value, new: Value| {
            let case = Case::update("", "persistentvolumeclaims", old, new);
            let answer = case.ask(|request| super::validate(request, &world));
            answer.err().map(|status| status.message)
        };
        let grown =
            |class: &str, phase: &str| ask(claim("1Gi", class, phase), claim("2Gi", class, phase));
        assert_eq!(grown("yes", "Bound"), None);
        assert!(grown("no", "Bound").is_some());
        assert!(grown("missing", "Bound").is_some());
        assert!(grown("", "Bound").is_some());
        assert_eq!(
            grown("yes", "Pending").unwrap(),
            "persistentvolumeclaims \"c\" is forbidden: Only bound persistent volume claims can be expanded"
        );
        assert_eq!(ask(claim("2Gi", "no", ""), claim("2048Mi", "no", "")), None);
    }
}
