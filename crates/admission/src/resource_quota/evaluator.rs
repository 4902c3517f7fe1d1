//! Who counts what.

use super::{claims, pods, scopes};
use crate::{Attributes, Operation};
use serde_json::Value;
use std::collections::BTreeSet;
use stowplan_apimachinery::View;
use stowplan_apimachinery::lookup::Lookup;
use stowplan_apimachinery::meta::GroupResource;
use stowplan_apimachinery::quantity::Quantity;
use stowplan_apimachinery::resources::ResourceList;

/// Counts the objects of one resource.
pub(super) struct Evaluator<'a> {
    kind: Kind,
    /// `count/deployments.apps`
    count_name: String,
    /// An older name of the same count.
    alias: Option<&'a str>,
    resource: &'a GroupResource,
    cluster: &'a dyn Lookup,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Pods,
    Services,
    VolumeClaims,
    ResourceClaims,
    /// Counts objects, and nothing about them.
    Objects,
}

impl<'a> Evaluator<'a> {
    /// The one for a resource.
    pub(super) fn of(resource: &'a GroupResource, cluster: &'a dyn Lookup) -> Self {
        let name = resource.resource.as_str();
        let (kind, alias) = match (resource.group.as_str(), name) {
            ("", "pods") => (Kind::Pods, None),
            ("", "services") => (Kind::Services, None),
            ("", "persistentvolumeclaims") => (Kind::VolumeClaims, None),
            ("resource.k8s.io", "resourceclaims") => (Kind::ResourceClaims, None),
            ("", "configmaps" | "resourcequotas" | "replicationcontrollers" | "secrets") => {
                (Kind::Objects, Some(name))
            }
            _ => (Kind::Objects, None),
        };
        Self {
            kind,
            count_name: format!("count/{resource}"),
            alias,
            resource,
            cluster,
        }
    }

    pub(super) fn cluster(&self) -> &'a dyn Lookup {
        self.cluster
    }

    /// Another resource that uses some of the same: extended resources are asked for by pods and by
    /// claims.
    pub(super) fn kin(&self) -> Option<GroupResource> {
        match self.kind {
            Kind::Pods => Some(GroupResource::new("resource.k8s.io", "resourceclaims")),
            Kind::ResourceClaims => Some(GroupResource::new("", "pods")),
            _ => None,
        }
    }

    /// What all objects that a quota is about use of what is named so.
    pub(super) fn usage_of_all(
        &self,
        quota: &Value,
        request: &Attributes<'_>,
        named: impl Fn(&str) -> bool,
    ) -> ResourceList {
        let GroupResource { group, resource } = self.resource;
        let mut all = ResourceList::default();
        if self.kind == Kind::Objects {
            // What they are does not matter.
            if self.matches(quota, &Value::Null) {
                let count = self.cluster.count(group, resource, request.namespace);
                let count = i64::try_from(count).unwrap_or(i64::MAX);
                for name in self.names().filter(|name| named(name)) {
                    all.put(name, Quantity::units(count));
                }
            }
            return all;
        }
        let mut add = |object: &Value| {
            if self.matches(quota, object) {
                let mut usage = self.usage(object, request);
                usage.retain(|name, _| named(name));
                all.add(&usage);
            }
        };
        let namespace = request.namespace;
        self.cluster.each(group, resource, namespace, &mut add);
        all
    }

    /// The names of what every object counts for.
    fn names(&self) -> impl Iterator<Item = &str> {
        std::iter::once(self.count_name.as_str()).chain(self.alias)
    }

    /// Whether the request can change what is counted.
    pub(super) fn handles(&self, request: &Attributes<'_>) -> bool {
        let creates = request.operation == Operation::Create;
        match (self.kind, request.subresource) {
            (Kind::Pods, "") => creates || pods::changes_scope(request),
            (Kind::Pods, "resize") => !creates,
            (Kind::VolumeClaims, "" | "status") => true,
            (Kind::Services | Kind::ResourceClaims, "") => true,
            (Kind::Objects, "") => creates,
            _ => false,
        }
    }

    /// Whether this is the name of something that is counted here.
    pub(super) fn counts(&self, name: &str) -> bool {
        if name == self.count_name || Some(name) == self.alias {
            return true;
        }
        match self.kind {
            Kind::Pods => pods::counts(name),
            Kind::Services => {
                matches!(
                    name,
                    "services" | "services.nodeports" | "services.loadbalancers"
                )
            }
            Kind::VolumeClaims => claims::counts_volume(name),
            Kind::ResourceClaims => claims::counts_devices(name, self.cluster),
            Kind::Objects => false,
        }
    }

    /// Whether the quota is about such objects, and about this one.
    pub(super) fn matches(&self, quota: &Value, object: &Value) -> bool {
        let mut hard = quota.at("status").entries("hard");
        hard.any(|(name, _)| self.counts(name))
            && scopes::of(quota).all(|scope| match self.kind {
                Kind::Pods => scopes::pod_matches(&scope, object),
                Kind::VolumeClaims => scopes::claim_matches(&scope, object),
                _ => false,
            })
    }

    /// What the object has to say where a quota counts these resources.
    pub(super) fn constraints(
        &self,
        restricted: &BTreeSet<&str>,
        object: &Value,
    ) -> Result<(), String> {
        match self.kind {
            Kind::Pods => pods::constraints(restricted, object),
            _ => Ok(()),
        }
    }

    /// What the object uses.
    pub(super) fn usage(&self, object: &Value, request: &Attributes<'_>) -> ResourceList {
        let mut usage = match self.kind {
            Kind::Pods => pods::usage(object, request.now),
            Kind::Services => service_usage(object),
            Kind::VolumeClaims => claims::volume_usage(object),
            Kind::ResourceClaims => claims::device_usage(object, request, self.cluster),
            Kind::Objects => ResourceList::default(),
        };
        for name in self.names() {
            usage.put(name, Quantity::units(1));
        }
        usage
    }
}

/// Node ports are not allocated yet, so what counts is how many there will be.
fn service_usage(service: &Value) -> ResourceList {
    let spec = service.at("spec");
    let ports = spec.list("ports");
    let kind = spec.text("type");
    let chosen = ports
        .iter()
        .filter(|port| port.int("nodePort").unwrap_or_default() != 0);
    let node_ports = match kind {
        "NodePort" => ports.len(),
        "LoadBalancer" if spec.at("allocateLoadBalancerNodePorts").as_bool() == Some(false) => {
            chosen.count()
        }
        "LoadBalancer" => ports.len(),
        _ => 0,
    };
    let count = |n: usize| Quantity::units(i64::try_from(n).unwrap_or(i64::MAX));
    let mut usage = ResourceList::default();
    usage.put("services", Quantity::units(1));
    usage.put("services.nodeports", count(node_ports));
    usage.put(
        "services.loadbalancers",
        count(usize::from(kind == "LoadBalancer")),
    );
    usage
}
