//! Every object that a conversation creates, read as if from a file: the road of files must say what the
//! server says.
//!
//! The server's own answers are compared with the recorded ones in the same run, so that what agrees with
//! the server agrees with the record.

use crate::case::Case;
use crate::compare::differences;
use crate::run::{self, Server};
use http::HeaderMap;
use regex::Regex;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::process::ExitCode;
use std::sync::{Arc, LazyLock};
use stowplan_apimachinery::lookup::Lookup;
use stowplan_apimachinery::{Edit, View, meta};
use stowplan_manifest::accept;
use stowplan_registry::Resource;
use stowplan_registry::decode::FieldValidation;

/// What admission and allocation look at, with the path of each list.
pub(crate) const LOOKED_AT: [(&str, &str, &str); 12] = [
    ("", "limitranges", "/api/v1/namespaces/{{ns}}/limitranges"),
    ("", "namespaces", "/api/v1/namespaces"),
    ("", "nodes", "/api/v1/nodes"),
    ("", "pods", "/api/v1/namespaces/{{ns}}/pods"),
    (
        "",
        "resourcequotas",
        "/api/v1/namespaces/{{ns}}/resourcequotas",
    ),
    (
        "",
        "serviceaccounts",
        "/api/v1/namespaces/{{ns}}/serviceaccounts",
    ),
    ("", "services", "/api/v1/services"),
    (
        "networking.k8s.io",
        "ingressclasses",
        "/apis/networking.k8s.io/v1/ingressclasses",
    ),
    (
        "node.k8s.io",
        "runtimeclasses",
        "/apis/node.k8s.io/v1/runtimeclasses",
    ),
    (
        "resource.k8s.io",
        "deviceclasses",
        "/apis/resource.k8s.io/v1/deviceclasses",
    ),
    (
        "scheduling.k8s.io",
        "priorityclasses",
        "/apis/scheduling.k8s.io/v1/priorityclasses",
    ),
    (
        "storage.k8s.io",
        "storageclasses",
        "/apis/storage.k8s.io/v1/storageclasses",
    ),
];

/// The cluster before a step.
#[derive(Default)]
pub(crate) struct Cluster(BTreeMap<(&'static str, &'static str), Vec<Arc<Value>>>);

impl Cluster {
    pub(crate) fn put(&mut self, group: &'static str, plural: &'static str, items: Vec<Value>) {
        let items = items.into_iter().map(Arc::new).collect();
        self.0.insert((group, plural), items);
    }
}

impl Lookup for Cluster {
    fn get(&self, group: &str, resource: &str, namespace: &str, name: &str) -> Option<Arc<Value>> {
        let mut there = self.list(group, resource, namespace).into_iter();
        there.find(|object| meta::name(object) == name)
    }

    fn list(&self, group: &str, resource: &str, namespace: &str) -> Vec<Arc<Value>> {
        let all = self.0.get(&(group, resource)).into_iter().flatten();
        let there = all.filter(|o| namespace.is_empty() || meta::namespace(o) == namespace);
        there.cloned().collect()
    }
}

/// How it went.
#[derive(Default)]
pub(crate) struct Files {
    same: usize,
    /// Why steps say nothing about files, and how many.
    skipped: BTreeMap<&'static str, usize>,
    differs: Vec<(String, Vec<String>)>,
    case: String,
}

/// A server's answer: code, headers, body.
type Reply<'a> = (u16, &'a HeaderMap, &'a Value);

impl Files {
    /// Reads what a step creates as if from a file.
    pub(crate) fn judge(
        &mut self,
        step: &Map<String, Value>,
        body: Option<String>,
        cluster: &Cluster,
        reply: Reply<'_>,
    ) {
        let text = |key: &str| step.get(key).and_then(Value::as_str).unwrap_or_default();
        if text("method") != "POST" {
            return;
        }
        let asked = match Asked::of(step, body, reply.0) {
            Ok(asked) => asked,
            Err(reason) => return *self.skipped.entry(reason).or_default() += 1,
        };
        let (want, got) = (asked.told(reply), asked.read(cluster));
        let lines = differences(&want, &got);
        match lines.is_empty() {
            true => self.same += 1,
            false => {
                let place = format!("{}: POST {}", self.case, text("path"));
                self.differs.push((place, lines));
            }
        }
    }
}

/// A creation that a file can ask for as well.
struct Asked {
    resource: Resource,
    namespace: String,
    validation: FieldValidation,
    body: String,
    given: Value,
}

impl Asked {
    /// What a step asks for, or why a file cannot.
    fn of(
        step: &Map<String, Value>,
        body: Option<String>,
        code: u16,
    ) -> Result<Self, &'static str> {
        let path = step.get("path").and_then(Value::as_str).unwrap_or_default();
        let (resource, namespace) = target(path).ok_or("no collection of a built-in kind")?;
        let header = |name: &str| {
            let headers = step.get("headers").and_then(Value::as_object);
            headers
                .into_iter()
                .flatten()
                .any(|(key, _)| key.eq_ignore_ascii_case(name))
        };
        if header("content-type") || header("accept") || step.contains_key("rawBody") {
            return Err("about encodings, which a file does not choose");
        }
        if step.contains_key("auth") || header("impersonate-user") {
            return Err("about who asks");
        }
        let query = step
            .get("query")
            .and_then(Value::as_object)
            .cloned()
            .unwrap_or_default();
        let validation = match query.get("fieldValidation").and_then(Value::as_str) {
            None | Some("Warn") => FieldValidation::Warn,
            Some("Strict") => FieldValidation::Strict,
            Some("Ignore") => FieldValidation::Ignore,
            _ => return Err("about the options of a request"),
        };
        if query.keys().any(|key| key != "fieldValidation") {
            return Err("about the options of a request");
        }
        if matches!(
            resource.group(),
            "authorization.k8s.io" | "authentication.k8s.io"
        ) {
            return Err("a question, which is answered and not kept");
        }
        if resource.is("", "bindings") {
            return Err("a binding, which is not kept");
        }
        if resource.group() == "rbac.authorization.k8s.io" && code == 403 {
            return Err("about who asks");
        }
        if code == 409 {
            return Err("about what is there already");
        }
        let body = body.unwrap_or_default();
        let given: Value = serde_json::from_str(&body).unwrap_or_default();
        let said = |field: &str, own: &str| ["", own].contains(&given.text(field));
        if !said("apiVersion", &resource.api_version()) || !said("kind", resource.kind()) {
            return Err("of another kind than the path: a file is what it says it is");
        }
        let metadata = given.at("metadata");
        if !["", &*namespace].contains(&metadata.text("namespace")) {
            return Err("of another namespace than the path");
        }
        if ["uid", "resourceVersion", "creationTimestamp"]
            .iter()
            .any(|f| metadata.has(f))
        {
            return Err("stored by a server: a file keeps what a request may not say");
        }
        if resource.is("", "nodes") {
            return Err("a node: a file says what it is, a request that it is not ready yet");
        }
        if resource.is("", "pods") && given.at("spec").has("priority") {
            return Err("a pod that says its priority itself");
        }
        Ok(Self {
            resource,
            namespace,
            validation,
            body,
            given,
        })
    }

    /// What the server said.
    fn told(&self, (code, headers, value): Reply<'_>) -> Value {
        if code != 201 {
            return json!({"code": code, "body": value});
        }
        let warnings = headers.get_all("warning").iter();
        let warnings = warnings.map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned());
        let mut warnings: Vec<String> = warnings.collect();
        warnings.sort_unstable();
        json!({"code": code, "body": self.lasting(value), "warnings": warnings})
    }

    /// What a file makes of it.
    fn read(&self, cluster: &Cluster) -> Value {
        let mut complete = |object: &mut Value| {
            let metadata = object.at_mut("metadata");
            match self.resource.namespaced() {
                true => metadata.set("namespace", &*self.namespace),
                false => drop(metadata.unset("namespace")),
            }
        };
        let body = self.body.as_bytes();
        match accept(
            &self.resource,
            body,
            cluster,
            self.validation,
            &mut complete,
        ) {
            Err(status) => json!({"code": status.code, "body": status.to_json()}),
            Ok(accepted) => {
                let all = accepted.problems.iter().chain(&accepted.warnings);
                let mut warnings: Vec<String> = Vec::new();
                for warning in all.map(|text| format!("299 - {}", json!(text))) {
                    if !warnings.contains(&warning) {
                        warnings.push(warning);
                    }
                }
                warnings.sort_unstable();
                json!({"code": 201, "body": self.lasting(&accepted.object), "warnings": warnings})
            }
        }
    }

    /// An object without what a server makes up, and without what a file may say beyond a request.
    fn lasting(&self, object: &Value) -> Value {
        static SUFFIX: LazyLock<Regex> =
            LazyLock::new(|| Regex::new("kube-api-access-[a-z0-9]{5}").expect("a fixed pattern"));
        let uid = meta::uid(object).to_owned();
        let text = object.to_string();
        let text = SUFFIX
            .replace_all(&text, "kube-api-access-")
            .replace(&*uid, "UID");
        let mut object: Value = serde_json::from_str(&text).unwrap_or_default();
        let metadata = object.at_mut("metadata");
        for field in [
            "uid",
            "creationTimestamp",
            "resourceVersion",
            "managedFields",
        ] {
            metadata.unset(field);
        }
        if !self.given.at("metadata").has("name") {
            metadata.unset("name");
        }
        for field in [
            "deletionTimestamp",
            "deletionGracePeriodSeconds",
            "selfLink",
        ] {
            metadata.unset(field);
        }
        match self.given.has("status") {
            true => drop(object.unset("status")),
            // The time of the write.
            false if object.has("status") => {
                let status = object.at_mut("status");
                status.unset("lastPhaseTransitionTime");
                for condition in status.each_mut("conditions") {
                    condition.unset("lastTransitionTime");
                }
            }
            false => {}
        }
        if self.resource.is("", "services") {
            let spec = object.at_mut("spec");
            for field in ["clusterIP", "clusterIPs", "healthCheckNodePort"] {
                spec.unset(field);
            }
            for port in spec.each_mut("ports") {
                port.unset("nodePort");
            }
        }
        object
    }
}

/// The built-in resource whose collection a path is, and the namespace.
fn target(path: &str) -> Option<(Resource, String)> {
    let parts: Vec<&str> = path.trim_start_matches('/').split('/').collect();
    let (group, version, rest) = match parts.as_slice() {
        ["api", version, rest @ ..] => ("", *version, rest),
        ["apis", group, version, rest @ ..] => (*group, *version, rest),
        _ => return None,
    };
    let (namespace, plural) = match rest {
        ["namespaces", namespace, plural] => (*namespace, *plural),
        [plural] => ("", *plural),
        _ => return None,
    };
    let resource = Resource::by_plural(group, Some(version), plural)?;
    let fits = resource.has_verb("create") && resource.namespaced() != namespace.is_empty();
    fits.then(|| (resource, namespace.to_owned()))
}

/// Reads all objects of all cases as if from files, and says how that went.
pub(crate) async fn run(cases: Vec<Case>) -> ExitCode {
    let files = read_all(cases).await;
    for (place, lines) in &files.differs {
        println!("DIFFERS {place}");
        lines.iter().take(8).for_each(|line| println!("    {line}"));
    }
    for (reason, count) in &files.skipped {
        println!("{count} left out: {reason}");
    }
    println!("same={} differs={}", files.same, files.differs.len());
    match files.differs.is_empty() {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    }
}

async fn read_all(cases: Vec<Case>) -> Files {
    let server = Server::new().await;
    let mut files = Files::default();
    for case in cases {
        files.case.clone_from(&case.name);
        run::case_with(&server, case, &mut Some(&mut files)).await;
    }
    files
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[tokio::test(flavor = "multi_thread")]
    async fn a_file_gets_the_verdict_of_the_server() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../crates/server/cases");
        let mut cases = Vec::new();
        for family in ["defaults", "validation", "admission"] {
            let file = folder.join(format!("{family}.jsonl.zst"));
            cases.extend(crate::case::read(&file).expect("recorded cases"));
        }
        let files = read_all(cases).await;
        assert!(files.differs.is_empty(), "{:#?}", files.differs);
        assert!(files.same > 1_900, "only {} were read", files.same);
    }
}
