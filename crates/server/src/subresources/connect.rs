//! `pods/exec`, `pods/attach` and `pods/portforward`: streams to whoever runs the pod.
//!
//! Upstream: `pkg/registry/core/pod/rest/subresources.go`, `streamLocation` of
//! `pkg/registry/core/pod/strategy.go`, and what kubelet says (`pkg/kubelet/server/server.go`).

use super::log::{container, unreachable};
use crate::answer::{self, Answer};
use crate::api::Api;
use crate::flowcontrol::Flow;
use crate::provider::{ExecOptions, Provider, Session, StreamOptions};
use crate::request::{Request, Target};
use crate::storage::{self, Cluster};
use crate::streams::{Handshake, Protocol, Stream, wants_upgrade};
use crate::{gate, rbac};
use serde_json::Value;
use std::sync::Arc;
use stowplan_apimachinery::lookup::Lookup;
use stowplan_apimachinery::meta::GroupResource;
use stowplan_apimachinery::{Status, View};
use stowplan_auth::{ConnectionGuards, authorize};

/// The subresources that answer with streams.
pub(crate) const NAMES: [&str; 3] = ["attach", "exec", "portforward"];

/// A pod, and who runs it.
struct Location {
    pod: Arc<Value>,
    provider: Arc<dyn Provider>,
}

/// Answers a GET or a POST.
pub(super) async fn connect(
    api: &Arc<Api>,
    request: &Request,
    target: &Target,
    flow: &Flow,
) -> Result<Answer, Status> {
    if request.query.get("dryRun").is_some() {
        return Err(Status::bad_request("dryRun is not supported"));
    }
    may_create(api, request)?;
    let query = &request.query;
    let flag = |name: &str| query.flag(name).unwrap_or_default();
    let mut streams = StreamOptions {
        container: query.get("container").unwrap_or_default().to_owned(),
        stdin: flag("stdin"),
        stdout: flag("stdout"),
        stderr: flag("stderr"),
        tty: flag("tty"),
    };
    let location = locate(api, target, &mut streams)?;
    if !wants_upgrade(request) {
        return Err(Status::bad_request("Upgrade request required"));
    }
    if target.subresource == "portforward" {
        return Ok(refused(&Status::bad_request(
            "unable to upgrade: port-forward is not served",
        )));
    }
    let Some(room) = api.flow_control().stream(flow) else {
        return Ok(answer::too_many_requests());
    };
    let (agreed, mut answer) = match Handshake::on(request) {
        Ok(agreed) => agreed,
        Err(refused) => return Ok(*refused),
    };
    let session = match begin(&location, request, target, &mut streams).await {
        Ok(session) => session,
        // Upstream it is the server that speaks this protocol, and not the kubelet.
        Err(status) if agreed.protocol == Protocol::V5 => {
            let message = format!("unable to upgrade connection: {}", status.message);
            Session::failed(Status::internal(message))
        }
        Err(status) => return Ok(refused(&status)),
    };
    let guards = ConnectionGuards::default();
    answer.extensions_mut().insert(guards.clone());
    let stream = Stream {
        agreed,
        options: streams,
        session,
        room,
        guards,
    };
    stream.start(api);
    Ok(answer)
}

/// Asks for the process that is wanted. What is wrong from here on is for a kubelet to say, and those do
/// not answer with JSON.
async fn begin(
    location: &Location,
    request: &Request,
    target: &Target,
    streams: &mut StreamOptions,
) -> Result<Session, Status> {
    let Location { pod, provider } = location;
    streams.stderr &= !streams.tty;
    if !(streams.stdin || streams.stdout || streams.stderr) {
        let message = "you must specify at least 1 of stdin, stdout, stderr";
        return Err(Status::bad_request(message));
    }
    if target.subresource == "attach" {
        // A process that runs has its terminal already, or none.
        streams.tty = has_terminal(pod, &streams.container);
        streams.stderr &= !streams.tty;
        return provider.attach(pod, streams).await;
    }
    let command = request.query.all("command");
    if command.is_empty() {
        let message = "you must specify at least one command for the container";
        return Err(Status::bad_request(message));
    }
    let options = ExecOptions {
        command,
        streams: streams.clone(),
    };
    provider.exec(pod, &options).await
}

/// Finds the pod, the container that is meant, and who runs it. Upstream: `streamLocation`.
fn locate(api: &Api, target: &Target, streams: &mut StreamOptions) -> Result<Location, Status> {
    target.check_name()?;
    let entry = api.store().get(target.key().as_bytes());
    let missing = || Status::not_found(&target.group_resource(), &target.name);
    let entry = entry.ok_or_else(missing)?;
    let pod = storage::object(&entry);
    if target.subresource != "portforward" {
        streams.container = container(&pod, &streams.container)?;
    }
    let node = pod.at("spec").text("nodeName");
    if node.is_empty() {
        return Err(Status::bad_request(format!(
            "pod {} does not have a host assigned",
            target.name
        )));
    }
    if let Some(provider) = api.provider(node) {
        return Ok(Location { pod, provider });
    }
    match Cluster(api).get("", "nodes", "", node) {
        Some(node) => Err(unreachable(&node, &target.subresource)),
        None => Err(Status::not_found(&GroupResource::new("", "nodes"), node)),
    }
}

fn has_terminal(pod: &Value, container: &str) -> bool {
    let spec = pod.at("spec");
    let lists = ["containers", "initContainers", "ephemeralContainers"];
    let mut all = lists.iter().flat_map(|list| spec.list(list));
    let found = all.find(|one| one.text("name") == container);
    found.is_some_and(|one| one["tty"] == true)
}

/// Whoever may not create may not connect either, by whatever method. Upstream:
/// `ensureAuthorizedForVerb`.
fn may_create(api: &Api, request: &Request) -> Result<(), Status> {
    if request.info.verb == "create" {
        return Ok(());
    }
    let mut attributes = gate::attributes(api, request, &request.user);
    attributes.verb = "create";
    let decision = authorize(&attributes, &rbac::All(api));
    let info = &request.info;
    match decision.allowed {
        true => Ok(()),
        false => Err(Status::forbidden(
            &GroupResource::new(&info.group, &info.resource),
            &info.name,
            &decision.reason,
        )),
    }
}

/// What a kubelet says in place of a stream.
fn refused(status: &Status) -> Answer {
    let text = "text/plain; charset=utf-8";
    answer::bytes(status.code, text, status.message.clone())
}
