//! Role bindings. Roles have no columns of their own.

use super::{Columns, age};
use serde_json::{Value, json};
use stowplan_apimachinery::{View, meta};

pub(crate) static ROLE_BINDINGS: Columns = Columns::new("rolebindings", row);

pub(crate) static CLUSTER_ROLE_BINDINGS: Columns = Columns::new("clusterrolebindings", row);

fn row(object: &Value, now_s: i64) -> Vec<Value> {
    let role = object.at("roleRef");
    let of_kind = |kind: &str| {
        let subjects = object.list("subjects").iter();
        let names = subjects
            .filter(|s| s.text("kind") == kind)
            .map(|s| match kind {
                "ServiceAccount" => format!("{}/{}", s.text("namespace"), s.text("name")),
                _ => s.text("name").to_owned(),
            });
        names.collect::<Vec<_>>().join(", ")
    };
    vec![
        json!(meta::name(object)),
        json!(format!("{}/{}", role.text("kind"), role.text("name"))),
        json!(age::of(object, now_s)),
        json!(of_kind("User")),
        json!(of_kind("Group")),
        json!(of_kind("ServiceAccount")),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn subjects_are_shown_by_kind() {
        let object = json!({"roleRef": {"kind": "Role", "name": "r"}, "subjects": [
            {"kind": "User", "name": "u"}, {"kind": "Group", "name": "g"},
            {"kind": "ServiceAccount", "name": "s", "namespace": "n"}, {"kind": "User", "name": "v"}
        ]});
        let cells = row(&object, 0);
        assert_eq!(cells[1], "Role/r");
        assert_eq!(cells[3..], [json!("u, v"), json!("g"), json!("n/s")]);
    }
}
