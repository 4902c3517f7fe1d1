//! `autoscaling/v2`.

use super::ALL_VERBS;
use crate::columns;
use crate::fields::METADATA;
use crate::kind::{Kind, Scope, Subresource};

pub(super) static HORIZONTAL_POD_AUTOSCALER: Kind = Kind {
    group: "autoscaling",
    version: "v2",
    kind: "HorizontalPodAutoscaler",
    plural: "horizontalpodautoscalers",
    singular: "horizontalpodautoscaler",
    short_names: &["hpa"],
    categories: &["all"],
    scope: Scope::Namespaced,
    verbs: ALL_VERBS,
    subresources: &[Subresource {
        name: "status",
        group_version: None,
        kind: "HorizontalPodAutoscaler",
        verbs: &["get", "patch", "update"],
    }],
    schema: "io.k8s.api.autoscaling.v2.HorizontalPodAutoscaler",
    strategy: &crate::autoscaler::HorizontalPodAutoscaler,
    fields: &METADATA,
    columns: &columns::HORIZONTAL_POD_AUTOSCALERS,
};
