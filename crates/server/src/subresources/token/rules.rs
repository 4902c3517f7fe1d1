//! What a request for a token has to say, and what the token says.
//! Upstream: `pkg/registry/core/serviceaccount/storage/token.go`.

use crate::request::check_name;
use serde_json::{Value, json};
use std::sync::Arc;
use stowplan_apimachinery::field::{Error, ErrorList, Path};
use stowplan_apimachinery::lookup::Lookup;
use stowplan_apimachinery::meta::{GroupKind, GroupResource};
use stowplan_apimachinery::{Edit, Status, View, go, meta};
use stowplan_auth::token::{Bound, ISSUER};

const MIN_SECONDS: i64 = 600;
const MAX_SECONDS: i64 = 1 << 32;
/// What pods that mount their token ask for; such a token lives on, so that old clients that never
/// read it again keep working.
const MOUNTED_SECONDS: i64 = 3607;
const MOUNTED_LIFE_SECONDS: i64 = 365 * 24 * 60 * 60;

fn kind() -> GroupKind {
    GroupKind::new("authentication.k8s.io", "TokenRequest")
}

/// Fills in what the request leaves open and checks it; returns the account that it is about.
pub(super) fn complete(
    request: &mut Value,
    (namespace, name): (&str, &str),
    now: &str,
    cluster: &dyn Lookup,
) -> Result<Arc<Value>, Status> {
    for (field, wanted) in [("name", name), ("namespace", namespace)] {
        let given = request.at("metadata").text(field);
        if !given.is_empty() && given != wanted {
            let metadata = Path::new("metadata");
            let detail = format!("must match the service account {field} if specified");
            let errors = vec![Error::invalid(&metadata.child(field), given, detail)];
            return Err(Status::invalid(&kind(), name, &errors));
        }
    }
    let accounts = GroupResource::new("", "serviceaccounts");
    let account = cluster.get("", "serviceaccounts", namespace, name);
    let account = account.ok_or_else(|| Status::not_found(&accounts, name))?;
    let (asked, uid) = (meta::uid(request), meta::uid(&account));
    if !asked.is_empty() && asked != uid {
        let resource = GroupResource::new("authentication.k8s.io", "TokenRequest");
        let why = format!(
            "the UID in the token request ({asked}) does not match the UID of the service account ({uid})"
        );
        return Err(Status::conflict(&resource, name, why));
    }
    if request.at("spec").list("audiences").is_empty() {
        request.at_mut("spec").set("audiences", json!([ISSUER]));
    }
    let metadata = request.at_mut("metadata");
    metadata.set("name", name);
    metadata.set("namespace", namespace);
    metadata.set("uid", uid);
    metadata.set("creationTimestamp", now);
    request.set("status", json!({"token": "", "expirationTimestamp": null}));
    check_seconds(request)?;
    Ok(account)
}

fn check_seconds(request: &Value) -> Result<(), Status> {
    let spec = Path::new("spec");
    let path = spec.child("expirationSeconds");
    let seconds = request
        .at("spec")
        .int("expirationSeconds")
        .unwrap_or_default();
    let mut errors = ErrorList::new();
    if seconds < MIN_SECONDS {
        let detail = "may not specify a duration less than 10 minutes";
        errors.push(Error::invalid(&path, seconds, detail));
    }
    if seconds > MAX_SECONDS {
        let detail = "may not specify a duration larger than 2^32 seconds";
        errors.push(Error::invalid(&path, seconds, detail));
    }
    match errors.is_empty() {
        true => Ok(()),
        false => Err(Status::invalid(&kind(), "", &errors)),
    }
}

/// The object that a token is bound to.
#[derive(Debug, PartialEq)]
pub(super) struct Holder {
    kind: &'static str,
    name: String,
    uid: String,
    /// The node that a pod is on: its name, and its uid if it is there.
    node: Option<(String, String)>,
}

impl Holder {
    pub(super) fn bound(&self) -> Bound<'_> {
        Bound {
            kind: self.kind,
            name: &self.name,
            uid: &self.uid,
            node: self.node.as_ref().map(|(name, uid)| (&**name, &**uid)),
        }
    }
}

/// Finds the object that the token shall be bound to, if any.
pub(super) fn holder(
    request: &Value,
    (namespace, account): (&str, &str),
    cluster: &dyn Lookup,
) -> Result<Option<Holder>, Status> {
    let reference = request.at("spec").at("boundObjectRef");
    if reference.is_null() {
        return Ok(None);
    }
    let (group, version) = split_version(reference.text("apiVersion"));
    let word = reference.text("kind");
    let (kind, resource, namespace) = match (group, word) {
        ("", "Pod") => ("pod", "pods", namespace),
        ("", "Node") => ("node", "nodes", ""),
        ("", "Secret") => ("secret", "secrets", namespace),
        _ => {
            return Err(Status::bad_request(format!(
                "cannot bind token to object of type {group}/{version}, Kind={word}"
            )));
        }
    };
    let name = reference.text("name");
    if name.is_empty() {
        return Err(Status::bad_request("Name parameter required."));
    }
    check_name(name)?;
    let missing = || Status::not_found(&GroupResource::new("", resource), name);
    let object = cluster
        .get("", resource, namespace, name)
        .ok_or_else(missing)?;
    if kind == "pod" && object.at("spec").text("serviceAccountName") != account {
        return Err(Status::bad_request(format!(
            "cannot bind token for serviceaccount {} to pod running with different serviceaccount name.",
            go::quote(account)
        )));
    }
    let (asked, uid) = (reference.text("uid"), meta::uid(&object));
    if !asked.is_empty() && asked != uid {
        let why = format!(
            "the UID in the bound object reference ({asked}) does not match the UID in record. The object might have been deleted and then recreated"
        );
        return Err(Status::conflict(
            &GroupResource::new(group, word),
            name,
            why,
        ));
    }
    Ok(Some(Holder {
        kind,
        name: name.to_owned(),
        uid: uid.to_owned(),
        node: match kind {
            "pod" => node_of(&object, cluster),
            _ => None,
        },
    }))
}

fn node_of(pod: &Value, cluster: &dyn Lookup) -> Option<(String, String)> {
    let name = pod.at("spec").text("nodeName");
    if name.is_empty() {
        return None;
    }
    let node = cluster.get("", "nodes", "", name);
    let uid = node.map(|node| meta::uid(&node).to_owned());
    Some((name.to_owned(), uid.unwrap_or_default()))
}

/// Upstream: `schema.FromAPIVersionAndKind`.
fn split_version(api_version: &str) -> (&str, &str) {
    match api_version.split_once('/') {
        Some((group, version)) if !version.contains('/') => (group, version),
        Some(_) => ("", ""),
        None => ("", api_version),
    }
}

/// How long the token itself is good for, in seconds.
pub(super) fn life(request: &Value, holder: Option<&Holder>) -> i64 {
    let spec = request.at("spec");
    let seconds = spec.int("expirationSeconds").unwrap_or_default();
    let for_us = spec
        .list("audiences")
        .iter()
        .all(|audience| audience == ISSUER);
    let mounted = holder.is_some_and(|holder| holder.kind == "pod") && seconds == MOUNTED_SECONDS;
    match mounted && for_us {
        true => MOUNTED_LIFE_SECONDS,
        false => seconds,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Objects(Vec<(&'static str, Value)>);

    impl Lookup for Objects {
        fn get(&self, _: &str, resource: &str, _: &str, name: &str) -> Option<Arc<Value>> {
            let mut all = self.0.iter();
            let found = all.find(|(r, object)| *r == resource && meta::name(object) == name);
            found.map(|(_, object)| Arc::new(object.clone()))
        }

        fn list(&self, _: &str, _: &str, _: &str) -> Vec<Arc<Value>> {
            Vec::new()
        }
    }

    fn cluster() -> Objects {
        let pod = |name: &str, account: &str| json!({"metadata": {"name": name, "uid": "p1"}, "spec": {"serviceAccountName": account}});
        let on = |name: &str, node: &str| {
            let mut pod = pod(name, "a");
            pod["spec"]["nodeName"] = json!(node);
            pod
        };
        Objects(vec![
            (
                "serviceaccounts",
                json!({"metadata": {"name": "a", "namespace": "n", "uid": "u1"}}),
            ),
            ("pods", pod("mine", "a")),
            ("pods", pod("other", "b")),
            ("pods", on("near", "here")),
            ("pods", on("far", "gone")),
            ("nodes", json!({"metadata": {"name": "here", "uid": "m1"}})),
        ])
    }

    fn completed(mut request: Value) -> Result<Value, Status> {
        complete(&mut request, ("n", "a"), "now", &cluster())?;
        Ok(request)
    }

    #[test]
    fn the_request_is_about_its_account() {
        let request = completed(json!({"spec": {"expirationSeconds": 600}})).unwrap();
        assert_eq!(
            request["metadata"],
            json!({"name": "a", "namespace": "n", "uid": "u1", "creationTimestamp": "now"})
        );
        assert_eq!(request["spec"]["audiences"], json!([ISSUER]));
        let other = json!({"metadata": {"name": "b"}, "spec": {"expirationSeconds": 600}});
        assert_eq!(
            completed(other).unwrap_err().message,
            "TokenRequest.authentication.k8s.io \"a\" is invalid: metadata.name: Invalid value: \"b\": must match the service account name if specified"
        );
        let stale = json!({"metadata": {"uid": "u0"}, "spec": {"expirationSeconds": 600}});
        assert_eq!(completed(stale).unwrap_err().code, 409);
        let mut request = json!({});
        let missing = complete(&mut request, ("n", "none"), "now", &cluster()).unwrap_err();
        assert_eq!(missing.message, "serviceaccounts \"none\" not found");
    }

    #[test]
    fn a_token_lives_neither_too_short_nor_too_long() {
        let with = |seconds: i64| completed(json!({"spec": {"expirationSeconds": seconds}}));
        assert!(with(600).is_ok());
        assert_eq!(
            with(599).unwrap_err().message,
            "TokenRequest.authentication.k8s.io \"\" is invalid: spec.expirationSeconds: Invalid value: 599: may not specify a duration less than 10 minutes"
        );
        assert!(with((1 << 32) + 1).is_err());
    }

    #[test]
    fn a_token_can_be_bound_to_a_pod_of_the_account() {
        let find = |reference: Value| {
            holder(
                &json!({"spec": {"boundObjectRef": reference}}),
                ("n", "a"),
                &cluster(),
            )
        };
        let pod = |name: &str| json!({"apiVersion": "v1", "kind": "Pod", "name": name});
        assert_eq!(find(Value::Null), Ok(None));
        assert_eq!(find(pod("mine")).unwrap().unwrap().bound().uid, "p1");
        for (name, node) in [
            ("mine", None),
            ("near", Some(("here", "m1"))),
            ("far", Some(("gone", ""))),
        ] {
            assert_eq!(find(pod(name)).unwrap().unwrap().bound().node, node);
        }
        assert_eq!(
            find(pod("none")).unwrap_err().message,
            "pods \"none\" not found"
        );
        assert_eq!(find(pod("other")).unwrap_err().code, 400);
        let mut stale = pod("mine");
        stale["uid"] = json!("p0");
        assert_eq!(find(stale).unwrap_err().code, 409);
        let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "name": "x"});
        assert_eq!(
            find(map).unwrap_err().message,
            "cannot bind token to object of type /v1, Kind=ConfigMap"
        );
    }

    #[test]
    fn the_token_that_a_pod_mounts_lives_on() {
        let request = |seconds: i64, audience: &str| json!({"spec": {"expirationSeconds": seconds, "audiences": [audience]}});
        let pod = Holder {
            kind: "pod",
            name: String::new(),
            uid: String::new(),
            node: None,
        };
        assert_eq!(
            life(&request(3607, ISSUER), Some(&pod)),
            MOUNTED_LIFE_SECONDS
        );
        assert_eq!(life(&request(3607, "x"), Some(&pod)), 3607);
        assert_eq!(life(&request(3607, ISSUER), None), 3607);
        assert_eq!(life(&request(600, ISSUER), Some(&pod)), 600);
    }
}
