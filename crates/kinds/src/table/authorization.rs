//! `authorization.k8s.io/v1`.

use crate::columns;
use crate::fields::METADATA;
use crate::kind::{Kind, Scope};
use crate::plain::Plain;

pub(super) static LOCAL_SUBJECT_ACCESS_REVIEW: Kind = Kind {
    group: "authorization.k8s.io",
    version: "v1",
    kind: "LocalSubjectAccessReview",
    plural: "localsubjectaccessreviews",
    singular: "localsubjectaccessreview",
    short_names: &[],
    categories: &[],
    scope: Scope::Namespaced,
    verbs: &["create"],
    subresources: &[],
    schema: "io.k8s.api.authorization.v1.LocalSubjectAccessReview",
    strategy: &crate::review::LocalSubjectAccessReview,
    fields: &METADATA,
    columns: &columns::NAME_AND_CREATED_AT,
};

pub(super) static SELF_SUBJECT_ACCESS_REVIEW: Kind = Kind {
    group: "authorization.k8s.io",
    version: "v1",
    kind: "SelfSubjectAccessReview",
    plural: "selfsubjectaccessreviews",
    singular: "selfsubjectaccessreview",
    short_names: &[],
    categories: &[],
    scope: Scope::Cluster,
    verbs: &["create"],
    subresources: &[],
    schema: "io.k8s.api.authorization.v1.SelfSubjectAccessReview",
    strategy: &crate::review::SelfSubjectAccessReview,
    fields: &METADATA,
    columns: &columns::NAME_AND_CREATED_AT,
};

pub(super) static SELF_SUBJECT_RULES_REVIEW: Kind = Kind {
    group: "authorization.k8s.io",
    version: "v1",
    kind: "SelfSubjectRulesReview",
    plural: "selfsubjectrulesreviews",
    singular: "selfsubjectrulesreview",
    short_names: &[],
    categories: &[],
    scope: Scope::Cluster,
    verbs: &["create"],
    subresources: &[],
    schema: "io.k8s.api.authorization.v1.SelfSubjectRulesReview",
    strategy: &Plain,
    fields: &METADATA,
    columns: &columns::NAME_AND_CREATED_AT,
};

pub(super) static SUBJECT_ACCESS_REVIEW: Kind = Kind {
    group: "authorization.k8s.io",
    version: "v1",
    kind: "SubjectAccessReview",
    plural: "subjectaccessreviews",
    singular: "subjectaccessreview",
    short_names: &[],
    categories: &[],
    scope: Scope::Cluster,
    verbs: &["create"],
    subresources: &[],
    schema: "io.k8s.api.authorization.v1.SubjectAccessReview",
    strategy: &crate::review::SubjectAccessReview,
    fields: &METADATA,
    columns: &columns::NAME_AND_CREATED_AT,
};
