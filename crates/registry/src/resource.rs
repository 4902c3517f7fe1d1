//! Kinds of objects as resources: built-in ones and those that CustomResourceDefinitions add.

use crate::custom::{self, Custom};
use serde_json::Value;
use std::borrow::Cow;
use std::sync::{Arc, LazyLock};
use stowplan_apimachinery::meta::{GroupKind, GroupResource};
use stowplan_apimachinery::{Edit, View};
use stowplan_kinds::columns::{Column, Read};
use stowplan_kinds::{Conversion, Kind, Strategy, Subresource, table};
use stowplan_schema::{DEDUCED, DecodeError, Decoded, Type};

/// One resource in one version.
#[derive(Clone)]
pub struct Resource(Definition);

#[derive(Clone)]
enum Definition {
    BuiltIn(&'static BuiltIn),
    Custom(Custom),
}

/// A built-in kind, and what is made of its entry when it is first used.
pub struct BuiltIn {
    kind: &'static Kind,
    strategy: &'static dyn Strategy,
    ty: &'static Type,
    /// How objects are kept, unless as they are.
    conversion: Option<&'static Conversion>,
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
            // Definitions have their rules where those of their objects are.
            strategy: match kind.kind {
                "CustomResourceDefinition" => &stowplan_crd::Definitions,
                _ => kind.strategy,
            },
            ty,
            conversion: table::CONVERSIONS
                .iter()
                .find(|c| is_same(c.kind, kind))
                .copied(),
            empty: LazyLock::new(Box::new(empty)),
        }
    };
    let all = table::KINDS.iter().chain(table::SPOKEN).copied();
    all.map(built_in).collect()
});

fn is_same(one: &Kind, other: &Kind) -> bool {
    let name = |k: &Kind| (k.group, k.version, k.kind);
    name(one) == name(other)
}

impl BuiltIn {
    /// The kind as which objects are kept.
    fn kept_as(&self) -> &'static Kind {
        self.conversion.map_or(self.kind, |c| c.stored)
    }

    /// The type of its objects.
    pub fn ty(&self) -> &'static Type {
        self.ty
    }

    /// An object as it is kept.
    pub fn stored<'a>(&self, object: &'a Value) -> Cow<'a, Value> {
        match self.conversion {
            Some(conversion) => Cow::Owned((conversion.forms.to_stored)(object)),
            None => Cow::Borrowed(object),
        }
    }

    /// An object that is kept, as clients see it.
    pub fn shown<'a>(&self, stored: Cow<'a, Value>) -> Cow<'a, Value> {
        match self.conversion {
            Some(conversion) => Cow::Owned((conversion.forms.from_stored)(&stored)),
            None => stored,
        }
    }
}

macro_rules! fields {
    ($($(#[$doc:meta])* $name:ident: $t:ty = $k:ident => $built_in:expr, $c:ident => $custom:expr;)*) => {$(
        $(#[$doc])*
        pub fn $name(&self) -> $t {
            match &self.0 {
                Definition::BuiltIn(built_in) => {
                    let $k = built_in.kind;
                    $built_in
                }
                Definition::Custom($c) => $custom,
            }
        }
    )*};
}

fn texts(list: &[String]) -> Vec<&str> {
    list.iter().map(String::as_str).collect()
}

impl Resource {
    /// The built-in resource that a URL names, in whatever version if none is given.
    pub fn by_plural(group: &str, version: Option<&str>, plural: &str) -> Option<Self> {
        let found = |b: &&'static BuiltIn| {
            let kind = b.kind;
            kind.group == group
                && kind.plural == plural
                && version.is_none_or(|version| kind.version == version)
        };
        let found = built_in().find(found)?;
        Some(Self(Definition::BuiltIn(found)))
    }

    /// The built-in resource whose objects say that they are of this kind.
    pub fn by_kind(api_version: &str, kind: &str) -> Option<Self> {
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        let found = |b: &&'static BuiltIn| {
            b.kind.kind == kind && b.kind.group == group && b.kind.version == version
        };
        let found = built_in().find(found)?;
        Some(Self(Definition::BuiltIn(found)))
    }

    /// A custom resource.
    pub fn of_custom(custom: Custom) -> Self {
        Self(Definition::Custom(custom))
    }

    fields! {
        /// Empty for the core group.
        group: &str = k => k.group, c => &c.definition.group;
        /// `v1`
        version: &str = k => k.version, c => &c.version.name;
        /// `Deployment`
        kind: &str = k => k.kind, c => &c.definition.kind;
        /// `DeploymentList`
        list_kind: String = k => format!("{}List", k.kind), c => c.definition.list_kind.clone();
        /// `deployments`
        plural: &str = k => k.plural, c => &c.definition.plural;
        /// `deployment`
        singular: &str = k => k.singular, c => &c.definition.singular;
        /// `deploy`
        short_names: Vec<&str> = k => k.short_names.to_vec(), c => texts(&c.definition.short_names);
        /// `all`
        categories: Vec<&str> = k => k.categories.to_vec(), c => texts(&c.definition.categories);
        /// What may be asked of the resource itself, in discovery's order.
        verbs: Vec<&str> = k => k.verbs.to_vec(), _c => custom::VERBS.to_vec();
        /// What hangs below an object.
        subresources: &[Subresource] = k => k.subresources, c => c.subresources();
        /// `apps/v1`
        api_version: String = k => k.api_version(), c => c.version.api_version.clone();
        /// Whether its objects live in namespaces.
        namespaced: bool = k => k.namespaced(), c => c.definition.namespaced;
    }

    /// The behaviour of the kind.
    pub fn strategy(&self) -> &dyn Strategy {
        match &self.0 {
            Definition::BuiltIn(built_in) => built_in.strategy,
            Definition::Custom(custom) => custom.strategy(""),
        }
    }

    /// `deployments.apps`
    pub fn group_resource(&self) -> GroupResource {
        GroupResource::new(self.group(), self.plural())
    }

    /// `Deployment.apps`
    pub fn group_kind(&self) -> GroupKind {
        GroupKind::new(self.group(), self.kind())
    }

    /// The custom resource, if a CustomResourceDefinition made it.
    pub fn custom(&self) -> Option<&Custom> {
        match &self.0 {
            Definition::BuiltIn(_) => None,
            Definition::Custom(custom) => Some(custom),
        }
    }

    /// Whether a CustomResourceDefinition made it.
    pub fn is_custom(&self) -> bool {
        self.custom().is_some()
    }

    /// Whether a field selector may ask for a field.
    pub fn selects_by(&self, label: &str) -> bool {
        match &self.0 {
            Definition::BuiltIn(built_in) => built_in.kind.fields.known.contains(&label),
            Definition::Custom(custom) => custom.version.selects_by(label),
        }
    }

    /// The value of a field that a selector may ask for.
    pub fn selected(&self, object: &Value, label: &str) -> String {
        match &self.0 {
            Definition::BuiltIn(built_in) => (built_in.kind.fields.value)(object, label),
            Definition::Custom(custom) => custom.version.selected(object, label),
        }
    }

    /// What is said of a field that cannot be selected by.
    pub fn refuse_field(&self, label: &str) -> String {
        match &self.0 {
            Definition::BuiltIn(built_in) => built_in.kind.fields.refusal.message(label),
            Definition::Custom(_) => format!("field label not supported: {label}"),
        }
    }

    /// How `kubectl get` shows it.
    pub fn columns(&self) -> Value {
        match &self.0 {
            Definition::BuiltIn(built_in) => {
                let definitions = built_in.kind.columns.definitions().iter();
                definitions.map(Column::to_json).collect()
            }
            Definition::Custom(custom) => custom.version.column_definitions().into(),
        }
    }

    /// What of an object [`Self::row`] looks at; nothing said is all of it.
    pub fn row_reads(&self) -> &'static [Read] {
        match &self.0 {
            Definition::BuiltIn(built_in) => built_in.kind.columns.reads,
            Definition::Custom(_) => &[],
        }
    }

    /// The cells of an object, one per column, and the conditions of its row.
    pub fn row(&self, object: &Value, now_s: i64) -> (Vec<Value>, Option<Value>) {
        match &self.0 {
            Definition::BuiltIn(built_in) => {
                let columns = built_in.kind.columns;
                ((columns.row)(object, now_s), (columns.conditions)(object))
            }
            Definition::Custom(custom) => (custom.version.row(object, now_s), None),
        }
    }

    /// What clients are told because they should use something else. Upstream: the lifecycle of the
    /// type (`zz_generated.prerelease-lifecycle.go`).
    pub fn deprecation(&self) -> Option<&'static str> {
        let endpoints = self.group().is_empty() && self.plural() == "endpoints";
        endpoints.then_some(
            "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice",
        )
    }

    /// The type of its objects.
    pub fn ty(&self) -> &Type {
        match &self.0 {
            Definition::BuiltIn(built_in) => built_in.ty,
            Definition::Custom(custom) => &custom.version.ty,
        }
    }

    /// An object with nothing in it, in canonical form.
    pub fn empty(&self) -> &Value {
        match &self.0 {
            Definition::BuiltIn(built_in) => &built_in.empty,
            Definition::Custom(custom) => &custom.version.empty,
        }
    }

    /// Whether objects are kept in another form than clients see.
    pub fn converts(&self) -> bool {
        self.is_custom() || self.conversion().is_some()
    }

    fn conversion(&self) -> Option<&'static Conversion> {
        match &self.0 {
            Definition::BuiltIn(built_in) => built_in.conversion,
            Definition::Custom(_) => None,
        }
    }

    /// The resource whose rules its objects are judged by, in its form, where that is not itself.
    pub fn judge(&self) -> Option<Self> {
        let judged = self.conversion().filter(|c| c.judged_as_stored)?;
        let found = BUILT_IN.iter().find(|b| is_same(b.kind, judged.stored))?;
        Some(Self(Definition::BuiltIn(found)))
    }

    /// The same kind in another group or version.
    pub fn in_version(&self, api_version: &str) -> Option<&'static BuiltIn> {
        let Definition::BuiltIn(own) = &self.0 else {
            return None;
        };
        BUILT_IN
            .iter()
            .find(|b| is_same(b.kept_as(), own.kept_as()) && b.kind.api_version() == api_version)
    }

    /// The version in which objects are kept, as discovery names it.
    pub fn storage_version(&self) -> String {
        let (group, version) = match &self.0 {
            Definition::BuiltIn(built_in) => {
                let kept = built_in.kept_as();
                (kept.group, kept.version)
            }
            Definition::Custom(_) => (self.group(), self.version()),
        };
        format!("{group}/{version}/{}", self.kind())
    }

    /// Whether its metadata alone is not what the object has: see `stowplan_kinds::metadata_alone`.
    pub fn metadata_alone_differs(&self) -> bool {
        self.group() == "apps" && matches!(self.kind(), "DaemonSet" | "Deployment")
    }

    /// The kind that refusals name: the one that is kept.
    pub fn internal_kind(&self) -> GroupKind {
        match self.conversion() {
            Some(conversion) => conversion.stored.group_kind(),
            None => self.group_kind(),
        }
    }

    /// A stored object as clients of this resource see it.
    pub fn view(&self, object: Arc<Value>) -> Arc<Value> {
        match &self.0 {
            Definition::Custom(custom) => Arc::new(custom.view(Value::clone(&object))),
            Definition::BuiltIn(built_in) => match built_in.conversion {
                Some(_) => Arc::new(built_in.shown(Cow::Borrowed(&object)).into_owned()),
                None => object,
            },
        }
    }

    /// An object as it is stored.
    pub fn stored<'a>(&self, object: &'a Value) -> Cow<'a, Value> {
        match &self.0 {
            Definition::Custom(custom) => Cow::Owned(custom.definition.to_stored(object.clone())),
            Definition::BuiltIn(built_in) => built_in.stored(object),
        }
    }

    /// Gives an object the form that it has after upstream stored it.
    pub fn settle(&self, object: &mut Value) {
        match &self.0 {
            Definition::BuiltIn(built_in) => {
                let kind = [object.unset("apiVersion"), object.unset("kind")];
                stowplan_schema::to_stored_form(built_in.ty, object);
                for (field, value) in ["apiVersion", "kind"].into_iter().zip(kind) {
                    object.set(field, value.unwrap_or_default());
                }
            }
            Definition::Custom(custom) => {
                let stored = custom.definition.to_stored(object.take());
                *object = custom.view(stored);
            }
        }
    }

    /// Reads an object of the kind from protobuf; custom resources have none.
    pub fn decode_protobuf(&self, message: &[u8]) -> Result<Value, DecodeError> {
        match &self.0 {
            Definition::BuiltIn(built_in) => {
                stowplan_schema::protobuf::decode(built_in.ty, message)
            }
            Definition::Custom(_) => Err(DecodeError::text("custom resources have no protobuf")),
        }
    }

    /// Reads an object of the kind.
    pub fn decode(&self, json: &[u8]) -> Result<Decoded, DecodeError> {
        match &self.0 {
            Definition::BuiltIn(built_in) => stowplan_schema::decode_json(built_in.ty, json),
            Definition::Custom(custom) => custom.decode(json),
        }
    }

    /// Makes an object of what came out of a merge.
    pub fn of_merged(&self, merged: Value) -> Result<Decoded, DecodeError> {
        match &self.0 {
            Definition::BuiltIn(built_in) => {
                stowplan_schema::from_unstructured(built_in.ty, merged)
            }
            Definition::Custom(custom) => custom.version.of_merged(merged),
        }
    }

    /// Whether it is this one.
    pub fn is(&self, group: &str, plural: &str) -> bool {
        self.group() == group && self.plural() == plural
    }

    /// Whether its objects are namespaces.
    pub fn is_namespace(&self) -> bool {
        self.is("", "namespaces")
    }

    /// The internal Go type, which some messages show: `core.Pod`.
    pub fn go_type(&self) -> String {
        if self.is_custom() {
            return "unstructured.Unstructured".to_owned();
        }
        let package = match self.group() {
            // Events of both groups are kept as one.
            "" | "events.k8s.io" => "core",
            "rbac.authorization.k8s.io" => "rbac",
            group => group.split('.').next().unwrap_or(group),
        };
        format!("{package}.{}", self.kind())
    }

    /// Whether the resource itself can be asked to do this.
    pub fn has_verb(&self, verb: &str) -> bool {
        match &self.0 {
            Definition::BuiltIn(built_in) => built_in.kind.verbs.contains(&verb),
            Definition::Custom(_) => custom::VERBS.contains(&verb),
        }
    }

    /// Whether an object that is being deleted goes with its last finalizer. Namespaces have a second
    /// list of them.
    pub fn deletes_when_finalized(&self, object: &Value) -> bool {
        !self.is_namespace() || object.at("spec").list("finalizers").is_empty()
    }

    /// The kind that a subresource speaks, unless it is that of the resource itself.
    pub fn spoken(&self, below: &Subresource) -> Option<Self> {
        let (group, version) = below
            .group_version
            .unwrap_or_else(|| (self.group(), self.version()));
        if below.kind.is_empty() || below.kind == self.kind() {
            return None;
        }
        let fits = |b: &&BuiltIn| {
            b.kind.group == group && b.kind.version == version && b.kind.kind == below.kind
        };
        let found = BUILT_IN.iter().find(fits)?;
        Some(Self(Definition::BuiltIn(found)))
    }

    /// What hangs below an object.
    pub fn subresource(&self, name: &str) -> Option<&'static Subresource> {
        match &self.0 {
            Definition::BuiltIn(built_in) => built_in.kind.subresource(name),
            Definition::Custom(custom) => custom.subresources().iter().find(|s| s.name == name),
        }
    }
}

/// Built-in kinds that have a path of their own: others are only spoken below them.
fn built_in() -> impl Iterator<Item = &'static BuiltIn> {
    BUILT_IN.iter().filter(|b| !b.kind.verbs.is_empty())
}

/// All built-in resources that have a path of their own.
pub fn served() -> impl Iterator<Item = Resource> {
    built_in().map(|b| Resource(Definition::BuiltIn(b)))
}
