//! DefaultIngressClass: an ingress that names no class gets the newest default.
//! Upstream: `plugin/pkg/admission/network/defaultingressclass`.

use crate::Attributes;
use crate::default_storage_class::newest;
use stowplan_apimachinery::lookup::Lookup;
use stowplan_apimachinery::meta;
use stowplan_apimachinery::{Edit, View};

const GROUP: &str = "networking.k8s.io";
const DEFAULT: &str = "ingressclass.kubernetes.io/is-default-class";
const OLD_CLASS: &str = "kubernetes.io/ingress.class";

pub(crate) fn admit(request: &mut Attributes<'_>, cluster: &dyn Lookup) {
    if !request.creates(GROUP, "ingresses") {
        return;
    }
    let Some(ingress) = request.object.as_deref_mut() else {
        return;
    };
    let annotated = ingress.at("metadata").at("annotations").has(OLD_CLASS);
    if annotated || ingress.at("spec").has("ingressClassName") {
        return;
    }
    if let Some(class) = newest(cluster.list(GROUP, "ingressclasses", ""), &[DEFAULT]) {
        ingress
            .at_mut("spec")
            .set("ingressClassName", meta::name(&class));
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{Case, cluster};
    use serde_json::{Value, json};

    #[test]
    fn the_default_is_for_those_who_name_none() {
        let world = cluster([json!({"kind": "IngressClass", "metadata": {
            "name": "a", "annotations": {super::DEFAULT: "true"}}})]);
        let class = |ingress: Value| {
            let case = Case::create(super::GROUP, "ingresses", ingress);
            case.after(|request| super::admit(request, &world))["spec"]["ingressClassName"].clone()
        };
        assert_eq!(class(json!({"spec": {}})), "a");
        assert_eq!(class(json!({"spec": {"ingressClassName": "b"}})), "b");
        let old = json!({"metadata": {"annotations": {super::OLD_CLASS: "c"}}, "spec": {}});
        assert_eq!(class(old), Value::Null);
    }
}
