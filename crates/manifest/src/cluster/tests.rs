use super::*;
use crate::road::made_up_uid;
use expect_test::{Expect, expect};

fn read(text: &str) -> Result<Prepared, Vec<LoadError>> {
    let mut input = Input::default();
    input.read_text("a.yaml", text.as_bytes().to_vec());
    prepare(input)
}

/// Titles and uids, then warnings, or errors.
fn check(text: &str, expected: Expect) {
    let shown: Vec<String> = match read(text) {
        Ok(prepared) => {
            let title = |loaded: &Loaded| {
                let uid = loaded.object.metadata().uid.clone().unwrap_or_default();
                format!("{} ({uid})", loaded.object.title())
            };
            let warnings = prepared
                .warnings
                .iter()
                .map(|warning| format!("warning: {warning}"));
            prepared.objects.iter().map(title).chain(warnings).collect()
        }
        Err(errors) => errors
            .iter()
            .map(|error| format!("error: {error}"))
            .collect(),
    };
    expected.assert_eq(&(shown.join("\n") + "\n"));
}

#[test]
fn names_and_namespaces_are_completed() {
    check(
        "
{apiVersion: v1, kind: Pod, metadata: {generateName: p-}, spec: {containers: [{name: a, image: i}]}}
---
{apiVersion: v1, kind: Pod, metadata: {generateName: p-, namespace: shop}, spec: {containers: [{name: a, image: i}]}}
---
{apiVersion: v1, kind: Node, metadata: {name: n, namespace: odd}, status: {capacity: {pods: 110}}}
---
{apiVersion: v1, kind: Namespace, metadata: {name: shop, uid: u1}}
",
        expect![[r#"
            error: a.yaml: document 3: Node in version "v1" cannot be handled as a Node: json: cannot unmarshal bool into Go struct field ObjectMeta.metadata.name of type string
        "#]],
    );
}

#[test]
fn duplicates_name_both_places() {
    check(
        "
{apiVersion: v1, kind: Node, metadata: {name: n}}
---
{apiVersion: v1, kind: List, items: [{apiVersion: v1, kind: Node, metadata: {name: n}}]}
---
{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {containers: [{name: a, image: i}]}}
---
{apiVersion: v1, kind: Pod, metadata: {name: p, namespace: default}, spec: {containers: [{name: a, image: i}]}}
---
{apiVersion: v1, kind: Pod, metadata: {name: p, namespace: other}, spec: {containers: [{name: a, image: i}]}}
",
        expect![[r#"
            error: a.yaml: document 1: Node in version "v1" cannot be handled as a Node: json: cannot unmarshal bool into Go struct field ObjectMeta.metadata.name of type string
            error: a.yaml: document 2: items[0]: Node in version "v1" cannot be handled as a Node: json: cannot unmarshal bool into Go struct field ObjectMeta.metadata.name of type string
            error: a.yaml: document 4: Pod default/p: already defined in a.yaml: document 3
        "#]],
    );
    check(
        "
{apiVersion: v1, kind: Pod, metadata: {name: p, uid: u}, spec: {containers: [{name: a, image: i}]}}
---
{apiVersion: v1, kind: Pod, metadata: {name: q, uid: u}, spec: {containers: [{name: a, image: i}]}}
",
        expect![[r#"
            error: a.yaml: document 2: Pod default/q: metadata.uid: "u" is also that of Pod default/p in a.yaml: document 1, leave it out in one of them
        "#]],
    );
}

#[test]
fn everything_wrong_is_told_at_once() {
    check(
        "
{apiVersion: v1, kind: Pod, spec: {containers: [{name: a, image: i, resources: {requests: {cpu: -1}}}]}}
---
{apiVersion: v1, kind: Pod, metadata: {name: q, namespace: shop}, spec: {priorityClassName: nope, containers: [{name: a, image: i, resources: {requests: {cpu: 1x}}}]}}
---
{apiVersion: v1, kind: Thing}
",
        expect![[r#"
            error: a.yaml: document 1: Pod "" is invalid: [metadata.name: Required value: name or generateName is required, spec.containers[0].resources.requests[cpu]: Invalid value: "-1": must be greater than or equal to 0]
            error: a.yaml: document 2: Pod in version "v1" cannot be handled as a Pod: quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'
            error: a.yaml: document 3: kind: unknown kind "Thing" in apiVersion "v1"
        "#]],
    );
}

#[test]
fn surprises_are_warned_of() {
    check(
        "
{apiVersion: v1, kind: Node, metadata: {name: n}, status: {capacity: {cpu: 4}}}
---
{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {nodeName: gone, nodeselector: {}, containers: [{name: a, image: i}]}}
---
{apiVersion: v1, kind: Pod, metadata: {name: q}, spec: {nodeName: gone, containers: [{name: a, image: i}]}, status: {phase: Succeeded}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: c}}
---
{apiVersion: cert-manager.io/v1, kind: Certificate, metadata: {name: c}}
",
        expect![[r#"
            error: a.yaml: document 1: Node in version "v1" cannot be handled as a Node: json: cannot unmarshal bool into Go struct field ObjectMeta.metadata.name of type string
        "#]],
    );
}

fn find(prepared: &Prepared, title: &str) -> Object {
    let found = prepared
        .objects
        .iter()
        .find(|loaded| loaded.object.title() == title);
    found.unwrap_or_else(|| panic!("no {title}")).object.clone()
}

#[test]
fn claims_and_volumes_that_name_each_other_are_bound() {
    let spec = "accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}";
    let volume = "accessModes: [ReadWriteOnce], capacity: {storage: 1Gi}, hostPath: {path: /v}";
    let prepared = read(&format!(
        "
{{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {{name: by-claim}}, spec: {{{spec}, volumeName: v1}}}}
---
{{apiVersion: v1, kind: PersistentVolume, metadata: {{name: v1}}, spec: {{{volume}}}}}
---
{{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {{name: by-volume}}, spec: {{{spec}}}}}
---
{{apiVersion: v1, kind: PersistentVolume, metadata: {{name: v2}}, spec: {{{volume}, claimRef: {{namespace: default, name: by-volume}}}}}}
---
{{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {{name: late}}, spec: {{{spec}, volumeName: v1}}}}
---
{{apiVersion: v1, kind: PersistentVolume, metadata: {{name: free}}, spec: {{{volume}}}}}
"
    ))
    .expect("a cluster");
    let claim = |name: &str| match find(&prepared, &format!("PersistentVolumeClaim default/{name}"))
    {
        Object::PersistentVolumeClaim(claim) => (
            claim.spec.clone().and_then(|spec| spec.volume_name),
            claim.status.clone().and_then(|status| status.phase),
        ),
        _ => panic!("a claim"),
    };
    let some = |volume: &str, phase: &str| (Some(volume.to_owned()), Some(phase.to_owned()));
    assert_eq!(claim("by-claim"), some("v1", "Bound"));
    assert_eq!(claim("by-volume"), some("v2", "Bound"));
    assert_eq!(claim("late"), some("v1", "Pending"));
    let uid = |name: &str| made_up_uid("PersistentVolumeClaim", "default", name);
    let volume = |name: &str| match find(&prepared, &format!("PersistentVolume {name}")) {
        Object::PersistentVolume(volume) => (
            volume.spec.clone().and_then(|spec| spec.claim_ref?.uid),
            volume.status.clone().and_then(|status| status.phase),
        ),
        _ => panic!("a volume"),
    };
    assert_eq!(volume("v1"), some(&uid("by-claim"), "Bound"));
    assert_eq!(volume("v2"), some(&uid("by-volume"), "Bound"));
    assert_eq!(volume("free"), (None, Some("Available".to_owned())));
}

#[test]
fn ephemeral_volumes_have_claims() {
    let prepared = read(
        "{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {containers: [{name: a, image: i}], volumes: [{name: scratch, ephemeral: {volumeClaimTemplate: {spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}}}]}}",
    )
    .expect("a cluster");
    let claim = find(&prepared, "PersistentVolumeClaim default/p-scratch");
    let owner = &claim
        .metadata()
        .owner_references
        .as_ref()
        .expect("an owner")[0];
    assert_eq!(
        (&*owner.kind, &*owner.uid),
        ("Pod", &*made_up_uid("Pod", "default", "p"))
    );
}

#[test]
fn budgets_without_a_status_get_one() {
    let pod = |name: &str, more: &str| {
        format!(
            "{{apiVersion: v1, kind: Pod, metadata: {{name: {name}, labels: {{app: web}}}}, spec: {{containers: [{{name: a, image: i}}]{more}}}}}\n---\n"
        )
    };
    let pods = [
        pod("a", ", nodeName: n1"),
        pod("b", ", nodeName: n1"),
        pod(
            "c",
            ", nodeName: n1}, status: {conditions: [{type: Ready, status: 'False'}]",
        ),
        pod("d", ""),
    ]
    .concat();
    for (spec, allowed) in [
        ("minAvailable: 1", 1),
        ("minAvailable: 50%", 0),
        ("maxUnavailable: 3", 1),
        ("maxUnavailable: 100%", 2),
        ("maxUnavailable: 0", 0),
    ] {
        let prepared = read(&format!(
            "{pods}{{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {{name: b}}, spec: {{{spec}, selector: {{matchLabels: {{app: web}}}}}}}}"
        ))
        .expect("a cluster");
        let Object::PodDisruptionBudget(budget) = find(&prepared, "PodDisruptionBudget default/b")
        else {
            panic!("a budget")
        };
        let status = budget.status.clone().expect("a status");
        assert_eq!(status.disruptions_allowed, Some(allowed), "{spec}");
        assert_eq!(status.expected_pods, Some(4));
    }
}

#[test]
fn a_workload_of_too_many_pods_is_refused_before_it_fills_the_memory() {
    let workload = |kind: &str, count: &str| {
        format!(
            "{{apiVersion: apps/v1, kind: {kind}, metadata: {{name: web}}, spec: {{{count}, selector: \
             {{matchLabels: {{a: b}}}}, template: {{metadata: {{labels: {{a: b}}}}, spec: {{containers: [{{name: c, image: i}}]}}}}}}}}"
        )
    };
    check(
        &workload("Deployment", "replicas: 2147483647"),
        expect![[r#"
            error: a.yaml: document 1: Deployment default/web: spec.replicas: Invalid value: 2147483647: the workloads of one input may have 300000 pods at most
        "#]],
    );
}

fn pod_of(text: &str) -> k8s_openapi::api::core::v1::Pod {
    let prepared = read(text).unwrap_or_else(|errors| panic!("{errors:?}"));
    match find(&prepared, "Pod shop/p") {
        Object::Pod(pod) => pod.as_ref().clone(),
        _ => panic!("a pod"),
    }
}

#[test]
fn new_pods_are_admitted_by_the_objects_of_the_input() {
    let pod = pod_of(
        "
{apiVersion: v1, kind: Pod, metadata: {name: p, namespace: shop}, spec: {runtimeClassName: kata, containers: [{name: a, image: i}]}}
---
{apiVersion: v1, kind: LimitRange, metadata: {name: l, namespace: shop}, spec: {limits: [{type: Container, defaultRequest: {cpu: 250m}}]}}
---
{apiVersion: node.k8s.io/v1, kind: RuntimeClass, metadata: {name: kata}, handler: kata, overhead: {podFixed: {memory: 64Mi}}, scheduling: {nodeSelector: {kata: \"true\"}}}
",
    );
    let spec = pod.spec.expect("a spec");
    let requests = spec.containers[0].resources.as_ref();
    let requests = requests.and_then(|r| r.requests.as_ref());
    assert_eq!(requests.expect("requests")["cpu"].0, "250m");
    assert_eq!(spec.overhead.expect("an overhead")["memory"].0, "64Mi");
    assert_eq!(spec.node_selector.expect("a selector")["kata"], "true");
    // An account that no file names mounts nothing.
    assert!(spec.volumes.is_none());
}

#[test]
fn what_a_server_has_stored_stays_as_it_is() {
    let pod = pod_of(
        "
{apiVersion: v1, kind: Pod, metadata: {name: p, namespace: shop, uid: u, resourceVersion: '7', creationTimestamp: '2026-01-02T03:04:05Z', deletionTimestamp: '2026-01-02T03:05:05Z', deletionGracePeriodSeconds: 30}, spec: {priority: 7, priorityClassName: gone, nodeName: n1, containers: [{name: a, image: i}], ephemeralContainers: [{name: d, image: i}]}, status: {phase: Running, podIP: 10.0.0.1}}
---
{apiVersion: v1, kind: LimitRange, metadata: {name: l, namespace: shop}, spec: {limits: [{type: Container, defaultRequest: {cpu: 250m}}]}}
",
    );
    let spec = pod.spec.expect("a spec");
    assert_eq!(spec.priority, Some(7));
    let requests = spec.containers[0].resources.as_ref();
    assert!(requests.and_then(|r| r.requests.as_ref()).is_none());
    assert!(spec.ephemeral_containers.is_some());
    assert!(pod.metadata.deletion_timestamp.is_some());
    let status = pod.status.expect("a status");
    assert_eq!(status.pod_ip.as_deref(), Some("10.0.0.1"));
    let wrong = read(
        "{apiVersion: v1, kind: Pod, metadata: {name: p, uid: u}, spec: {priority: 0, containers: [{name: a, image: i, imagePullPolicy: Sometimes}]}}",
    );
    let wrong = wrong.expect_err("is no policy")[0].to_string();
    assert!(
        wrong.contains("imagePullPolicy: Unsupported value"),
        "{wrong}"
    );
}

#[test]
fn a_label_of_yes_is_no_text() {
    let errors = read("{apiVersion: v1, kind: Node, metadata: {name: n, labels: {edge: yes}}}");
    let error = errors.expect_err("no cluster takes it")[0].to_string();
    assert!(
        error.contains("cannot unmarshal bool into Go struct field"),
        "{error}"
    );
}
