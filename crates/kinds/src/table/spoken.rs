//! Kinds that no resource serves: what subresources of others speak.

use crate::columns;
use crate::fields::METADATA;
use crate::kind::{Kind, Scope};
use crate::plain::Plain;
use crate::{Context, CreateStrategy, Strategy, UpdateStrategy};
use serde_json::Value;
use stowplan_apimachinery::Edit;
use stowplan_apimachinery::field::ErrorList;

pub(super) static EVICTION: Kind = Kind {
    group: "policy",
    version: "v1",
    kind: "Eviction",
    plural: "evictions",
    singular: "",
    short_names: &[],
    categories: &[],
    scope: Scope::Namespaced,
    verbs: &[],
    subresources: &[],
    schema: "io.k8s.api.policy.v1.Eviction",
    strategy: &Plain,
    fields: &METADATA,
    columns: &columns::NAME_AND_CREATED_AT,
};

pub(super) static SCALE: Kind = Kind {
    group: "autoscaling",
    version: "v1",
    kind: "Scale",
    plural: "scales",
    singular: "",
    short_names: &[],
    categories: &[],
    scope: Scope::Namespaced,
    verbs: &[],
    subresources: &[],
    schema: "io.k8s.api.autoscaling.v1.Scale",
    strategy: &Plain,
    fields: &METADATA,
    columns: &columns::SCALES,
};

pub(super) static TOKEN_REQUEST: Kind = Kind {
    group: "authentication.k8s.io",
    version: "v1",
    kind: "TokenRequest",
    plural: "tokenrequests",
    singular: "",
    short_names: &[],
    categories: &[],
    scope: Scope::Namespaced,
    verbs: &[],
    subresources: &[],
    schema: "io.k8s.api.authentication.v1.TokenRequest",
    strategy: &TokenRequest,
    fields: &METADATA,
    columns: &columns::NAME_AND_CREATED_AT,
};

/// A request for a token lasts an hour unless it says otherwise.
struct TokenRequest;

impl CreateStrategy for TokenRequest {
    fn validate(&self, _object: &Value, _cx: &Context<'_>) -> ErrorList {
        ErrorList::new()
    }

    fn validate_name(&self, _name: &str, _prefix: bool) -> Vec<String> {
        Vec::new()
    }
}

impl UpdateStrategy for TokenRequest {
    fn validate_update(&self, _new: &Value, _old: &Value, _cx: &Context<'_>) -> ErrorList {
        ErrorList::new()
    }
}

impl Strategy for TokenRequest {
    fn set_defaults(&self, object: &mut Value) {
        object.at_mut("spec").default_to("expirationSeconds", 3600);
    }
}
