//! Ports that get in each other's way.

use super::each_container;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use stowplan_apimachinery::field::Path;
use stowplan_apimachinery::limits::{ERRORS_TOLD_MAX, WARNINGS_COMPARED_MAX};
use stowplan_apimachinery::{View, go};

pub(super) fn warnings(spec: &Value, path: &Path<'_>, out: &mut Vec<String>) {
    if are_apart(spec) {
        return;
    }
    let mut all: BTreeMap<(i64, String), Vec<(String, Value)>> = BTreeMap::new();
    let mut compared = 0;
    each_container(spec, path, |container, at| {
        let list = at.child("ports");
        for (i, port) in container.list("ports").iter().enumerate() {
            let at = list.index(i).to_string();
            if !port.text("hostIP").is_empty() && host_port(port) == 0 {
                out.push(format!(
                    "{at}: hostIP set without hostPort: {}",
                    shown(port)
                ));
            }
            let number = port.int("containerPort").unwrap_or_default();
            let key = (number, port.text("protocol").to_owned());
            let others = all.entry(key).or_default();
            compared += others.len();
            if compared > WARNINGS_COMPARED_MAX || out.len() > ERRORS_TOLD_MAX {
                return;
            }
            for (other_at, other) in others.iter() {
                if let Some(how) = conflict(port, other) {
                    out.push(format!("{at}: {how} port definition with {other_at}"));
                }
            }
            others.push((at, port.clone()));
        }
    });
    let mut names: BTreeMap<String, String> = BTreeMap::new();
    each_container(spec, path, |container, at| {
        let list = at.child("ports");
        for (i, port) in container.list("ports").iter().enumerate() {
            let name = port.text("name");
            if name.is_empty() {
                continue;
            }
            let at = list.index(i).to_string();
            match names.get(name) {
                Some(other) => out.push(format!(
                    "{at}: duplicate port name {} with {other}, services and probes that select ports by name will use {other}",
                    go::quote(name)
                )),
                None => {
                    names.insert(name.to_owned(), at);
                }
            }
        }
    });
}

/// Whether there is nothing to be told, as of most pods: then no place has to be printed.
fn are_apart(spec: &Value) -> bool {
    let (mut numbers, mut names) = (BTreeSet::new(), BTreeSet::new());
    let lists = ["initContainers", "containers", "ephemeralContainers"];
    let containers = lists.into_iter().flat_map(|list| spec.list(list));
    let mut ports = containers.flat_map(|container| container.list("ports"));
    ports.all(|port| {
        let (number, name) = (port.int("containerPort"), port.text("name"));
        numbers.insert((number.unwrap_or_default(), port.text("protocol")))
            && (name.is_empty() || names.insert(name))
            && (port.text("hostIP").is_empty() || host_port(port) != 0)
    })
}

fn host_port(port: &Value) -> i64 {
    port.int("hostPort").unwrap_or_default()
}

/// How two definitions of one port of one protocol clash.
fn conflict(port: &Value, other: &Value) -> Option<&'static str> {
    let (ip, other_ip) = (port.text("hostIP"), other.text("hostIP"));
    let (number, other_number) = (host_port(port), host_port(other));
    if ip == other_ip && number == other_number {
        Some("duplicate")
    } else if number == 0 || other_number == 0 {
        Some("overlapping")
    } else if number == other_number && ip.is_empty() != other_ip.is_empty() {
        Some("dangerously ambiguous")
    } else {
        None
    }
}

/// The port as Go prints the struct.
fn shown(port: &Value) -> String {
    format!(
        "{{Name:{} HostPort:{} ContainerPort:{} Protocol:{} HostIP:{}}}",
        port.text("name"),
        host_port(port),
        port.int("containerPort").unwrap_or_default(),
        port.text("protocol"),
        port.text("hostIP"),
    )
}
