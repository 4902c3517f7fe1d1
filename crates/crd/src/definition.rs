//! What a CustomResourceDefinition comes to.

use crate::columns::{self, Column};
use crate::json_path::JsonPath;
use crate::scale::Scale;
use crate::strategy::Rules;
use crate::types;
use serde_json::{Value, json};
use std::sync::Arc;
use stowplan_apimachinery::{View, meta};
use stowplan_schema::Type;

/// A definition, read.
pub struct Definition {
    /// `example.com`
    pub group: String,
    /// `Widget`
    pub kind: String,
    /// `WidgetList`
    pub list_kind: String,
    /// `widgets`
    pub plural: String,
    /// `widget`
    pub singular: String,
    /// `wd`
    pub short_names: Vec<String>,
    /// `all`
    pub categories: Vec<String>,
    /// Whether objects live in namespaces.
    pub namespaced: bool,
    /// The version in which objects are kept.
    pub stored_version: String,
    /// Whether the definition is being deleted.
    pub terminating: bool,
    /// All versions, also those that are not served.
    pub versions: Vec<Arc<Version>>,
}

/// One version of a custom resource.
pub struct Version {
    /// `v1`
    pub name: String,
    /// `example.com/v1`
    pub api_version: String,
    /// Whether clients may use it.
    pub served: bool,
    /// What clients are told because they should use another version.
    pub deprecation: Option<String>,
    /// The type of its objects, for server-side apply.
    pub ty: Type,
    /// An object with nothing in it.
    pub empty: Value,
    /// Columns beside the name.
    pub columns: Vec<Column>,
    /// The `scale` subresource, if there is one.
    pub scale: Option<Scale>,
    /// Whether there is a `status` subresource.
    pub has_status: bool,
    /// The rules of its objects.
    pub rules: Rules,
    /// The rules of their status.
    pub status_rules: Rules,
    pub(crate) schema: Value,
    selectable: Vec<(String, JsonPath)>,
    namespaced: bool,
}

fn texts(list: &[Value]) -> Vec<String> {
    let texts = list.iter().filter_map(Value::as_str);
    texts.map(str::to_owned).collect()
}

impl Definition {
    /// Reads a definition that has been accepted. Its names are those that it was granted.
    pub fn new(object: &Value) -> Self {
        let (spec, status) = (object.at("spec"), object.at("status"));
        let names = status.at("acceptedNames");
        let versions = spec.list("versions").iter();
        let stored = versions.clone().find(|v| v.flag("storage"));
        let conditions = status.list("conditions").iter();
        let mut terminating = conditions.filter(|c| c.text("type") == "Terminating");
        let mut new = Self {
            group: spec.text("group").to_owned(),
            kind: names.text("kind").to_owned(),
            list_kind: names.text("listKind").to_owned(),
            plural: names.text("plural").to_owned(),
            singular: names.text("singular").to_owned(),
            short_names: texts(names.list("shortNames")),
            categories: texts(names.list("categories")),
            namespaced: spec.text("scope") == "Namespaced",
            stored_version: stored.map_or("", |v| v.text("name")).to_owned(),
            terminating: terminating.any(|c| c.text("status") == "True"),
            versions: Vec::new(),
        };
        new.versions = versions
            .map(|version| Arc::new(Version::new(&new, spec, version)))
            .collect();
        new
    }

    /// The version of that name.
    pub fn version(&self, name: &str) -> Option<&Arc<Version>> {
        self.versions.iter().find(|v| v.name == name)
    }

    /// The version of an object that says what it is.
    pub fn version_of(&self, object: &Value) -> Option<&Arc<Version>> {
        let own = object.text("apiVersion");
        self.versions.iter().find(|v| v.api_version == own)
    }
}

/// What clients of a deprecated version hear if the definition has no words for it. Upstream:
/// `defaultDeprecationWarning`.
fn deprecation(spec: &Value, version: &Value) -> Option<String> {
    if !version.flag("deprecated") {
        return None;
    }
    if version.has("deprecationWarning") {
        return Some(version.text("deprecationWarning").to_owned());
    }
    let (group, kind) = (spec.text("group"), spec.at("names").text("kind"));
    let name = version.text("name");
    let newer = |v: &&str| stowplan_apimachinery::versions::compare(name, v).is_lt();
    let better = spec.list("versions").iter();
    let better = better.filter(|v| v.flag("served") && !v.flag("deprecated"));
    let better = better.map(|v| v.text("name")).filter(newer);
    let best = better.max_by(|a, b| stowplan_apimachinery::versions::compare(a, b));
    let mut text = format!("{group}/{name} {kind} is deprecated");
    if let Some(best) = best {
        text.push_str(&format!("; use {group}/{best} {kind}"));
    }
    Some(text)
}

impl Version {
    fn new(definition: &Definition, spec: &Value, version: &Value) -> Self {
        let schema = version.path(&["schema", "openAPIV3Schema"]).clone();
        let api_version = meta::api_version(&definition.group, version.text("name"));
        let below = version.at("subresources");
        let has_status = below.has("status");
        let scale = below.has("scale").then(|| Scale::new(below.at("scale")));
        let rules = |status: bool| Rules {
            api_version: api_version.clone(),
            kind: definition.kind.clone(),
            namespaced: definition.namespaced,
            schema: schema.clone(),
            scale: scale.clone(),
            has_status,
            of_status: status,
        };
        let selectable = version.list("selectableFields").iter().map(|field| {
            let path = field.text("jsonPath");
            let name = path.strip_prefix('.').unwrap_or(path);
            (name.to_owned(), JsonPath::parse(path).unwrap_or_default())
        });
        Self {
            name: version.text("name").to_owned(),
            served: version.flag("served"),
            deprecation: deprecation(spec, version),
            ty: types::of(&schema),
            empty: json!({"apiVersion": api_version, "kind": definition.kind}),
            columns: columns::of(version),
            has_status,
            rules: rules(false),
            status_rules: rules(true),
            selectable: selectable.collect(),
            namespaced: definition.namespaced,
            api_version,
            scale,
            schema,
        }
    }

    /// The schema of its objects; null if there is none.
    pub fn schema(&self) -> &Value {
        &self.schema
    }

    /// Whether a field selector may ask for a field.
    pub fn selects_by(&self, label: &str) -> bool {
        match label {
            "metadata.name" => true,
            "metadata.namespace" => self.namespaced,
            label => self.selectable.iter().any(|(name, _)| name == label),
        }
    }

    /// The value of a field that can be selected by.
    pub fn selected(&self, object: &Value, label: &str) -> String {
        match label {
            "metadata.name" => return meta::name(object).to_owned(),
            "metadata.namespace" => return meta::namespace(object).to_owned(),
            _ => {}
        }
        let field = self.selectable.iter().find(|(name, _)| name == label);
        let found = field.map(|(_, path)| path.find(object)).unwrap_or_default();
        match found.first() {
            Some(Value::String(text)) => text.clone(),
            Some(Value::Null) | None => String::new(),
            Some(other) => stowplan_apimachinery::go::plain(other),
        }
    }
}
