//! What pods are made of.

use super::*;

#[test]
fn a_pod_is_made_from_the_template() {
    let mut world = world(job(json!({"completions": 1})), []);
    sync(&mut world);
    let pod = &pods(&world)[0];
    let meta = &pod.metadata;
    assert_eq!(meta.generate_name.as_deref(), Some("sum-"));
    assert_eq!(meta.finalizers, Some(vec![FINALIZER.to_owned()]));
    let labels = meta.labels.clone().expect("labels");
    assert_eq!(labels["a"], "b");
    let owner = crate::common::controller_of(&**pod).expect("an owner");
    assert_eq!(
        (owner.kind.as_str(), owner.uid.as_str()),
        ("Job", "job-uid")
    );
    let spec = pod.spec.clone().expect("a spec");
    assert_eq!(spec.hostname, None);
    assert_eq!(spec.containers[0].env, None);
    let name = meta.name.clone().expect("a name");
    assert_eq!(world.events[0].message, format!("Created pod: {name}"));
    assert_eq!(world.take_reasons(), ["SuccessfulCreate"]);
}

#[test]
fn a_pod_of_an_index_says_which() {
    let mut given = indexed(2, 2);
    given["spec"]["template"]["spec"]["initContainers"] =
        json!([{"name": "i", "env": [{"name": "JOB_COMPLETION_INDEX", "value": "mine"}]}]);
    let mut world = world(given, []);
    sync(&mut world);
    let key = "batch.kubernetes.io/job-completion-index";
    let pod = &pods(&world)[1];
    let meta = &pod.metadata;
    assert_eq!(meta.generate_name.as_deref(), Some("sum-1-"));
    assert_eq!(meta.labels.clone().expect("labels")[key], "1");
    assert_eq!(meta.annotations.clone().expect("annotations")[key], "1");
    let spec = pod.spec.clone().expect("a spec");
    assert_eq!(spec.hostname.as_deref(), Some("sum-1"));
    let variable = serde_json::to_value(&spec.containers[0].env).expect("variables");
    assert_eq!(
        variable,
        json!([{"name": "JOB_COMPLETION_INDEX", "valueFrom": {"fieldRef": {
            "fieldPath": "metadata.labels['batch.kubernetes.io/job-completion-index']",
        }}}])
    );
    let init = spec.init_containers.expect("init containers");
    let given = init[0].env.as_ref().expect("variables");
    assert_eq!(given.len(), 1);
    assert_eq!(given[0].value.as_deref(), Some("mine"));
}

/// `TestPodGenerateNameWithIndex`.
#[test]
fn a_long_name_is_cut() {
    for (name, prefix) in [
        ("indexed-job".to_owned(), "indexed-job-1-".to_owned()),
        ("h".repeat(58), format!("{}-1-", "h".repeat(55))),
        ("h".repeat(56), format!("{}-1-", "h".repeat(55))),
        ("h".repeat(55), format!("{}-1-", "h".repeat(55))),
    ] {
        let mut given = indexed(2, 2);
        given["metadata"]["name"] = json!(name);
        let mut world = world(given, []);
        world.sync(&Jobs::default(), "shop", &name);
        let pods = pods(&world);
        let made = pods
            .iter()
            .find(|pod| super::super::spec::completion_index(pod) == Some(1));
        let made = made.expect("a pod");
        assert_eq!(
            made.metadata.generate_name.as_deref(),
            Some(prefix.as_str())
        );
    }
}

#[test]
fn why_pods_are_not_made_is_told() {
    let mut world = world(job(json!({"completions": 1})), []);
    world.refuse(|write| (write.method == Method::Post).then(|| refused(403)));
    sync(&mut world);
    assert_eq!(world.events[0].message, "Error creating: no");
    assert_eq!(world.take_reasons(), ["FailedCreate"]);
    world.refuse(|write| {
        (write.method == Method::Post).then(|| Failure {
            causes: vec!["NamespaceTerminating".to_owned()],
            ..refused(403)
        })
    });
    sync(&mut world);
    assert_eq!(world.take_reasons(), [""; 0]);
}

#[test]
fn why_pods_are_not_deleted_is_told() {
    let mut world = world(
        job(json!({"parallelism": 0, "completions": 1})),
        [pod("a", "Running")],
    );
    world.refuse(|write| (write.method == Method::Delete).then(|| refused(500)));
    sync(&mut world);
    assert_eq!(world.events[0].message, "Error deleting: no");
    assert_eq!(world.take_reasons(), ["FailedDelete"]);
    assert_eq!(status(&world).active, Some(1));
    world.refuse(|_| None);
    sync(&mut world);
    assert_eq!(world.events[0].message, "Deleted pod: a");
    assert_eq!(world.take_reasons(), ["SuccessfulDelete"]);
}

#[test]
fn jobs_that_are_not_ours() {
    for (by, writes) in [
        (json!("example.com/other"), false),
        (json!("kubernetes.io/job-controller"), true),
        (json!(null), true),
    ] {
        let mut world = world(job(json!({"managedBy": by})), []);
        sync(&mut world);
        assert_eq!(!world.writes.is_empty(), writes, "{by}");
    }
    let mut world = world(job(json!({"completionMode": "Odd"})), []);
    sync(&mut world);
    assert!(world.writes.is_empty());
    assert_eq!(world.take_reasons(), ["UnknownCompletionMode"]);
}
