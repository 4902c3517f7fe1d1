//! What is served: built-in kinds and those that CustomResourceDefinitions add.

use serde_json::Value;
use std::borrow::Cow;
use std::sync::{Arc, LazyLock};
use stowplan_kinds::columns::Columns;
use stowplan_kinds::{Fields, Kind, Strategy, Subresource, event, table};
use stowplan_machinery::Edit;
use stowplan_machinery::meta::{GroupKind, GroupResource};
use stowplan_schema::{DEDUCED, DecodeError, Decoded, Type};

/// One resource in one version.
#[derive(Clone)]
pub(crate) struct Resource(Definition);

#[derive(Clone)]
enum Definition {
    BuiltIn(&'static BuiltIn),
}

/// A built-in kind, and what is made of its entry when it is first used.
struct BuiltIn {
    kind: &'static Kind,
    ty: &'static Type,
    empty: LazyLock<Value, Box<dyn FnOnce() -> Value + Send + Sync>>,
}

/// All built-in kinds, in the order of the table, and those that only subresources speak.
static BUILT_IN: LazyLock<Vec<BuiltIn>> = LazyLock::new(|| {
    let built_in = |kind: &'static Kind| {
        let ty = stowplan_schema::type_of(kind.schema).unwrap_or(&DEDUCED);
        let empty = move || {
            let empty = stowplan_schema::decode_json(ty, b"{}");
            let mut empty = empty.map(|e| e.object).unwrap_or_default();
            empty.set("apiVersion", kind.api_version());
            empty.set("kind", kind.kind);
            empty
        };
        BuiltIn {
            kind,
            ty,
            empty: LazyLock::new(Box::new(empty)),
        }
    };
    let all = table::KINDS.iter().chain(table::SPOKEN).copied();
    all.map(built_in).collect()
});

macro_rules! fields {
    ($($(#[$doc:meta])* $name:ident: $t:ty = $built_in:expr;)*) => {$(
        $(#[$doc])*
        pub(crate) fn $name(&self) -> $t {
            match &self.0 {
                Definition::BuiltIn(built_in) => ($built_in)(&built_in.kind),
            }
        }
    )*};
}

impl Resource {
    fields! {
        /// Empty for the core group.
        group: &str = |k: &&'static Kind| k.group;
        /// `v1`
        version: &str = |k: &&'static Kind| k.version;
        /// `Deployment`
        kind: &str = |k: &&'static Kind| k.kind;
        /// `deployments`
        plural: &str = |k: &&'static Kind| k.plural;
        /// `deployment`
        singular: &str = |k: &&'static Kind| k.singular;
        /// `deploy`
        short_names: Vec<&str> = |k: &&'static Kind| k.short_names.to_vec();
        /// `all`
        categories: Vec<&str> = |k: &&'static Kind| k.categories.to_vec();
        /// What may be asked of the resource itself, in discovery's order.
        verbs: Vec<&str> = |k: &&'static Kind| k.verbs.to_vec();
        /// What hangs below an object.
        subresources: &[Subresource] = |k: &&'static Kind| k.subresources;
        /// `apps/v1`
        api_version: String = |k: &&'static Kind| k.api_version();
        /// `deployments.apps`
        group_resource: GroupResource = |k: &&'static Kind| k.group_resource();
        /// `Deployment.apps`
        group_kind: GroupKind = |k: &&'static Kind| k.group_kind();
        /// Whether its objects live in namespaces.
        namespaced: bool = |k: &&'static Kind| k.namespaced();
        /// The behaviour of the kind.
        strategy: &dyn Strategy = |k: &&'static Kind| k.strategy;
        /// The kind in the table, unless it is a custom resource.
        built_in: Option<&'static Kind> = |k: &&'static Kind| Some(*k);
        /// What a field selector may ask for.
        selectable: &Fields = |k: &&'static Kind| k.fields;
        /// How `kubectl get` shows it.
        columns: &Columns = |k: &&'static Kind| k.columns;
        /// Whether a CustomResourceDefinition made it.
        is_custom: bool = |_: &&'static Kind| false;
    }

    /// What clients are told because they should use something else. Upstream: the lifecycle of the
    /// type (`zz_generated.prerelease-lifecycle.go`).
    pub(crate) fn deprecation(&self) -> Option<&'static str> {
        let endpoints = self.group().is_empty() && self.plural() == "endpoints";
        endpoints.then_some(
            "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice",
        )
    }

    /// The type of its objects.
    pub(crate) fn ty(&self) -> &Type {
        match &self.0 {
            Definition::BuiltIn(built_in) => built_in.ty,
        }
    }

    /// An object with nothing in it, in canonical form.
    pub(crate) fn empty(&self) -> &Value {
        match &self.0 {
            Definition::BuiltIn(built_in) => &built_in.empty,
        }
    }

    /// Whether objects are kept in another form than clients see.
    pub(crate) fn converts(&self) -> bool {
        self.group() == "events.k8s.io"
    }

    /// The kind that refusals name: that of the form in which objects are kept.
    pub(crate) fn internal_kind(&self) -> GroupKind {
        match self.converts() {
            true => GroupKind::new("", self.kind()),
            false => self.group_kind(),
        }
    }

    /// A stored object as clients of this resource see it.
    pub(crate) fn view(&self, object: Arc<Value>) -> Arc<Value> {
        match self.converts() {
            true => Arc::new(event::from_core(&object)),
            false => object,
        }
    }

    /// An object as it is stored.
    pub(crate) fn stored<'a>(&self, object: &'a Value) -> Cow<'a, Value> {
        match self.converts() {
            true => Cow::Owned(event::to_core(object)),
            false => Cow::Borrowed(object),
        }
    }

    /// Gives an object the form that it has after upstream stored it.
    pub(crate) fn settle(&self, object: &mut Value) {
        match &self.0 {
            Definition::BuiltIn(built_in) => {
                let kind = [object.unset("apiVersion"), object.unset("kind")];
                stowplan_schema::to_stored_form(built_in.ty, object);
                for (field, value) in ["apiVersion", "kind"].into_iter().zip(kind) {
                    object.set(field, value.unwrap_or_default());
                }
            }
        }
    }

    /// Reads an object of the kind from protobuf; custom resources have none.
    pub(crate) fn decode_protobuf(&self, message: &[u8]) -> Result<Value, DecodeError> {
        match &self.0 {
            Definition::BuiltIn(built_in) => {
                stowplan_schema::protobuf::decode(built_in.ty, message)
            }
        }
    }

    /// Reads an object of the kind.
    pub(crate) fn decode(&self, json: &[u8]) -> Result<Decoded, DecodeError> {
        match &self.0 {
            Definition::BuiltIn(built_in) => stowplan_schema::decode_json(built_in.ty, json),
        }
    }

    /// Makes an object of what came out of a merge.
    pub(crate) fn of_merged(&self, merged: Value) -> Result<Decoded, DecodeError> {
        match &self.0 {
            Definition::BuiltIn(built_in) => {
                stowplan_schema::from_unstructured(built_in.ty, merged)
            }
        }
    }

    /// Whether it is this one.
    pub(crate) fn is(&self, group: &str, plural: &str) -> bool {
        self.group() == group && self.plural() == plural
    }

    /// Whether its objects are namespaces.
    pub(crate) fn is_namespace(&self) -> bool {
        self.is("", "namespaces")
    }

    /// What is said of a field that cannot be selected by.
    pub(crate) fn refuse_field(&self, label: &str) -> String {
        self.selectable().refusal.message(label)
    }

    /// The internal Go type, which some messages show: `core.Pod`.
    pub(crate) fn go_type(&self) -> String {
        if self.is_custom() {
            return "unstructured.Unstructured".to_owned();
        }
        let package = match self.group() {
            "" => "core",
            "rbac.authorization.k8s.io" => "rbac",
            group => group.split('.').next().unwrap_or(group),
        };
        format!("{package}.{}", self.kind())
    }

    /// Whether the resource itself can be asked to do this.
    pub(crate) fn has_verb(&self, verb: &str) -> bool {
        match &self.0 {
            Definition::BuiltIn(built_in) => built_in.kind.verbs.contains(&verb),
        }
    }

    /// Whether an object that is being deleted goes with its last finalizer. Namespaces have a second
    /// list of them.
    pub(crate) fn deletes_when_finalized(&self, object: &Value) -> bool {
        use stowplan_machinery::View;
        !self.is_namespace() || object.at("spec").list("finalizers").is_empty()
    }

    /// The kind that a subresource speaks, unless it is that of the resource itself.
    pub(crate) fn spoken(&self, below: &Subresource) -> Option<Self> {
        let (group, version) = below
            .group_version
            .unwrap_or_else(|| (self.group(), self.version()));
        if below.kind == self.kind() {
            return None;
        }
        let fits = |b: &&BuiltIn| {
            b.kind.group == group && b.kind.version == version && b.kind.kind == below.kind
        };
        let found = BUILT_IN.iter().find(fits)?;
        Some(Self(Definition::BuiltIn(found)))
    }

    /// What hangs below an object.
    pub(crate) fn subresource(&self, name: &str) -> Option<&'static Subresource> {
        match &self.0 {
            Definition::BuiltIn(built_in) => built_in.kind.subresource(name),
        }
    }
}

/// All resources of the moment.
#[derive(Clone, Default)]
pub(crate) struct Resources {
    custom: Arc<Vec<Resource>>,
}

impl Resources {
    /// The resource that a URL names.
    pub(crate) fn find(&self, group: &str, version: &str, plural: &str) -> Option<Resource> {
        let found = |b: &&BuiltIn| {
            b.kind.group == group && b.kind.version == version && b.kind.plural == plural
        };
        if let Some(kind) = BUILT_IN.iter().find(found) {
            return Some(Resource(Definition::BuiltIn(kind)));
        }
        let found =
            |r: &&Resource| r.group() == group && r.version() == version && r.plural() == plural;
        self.custom.iter().find(found).cloned()
    }

    /// The resource of a group, in whatever version.
    pub(crate) fn by_group(&self, group: &str, plural: &str) -> Option<Resource> {
        let found = |b: &&BuiltIn| b.kind.group == group && b.kind.plural == plural;
        if let Some(kind) = BUILT_IN.iter().find(found) {
            return Some(Resource(Definition::BuiltIn(kind)));
        }
        let found = |r: &&Resource| r.group() == group && r.plural() == plural;
        self.custom.iter().find(found).cloned()
    }

    /// All resources.
    pub(crate) fn all(&self) -> impl Iterator<Item = Resource> {
        let built_in = BUILT_IN.iter().map(|b| Resource(Definition::BuiltIn(b)));
        built_in.chain(self.custom.iter().cloned())
    }

    /// Whether kinds of that group are built in.
    pub(crate) fn is_built_in(&self, group: &str) -> bool {
        table::KINDS.iter().any(|k| k.group == group)
    }

    /// Whether anything of that group, or of that group and version, is served.
    pub(crate) fn serves(&self, group: &str, version: Option<&str>) -> bool {
        let fits = |g: &str, v: &str| g == group && version.is_none_or(|version| v == version);
        table::KINDS.iter().any(|k| fits(k.group, k.version))
            || self.custom.iter().any(|r| fits(r.group(), r.version()))
    }
}
