//! Templates → pods.

use super::{controller_ref, namespace};
use k8s_openapi::api::core::v1::{Pod, PodTemplateSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use stowplan_cache::Object;

/// The longest prefix of a generated name: the server makes up five more characters.
const NAME_MAX: usize = 63;

/// A pod as a controller makes it, without a name. Upstream's `GetPodFromTemplate`.
pub fn pod_from_template<O: Object>(template: &PodTemplateSpec, owner: &O) -> Pod {
    let given = template.metadata.clone().unwrap_or_default();
    Pod {
        metadata: ObjectMeta {
            namespace: Some(namespace(owner).to_owned()),
            generate_name: Some(pod_prefix(super::name(owner))),
            labels: given.labels,
            annotations: given.annotations,
            finalizers: given.finalizers,
            owner_references: Some(vec![controller_ref(owner)]),
            ..ObjectMeta::default()
        },
        spec: template.spec.clone(),
        status: None,
    }
}

/// What the names of the pods of a controller begin with. Upstream's `getPodsPrefix`.
pub fn pod_prefix(controller: &str) -> String {
    let prefix = format!("{controller}-");
    // A name that could not be a pod's would not get better by a dash.
    match prefix.len() <= NAME_MAX * 4 {
        true => prefix,
        false => controller.to_owned(),
    }
}
