//! `authentication.k8s.io/v1`.

use crate::columns;
use crate::fields::METADATA;
use crate::kind::{Kind, Scope};
use crate::plain::Plain;

pub(super) static SELF_SUBJECT_REVIEW: Kind = Kind {
    group: "authentication.k8s.io",
    version: "v1",
    kind: "SelfSubjectReview",
    plural: "selfsubjectreviews",
    singular: "selfsubjectreview",
    short_names: &[],
    categories: &[],
    scope: Scope::Cluster,
    verbs: &["create"],
    subresources: &[],
    schema: "io.k8s.api.authentication.v1.SelfSubjectReview",
    strategy: &Plain,
    fields: &METADATA,
    columns: &columns::NAME_AND_CREATED_AT,
};

pub(super) static TOKEN_REVIEW: Kind = Kind {
    group: "authentication.k8s.io",
    version: "v1",
    kind: "TokenReview",
    plural: "tokenreviews",
    singular: "tokenreview",
    short_names: &[],
    categories: &[],
    scope: Scope::Cluster,
    verbs: &["create"],
    subresources: &[],
    schema: "io.k8s.api.authentication.v1.TokenReview",
    strategy: &Plain,
    fields: &METADATA,
    columns: &columns::NAME_AND_CREATED_AT,
};
