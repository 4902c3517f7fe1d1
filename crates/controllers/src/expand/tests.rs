use super::{View, daemon_set, deployment, ephemeral, job, replica_set, stateful_set};
use serde_json::{Value, json};
use stowplan_apimachinery::{View as _, meta};

fn names(objects: &[Value]) -> Vec<&str> {
    objects.iter().map(meta::name).collect()
}

fn view(objects: impl IntoIterator<Item = Value>) -> View {
    let mut view = View::default();
    objects.into_iter().for_each(|object| view.see(&object));
    view
}

fn workload(kind: &str, spec: Value) -> Value {
    let mut spec = spec;
    spec["selector"] = json!({"matchLabels": {"app": "web"}});
    spec["template"] = json!({"metadata": {"labels": {"app": "web"}}, "spec": {"containers": []}});
    let metadata = json!({"name": "web", "namespace": "shop", "uid": "u1"});
    let group = if kind == "Job" { "batch/v1" } else { "apps/v1" };
    json!({"apiVersion": group, "kind": kind, "metadata": metadata, "spec": spec})
}

fn pod(name: &str, kind: &str, owner: &str) -> Value {
    let owner = json!({"kind": kind, "name": owner, "uid": "", "controller": true});
    let labels = json!({"app": "web", "pod-template-hash": "abc"});
    json!({"kind": "Pod", "metadata": {
        "name": name, "namespace": "shop", "labels": labels, "ownerReferences": [owner],
    }})
}

#[test]
fn a_set_makes_what_it_lacks_under_free_names() {
    let set = workload("ReplicaSet", json!({"replicas": 3}));
    let there = view([
        pod("web-x", "ReplicaSet", "web"),
        pod("web-1", "Job", "other"),
    ]);
    let made = replica_set::reconcile(&there, &set);
    assert_eq!(names(&made), ["web-0", "web-2"]);
    assert_eq!(made[0]["metadata"]["ownerReferences"][0]["uid"], "u1");
    let mut over = pod("web-y", "ReplicaSet", "web");
    over["status"] = json!({"phase": "Failed"});
    assert_eq!(replica_set::reconcile(&view([over]), &set).len(), 3);
}

#[test]
fn a_deployment_scales_its_newest_set_or_makes_one() {
    let given = workload("Deployment", json!({"replicas": 5}));
    let set = |name: &str, revision: &str, replicas: i64| {
        let owner = json!({"kind": "Deployment", "name": "web", "uid": "u1", "controller": true});
        json!({"kind": "ReplicaSet", "spec": {"replicas": replicas}, "metadata": {
            "name": name, "namespace": "shop", "ownerReferences": [owner],
            "annotations": {"deployment.kubernetes.io/revision": revision},
        }})
    };
    let (old, new) = (set("web-old", "9", 1), set("web-new", "10", 2));
    let wanted = deployment::reconcile(&View::default(), &given, &[&old, &new]).unwrap();
    assert_eq!(
        (meta::name(&wanted), &wanted["spec"]["replicas"]),
        ("web-new", &json!(4))
    );
    let made = deployment::reconcile(&View::default(), &given, &[]).unwrap();
    let hash = made["metadata"]["labels"]
        .text("pod-template-hash")
        .to_owned();
    assert_eq!(meta::name(&made), format!("web-{hash}"));
    assert_eq!(
        made["spec"]["selector"]["matchLabels"]["pod-template-hash"],
        hash
    );
    // Of pods without their sets the set of most is the present one; the others count.
    let pods = ["a", "b"].map(|name| pod(name, "ReplicaSet", "web-abc"));
    let there = view(pods.into_iter().chain([pod("c", "ReplicaSet", "web-old")]));
    let made = deployment::reconcile(&there, &given, &[]).unwrap();
    assert_eq!(
        (meta::name(&made), &made["spec"]["replicas"]),
        ("web-abc", &json!(4))
    );
}

#[test]
fn a_stateful_set_has_claims_of_its_own() {
    let template = json!([{"metadata": {"name": "data"}, "spec": {}}]);
    let set = workload(
        "StatefulSet",
        json!({"replicas": 2, "volumeClaimTemplates": template}),
    );
    let claim = json!({"kind": "PersistentVolumeClaim", "metadata": {"name": "data-web-0", "namespace": "shop"}});
    let made = stateful_set::reconcile(&view([claim]), &set);
    assert_eq!(names(&made), ["web-0", "web-1", "data-web-1"]);
    assert_eq!(
        made[0]["spec"]["volumes"][0]["persistentVolumeClaim"]["claimName"],
        "data-web-0"
    );
}

#[test]
fn a_daemon_goes_to_nodes_that_will_have_it() {
    let mut set = workload("DaemonSet", json!({}));
    set["spec"]["template"]["spec"]["nodeSelector"] = json!({"disk": "ssd"});
    let node = |name: &str, disk: &str, taints: Value| json!({"kind": "Node", "metadata": {"name": name, "labels": {"disk": disk}}, "spec": {"taints": taints}});
    let pressed = json!([{"key": "node.kubernetes.io/disk-pressure", "effect": "NoSchedule"}]);
    let gpu = json!([
        {"key": "node.kubernetes.io/disk-pressure", "effect": "NoSchedule"},
        {"key": "gpu", "effect": "NoSchedule"},
    ]);
    let there = view([
        node("a", "ssd", pressed),
        node("b", "ssd", gpu),
        node("c", "hdd", json!([])),
        node(
            "d",
            "ssd",
            json!([{"key": "soft", "effect": "PreferNoSchedule"}]),
        ),
    ]);
    assert_eq!(
        names(&daemon_set::reconcile(&there, &set)),
        ["web-a", "web-d"]
    );
}

#[test]
fn a_job_starts_what_is_left() {
    let mut given = workload(
        "Job",
        json!({"completions": 6, "parallelism": 3, "completionMode": "Indexed"}),
    );
    given["status"] = json!({"succeeded": 3, "completedIndexes": "0-1,3"});
    let made = job::reconcile(&View::default(), &given);
    assert_eq!(names(&made), ["web-2", "web-4", "web-5"]);
    given["status"]["failedIndexes"] = "2".into();
    let there = view([pod("web-4", "ReplicaSet", "other")]);
    assert_eq!(names(&job::reconcile(&there, &given)), ["web-5"]);
    given["spec"]["suspend"] = true.into();
    assert!(job::reconcile(&View::default(), &given).is_empty());
}

#[test]
fn ephemeral_volumes_have_claims() {
    let pod = json!({"metadata": {"name": "p", "namespace": "shop", "uid": "u"}, "spec": {"volumes": [
        {"name": "scratch", "ephemeral": {"volumeClaimTemplate": {"spec": {"storageClassName": "fast"}}}},
        {"name": "other", "emptyDir": {}},
    ]}});
    let made = ephemeral::reconcile(&View::default(), &pod);
    assert_eq!(names(&made), ["p-scratch"]);
    assert_eq!(made[0]["spec"]["storageClassName"], "fast");
}
