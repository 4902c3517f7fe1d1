//! `networking.k8s.io/v1`.

use super::ALL_VERBS;
use crate::columns;
use crate::fields::METADATA;
use crate::kind::{Kind, Scope, Subresource};

pub(super) static INGRESS_CLASS: Kind = Kind {
    group: "networking.k8s.io",
    version: "v1",
    kind: "IngressClass",
    plural: "ingressclasses",
    singular: "ingressclass",
    short_names: &[],
    categories: &[],
    scope: Scope::Cluster,
    verbs: ALL_VERBS,
    subresources: &[],
    schema: "io.k8s.api.networking.v1.IngressClass",
    strategy: &crate::networking::IngressClass,
    fields: &METADATA,
    columns: &columns::INGRESS_CLASSES,
};

pub(super) static INGRESS: Kind = Kind {
    group: "networking.k8s.io",
    version: "v1",
    kind: "Ingress",
    plural: "ingresses",
    singular: "ingress",
    short_names: &["ing"],
    categories: &[],
    scope: Scope::Namespaced,
    verbs: ALL_VERBS,
    subresources: &[Subresource {
        name: "status",
        group_version: None,
        kind: "Ingress",
        verbs: &["get", "patch", "update"],
    }],
    schema: "io.k8s.api.networking.v1.Ingress",
    strategy: &crate::networking::Ingress,
    fields: &METADATA,
    columns: &columns::INGRESSES,
};

pub(super) static NETWORK_POLICY: Kind = Kind {
    group: "networking.k8s.io",
    version: "v1",
    kind: "NetworkPolicy",
    plural: "networkpolicies",
    singular: "networkpolicy",
    short_names: &["netpol"],
    categories: &[],
    scope: Scope::Namespaced,
    verbs: ALL_VERBS,
    subresources: &[],
    schema: "io.k8s.api.networking.v1.NetworkPolicy",
    strategy: &crate::networking::NetworkPolicy,
    fields: &METADATA,
    columns: &columns::NETWORK_POLICIES,
};
