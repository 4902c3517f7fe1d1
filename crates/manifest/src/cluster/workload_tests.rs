use super::*;
use expect_test::{Expect, expect};
use stowplan_api::load::Object;

fn prepared(text: &str) -> Prepared {
    let mut input = Input::default();
    input.read_text("a.yaml", text.as_bytes().to_vec());
    prepare(input).unwrap_or_else(|errors| panic!("{errors:?}"))
}

/// One line per object that was made: its title, its controller, its labels, and where it must go.
fn check(text: &str, expected: Expect) {
    let prepared = prepared(text);
    let mut shown = String::new();
    for loaded in &prepared.objects[prepared.read..] {
        if !matches!(loaded.object, Object::Namespace(_)) {
            shown += &line(&loaded.object);
        }
    }
    expected.assert_eq(&shown);
}

fn line(object: &Object) -> String {
    let metadata = object.metadata();
    let mut line = object.title();
    let mut owners = metadata.owner_references.iter().flatten();
    if let Some(owner) = owners.find(|owner| owner.controller == Some(true)) {
        line += &format!(" of {} {} ({})", owner.kind, owner.name, owner.uid);
    }
    for (key, value) in metadata.labels.iter().flatten() {
        line += &format!(" {key}={value}");
    }
    if let Object::Pod(pod) = object {
        let spec = pod.spec.as_ref().expect("a spec");
        for volume in spec.volumes.iter().flatten() {
            let claim = volume
                .persistent_volume_claim
                .as_ref()
                .map(|claim| &*claim.claim_name);
            line += &format!(" volume {}:{}", volume.name, claim.unwrap_or("-"));
        }
    }
    line + "\n"
}

const TEMPLATE: &str =
    "template: {metadata: {labels: {app: web}}, spec: {containers: [{name: a, image: i}]}}";
const JOB_TEMPLATE: &str =
    "template: {spec: {restartPolicy: Never, containers: [{name: a, image: i}]}}";
const SELECTOR: &str = "selector: {matchLabels: {app: web}}";

#[test]
fn a_deployment_becomes_a_replica_set_and_pods() {
    check(
        &format!(
            "{{apiVersion: apps/v1, kind: Deployment, metadata: {{name: web, namespace: shop}}, spec: {{replicas: 2, {SELECTOR}, {TEMPLATE}}}}}"
        ),
        expect![[r#"
            Pod shop/web-0 of ReplicaSet web-59775d9dd6 (f09361a7-e1d1-8f3f-85ea-6e816291ac5c) app=web pod-template-hash=59775d9dd6
            Pod shop/web-1 of ReplicaSet web-59775d9dd6 (f09361a7-e1d1-8f3f-85ea-6e816291ac5c) app=web pod-template-hash=59775d9dd6
            ReplicaSet shop/web-59775d9dd6 of Deployment web (9b07c1f8-1033-8409-8e03-1398bf0f48e6) app=web pod-template-hash=59775d9dd6
        "#]],
    );
}

#[test]
fn pods_that_are_there_are_not_made_again() {
    let set = "
apiVersion: apps/v1
kind: ReplicaSet
metadata:
  name: web-abc
  uid: rs1
  ownerReferences: [{apiVersion: apps/v1, kind: Deployment, name: web, uid: d1, controller: true}]
spec:
  replicas: 2
  selector: {matchLabels: {app: web, pod-template-hash: abc}}
  template: {metadata: {labels: {app: web, pod-template-hash: abc}}, spec: {containers: [{name: a, image: i}]}}
---
";
    let deployment = format!(
        "{{apiVersion: apps/v1, kind: Deployment, metadata: {{name: web, uid: d1}}, spec: {{replicas: 3, {SELECTOR}, {TEMPLATE}}}}}\n---\n"
    );
    let pod = |name: &str, more: &str| {
        format!(
            "{{apiVersion: v1, kind: Pod, metadata: {{name: {name}, uid: {name}, labels: {{app: web, pod-template-hash: abc}}, ownerReferences: [{{apiVersion: apps/v1, kind: ReplicaSet, name: web-abc, uid: rs1, controller: true}}]}}, spec: {{containers: [{{name: a, image: i}}]}}{more}}}\n---\n"
        )
    };
    // The ReplicaSet lacks one of two, and the Deployment wants one more; a pod that has run its
    // course does not count, but keeps its name.
    let pods = pod("web-abc-x", "") + &pod("web-0", ", status: {phase: Failed}");
    check(
        &format!("{deployment}{set}{pods}"),
        expect![[r#"
        Pod default/web-1 of ReplicaSet web-abc (rs1) app=web pod-template-hash=abc
        Pod default/web-2 of ReplicaSet web-abc (rs1) app=web pod-template-hash=abc
    "#]],
    );
    // Without the ReplicaSet in the dump its pods are known by the Deployment's selector.
    check(
        &format!("{deployment}{pods}"),
        expect![[r#"
        Pod default/web-1 of ReplicaSet web-abc (rs1) app=web pod-template-hash=abc
        Pod default/web-2 of ReplicaSet web-abc (rs1) app=web pod-template-hash=abc
        ReplicaSet default/web-abc of Deployment web (d1) app=web pod-template-hash=abc
    "#]],
    );
    // Without the Deployment the ReplicaSet speaks for itself.
    check(
        &format!("{set}{pods}"),
        expect![[r#"
        Pod default/web-1 of ReplicaSet web-abc (rs1) app=web pod-template-hash=abc
    "#]],
    );
}

#[test]
fn a_stateful_set_becomes_pods_and_claims() {
    check(
        &format!(
            "
apiVersion: apps/v1
kind: StatefulSet
metadata: {{name: db}}
spec:
  replicas: 2
  serviceName: db
  ordinals: {{start: 1}}
  {SELECTOR}
  template: {{metadata: {{labels: {{app: web}}}}, spec: {{containers: [{{name: a, image: i}}], volumes: [{{name: data, emptyDir: {{}}}}, {{name: tmp, emptyDir: {{}}}}]}}}}
  volumeClaimTemplates: [{{metadata: {{name: data}}, spec: {{accessModes: [ReadWriteOnce], resources: {{requests: {{storage: 1Gi}}}}}}}}]
---
{{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {{name: data-db-2}}, spec: {{accessModes: [ReadWriteOnce], resources: {{requests: {{storage: 1Gi}}}}}}}}
"
        ),
        expect![[r#"
            Pod default/db-1 of StatefulSet db (0c7f0d74-3605-8858-8a9d-25d1098b797c) app=web apps.kubernetes.io/pod-index=1 statefulset.kubernetes.io/pod-name=db-1 volume data:data-db-1 volume tmp:-
            PersistentVolumeClaim default/data-db-1 app=web
            Pod default/db-2 of StatefulSet db (0c7f0d74-3605-8858-8a9d-25d1098b797c) app=web apps.kubernetes.io/pod-index=2 statefulset.kubernetes.io/pod-name=db-2 volume data:data-db-2 volume tmp:-
        "#]],
    );
}

#[test]
fn a_daemon_set_goes_to_every_node_that_will_have_it() {
    let text = format!(
        "
{{apiVersion: v1, kind: Node, metadata: {{name: a1}}}}
---
{{apiVersion: v1, kind: Node, metadata: {{name: a2}}, spec: {{unschedulable: true, taints: [{{key: node.kubernetes.io/unschedulable, effect: NoSchedule}}]}}}}
---
{{apiVersion: v1, kind: Node, metadata: {{name: gpu1}}, spec: {{taints: [{{key: gpu, effect: NoSchedule}}]}}}}
---
{{apiVersion: v1, kind: Node, metadata: {{name: b1, labels: {{edge: 'yes'}}}}}}
---
{{apiVersion: v1, kind: Node, metadata: {{name: b2}}}}
---
{{apiVersion: apps/v1, kind: DaemonSet, metadata: {{name: agent}}, spec: {{{SELECTOR}, template: {{metadata: {{labels: {{app: web}}}}, spec: {{containers: [{{name: a, image: i}}], affinity: {{nodeAffinity: {{requiredDuringSchedulingIgnoredDuringExecution: {{nodeSelectorTerms: [{{matchExpressions: [{{key: edge, operator: DoesNotExist}}]}}]}}}}}}}}}}}}}}
---
{{apiVersion: v1, kind: Pod, metadata: {{name: agent-old, ownerReferences: [{{apiVersion: apps/v1, kind: DaemonSet, name: agent, uid: '', controller: true}}]}}, spec: {{nodeName: b2, containers: [{{name: a, image: i}}]}}}}
"
    );
    check(
        &text,
        expect![[r#"
            Pod default/agent-a1 of DaemonSet agent (e9fb17aa-936a-8164-8184-2e4633d98f17) app=web
            Pod default/agent-a2 of DaemonSet agent (e9fb17aa-936a-8164-8184-2e4633d98f17) app=web
        "#]],
    );
    let prepared = prepared(&text);
    let Object::Pod(pod) = &prepared.objects[prepared.read].object else {
        panic!("a pod")
    };
    let spec = pod.spec.as_ref().expect("a spec");
    expect![[r#"
        - nodeAffinity:
            requiredDuringSchedulingIgnoredDuringExecution:
              nodeSelectorTerms:
              - matchFields:
                - key: metadata.name
                  operator: In
                  values:
                  - a1
        - - effect: NoExecute
            key: node.kubernetes.io/not-ready
            operator: Exists
          - effect: NoExecute
            key: node.kubernetes.io/unreachable
            operator: Exists
          - effect: NoSchedule
            key: node.kubernetes.io/disk-pressure
            operator: Exists
          - effect: NoSchedule
            key: node.kubernetes.io/memory-pressure
            operator: Exists
          - effect: NoSchedule
            key: node.kubernetes.io/pid-pressure
            operator: Exists
          - effect: NoSchedule
            key: node.kubernetes.io/unschedulable
            operator: Exists
    "#]]
    .assert_eq(&serde_yaml_ng::to_string(&(&spec.affinity, &spec.tolerations)).expect("YAML"));
}

#[test]
fn jobs_start_what_is_left_to_do() {
    let job = |name: &str, spec: &str, status: &str| {
        format!(
            "{{apiVersion: batch/v1, kind: Job, metadata: {{name: {name}}}, spec: {{{spec}template: {{spec: {{restartPolicy: Never, containers: [{{name: a, image: i}}]}}}}}}, status: {{{status}}}}}\n---\n"
        )
    };
    check(
        &[
            job("one", "", ""),
            job("queue", "parallelism: 2, ", ""),
            job("draining", "parallelism: 2, ", "succeeded: 1"),
            job("most", "parallelism: 3, completions: 5, ", "succeeded: 3"),
            job("asleep", "suspend: true, ", ""),
            job("over", "", "conditions: [{type: Complete, status: 'True'}]"),
            job(
                "indexed",
                "completionMode: Indexed, parallelism: 3, completions: 6, ",
                "succeeded: 3, completedIndexes: '0-1,3'",
            ),
        ]
        .concat(),
        expect![[r#"
            Pod default/one-0 of Job one (fcf2fab7-8136-8f43-8a6f-64732a9f82f5) batch.kubernetes.io/controller-uid=fcf2fab7-8136-8f43-8a6f-64732a9f82f5 batch.kubernetes.io/job-name=one controller-uid=fcf2fab7-8136-8f43-8a6f-64732a9f82f5 job-name=one
            Pod default/queue-0 of Job queue (d178e2f3-36bc-82c3-816d-1c660b48edf6) batch.kubernetes.io/controller-uid=d178e2f3-36bc-82c3-816d-1c660b48edf6 batch.kubernetes.io/job-name=queue controller-uid=d178e2f3-36bc-82c3-816d-1c660b48edf6 job-name=queue
            Pod default/queue-1 of Job queue (d178e2f3-36bc-82c3-816d-1c660b48edf6) batch.kubernetes.io/controller-uid=d178e2f3-36bc-82c3-816d-1c660b48edf6 batch.kubernetes.io/job-name=queue controller-uid=d178e2f3-36bc-82c3-816d-1c660b48edf6 job-name=queue
            Pod default/most-0 of Job most (b233d65f-f5fa-887d-8710-99b9f47670dc) batch.kubernetes.io/controller-uid=b233d65f-f5fa-887d-8710-99b9f47670dc batch.kubernetes.io/job-name=most controller-uid=b233d65f-f5fa-887d-8710-99b9f47670dc job-name=most
            Pod default/most-1 of Job most (b233d65f-f5fa-887d-8710-99b9f47670dc) batch.kubernetes.io/controller-uid=b233d65f-f5fa-887d-8710-99b9f47670dc batch.kubernetes.io/job-name=most controller-uid=b233d65f-f5fa-887d-8710-99b9f47670dc job-name=most
            Pod default/indexed-2 of Job indexed (388aa704-b6c5-8d13-8f76-42eccf62845c) batch.kubernetes.io/controller-uid=388aa704-b6c5-8d13-8f76-42eccf62845c batch.kubernetes.io/job-completion-index=2 batch.kubernetes.io/job-name=indexed controller-uid=388aa704-b6c5-8d13-8f76-42eccf62845c job-name=indexed
            Pod default/indexed-4 of Job indexed (388aa704-b6c5-8d13-8f76-42eccf62845c) batch.kubernetes.io/controller-uid=388aa704-b6c5-8d13-8f76-42eccf62845c batch.kubernetes.io/job-completion-index=4 batch.kubernetes.io/job-name=indexed controller-uid=388aa704-b6c5-8d13-8f76-42eccf62845c job-name=indexed
            Pod default/indexed-5 of Job indexed (388aa704-b6c5-8d13-8f76-42eccf62845c) batch.kubernetes.io/controller-uid=388aa704-b6c5-8d13-8f76-42eccf62845c batch.kubernetes.io/job-completion-index=5 batch.kubernetes.io/job-name=indexed controller-uid=388aa704-b6c5-8d13-8f76-42eccf62845c job-name=indexed
        "#]],
    );
}

#[test]
fn one_more_pod_of_a_template() {
    let check = |kind: &str, spec: &str, expected: &str| {
        let (api_version, template) = match kind {
            "Job" => ("batch/v1", JOB_TEMPLATE),
            _ => ("apps/v1", TEMPLATE),
        };
        let prepared = prepared(&format!(
            "{{apiVersion: {api_version}, kind: {kind}, metadata: {{name: web}}, spec: {{{spec}{template}}}}}"
        ));
        let one_more = prepared.one_more(&prepared.objects[0]);
        let title = one_more
            .map(|made| made[0].object.title())
            .unwrap_or_default();
        assert_eq!(title, expected, "{kind}");
    };
    check(
        "Deployment",
        &format!("replicas: 2, {SELECTOR}, "),
        "Pod default/web-2",
    );
    check(
        "ReplicaSet",
        &format!("replicas: 0, {SELECTOR}, "),
        "Pod default/web-0",
    );
    check(
        "StatefulSet",
        &format!("serviceName: web, {SELECTOR}, "),
        "Pod default/web-1",
    );
    check("Job", "", "Pod default/web-1");
    check("DaemonSet", &format!("{SELECTOR}, "), "");
}

#[test]
fn one_more_pod_of_a_stateful_set_brings_its_claims() {
    let prepared = prepared(&format!(
        "{{apiVersion: apps/v1, kind: StatefulSet, metadata: {{name: db}}, spec: {{serviceName: db, {SELECTOR}, {TEMPLATE}, \
         volumeClaimTemplates: [{{metadata: {{name: data}}, spec: {{accessModes: [ReadWriteOnce], \
         resources: {{requests: {{storage: 1Gi}}}}}}}}]}}}}"
    ));
    let made = prepared.one_more(&prepared.objects[0]).unwrap_or_default();
    let titles: Vec<_> = made.iter().map(|made| made.object.title()).collect();
    assert_eq!(
        titles,
        [
            "Pod default/db-1",
            "PersistentVolumeClaim default/data-db-1"
        ]
    );
}
