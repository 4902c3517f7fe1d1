//! `autoscaling/v2` and `autoscaling/v1`.

use super::ALL_VERBS;
use crate::autoscaler::v1;
use crate::columns;
use crate::conversion::Conversion;
use crate::fields::METADATA;
use crate::kind::{Kind, Scope, Subresource};

const SUBRESOURCES: &[Subresource] = &[Subresource {
    name: "status",
    group_version: None,
    kind: "HorizontalPodAutoscaler",
    verbs: &["get", "patch", "update"],
}];

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
    subresources: SUBRESOURCES,
    schema: "io.k8s.api.autoscaling.v2.HorizontalPodAutoscaler",
    strategy: &crate::autoscaler::HorizontalPodAutoscaler,
    fields: &METADATA,
    columns: &columns::HORIZONTAL_POD_AUTOSCALERS,
};

pub(super) static HORIZONTAL_POD_AUTOSCALER_V1: Kind = Kind {
    version: "v1",
    schema: "io.k8s.api.autoscaling.v1.HorizontalPodAutoscaler",
    strategy: &v1::HORIZONTAL_POD_AUTOSCALER,
    columns: &columns::HORIZONTAL_POD_AUTOSCALERS_V1,
    ..HORIZONTAL_POD_AUTOSCALER
};

pub(super) static V1: Conversion = Conversion {
    kind: &HORIZONTAL_POD_AUTOSCALER_V1,
    stored: &HORIZONTAL_POD_AUTOSCALER,
    forms: v1::FORMS,
    judged_as_stored: true,
};
