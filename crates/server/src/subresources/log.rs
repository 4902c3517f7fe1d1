//! `pods/log`: served by whoever runs the pod.
//! Upstream: `pkg/registry/core/pod/rest/log.go`.

use crate::answer::{self, Answer};
use crate::api::Api;
use crate::provider::LogOptions;
use crate::request::{Query, Request, Target};
use crate::storage::{self, Cluster};
use serde_json::Value;
use stowplan_apimachinery::field::{Error, ErrorKind, ErrorList, Path};
use stowplan_apimachinery::lookup::Lookup;
use stowplan_apimachinery::meta::{self, GroupKind, GroupResource};
use stowplan_apimachinery::{Status, View};

/// Answers a GET.
pub(super) async fn get(api: &Api, request: &Request, target: &Target) -> Result<Answer, Status> {
    let mut options = read(&request.query)?;
    let errors = check(&options);
    if !errors.is_empty() {
        let kind = GroupKind::new("", "PodLogOptions");
        return Err(Status::invalid(&kind, &target.name, &errors));
    }
    let entry = api.store().get(target.key().as_bytes());
    let missing = || Status::not_found(&target.group_resource(), &target.name);
    let entry = entry.ok_or_else(missing)?;
    let pod = storage::object(&entry);
    options.container = container(&pod, &options.container)?;
    let text = "text/plain";
    let node = pod.at("spec").text("nodeName");
    if node.is_empty() {
        return Ok(answer::bytes(200, text, ""));
    }
    if let Some(provider) = api.provider(node) {
        let mut answer = answer::bytes(200, text, "");
        *answer.body_mut() = provider.log(&pod, &options, api.env().now()).await?;
        return Ok(answer);
    }
    let Some(node) = Cluster(api).get("", "nodes", "", node) else {
        return Err(Status::not_found(&GroupResource::new("", "nodes"), node));
    };
    Err(unreachable(&node))
}

/// The node is there, but nobody answers for it.
fn unreachable(node: &Value) -> Status {
    let addresses = node.at("status").list("addresses");
    let usual = [
        "Hostname",
        "InternalDNS",
        "InternalIP",
        "ExternalDNS",
        "ExternalIP",
    ];
    let preferred = usual.iter().find_map(|kind| {
        let mut all = addresses.iter();
        all.find(|address| address.text("type") == *kind)
    });
    match preferred {
        Some(address) => Status::plain_error(format!(
            "nobody on node {} ({}) serves logs",
            meta::name(node),
            address.text("address")
        )),
        None => Status::plain_error("no preferred addresses found; known addresses: []"),
    }
}

fn read(query: &Query) -> Result<LogOptions, Status> {
    let number = |name: &str| query.number(name).map_err(Status::bad_request);
    let flag = |name: &str| query.flag(name).unwrap_or_default();
    let text = |name: &str| query.get(name).map(str::to_owned);
    Ok(LogOptions {
        container: text("container").unwrap_or_default(),
        follow: flag("follow"),
        previous: flag("previous"),
        timestamps: flag("timestamps"),
        since_seconds: number("sinceSeconds")?,
        since_time: text("sinceTime").filter(|time| !time.is_empty()),
        tail_lines: number("tailLines")?,
        limit_bytes: number("limitBytes")?,
    })
}

/// Upstream: `ValidatePodLogOptions`.
fn check(options: &LogOptions) -> ErrorList {
    let mut errors = ErrorList::new();
    if let Some(lines) = options.tail_lines.filter(|lines| *lines < 0) {
        let detail = "must be greater than or equal to 0";
        errors.push(Error::invalid(&Path::new("tailLines"), lines, detail));
    }
    let positive = "must be greater than 0";
    if let Some(bytes) = options.limit_bytes.filter(|bytes| *bytes < 1) {
        errors.push(Error::invalid(&Path::new("limitBytes"), bytes, positive));
    }
    match (options.since_seconds, &options.since_time) {
        (Some(_), Some(_)) => errors.push(Error {
            kind: ErrorKind::Forbidden,
            field: String::new(),
            value: None,
            detail: "at most one of `sinceTime` or `sinceSeconds` may be specified".to_owned(),
        }),
        (Some(seconds), None) if seconds < 1 => {
            errors.push(Error::invalid(
                &Path::new("sinceSeconds"),
                seconds,
                positive,
            ));
        }
        _ => {}
    }
    errors
}

/// The container that is meant: the one that is named, or the only one.
fn container(pod: &Value, asked: &str) -> Result<String, Status> {
    let spec = pod.at("spec");
    let name = meta::name(pod);
    let names = |field: &str| spec.list(field).iter().map(|c| c.text("name"));
    let all: Vec<&str> = names("initContainers")
        .chain(names("containers"))
        .chain(names("ephemeralContainers"))
        .collect();
    if !asked.is_empty() {
        return match all.contains(&asked) {
            true => Ok(asked.to_owned()),
            false => Err(Status::bad_request(format!(
                "container {asked} is not valid for pod {name}"
            ))),
        };
    }
    match spec.list("containers") {
        [only] => Ok(only.text("name").to_owned()),
        [] => Err(Status::bad_request(format!(
            "a container name must be specified for pod {name}"
        ))),
        _ => Err(Status::bad_request(format!(
            "a container name must be specified for pod {name}, choose one of: [{}]",
            all.join(" ")
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_only_container_need_not_be_named() {
        let pod = |containers: Value| json!({"metadata": {"name": "p"}, "spec": {"containers": containers, "initContainers": [{"name": "i"}]}});
        let one = pod(json!([{"name": "a"}]));
        let two = pod(json!([{"name": "a"}, {"name": "b"}]));
        assert_eq!(container(&one, "").unwrap(), "a");
        assert_eq!(container(&one, "i").unwrap(), "i");
        assert_eq!(
            container(&one, "x").unwrap_err().message,
            "container x is not valid for pod p"
        );
        assert_eq!(
            container(&two, "").unwrap_err().message,
            "a container name must be specified for pod p, choose one of: [i a b]"
        );
    }

    #[test]
    fn options_are_checked() {
        let options = LogOptions {
            tail_lines: Some(-1),
            limit_bytes: Some(0),
            since_seconds: Some(0),
            ..LogOptions::default()
        };
        let texts: Vec<String> = check(&options).iter().map(ToString::to_string).collect();
        assert_eq!(
            texts,
            [
                "tailLines: Invalid value: -1: must be greater than or equal to 0",
                "limitBytes: Invalid value: 0: must be greater than 0",
                "sinceSeconds: Invalid value: 0: must be greater than 0",
            ]
        );
        assert!(check(&LogOptions::default()).is_empty());
    }
}
