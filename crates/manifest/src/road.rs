//! One object down the road of the API server.

use serde_json::{Map, Value};
use stowplan_admission::Quotas;
use stowplan_apimachinery::lookup::Lookup;
use stowplan_apimachinery::{Edit, Status, View, meta};
use stowplan_kinds::Context;
use stowplan_registry::decode::{self, Encoding, FieldValidation};
use stowplan_registry::{Resource, Stamps, Write};

/// Files have no clock: what a server would stamp with the time is taken off again.
const NEVER: &str = "1970-01-01T00:00:00Z";

/// An object that a server would take.
#[derive(Clone, PartialEq, Debug)]
pub struct Accepted {
    /// The object.
    pub object: Value,
    /// Unknown and duplicate fields, in the server's words.
    pub problems: Vec<String>,
    /// What the server would tell the client.
    pub warnings: Vec<String>,
}

/// Reads an object and judges it. `complete` is called when it has been decoded and defaulted, to give it
/// the name and the namespace that it lacks.
///
/// An object that a server has stored (it has a uid, a resource version or a creation time) is taken as it
/// is: admission is past. Any other is created.
pub fn accept(
    resource: &Resource,
    json: &[u8],
    cluster: &dyn Lookup,
    validation: FieldValidation,
    complete: &mut dyn FnMut(&mut Value),
) -> Result<Accepted, Status> {
    let mut problems = Vec::new();
    let warn = &mut |problem| problems.push(problem);
    let object = decode::object(json, resource, Encoding::Json, validation, warn)?;
    let mut object = decode::finished(resource, object);
    complete(&mut object);
    let given = || decode::given(json, Encoding::Json);
    let mut warnings = Vec::from_iter(resource.deprecation().map(str::to_owned));
    let object = match is_stored(resource, &object) {
        true => {
            let cx = Context {
                now: NEVER,
                cluster,
            };
            stowplan_registry::stored(resource, &mut object, &cx)?;
            object
        }
        false => create(resource, object, cluster, &given, &mut warnings)?,
    };
    Ok(Accepted {
        object,
        problems,
        warnings,
    })
}

/// Whether a server has stored the object. Nodes in files are what they are: a server would give a new one
/// the taint of a node that is not ready yet. A pod without a priority has not met admission.
fn is_stored(resource: &Resource, object: &Value) -> bool {
    let metadata = object.at("metadata");
    let stamped = ["uid", "resourceVersion", "creationTimestamp"]
        .iter()
        .any(|field| metadata.has(field));
    match (resource.group(), resource.kind()) {
        ("", "Node") => true,
        ("", "Pod") => stamped && object.at("spec").has("priority"),
        _ => stamped,
    }
}

/// What only a server decides, and what a file may say all the same.
struct ServerFields {
    metadata: Map<String, Value>,
    status: Option<Value>,
    priority: Option<Value>,
}

const STAMPS: [&str; 5] = [
    "uid",
    "resourceVersion",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
];

impl ServerFields {
    /// Takes it out of an object.
    fn take(object: &mut Value) -> Self {
        let mut metadata = Map::new();
        let from = object.at_mut("metadata");
        for field in STAMPS {
            if let Some(value) = from.unset(field) {
                metadata.set(field, value);
            }
        }
        // Who owns which field, a server says itself.
        from.unset("managedFields");
        let is_pod = object.text("kind") == "Pod";
        let status = object.unset("status").filter(|status| !is_empty(status));
        // A pod that names no class may say itself how important it is.
        let priority = match is_pod && object.at("spec").text("priorityClassName").is_empty() {
            true => object.at_mut("spec").unset("priority"),
            false => None,
        };
        Self {
            metadata,
            status,
            priority,
        }
    }

    /// Puts it back in.
    fn put(self, object: &mut Value) {
        let to = object.at_mut("metadata");
        to.unset("creationTimestamp");
        for (field, value) in self.metadata {
            to.set(&field, value);
        }
        if let Some(status) = self.status {
            object.set("status", status);
        }
        if let Some(priority) = self.priority {
            object.at_mut("spec").set("priority", priority);
        }
    }
}

/// Whether nothing is said in a status: decoding writes some fields always.
fn is_empty(status: &Value) -> bool {
    match status {
        Value::Object(fields) => fields.values().all(is_empty),
        Value::Array(items) => items.is_empty(),
        Value::String(text) => text.is_empty(),
        Value::Number(number) => number.as_i64() == Some(0),
        Value::Null => true,
        Value::Bool(_) => false,
    }
}

/// Creates an object that has been decoded and defaulted, and has a name if it can have one.
pub(crate) fn create(
    resource: &Resource,
    mut object: Value,
    cluster: &dyn Lookup,
    given: &dyn Fn() -> Value,
    warnings: &mut Vec<String>,
) -> Result<Value, Status> {
    let stated = ServerFields::take(&mut object);
    let (namespace, name) = (
        meta::namespace(&object).to_owned(),
        meta::name(&object).to_owned(),
    );
    let uid = match stated.metadata.text("uid") {
        "" => made_up_uid(resource.kind(), &namespace, &name),
        uid => uid.to_owned(),
    };
    let told = std::cell::RefCell::new(warnings);
    let mut object = Write {
        resource,
        spoken: resource,
        subresource: "",
        namespace: &namespace,
        name: &name,
        strategy: resource.strategy(),
        cluster,
        user: "",
        dry_run: false,
        quotas: Quotas::AsTold,
        now: NEVER,
        stamps: &Fixed { uid },
        given,
        warn: &|warning| told.borrow_mut().push(warning),
    }
    .create(object)?;
    stated.put(&mut object);
    Ok(object)
}

/// The ids of one object: the same every time.
struct Fixed {
    uid: String,
}

impl Stamps for Fixed {
    fn uid(&self) -> String {
        self.uid.clone()
    }

    fn suffix(&self) -> String {
        "xxxxx".to_owned()
    }

    fn random(&self) -> u64 {
        // Services spread over the addresses.
        let hash = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        self.uid.bytes().fold(0xcbf2_9ce4_8422_2325, hash)
    }
}

/// The uid of an object that never saw an API server: the same every time.
pub(crate) fn made_up_uid(kind: &str, namespace: &str, name: &str) -> String {
    let text = format!("{kind}/{namespace}/{name}");
    // FNV-1a, of 128 bits: names are few, and nobody tries to make them collide.
    let hash = text.bytes().fold(
        0x6c62_272e_07bb_0142_62b8_2175_6295_c58d,
        |hash: u128, byte| {
            (hash ^ u128::from(byte)).wrapping_mul(0x0000_0000_0100_0000_0000_0000_0000_013b)
        },
    );
    let hex = format!("{hash:032x}");
    let (a, b, c, d, e) = (
        &hex[..8],
        &hex[8..12],
        &hex[13..16],
        &hex[17..20],
        &hex[20..],
    );
    // Version 8: made by rules of one's own.
    format!("{a}-{b}-8{c}-8{d}-{e}")
}
