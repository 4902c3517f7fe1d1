//! Requests and clusters for tests.

use crate::{Attributes, Operation, Outcome};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;
use stowplan_apimachinery::lookup::Lookup;
use stowplan_apimachinery::meta::{self, GroupKind, GroupResource};
use stowplan_apimachinery::{Status, View};
use stowplan_kinds::table::KINDS;

/// Some objects.
pub(crate) struct Cluster(BTreeMap<[String; 4], Arc<Value>>);

/// These objects, and a namespace `ns`. An object in a namespace says so; its kind is enough.
pub(crate) fn cluster<const N: usize>(objects: [Value; N]) -> Cluster {
    let mut all = Cluster(BTreeMap::new());
    all.put(json!({"kind": "Namespace", "metadata": {"name": "ns"}}));
    for object in objects {
        all.put(object);
    }
    all
}

impl Cluster {
    pub(crate) fn put(&mut self, object: Value) {
        let kind = KINDS.iter().find(|k| k.kind == object.text("kind"));
        let kind = kind.expect("a known kind");
        let (namespace, name) = (meta::namespace(&object), meta::name(&object));
        let key = [kind.group, kind.plural, namespace, name].map(str::to_owned);
        self.0.insert(key, Arc::new(object));
    }
}

impl Lookup for Cluster {
    fn get(&self, group: &str, resource: &str, namespace: &str, name: &str) -> Option<Arc<Value>> {
        let key = [group, resource, namespace, name].map(str::to_owned);
        self.0.get(&key).cloned()
    }

    fn list(&self, group: &str, resource: &str, namespace: &str) -> Vec<Arc<Value>> {
        let of = |key: &&[String; 4]| {
            key[0] == group && key[1] == resource && (namespace.is_empty() || key[2] == namespace)
        };
        let matching = self.0.iter().filter(|(key, _)| of(key));
        matching.map(|(_, object)| object.clone()).collect()
    }
}

/// One request.
pub(crate) struct Case {
    operation: Operation,
    resource: GroupResource,
    subresource: &'static str,
    namespace: String,
    name: String,
    object: Option<Value>,
    old: Option<Value>,
    dry_run: bool,
}

impl Case {
    fn new(operation: Operation, group: &str, resource: &str) -> Self {
        let kind = KINDS
            .iter()
            .find(|k| k.group == group && k.plural == resource);
        let namespaced = kind.is_none_or(|k| k.namespaced());
        Self {
            operation,
            resource: GroupResource::new(group, resource),
            subresource: "",
            namespace: if namespaced { "ns" } else { "" }.to_owned(),
            name: String::new(),
            object: None,
            old: None,
            dry_run: false,
        }
    }

    pub(crate) fn create(group: &str, resource: &str, object: Value) -> Self {
        let mut case = Self::new(Operation::Create, group, resource);
        case.name = meta::name(&object).to_owned();
        case.object = Some(object);
        case
    }

    pub(crate) fn update(group: &str, resource: &str, old: Value, new: Value) -> Self {
        let mut case = Self::create(group, resource, new);
        case.operation = Operation::Update;
        case.old = Some(old);
        case
    }

    pub(crate) fn delete(group: &str, resource: &str, name: &str) -> Self {
        let mut case = Self::new(Operation::Delete, group, resource);
        case.name = name.to_owned();
        case
    }

    pub(crate) fn pod(spec: Value) -> Self {
        Self::create("", "pods", json!({"metadata": {"name": "p"}, "spec": spec}))
    }

    pub(crate) fn in_namespace(mut self, namespace: &str) -> Self {
        self.namespace = namespace.to_owned();
        self
    }

    pub(crate) fn subresource(mut self, name: &'static str) -> Self {
        self.subresource = name;
        self
    }

    pub(crate) fn dry_run(mut self) -> Self {
        self.dry_run = true;
        self
    }

    fn run<T>(&mut self, ask: impl FnOnce(&mut Attributes<'_>) -> T) -> T {
        let kinds = KINDS.iter();
        let mut of_resource = kinds.filter(|k| k.group_resource() == self.resource);
        let kind = match self.subresource {
            "binding" => GroupKind::new("", "Binding"),
            _ => of_resource.next().expect("a known resource").group_kind(),
        };
        ask(&mut Attributes {
            operation: self.operation,
            kind: &kind,
            resource: &self.resource,
            subresource: self.subresource,
            namespace: &self.namespace,
            name: &self.name,
            object: self.object.as_mut(),
            old_object: self.old.as_ref(),
            user: "admin",
            dry_run: self.dry_run,
            now: "2026-01-02T03:04:05Z",
            suffix: &|| "abcde".to_owned(),
        })
    }

    /// The object after the mutating phase.
    pub(crate) fn admit(mut self, cluster: &Cluster) -> Result<Value, Status> {
        self.run(|request| crate::admit(request, cluster))?;
        Ok(self.object.unwrap_or_default())
    }

    /// The outcome of the validating phase.
    pub(crate) fn validate(mut self, cluster: &Cluster) -> Result<Outcome, Status> {
        self.run(|request| crate::validate(request, cluster, crate::Quotas::AsTold))
    }

    /// The object after one plugin.
    pub(crate) fn after(mut self, plugin: impl FnOnce(&mut Attributes<'_>)) -> Value {
        self.run(plugin);
        self.object.unwrap_or_default()
    }

    /// What one plugin answers.
    pub(crate) fn ask<T>(mut self, plugin: impl FnOnce(&mut Attributes<'_>) -> T) -> T {
        self.run(plugin)
    }
}
