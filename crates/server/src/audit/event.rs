//! `audit.k8s.io/v1` Event.

use super::{Arrival, Outcome};
use crate::clock;
use crate::request::Request;
use http::HeaderMap;
use serde::Serialize;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::net::IpAddr;
use stowplan_auth::User;
use stowplan_base::Time;

/// How far a request has come.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub(super) enum Stage {
    ResponseComplete,
    Panic,
}

/// An event but for the time at which it is written, in the order of upstream's fields.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Event {
    kind: &'static str,
    api_version: &'static str,
    level: &'static str,
    #[serde(rename = "auditID")]
    audit_id: String,
    stage: Stage,
    #[serde(rename = "requestURI")]
    request_uri: String,
    verb: String,
    user: UserInfo,
    #[serde(skip_serializing_if = "Option::is_none")]
    impersonated_user: Option<UserInfo>,
    #[serde(rename = "sourceIPs", skip_serializing_if = "Vec::is_empty")]
    source_ips: Vec<IpAddr>,
    #[serde(skip_serializing_if = "String::is_empty")]
    user_agent: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    object_ref: Option<ObjectRef>,
    response_status: Value,
    request_received_timestamp: String,
    stage_timestamp: String,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    annotations: BTreeMap<&'static str, String>,
}

#[derive(Debug, Default, Serialize)]
struct UserInfo {
    #[serde(skip_serializing_if = "String::is_empty")]
    username: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    uid: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    groups: Vec<String>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    extra: BTreeMap<String, Vec<String>>,
}

impl From<&User> for UserInfo {
    fn from(user: &User) -> Self {
        Self {
            username: user.name.clone(),
            uid: user.uid.clone(),
            groups: user.groups.clone(),
            extra: user.extra.clone(),
        }
    }
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct ObjectRef {
    #[serde(skip_serializing_if = "String::is_empty")]
    resource: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    namespace: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    name: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    uid: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    api_group: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    api_version: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    resource_version: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    subresource: String,
}

impl Event {
    pub(super) fn new(
        arrival: &Arrival,
        request: &Request,
        outcome: &Outcome<'_>,
        stage: Stage,
    ) -> Self {
        let really = request.impersonator.as_ref();
        Self {
            kind: "Event",
            api_version: "audit.k8s.io/v1",
            level: "Metadata",
            audit_id: String::from_utf8_lossy(arrival.id.as_bytes()).into_owned(),
            stage,
            request_uri: arrival.uri.clone(),
            verb: request.info.verb.clone(),
            user: really.unwrap_or(&request.user).into(),
            impersonated_user: really.map(|_| (&request.user).into()),
            source_ips: source_ips(&request.headers, arrival.peer.map(|peer| peer.ip())),
            user_agent: user_agent(request.header("user-agent")),
            object_ref: object_ref(request),
            response_status: response_status(outcome),
            request_received_timestamp: clock::micros(arrival.at),
            stage_timestamp: String::new(),
            annotations: annotations(request),
        }
    }

    /// The event as it is written at that time.
    pub(super) fn line(&mut self, now: Time) -> Vec<u8> {
        self.stage_timestamp = clock::micros(now);
        // Writing JSON to memory does not fail.
        let mut line = serde_json::to_vec(self).unwrap_or_default();
        line.push(b'\n');
        line
    }
}

fn annotations(request: &Request) -> BTreeMap<&'static str, String> {
    let mut out = BTreeMap::new();
    if let Some(decision) = &request.decision {
        let word = match decision.allowed {
            true => "allow",
            false => "forbid",
        };
        out.insert("authorization.k8s.io/decision", word.to_owned());
        out.insert("authorization.k8s.io/reason", decision.reason.clone());
    }
    out
}

/// Upstream: `LogRequestMetadata` and `LogRequestObject`.
fn object_ref(request: &Request) -> Option<ObjectRef> {
    let info = &request.info;
    if !info.is_resource {
        return None;
    }
    let sent = request.sent.get().cloned().unwrap_or_default();
    let or = |first: &String, second: String| match first.is_empty() {
        true => second,
        false => first.clone(),
    };
    Some(ObjectRef {
        resource: info.resource.clone(),
        namespace: or(&info.namespace, sent.namespace),
        name: or(&info.name, sent.name),
        uid: sent.uid,
        api_group: info.group.clone(),
        api_version: info.version.clone(),
        resource_version: sent.resource_version,
        subresource: info.subresource.clone(),
    })
}

fn response_status(outcome: &Outcome<'_>) -> Value {
    match outcome.failure {
        None => json!({"metadata": {}, "code": outcome.code}),
        Some(status) => {
            let mut value = status.to_json();
            if let Some(fields) = value.as_object_mut() {
                fields.remove("kind");
                fields.remove("apiVersion");
            }
            value
        }
    }
}

/// Upstream: `maybeTruncateUserAgent`.
fn user_agent(given: &str) -> String {
    const BYTES_MAX: usize = 1024;
    match given.get(..BYTES_MAX) {
        Some(start) if given.len() > BYTES_MAX => format!("{start}...TRUNCATED"),
        _ => given.to_owned(),
    }
}

/// Where a request came from, by its own word first and by the connection's last. Upstream:
/// `utilnet.SourceIPs`.
fn source_ips(headers: &HeaderMap, peer: Option<IpAddr>) -> Vec<IpAddr> {
    let text = |name: &str| headers.get(name).and_then(|v| v.to_str().ok());
    let forwarded = text("x-forwarded-for").unwrap_or_default();
    let mut out: Vec<IpAddr> = forwarded
        .split(',')
        .filter_map(|part| part.trim().parse().ok())
        .collect();
    let real = text("x-real-ip").and_then(|ip| ip.parse().ok());
    out.extend(real.filter(|ip| !out.contains(ip)));
    out.extend(peer.filter(|ip| out.last() != Some(ip)));
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::HeaderValue;

    #[test]
    fn a_request_names_its_sources_and_the_connection_is_the_last() {
        let mut headers = HeaderMap::new();
        let peer: IpAddr = [10, 0, 0, 9].into();
        assert_eq!(source_ips(&headers, Some(peer)), [peer]);
        let forwarded = HeaderValue::from_static("192.0.2.1, nonsense, 192.0.2.2");
        headers.insert("x-forwarded-for", forwarded);
        headers.insert("x-real-ip", HeaderValue::from_static("192.0.2.1"));
        let found: Vec<String> = source_ips(&headers, Some(peer))
            .iter()
            .map(ToString::to_string)
            .collect();
        assert_eq!(found, ["192.0.2.1", "192.0.2.2", "10.0.0.9"]);
        let last = [192, 0, 2, 2].into();
        assert_eq!(source_ips(&headers, Some(last)).len(), 2);
    }

    #[test]
    fn a_long_user_agent_is_cut() {
        assert_eq!(user_agent("kubectl"), "kubectl");
        assert_eq!(user_agent(&"x".repeat(2_000)).len(), 1024 + 12);
    }
}
