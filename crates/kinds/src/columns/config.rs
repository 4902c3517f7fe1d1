//! ConfigMaps, Secrets, ServiceAccounts and ControllerRevisions.

use super::text::count;
use super::{Columns, age};
use serde_json::{Value, json};
use stowplan_apimachinery::{View, meta};

pub(crate) static CONFIG_MAPS: Columns = Columns::new("configmaps", |object, now_s| {
    let keys = object.entries("data").count() + object.entries("binaryData").count();
    vec![
        json!(meta::name(object)),
        json!(keys),
        json!(age::of(object, now_s)),
    ]
});

pub(crate) static SECRETS: Columns = Columns::new("secrets", |object, now_s| {
    vec![
        json!(meta::name(object)),
        json!(object.text("type")),
        json!(object.entries("data").count()),
        json!(age::of(object, now_s)),
    ]
});

pub(crate) static SERVICE_ACCOUNTS: Columns = Columns::new("serviceaccounts", |object, now_s| {
    vec![json!(meta::name(object)), json!(age::of(object, now_s))]
});

pub(crate) static CONTROLLER_REVISIONS: Columns =
    Columns::new("controllerrevisions", |object, now_s| {
        vec![
            json!(meta::name(object)),
            json!(controller(object)),
            json!(count(object, "revision")),
            json!(age::of(object, now_s)),
        ]
    });

/// The owner that controls an object: `daemonset.apps/a`.
fn controller(object: &Value) -> String {
    let owners = object.at("metadata").list("ownerReferences");
    let Some(owner) = owners.iter().find(|o| o.flag("controller")) else {
        return "<none>".to_owned();
    };
    let (name, kind) = (owner.text("name"), owner.text("kind"));
    let group = owner
        .text("apiVersion")
        .split_once('/')
        .map_or("", |(g, _)| g);
    let of_group = meta::GroupKind::new(group, kind).to_string();
    match of_group.is_empty() {
        true => name.to_owned(),
        false => format!("{}/{name}", of_group.to_lowercase()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn revisions_name_their_controller() {
        let object = json!({"metadata": {"ownerReferences": [
            {"kind": "Pod", "name": "x", "apiVersion": "v1"},
            {"kind": "DaemonSet", "name": "a", "apiVersion": "apps/v1", "controller": true}
        ]}, "revision": 2});
        let cells = (CONTROLLER_REVISIONS.row)(&object, 0);
        assert_eq!(cells[1..3], [json!("daemonset.apps/a"), json!(2)]);
        assert_eq!(controller(&json!({})), "<none>");
    }
}
