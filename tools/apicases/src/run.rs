//! Running one case.

use crate::case::{Case, Step};
use crate::compare::differences;
use crate::files::{self, Files};
use crate::fill::{self, Known, fill, fill_body, lookup};
use crate::normalise::Normaliser;
use crate::ordered::Json;
use axum::body::Body;
use http::{HeaderMap, HeaderName, HeaderValue, Method};
use http_body_util::BodyExt;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use stowplan_base::Rng;
use stowplan_env::System;
use stowplan_server::{Api, Config, User, token};
use stowplan_store::{Options, Store};

const TOKEN: &str = "apicases";
/// How long a step may be repeated until it is as wanted.
const PATIENCE: Duration = Duration::from_secs(1);
const PAUSE: Duration = Duration::from_millis(30);
/// Kinds whose creation leaves nothing behind.
const PASSING: [&str; 5] = ["Binding", "Eviction", "Status", "TokenRequest", "Scale"];
const HEADERS: [&str; 5] = [
    "warning",
    "retry-after",
    "allow",
    "www-authenticate",
    "location",
];

/// The server under test.
pub(crate) struct Server {
    api: Arc<Api>,
}

impl Server {
    pub(crate) async fn new() -> Self {
        Self::with(System::new()).await
    }

    /// A server that makes up the same names again.
    pub(crate) async fn seeded(seed: u64) -> Self {
        Self::with(System::seeded(seed)).await
    }

    /// Asks it.
    pub(crate) async fn call(&self, request: http::Request<Body>) -> stowplan_server::Answer {
        self.api.call(request).await
    }

    async fn with(env: System) -> Self {
        let mut admin = User::new("admin", &["system:masters"]);
        "admin".clone_into(&mut admin.uid);
        let key = token::Key::generate().and_then(|key| token::Key::from_pkcs8(&key));
        let config = Config {
            env: Arc::new(env),
            store: Store::in_memory(Options::default()),
            tokens: BTreeMap::from([(TOKEN.to_owned(), admin)]),
            token_key: key.ok(),
        };
        Self {
            api: Api::new(config)
                .await
                .expect("a store in memory takes everything"),
        }
    }
}

/// How a case went.
pub(crate) struct Outcome {
    pub(crate) name: String,
    pub(crate) family: String,
    pub(crate) steps: usize,
    /// Per differing step: which one, and how.
    pub(crate) differences: Vec<(String, Vec<String>)>,
    set_up: bool,
}

impl Outcome {
    pub(crate) fn wrong_steps(&self) -> usize {
        match self.set_up {
            true => self.differences.len(),
            false => self.steps,
        }
    }
}

struct Reply {
    code: u16,
    headers: HeaderMap,
    kind: String,
    value: Value,
    raw: String,
}

struct Conversation<'a> {
    server: &'a Server,
    known: Known,
    norm: Normaliser,
    /// Paths of what was created, to be deleted in the end.
    made: Vec<String>,
}

/// Runs a case and compares its answers.
pub(crate) async fn case(server: &Server, case: Case) -> Outcome {
    case_with(server, case, &mut None).await
}

/// The same, with somebody who reads what is created as if from a file.
pub(crate) async fn case_with(
    server: &Server,
    case: Case,
    files: &mut Option<&mut Files>,
) -> Outcome {
    let mut seed = case.name.bytes().fold(0u64, |seed, byte| {
        seed.wrapping_mul(31).wrapping_add(u64::from(byte))
    });
    seed ^= u64::try_from(now_s()).unwrap_or_default();
    let mut rng = Rng::new(seed);
    let mut fresh = |prefix: &str| {
        const LETTERS: &[u8] = b"bcdfghjkmnpqrstvwxz";
        let letters = (0..8).map(|_| char::from(LETTERS[rng.below(LETTERS.len())]));
        format!("{prefix}{}", letters.collect::<String>())
    };
    let (ns, id) = (fresh("ns"), fresh("id"));
    let mut conversation = Conversation {
        server,
        known: Known::from([("ns".to_owned(), json!(ns)), ("id".to_owned(), json!(id))]),
        norm: Normaliser::new(&ns, &id, now_s()),
        made: Vec::new(),
    };
    let mut outcome = Outcome {
        steps: case.steps.len(),
        name: case.name,
        family: case.family,
        differences: Vec::new(),
        set_up: true,
    };
    for (i, step) in case.setup.iter().enumerate() {
        if let Err(problem) = conversation.set_up(i, step).await {
            outcome
                .differences
                .push(("set-up".to_owned(), vec![problem]));
            outcome.set_up = false;
            break;
        }
    }
    if outcome.set_up {
        for (i, step) in case.steps.iter().enumerate() {
            let lines = conversation.step(i, step, files).await;
            if !lines.is_empty() {
                outcome.differences.push((title(i, &step.fields), lines));
            }
        }
    }
    conversation.clean_up().await;
    outcome
}

fn title(i: usize, step: &Map<String, Value>) -> String {
    let text = |key: &str| step.get(key).map(fill::as_text).unwrap_or_default();
    format!(
        "step {} {} {} {}",
        i + 1,
        text("method"),
        text("path"),
        text("query")
    )
}

fn now_s() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |d| i64::try_from(d.as_secs()).unwrap_or(i64::MAX))
}

impl Conversation<'_> {
    async fn set_up(&mut self, i: usize, step: &Step) -> Result<(), String> {
        let (filled, reply) = self.until(step).await;
        let number = i + 1;
        let short: String = reply.raw.chars().take(300).collect();
        match step.fields.get("until") {
            None if !(200..300).contains(&reply.code) && reply.code != 409 => {
                return Err(format!("set-up step {number}: {} {short}", reply.code));
            }
            Some(until) if !reached(Some(until), &reply) => {
                return Err(format!(
                    "set-up step {number}: gave up waiting: {} {short}",
                    reply.code
                ));
            }
            _ => {}
        }
        self.remember(&filled, &reply);
        self.norm.learn(&reply.value);
        self.known.insert(format!("setup{number}"), reply.value);
        Ok(())
    }

    async fn step(&mut self, i: usize, step: &Step, files: &mut Option<&mut Files>) -> Vec<String> {
        let cluster = match files {
            Some(_) => Some(self.look(step).await),
            None => None,
        };
        let (filled, reply) = self.until(step).await;
        if let (Some(files), Some(cluster)) = (files.as_deref_mut(), cluster) {
            let body = step.body.as_ref();
            let body = body.map(|body| fill_body(body, &self.known).to_text());
            files.judge(
                &filled,
                body,
                &cluster,
                (reply.code, &reply.headers, &reply.value),
            );
        }
        let stem = filled
            .get("body")
            .map(|b| lookup(b, "metadata.generateName"));
        if let Some(Value::String(stem)) = stem
            && !stem.is_empty()
        {
            self.norm.stems.push(stem.chars().take(58).collect());
        }
        self.remember(&filled, &reply);
        let got = self.answer(&reply);
        self.known.insert(format!("step{}", i + 1), reply.value);
        let want = step.fields.get("expect").cloned().unwrap_or_default();
        let mut lines = differences(&want, &got);
        lines.truncate(12);
        lines
    }

    /// What admission would look at before a step.
    async fn look(&self, step: &Step) -> files::Cluster {
        let mut cluster = files::Cluster::default();
        if step
            .fields
            .get("method")
            .is_none_or(|method| method != "POST")
        {
            return cluster;
        }
        for (group, plural, path) in files::LOOKED_AT {
            let list = json!({"method": "GET", "path": path});
            let reply = self.send(&plain(&list)).await.1;
            let items = reply.value["items"].as_array().cloned();
            cluster.put(group, plural, items.unwrap_or_default());
        }
        cluster
    }

    /// Sends a step, again and again if it says until when.
    async fn until(&self, step: &Step) -> (Map<String, Value>, Reply) {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let (filled, reply) = self.send(step).await;
            if reached(step.fields.get("until"), &reply) || Instant::now() > deadline {
                return (filled, reply);
            }
            tokio::time::sleep(PAUSE).await;
        }
    }

    async fn send(&self, step: &Step) -> (Map<String, Value>, Reply) {
        let body = step
            .body
            .as_ref()
            .map(|body| fill_body(body, &self.known).to_text());
        let step = &step.fields;
        let path = step.get("path").map(fill::as_text).unwrap_or_default();
        let path = fill::fill_path(&path, &self.known);
        let rest: Map<String, Value> = step
            .iter()
            .filter(|(key, _)| *key != "expect" && *key != "path")
            .map(|(key, value)| (key.clone(), value.clone()))
            .collect();
        let Value::Object(mut step) = fill(&Value::Object(rest), &self.known) else {
            unreachable!("filling keeps an object an object");
        };
        step.insert("path".to_owned(), path.into());
        let reply = match request(&step, body) {
            Ok(request) => receive(&step, self.server.call(request).await).await,
            Err(error) => Reply {
                code: 0,
                headers: HeaderMap::new(),
                kind: String::new(),
                value: Value::Null,
                raw: error.to_string(),
            },
        };
        (step, reply)
    }

    /// An answer in the form in which it was recorded.
    fn answer(&mut self, reply: &Reply) -> Value {
        let mut out = json!({"code": reply.code});
        let mut kept: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for (name, value) in &reply.headers {
            if HEADERS.contains(&name.as_str()) {
                let text = String::from_utf8_lossy(value.as_bytes()).into_owned();
                let text = self.norm.text(&text);
                kept.entry(name.to_string()).or_default().push(text);
            }
        }
        let kind = reply.kind.split(';').next().unwrap_or_default().trim();
        if (kind != "application/json" || reply.kind.contains("as=")) && !reply.kind.is_empty() {
            kept.insert("content-type".to_owned(), vec![reply.kind.clone()]);
        }
        if !kept.is_empty() {
            out["headers"] = json!(kept);
        }
        match &reply.value {
            Value::Null => {}
            Value::String(text) => out["body"] = self.norm.yaml(text).into(),
            // A watch without events has no body.
            Value::Array(list) if list.is_empty() => {}
            value => out["body"] = self.norm.body(value),
        }
        out
    }

    fn remember(&mut self, step: &Map<String, Value>, reply: &Reply) {
        let dry = step.get("query").is_some_and(|q| q.get("dryRun").is_some());
        let kind = reply.value["kind"].as_str().unwrap_or_default();
        if reply.code != 201 || dry || kind.ends_with("Review") || PASSING.contains(&kind) {
            return;
        }
        let Some(name) = lookup(&reply.value, "metadata.name").as_str() else {
            return;
        };
        let path = step["path"].as_str().unwrap_or_default();
        let post = step.get("method").is_some_and(|m| m == "POST");
        self.made.push(match post {
            true => format!("{path}/{name}"),
            false => path.to_owned(),
        });
    }

    /// Cluster-scoped objects, namespaces and services go; the rest of a namespace is left.
    async fn clean_up(&self) {
        let mut done: Vec<&String> = Vec::new();
        for path in self.made.iter().rev() {
            let below = path.replacen("/api/v1/namespaces/", "/namespaces/", 1);
            let inside = below.contains("/namespaces/") && path.matches('/').count() > 4;
            if done.contains(&path) || (inside && !path.contains("/services/")) {
                continue;
            }
            done.push(path);
            let step =
                json!({"method": "DELETE", "path": path, "query": {"gracePeriodSeconds": "0"}});
            let reply = self.send(&plain(&step)).await.1;
            let held = reply.code == 200 && reply.raw.contains("\"finalizers\"");
            if held && !path.contains("/namespaces/") {
                let step = json!({
                    "method": "PATCH", "path": path,
                    "headers": {"Content-Type": "application/merge-patch+json"},
                    "body": {"metadata": {"finalizers": null}}
                });
                self.send(&plain(&step)).await;
            }
        }
    }
}

/// A step of the runner's own.
fn plain(step: &Value) -> Step {
    Step {
        fields: step.as_object().cloned().unwrap_or_default(),
        body: step.get("body").map(Json::from),
    }
}

/// Whether a step that is repeated `until` something has come to it.
fn reached(until: Option<&Value>, reply: &Reply) -> bool {
    let Some(until) = until else {
        return true;
    };
    let code = until["code"].as_u64().unwrap_or(200);
    let value = until["path"]
        .as_str()
        .is_none_or(|path| *lookup(&reply.value, path) == until["equals"]);
    u64::from(reply.code) == code && value
}

/// A step as a request.
pub(crate) fn request(
    step: &Map<String, Value>,
    body: Option<String>,
) -> anyhow::Result<http::Request<Body>> {
    let text = |key: &str| step.get(key).map(fill::as_text);
    let mut target = escape(
        &text("path").unwrap_or_default(),
        "/:~%@!$&'()*+,;=-._",
        false,
    );
    let mut separator = '?';
    let query = step.get("query").and_then(Value::as_object);
    for (name, value) in query.into_iter().flatten() {
        let one = std::slice::from_ref(value);
        for value in value.as_array().map_or(one, Vec::as_slice) {
            target.push(separator);
            target.push_str(&escape(name, "-._~", true));
            target.push('=');
            target.push_str(&escape(&fill::as_text(value), "-._~", true));
            separator = '&';
        }
    }
    let body = text("rawBody").or(body);
    let mut headers = HeaderMap::new();
    headers.insert(
        http::header::USER_AGENT,
        HeaderValue::from_static("apicases/1.0"),
    );
    let json = HeaderValue::from_static("application/json");
    headers.insert(http::header::ACCEPT, json.clone());
    if body.is_some() {
        headers.insert(http::header::CONTENT_TYPE, json);
    }
    let token = match step.get("auth").and_then(Value::as_str) {
        None => Some(TOKEN),
        Some("none") => None,
        Some(token) => Some(token),
    };
    if let Some(token) = token {
        let value = HeaderValue::from_str(&format!("Bearer {token}"))?;
        headers.insert(http::header::AUTHORIZATION, value);
    }
    let given = step.get("headers").and_then(Value::as_object);
    for (name, value) in given.into_iter().flatten() {
        let name: HeaderName = name.parse()?;
        headers.remove(&name);
        let one = std::slice::from_ref(value);
        for value in value.as_array().map_or(one, Vec::as_slice) {
            if let Some(text) = value.as_str() {
                headers.append(&name, HeaderValue::from_bytes(text.as_bytes())?);
            }
        }
    }
    let method: Method = text("method").unwrap_or_default().parse()?;
    let mut request = http::Request::builder()
        .method(method)
        .uri(target)
        .body(Body::from(body.unwrap_or_default()))?;
    *request.headers_mut() = headers;
    Ok(request)
}

/// Percent-encodes all but letters, digits and `safe`.
fn escape(text: &str, safe: &str, plus: bool) -> String {
    let mut out = String::new();
    for byte in text.bytes() {
        let c = char::from(byte);
        match c {
            ' ' if plus => out.push('+'),
            c if byte.is_ascii() && (c.is_ascii_alphanumeric() || safe.contains(c)) => out.push(c),
            _ => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}

async fn receive(step: &Map<String, Value>, answer: stowplan_server::Answer) -> Reply {
    let (parts, body) = answer.into_parts();
    let bytes = body
        .collect()
        .await
        .map(|b| b.to_bytes())
        .unwrap_or_default();
    let raw = String::from_utf8_lossy(&bytes).into_owned();
    let kind = parts.headers.get(http::header::CONTENT_TYPE);
    let kind = kind
        .and_then(|k| k.to_str().ok())
        .unwrap_or_default()
        .to_owned();
    let value = interpret(step, &kind, &raw);
    Reply {
        code: parts.status.as_u16(),
        headers: parts.headers,
        kind,
        value,
        raw,
    }
}

fn interpret(step: &Map<String, Value>, kind: &str, raw: &str) -> Value {
    if raw.is_empty() {
        return Value::Null;
    }
    if !kind.contains("json") && !kind.is_empty() {
        return raw.into();
    }
    let watch = step
        .get("query")
        .and_then(|q| q.get("watch"))
        .map(fill::as_text);
    if !matches!(watch.as_deref(), Some("true" | "1" | "True")) {
        return serde_json::from_str(raw).unwrap_or_else(|_| raw.into());
    }
    let documents = serde_json::Deserializer::from_str(raw).into_iter::<Value>();
    let Ok(documents) = documents.collect::<Result<Vec<Value>, _>>() else {
        return raw.into();
    };
    let marker = |doc: &Value| {
        let annotations = lookup(doc, "object.metadata.annotations");
        !annotations["k8s.io/initial-events-end"].is_null()
    };
    // Bookmarks other than the end of the initial events come at the server's leisure.
    let kept = documents
        .into_iter()
        .filter(|doc| doc["type"] != "BOOKMARK" || marker(doc));
    let kept: Vec<Value> = kept.collect();
    match kept.as_slice() {
        [one] if one["kind"] == "Status" => one.clone(),
        _ => Value::Array(kept),
    }
}
