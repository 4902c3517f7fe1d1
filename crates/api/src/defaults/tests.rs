use super::*;
use crate::load::Input;
use expect_test::{Expect, expect};

/// Fills in all objects of a text; shows the parts of the last one that scheduling reads.
fn filled(text: &str) -> (Object, Vec<String>) {
    let mut input = Input::default();
    input.read_text("a.yaml", text.as_bytes());
    assert!(input.errors.is_empty(), "{:?}", input.errors);
    let defaults = Defaults::of(&input.objects);
    let mut last = input.objects.pop().expect("an object").object;
    let mut errors = Vec::new();
    defaults.fill(&mut last, &mut errors);
    (last, errors.iter().map(ToString::to_string).collect())
}

fn check(text: &str, expected: Expect) {
    let (object, errors) = filled(text);
    let spec = match &object {
        Object::Pod(pod) => serde_yaml_ng::to_string(&pod.spec),
        Object::PersistentVolumeClaim(claim) => serde_yaml_ng::to_string(&claim.spec),
        other => panic!("not shown: {}", other.title()),
    };
    let mut shown = spec.expect("YAML");
    for error in errors {
        shown += &format!("error: {error}\n");
    }
    expected.assert_eq(&shown);
}

/// Only the lines of priority and policy.
fn check_priority(text: &str, expected: &str) {
    let (object, errors) = filled(text);
    let Object::Pod(pod) = object else {
        panic!("a pod")
    };
    let spec = pod.spec.expect("a spec");
    let shown = match errors.first() {
        Some(error) => error.clone(),
        None => format!(
            "{:?} {:?} {:?}",
            spec.priority_class_name.unwrap_or_default(),
            spec.priority.unwrap_or_default(),
            spec.preemption_policy.unwrap_or_default()
        ),
    };
    assert_eq!(shown, expected, "{text}");
}

#[test]
fn pods_are_filled_in() {
    check(
        "
apiVersion: v1
kind: Pod
metadata: {name: p, labels: {app: web, version: '2'}}
spec:
  hostNetwork: true
  containers:
  - name: a
    ports: [{containerPort: 80}, {containerPort: 53, hostPort: 5353, protocol: UDP}]
    resources: {limits: {cpu: '1', memory: 1Gi}, requests: {cpu: 500m}}
  tolerations: [{key: node.kubernetes.io/not-ready, operator: Exists}]
  topologySpreadConstraints:
  - {maxSkew: 1, topologyKey: zone, whenUnsatisfiable: DoNotSchedule, matchLabelKeys: [version, other], labelSelector: {matchLabels: {app: web}}}
  - {maxSkew: 1, topologyKey: zone, whenUnsatisfiable: ScheduleAnyway, matchLabelKeys: [version]}
  affinity:
    podAntiAffinity:
      requiredDuringSchedulingIgnoredDuringExecution:
      - {topologyKey: zone, mismatchLabelKeys: [version], labelSelector: {}}
",
        expect![[r#"
            affinity:
              podAntiAffinity:
                requiredDuringSchedulingIgnoredDuringExecution:
                - labelSelector:
                    matchExpressions:
                    - key: version
                      operator: NotIn
                      values:
                      - '2'
                  mismatchLabelKeys:
                  - version
                  topologyKey: zone
            containers:
            - name: a
              ports:
              - containerPort: 80
                hostPort: 80
                protocol: TCP
              - containerPort: 53
                hostPort: 5353
                protocol: UDP
              resources:
                limits:
                  cpu: '1'
                  memory: 1Gi
                requests:
                  cpu: 500m
                  memory: 1Gi
            hostNetwork: true
            preemptionPolicy: PreemptLowerPriority
            priority: 0
            schedulerName: default-scheduler
            tolerations:
            - key: node.kubernetes.io/not-ready
              operator: Exists
            - effect: NoExecute
              key: node.kubernetes.io/unreachable
              operator: Exists
              tolerationSeconds: 300
            topologySpreadConstraints:
            - labelSelector:
                matchExpressions:
                - key: version
                  operator: In
                  values:
                  - '2'
                matchLabels:
                  app: web
              matchLabelKeys:
              - version
              - other
              maxSkew: 1
              topologyKey: zone
              whenUnsatisfiable: DoNotSchedule
            - matchLabelKeys:
              - version
              maxSkew: 1
              topologyKey: zone
              whenUnsatisfiable: ScheduleAnyway
        "#]],
    );
}

#[test]
fn pod_level_requests_come_from_containers_then_limits() {
    check(
        "
apiVersion: v1
kind: Pod
metadata: {name: p}
spec:
  containers:
  - {name: a, resources: {requests: {cpu: 100m}}}
  - {name: b, resources: {requests: {cpu: 250m}, limits: {hugepages-2Mi: 4Mi}}}
  resources: {limits: {cpu: '1', memory: 1Gi}}
",
        expect![[r#"
            containers:
            - name: a
              resources:
                requests:
                  cpu: 100m
            - name: b
              resources:
                limits:
                  hugepages-2Mi: 4Mi
                requests:
                  cpu: 250m
                  hugepages-2Mi: 4Mi
            preemptionPolicy: PreemptLowerPriority
            priority: 0
            resources:
              limits:
                cpu: '1'
                hugepages-2Mi: '4194304'
                memory: 1Gi
              requests:
                cpu: 350m
                hugepages-2Mi: '4194304'
                memory: 1Gi
            schedulerName: default-scheduler
            tolerations:
            - effect: NoExecute
              key: node.kubernetes.io/not-ready
              operator: Exists
              tolerationSeconds: 300
            - effect: NoExecute
              key: node.kubernetes.io/unreachable
              operator: Exists
              tolerationSeconds: 300
        "#]],
    );
}

#[test]
fn claims_get_the_default_class() {
    let classes = "
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: slow}
provisioner: x
---
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: fast, annotations: {storageclass.kubernetes.io/is-default-class: 'true'}}
provisioner: x
---
";
    let claim = "
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: c}
spec: {accessModes: [ReadWriteOnce]";
    for (end, class) in [
        ("}", Some("fast")),
        (", storageClassName: ''}", Some("")),
        (", storageClassName: slow}", Some("slow")),
    ] {
        let (object, _) = filled(&format!("{classes}{claim}{end}"));
        let Object::PersistentVolumeClaim(claim) = object else {
            panic!("a claim")
        };
        assert_eq!(
            claim
                .spec
                .and_then(|spec| spec.storage_class_name)
                .as_deref(),
            class
        );
    }
    let (object, _) = filled(&format!("{claim}}}"));
    let Object::PersistentVolumeClaim(claim) = object else {
        panic!("a claim")
    };
    assert_eq!(claim.spec.and_then(|spec| spec.storage_class_name), None);
}

const CLASSES: &str = "
apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata: {name: high}
value: 1000
---
apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata: {name: polite}
value: 500
preemptionPolicy: Never
---
";

const NORMAL: &str = "
apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata: {name: normal}
value: 7
globalDefault: true
---
";

fn pod(metadata: &str, spec: &str) -> String {
    format!("{{apiVersion: v1, kind: Pod, metadata: {{name: p{metadata}}}, spec: {{{spec}}}}}")
}

#[test]
fn priorities_come_from_classes() {
    for (classes, metadata, spec, expected) in [
        ("", "", "", r#""" 0 "PreemptLowerPriority""#),
        (CLASSES, "", "", r#""" 0 "PreemptLowerPriority""#),
        (NORMAL, "", "", r#""normal" 7 "PreemptLowerPriority""#),
        (
            CLASSES,
            "",
            "priorityClassName: high",
            r#""high" 1000 "PreemptLowerPriority""#,
        ),
        (
            CLASSES,
            "",
            "priorityClassName: polite",
            r#""polite" 500 "Never""#,
        ),
        (
            "",
            "",
            "priorityClassName: system-node-critical",
            r#""system-node-critical" 2000001000 "PreemptLowerPriority""#,
        ),
        (
            "",
            "",
            "priorityClassName: nope",
            "spec.priorityClassName: Forbidden: no PriorityClass with name nope was found",
        ),
        // Dumps may come without classes, and classes change behind their pods.
        (
            "",
            "",
            "priorityClassName: nope, priority: 5",
            r#""nope" 5 "PreemptLowerPriority""#,
        ),
        (
            CLASSES,
            ", uid: u",
            "priorityClassName: high, priority: 5",
            r#""high" 5 "PreemptLowerPriority""#,
        ),
        (
            CLASSES,
            "",
            "priorityClassName: high, priority: 5",
            "spec.priority: Forbidden: the integer value of priority (5) must not be provided in pod spec; priority admission controller computed 1000 from the given PriorityClass name",
        ),
        (
            CLASSES,
            "",
            "priorityClassName: high, preemptionPolicy: Never",
            "spec.preemptionPolicy: Forbidden: the string value of PreemptionPolicy (Never) must not be provided in pod spec; priority admission controller computed PreemptLowerPriority from the given PriorityClass name",
        ),
        (
            NORMAL,
            "",
            "priority: 42, preemptionPolicy: Never",
            r#""" 42 "Never""#,
        ),
    ] {
        check_priority(&format!("{classes}{}", pod(metadata, spec)), expected);
    }
}

#[test]
fn nodes_and_namespaces() {
    let (object, _) =
        filled("{apiVersion: v1, kind: Node, metadata: {name: n}, status: {capacity: {cpu: 4}}}");
    let Object::Node(node) = object else {
        panic!("a node")
    };
    let allocatable = node
        .status
        .and_then(|status| status.allocatable)
        .expect("allocatable");
    assert_eq!(allocatable["cpu"].0, "4");
    let (object, _) = filled("{apiVersion: v1, kind: Namespace, metadata: {name: shop}}");
    assert_eq!(
        object.metadata().labels.as_ref().expect("labels")["kubernetes.io/metadata.name"],
        "shop"
    );
}
