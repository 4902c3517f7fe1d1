use super::*;
use crate::load::Input;
use expect_test::{Expect, expect};

fn check(text: &str, expected: Expect) {
    let mut input = Input::default();
    input.read_text("a.yaml", text.as_bytes());
    assert!(input.errors.is_empty(), "{:?}", input.errors);
    let mut shown = String::new();
    for loaded in &input.objects {
        for error in validate(&loaded.object) {
            shown += &format!("{error}\n");
        }
    }
    expected.assert_eq(&shown);
}

fn check_pod(spec: &str, expected: Expect) {
    let containers = if spec.contains("containers") {
        ""
    } else {
        "containers: [{name: a}], "
    };
    check(
        &format!(
            "{{apiVersion: v1, kind: Pod, metadata: {{name: p}}, spec: {{{containers}{spec}}}}}"
        ),
        expected,
    );
}

#[test]
fn quantities() {
    check_pod(
        "containers: [{name: a, resources: {requests: {cpu: -1, memory: 1Gib, nvidia.com/gpu: 500m, gpu: 1, a b: 1}}}]",
        expect![[r#"
            spec.containers[0].resources.requests[a b]: Invalid value: "a b": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')
            spec.containers[0].resources.requests[cpu]: Invalid value: "-1": must be greater than or equal to 0
            spec.containers[0].resources.requests[gpu]: Invalid value: "gpu": must be a standard resource for containers
            spec.containers[0].resources.requests[memory]: Invalid value: "1Gib": unable to parse quantity's suffix
            spec.containers[0].resources.requests[nvidia.com/gpu]: Invalid value: "500m": must be an integer
            spec.containers[0].resources.limits: Required value: Limit must be set for non overcommitable resources
        "#]],
    );
    check_pod(
        "containers: [{name: a, resources: {requests: {cpu: 3, nvidia.com/gpu: 1}, limits: {cpu: 2, nvidia.com/gpu: 2}}}, {name: a, resources: {requests: {example.com/x: 1, hugepages-2Mi: 3Mi}}}]",
        expect![[r#"
            spec.containers[0].resources.requests: Invalid value: "3": must be less than or equal to cpu limit of 2
            spec.containers[0].resources.requests: Invalid value: "1": must be equal to nvidia.com/gpu limit of 2
            spec.containers[1].name: Duplicate value: "a"
            spec.containers[1].resources.requests[hugepages-2Mi]: Invalid value: "3Mi": 3Mi is not positive integer multiple of hugepages-2Mi
            spec.containers[1].resources.limits: Required value: Limit must be set for non overcommitable resources
            spec.containers[1].resources.limits: Required value: Limit must be set for non overcommitable resources
            spec.containers[1].resources: Forbidden: HugePages require cpu or memory
        "#]],
    );
    check_pod(
        "containers: [{name: a, resources: {requests: {cpu: 3}}}], resources: {requests: {cpu: 2, ephemeral-storage: 1}, limits: {cpu: 1}}, overhead: {cpu: -1}",
        expect![[r#"
            spec.resources.requests[ephemeral-storage]: Unsupported value: "ephemeral-storage": supported values: "cpu", "hugepages-", "memory"
            spec.resources.requests: Invalid value: "2": must be less than or equal to cpu limit of 1
            spec.overhead[cpu]: Invalid value: "-1": must be greater than or equal to 0
        "#]],
    );
    check_pod(
        "containers: [{name: a, resources: {requests: {cpu: 3}}}], resources: {requests: {cpu: 2}}",
        expect![[r#"
            spec.resources.requests[cpu]: Invalid value: "2": must be greater than or equal to aggregate container requests of 3
        "#]],
    );
}

#[test]
fn containers_and_ports() {
    check_pod(
        "containers: []",
        expect![[r#"
        spec.containers: Required value
    "#]],
    );
    check_pod(
        "containers: [{name: ''}, {name: a, ports: [{containerPort: 0}, {containerPort: 70000, hostPort: -1, protocol: tcp}]}], initContainers: [{name: a}]",
        expect![[r#"
            spec.containers[0].name: Required value
            spec.containers[1].ports[0].containerPort: Required value
            spec.containers[1].ports[1].containerPort: Invalid value: 70000: must be between 1 and 65535, inclusive
            spec.containers[1].ports[1].hostPort: Invalid value: -1: must be between 1 and 65535, inclusive
            spec.containers[1].ports[1].protocol: Unsupported value: "tcp": supported values: "SCTP", "TCP", "UDP"
            spec.initContainers[0].name: Duplicate value: "a"
        "#]],
    );
    check_pod(
        "volumes: [{name: v}, {name: v, persistentVolumeClaim: {claimName: ''}}, {name: e, ephemeral: {volumeClaimTemplate: {spec: {}}}}]",
        expect![[r#"
            spec.volumes[1].name: Duplicate value: "v"
            spec.volumes[1].persistentVolumeClaim.claimName: Required value
            spec.volumes[2].ephemeral.volumeClaimTemplate.spec.accessModes: Required value: at least 1 access mode is required
            spec.volumes[2].ephemeral.volumeClaimTemplate.spec.resources[storage]: Required value
        "#]],
    );
}

#[test]
fn selectors_and_affinity() {
    check_pod(
        "nodeSelector: {'bad key': x, a: 'b c'}, affinity: {nodeAffinity: {
          requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: []},
          preferredDuringSchedulingIgnoredDuringExecution: [
            {weight: 0, preference: {matchExpressions: [{key: a, operator: Gt, values: ['not a number']}]}},
            {weight: 1, preference: {matchFields: [{key: metadata.uid, operator: Exists}]}}]}}",
        expect![[r#"
            spec.nodeSelector: Invalid value: "b c": a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')
            spec.nodeSelector: Invalid value: "bad key": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')
            spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms: Required value: must have at least one node selector term
            spec.affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].weight: Invalid value: 0: must be in the range 1-100
            spec.affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution[1].preference.matchFields[0].operator: Invalid value: "Exists": not a valid selector operator
            spec.affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution[1].preference.matchFields[0].key: Invalid value: "metadata.uid": not a valid field selector key
        "#]],
    );
    check_pod(
        "affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [
          {matchExpressions: [{key: a, operator: Is}, {key: a, operator: In}, {key: a, operator: Exists, values: [x]}, {key: a, operator: Lt, values: [x, y]}]},
          {matchFields: [{key: metadata.name, operator: In, values: [a, b]}]}]}}}",
        expect![[r#"
            spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchExpressions[0].operator: Invalid value: "Is": not a valid selector operator
            spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchExpressions[1].values: Required value: must be specified when `operator` is 'In' or 'NotIn'
            spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchExpressions[2].values: Forbidden: may not be specified when `operator` is 'Exists' or 'DoesNotExist'
            spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchExpressions[3].values: Required value: must be specified single value when `operator` is 'Lt' or 'Gt'
            spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[1].matchFields[0].values: Required value: must be only one value when `operator` is 'In' or 'NotIn' for node field selector
        "#]],
    );
    check_pod(
        "affinity: {podAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [
            {topologyKey: '', labelSelector: {matchExpressions: [{key: a, operator: Gt, values: ['1']}]}},
            {topologyKey: zone, matchLabelKeys: [a]}]},
          podAntiAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [
            {weight: 101, podAffinityTerm: {topologyKey: zone, labelSelector: {}, matchLabelKeys: [a], mismatchLabelKeys: [a]}}]}}",
        expect![[r#"
            spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].labelSelector.matchExpressions[0].operator: Invalid value: "Gt": not a valid selector operator
            spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].topologyKey: Required value: can not be empty
            spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[1].matchLabelKeys: Forbidden: must not be specified when labelSelector is not set
            spec.affinity.podAntiAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].weight: Invalid value: 101: must be in the range 1-100
            spec.affinity.podAntiAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].podAffinityTerm.matchLabelKeys[0]: Invalid value: "a": exists in both matchLabelKeys and mismatchLabelKeys
        "#]],
    );
}

#[test]
fn spread_tolerations_gates() {
    check_pod(
        "topologySpreadConstraints: [
          {maxSkew: 0, topologyKey: '', whenUnsatisfiable: Maybe},
          {maxSkew: 1, topologyKey: zone, whenUnsatisfiable: ScheduleAnyway, minDomains: 2, nodeTaintsPolicy: Never},
          {maxSkew: 1, topologyKey: zone, whenUnsatisfiable: ScheduleAnyway}]",
        expect![[r#"
            spec.topologySpreadConstraints[0].maxSkew: Invalid value: 0: must be greater than zero
            spec.topologySpreadConstraints[0].topologyKey: Required value: can not be empty
            spec.topologySpreadConstraints[0].whenUnsatisfiable: Unsupported value: "Maybe": supported values: "DoNotSchedule", "ScheduleAnyway"
            spec.topologySpreadConstraints[1].minDomains: Invalid value: 2: can only use minDomains if whenUnsatisfiable=DoNotSchedule, not ScheduleAnyway
            spec.topologySpreadConstraints[1].nodeTaintsPolicy: Unsupported value: "Never": supported values: "Honor", "Ignore"
            spec.topologySpreadConstraints[2].{topologyKey, whenUnsatisfiable}: Duplicate value: "{zone, ScheduleAnyway}"
        "#]],
    );
    check_pod(
        "tolerations: [{operator: Equal}, {key: a, operator: Exists, value: x}, {key: a, operator: Gt}, {key: a, operator: Like, effect: Never}, {key: a, tolerationSeconds: 5}],
         schedulingGates: [{name: a}, {name: a}], preemptionPolicy: Sometimes",
        expect![[r#"
            spec.tolerations[0].operator: Invalid value: "Equal": operator must be Exists when `key` is empty, which means "match all values and all keys"
            spec.tolerations[1].operator: Invalid value: "x": value must be empty when `operator` is 'Exists'
            spec.tolerations[2].operator: Unsupported value: "Gt": supported values: "Equal", "Exists", "Lt", "Gt"
            spec.tolerations[3].operator: Unsupported value: "Like": supported values: "Equal", "Exists"
            spec.tolerations[3].effect: Unsupported value: "Never": supported values: "NoSchedule", "PreferNoSchedule", "NoExecute"
            spec.tolerations[4].effect: Invalid value: "": effect must be 'NoExecute' when `tolerationSeconds` is set
            spec.preemptionPolicy: Unsupported value: "Sometimes": supported values: "PreemptLowerPriority", "Never"
            spec.schedulingGates[1]: Duplicate value: "a"
        "#]],
    );
}

#[test]
fn cluster_objects() {
    check(
        "
apiVersion: v1
kind: Node
metadata: {name: Bad_Name, labels: {'x y': z}}
spec: {taints: [{key: a, effect: NoSchedule}, {key: a, effect: NoSchedule}, {key: '', effect: Stay}]}
status: {allocatable: {cpu: four, pods: 1.5, memory: -1Gi}}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: b}
spec: {minAvailable: -1, maxUnavailable: 150%, selector: {matchExpressions: [{key: a, operator: Is}]}}
---
apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata: {name: system-mine}
value: 1
---
apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata: {name: top}
value: 1000000001
preemptionPolicy: Maybe
---
apiVersion: v1
kind: PersistentVolume
metadata: {name: v}
spec: {capacity: {storage: 0}, accessModes: [Sometimes], nodeAffinity: {required: {nodeSelectorTerms: []}}}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: c}
spec: {volumeMode: Tape}
---
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: s}
provisioner: ''
volumeBindingMode: Later
---
apiVersion: storage.k8s.io/v1
kind: CSIStorageCapacity
metadata: {name: s}
storageClassName: ''
capacity: -1
maximumVolumeSize: x
",
        expect![[r#"
            metadata.name: Invalid value: "Bad_Name": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')
            metadata.labels: Invalid value: "x y": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')
            spec.taints[1]: Duplicate value: "a:NoSchedule": taints must be unique by key and effect pair
            spec.taints[2].key: Invalid value: "": name part must be non-empty
            spec.taints[2].key: Invalid value: "": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')
            spec.taints[2].effect: Unsupported value: "Stay": supported values: "NoSchedule", "PreferNoSchedule", "NoExecute"
            status.allocatable[cpu]: Invalid value: "four": quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'
            status.allocatable[memory]: Invalid value: "-1Gi": must be greater than or equal to 0
            status.allocatable[pods]: Invalid value: "1.5": must be an integer
            spec: Invalid value: minAvailable and maxUnavailable cannot be both set
            spec.minAvailable: Invalid value: -1: must be greater than or equal to 0
            spec.maxUnavailable: Invalid value: "150%": must not be greater than 100%
            spec.selector.matchExpressions[0].operator: Invalid value: "Is": not a valid selector operator
            metadata.name: Forbidden: priority class names with 'system-' prefix are reserved for system use only. error: system-mine is not a known system priority class
            value: Forbidden: maximum allowed value of a user defined priority is 1000000000
            preemptionPolicy: Unsupported value: "Maybe": supported values: "PreemptLowerPriority", "Never"
            spec.accessModes: Unsupported value: "Sometimes": supported values: "ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"
            spec.capacity[storage]: Invalid value: "0": must be greater than zero
            spec.nodeAffinity.required.nodeSelectorTerms: Required value: must have at least one node selector term
            spec.accessModes: Required value: at least 1 access mode is required
            spec.resources[storage]: Required value
            spec.volumeMode: Unsupported value: "Tape": supported values: "Block", "Filesystem"
            provisioner: Required value
            volumeBindingMode: Unsupported value: "Later": supported values: "Immediate", "WaitForFirstConsumer"
            storageClassName: Required value
            capacity: Invalid value: "-1": must be greater than or equal to 0
            maximumVolumeSize: Invalid value: "x": quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'
        "#]],
    );
}

#[test]
fn workloads() {
    check(
        "
apiVersion: apps/v1
kind: Deployment
metadata: {name: d}
spec:
  replicas: -1
  selector: {matchLabels: {app: a}}
  template: {metadata: {labels: {app: b}}, spec: {containers: [{name: a, resources: {requests: {cpu: x}}}]}}
---
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: s}
spec:
  serviceName: s
  template: {}
  volumeClaimTemplates: [{metadata: {name: data}, spec: {accessModes: [ReadWriteOnce]}}]
---
apiVersion: apps/v1
kind: ReplicaSet
metadata: {name: r}
---
apiVersion: batch/v1
kind: Job
metadata: {name: j}
spec: {completions: -1, template: {spec: {containers: []}}}
",
        expect![[r#"
            spec.replicas: Invalid value: -1: must be greater than or equal to 0
            spec.template.metadata.labels: Invalid value: `selector` does not match template `labels`
            spec.template.spec.containers[0].resources.requests[cpu]: Invalid value: "x": quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'
            spec.selector: Invalid value: empty selector is invalid
            spec.template.spec.containers: Required value
            spec.volumeClaimTemplates[0].spec.resources[storage]: Required value
            spec: Required value
            spec.completions: Invalid value: -1: must be greater than or equal to 0
            spec.template.spec.containers: Required value
        "#]],
    );
}
