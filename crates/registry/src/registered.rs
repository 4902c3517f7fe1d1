//! Kinds that upstream's scheme knows and that cannot be stored: bodies that say they are one of
//! these are refused in other words than those of a kind that nobody knows.
//!
//! Upstream: `AddKnownTypes` and `metav1.AddToGroupVersion` of each group.

use stowplan_kinds::table::{self, KINDS, SPOKEN};
use stowplan_schema::Type;

const META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.";

/// In every version of every group.
const EVERYWHERE: [&str; 7] = [
    "CreateOptions",
    "DeleteOptions",
    "GetOptions",
    "ListOptions",
    "PatchOptions",
    "UpdateOptions",
    "WatchEvent",
];

/// In `v1` alone.
const CORE: [&str; 18] = [
    "APIGroup",
    "APIGroupList",
    "APIResourceList",
    "APIVersions",
    "ComponentStatus",
    "ComponentStatusList",
    "List",
    "NodeProxyOptions",
    "PodAttachOptions",
    "PodExecOptions",
    "PodLogOptions",
    "PodPortForwardOptions",
    "PodProxyOptions",
    "PodStatusResult",
    "RangeAllocation",
    "SerializedReference",
    "ServiceProxyOptions",
    "Status",
];

/// Whether upstream has a type of that name.
pub(crate) fn is_registered(group: &str, version: &str, kind: &str) -> bool {
    let served = |k: &&&stowplan_kinds::Kind| k.group == group && k.version == version;
    let list = kind.strip_suffix("List");
    let is_list = || {
        let item = list.and_then(|item| table::by_kind(group, version, item));
        item.is_some_and(|item| item.verbs.contains(&"list"))
    };
    if table::by_kind(group, version, kind).is_some() || is_list() {
        return true;
    }
    let spoken = SPOKEN.iter().any(|k| served(&k) && k.kind == kind);
    let core = group.is_empty() && version == "v1" && CORE.contains(&kind);
    let known = || KINDS.iter().chain(SPOKEN).any(|k| served(&k));
    spoken || core || (EVERYWHERE.contains(&kind) && known())
}

/// The type of a kind that upstream knows, as far as it is known here.
pub(crate) fn registered_type(group: &str, version: &str, kind: &str) -> Option<&'static Type> {
    let served = table::by_kind(group, version, kind).map(|k| k.schema);
    let meta = || is_registered(group, version, kind).then(|| format!("{META}{kind}"));
    match served {
        Some(schema) => stowplan_schema::type_of(schema),
        None => stowplan_schema::type_of(&meta()?),
    }
}

#[cfg(test)]
mod tests {
    use super::is_registered;

    #[test]
    fn some_kinds_are_known_and_not_stored() {
        for kind in ["Pod", "PodList", "Status", "DeleteOptions", "List"] {
            assert!(is_registered("", "v1", kind), "{kind}");
        }
        assert!(is_registered("apps", "v1", "WatchEvent"));
        assert!(is_registered("autoscaling", "v1", "Scale"));
        assert!(!is_registered("apps", "v1", "Status"));
        assert!(!is_registered("apps", "v9", "WatchEvent"));
        assert!(!is_registered("", "v1", "SubjectAccessReviewList"));
    }
}
