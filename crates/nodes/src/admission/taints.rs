//! Taints that keep a pod from running: those that evict. Upstream's `FindMatchingUntoleratedTaint`.

use k8s_openapi::api::core::v1::{Node, PodSpec, Taint, Toleration};

/// Whether the pod tolerates all taints with the effect `NoExecute`.
pub(super) fn tolerates(spec: &PodSpec, node: &Node) -> bool {
    let taints = node
        .spec
        .iter()
        .flat_map(|spec| spec.taints.iter().flatten());
    let mut evicting = taints.filter(|taint| taint.effect == "NoExecute");
    evicting.all(|taint| {
        let mut tolerations = spec.tolerations.iter().flatten();
        tolerations.any(|toleration| is_tolerated(toleration, taint))
    })
}

fn is_tolerated(toleration: &Toleration, taint: &Taint) -> bool {
    let empty = |text: &Option<String>| text.as_deref().unwrap_or_default().is_empty();
    let same = |a: &Option<String>, b: &str| a.as_deref().unwrap_or_default() == b;
    if !empty(&toleration.effect) && !same(&toleration.effect, &taint.effect) {
        return false;
    }
    if !empty(&toleration.key) && !same(&toleration.key, &taint.key) {
        return false;
    }
    match toleration.operator.as_deref() {
        None | Some("" | "Equal") => same(
            &toleration.value,
            taint.value.as_deref().unwrap_or_default(),
        ),
        Some("Exists") => true,
        Some(_) => false,
    }
}
