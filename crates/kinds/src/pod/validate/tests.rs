//! One row per rule: what is put into a valid pod, and what is said of it.

use super::*;
use serde_json::{Map, json};
use stowplan_apimachinery::Edit;

fn container() -> Value {
    json!({
        "name": "c", "image": "i", "imagePullPolicy": "Always", "resources": {},
        "terminationMessagePolicy": "File", "terminationMessagePath": "/x",
    })
}

fn valid_pod() -> Value {
    json!({
        "metadata": {"name": "p", "namespace": "n", "uid": "u", "resourceVersion": "1", "generation": 1},
        "spec": {
            "containers": [container()], "restartPolicy": "Always", "dnsPolicy": "ClusterFirst",
            "terminationGracePeriodSeconds": 30, "securityContext": {}, "serviceAccountName": "default",
        },
        "status": {"phase": "Pending", "qosClass": "BestEffort"},
    })
}

/// Puts fields into an object, maps into maps.
fn put(object: &mut Value, fields: &Value) {
    let none = Map::new();
    for (key, value) in fields.as_object().unwrap_or(&none) {
        match (object.at(key).is_object(), value.is_object()) {
            (true, true) => put(object.at_mut(key), value),
            _ => object.set(key, value.clone()),
        }
    }
}

fn texts(errors: ErrorList) -> Vec<String> {
    errors.iter().map(ToString::to_string).collect()
}

fn with_spec(fields: Value) -> Value {
    let mut pod = valid_pod();
    put(pod.at_mut("spec"), &fields);
    pod
}

#[track_caller]
fn check_spec(fields: Value, expected: &[&str]) {
    assert_eq!(texts(validate_create(&with_spec(fields))), expected);
}

#[track_caller]
fn check_container(fields: Value, expected: &[&str]) {
    let mut own = container();
    put(&mut own, &fields);
    check_spec(json!({"containers": [own]}), expected);
}

#[test]
fn a_plain_pod_is_fine() {
    check_spec(json!({}), &[]);
}

#[test]
fn containers() {
    check_spec(
        json!({"containers": []}),
        &["spec.containers: Required value"],
    );
    check_spec(
        json!({"containers": [container(), container()]}),
        &["spec.containers[1].name: Duplicate value: \"c\""],
    );
    check_container(
        json!({"name": "", "image": "", "terminationMessagePolicy": "x", "imagePullPolicy": "x"}),
        &[
            "spec.containers[0].name: Required value",
            "spec.containers[0].image: Required value",
            "spec.containers[0].terminationMessagePolicy: Unsupported value: \"x\": supported values: \"File\", \"FallbackToLogsOnError\"",
            "spec.containers[0].imagePullPolicy: Unsupported value: \"x\": supported values: \"Always\", \"IfNotPresent\", \"Never\"",
        ],
    );
    check_container(
        json!({"image": " i"}),
        &[
            "spec.containers[0].image: Invalid value: \" i\": must not have leading or trailing whitespace",
        ],
    );
}

#[test]
fn ports() {
    let port = |number: i64| json!({"containerPort": number, "protocol": "TCP"});
    check_container(
        json!({"ports": [{"protocol": "x"}, port(70000), {"containerPort": 1, "name": "A", "protocol": "TCP"}]}),
        &[
            "spec.containers[0].ports[0].containerPort: Required value",
            "spec.containers[0].ports[0].protocol: Unsupported value: \"x\": supported values: \"SCTP\", \"TCP\", \"UDP\"",
            "spec.containers[0].ports[1].containerPort: Invalid value: 70000: must be between 1 and 65535, inclusive",
            "spec.containers[0].ports[2].name: Invalid value: \"A\": must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)",
            "spec.containers[0].ports[2].name: Invalid value: \"A\": must contain at least one letter (a-z)",
        ],
    );
    let host = json!({"containerPort": 80, "hostPort": 8080, "protocol": "TCP"});
    check_container(
        json!({"ports": [host, host]}),
        &["spec.containers[0].ports[1].hostPort: Duplicate value: \"TCP//8080\""],
    );
    let mut own = container();
    own["ports"] = json!([host]);
    check_spec(
        json!({"hostNetwork": true, "containers": [own]}),
        &[
            "spec.containers[0].ports[0].hostPort: Invalid value: 8080: must match `containerPort` when `hostNetwork` is true",
        ],
    );
}

#[test]
fn variables() {
    check_container(
        json!({"env": [
            {"name": ""},
            {"name": "a=b"},
            {"name": "A", "valueFrom": {}},
            {"name": "B", "value": "x", "valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.name"}}},
            {"name": "C", "valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.labels"}}},
            {"name": "D", "valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": "spec.x"}}},
            {"name": "E", "valueFrom": {"resourceFieldRef": {"resource": "limits.cpu", "divisor": "3"}}},
            {"name": "F", "valueFrom": {"secretKeyRef": {"name": "s", "key": ".."}}},
        ]}),
        &[
            "spec.containers[0].env[0].name: Required value",
            "spec.containers[0].env[1].name: Invalid value: \"a=b\": a valid environment variable name must consist only of printable ASCII characters other than '='",
            "spec.containers[0].env[2].valueFrom: Invalid value: \"\": must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`",
            "spec.containers[0].env[3].valueFrom: Invalid value: \"\": may not be specified when `value` is not empty",
            "spec.containers[0].env[4].valueFrom.fieldRef.fieldPath: Unsupported value: \"metadata.labels\": supported values: \"metadata.name\", \"metadata.namespace\", \"metadata.uid\", \"spec.nodeName\", \"spec.serviceAccountName\", \"status.hostIP\", \"status.hostIPs\", \"status.podIP\", \"status.podIPs\"",
            "spec.containers[0].env[5].valueFrom.fieldRef.fieldPath: Invalid value: \"spec.x\": error converting fieldPath: field label not supported: spec.x",
            "spec.containers[0].env[6].valueFrom.resourceFieldRef.divisor: Invalid value: \"limits.cpu\": only divisor's values 1m and 1 are supported with the cpu resource",
            "spec.containers[0].env[7].valueFrom.secretKeyRef.key: Invalid value: \"..\": must not be '..'",
        ],
    );
    check_container(
        json!({"envFrom": [{}, {"configMapRef": {"name": ""}}]}),
        &[
            "spec.containers[0].envFrom: Invalid value: \"\": must specify one of: `configMapRef` or `secretRef`",
            "spec.containers[0].envFrom[1].configMapRef.name: Required value",
        ],
    );
    check_container(
        json!({"env": [{"name": "A", "valueFrom": {"fileKeyRef": {"key": "k", "volumeName": "v", "path": "p"}}}]}),
        &["spec.containers[0].env[0].valueFrom.fileKeyRef.volumeName: Not found: \"v\""],
    );
}

#[test]
fn volumes_and_mounts() {
    check_spec(
        json!({"volumes": [
            {"name": "v"},
            {"name": "B", "emptyDir": {}, "hostPath": {"path": "/x"}},
            {"name": "e", "emptyDir": {"sizeLimit": "-1"}},
            {"name": "s", "secret": {"secretName": "s", "defaultMode": 512, "items": [{"key": "", "path": "/x"}]}},
        ]}),
        &[
            "spec.volumes[0]: Required value: must specify a volume type",
            "spec.volumes[1].hostPath: Forbidden: may not specify more than 1 volume type",
            "spec.volumes[1].name: Invalid value: \"B\": a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')",
            "spec.volumes[2].emptyDir.sizeLimit: Forbidden: SizeLimit field must be a valid resource quantity",
            "spec.volumes[3].secret.defaultMode: Invalid value: 512: must be a number between 0 and 0777 (octal), both inclusive",
            "spec.volumes[3].secret.items[0].key: Required value",
            "spec.volumes[3].secret.items[0].path: Invalid value: \"/x\": must be a relative path",
        ],
    );
    let mut own = container();
    own["volumeMounts"] = json!([
        {"name": "v", "mountPath": "/a", "subPath": "../x"},
        {"name": "w", "mountPath": "/a", "mountPropagation": "Bidirectional"},
    ]);
    check_spec(
        json!({"volumes": [{"name": "v", "emptyDir": {}}], "containers": [own]}),
        &[
            "spec.containers[0].volumeMounts.subPath: Invalid value: \"../x\": must not contain '..'",
            "spec.containers[0].volumeMounts[1].name: Not found: \"w\"",
            "spec.containers[0].volumeMounts[1].mountPath: Invalid value: \"/a\": must be unique",
            "spec.containers[0].volumeMounts.mountPropagation: Forbidden: Bidirectional mount propagation is available only to privileged containers",
        ],
    );
}

#[test]
fn projected_and_ephemeral_volumes() {
    check_spec(
        json!({"volumes": [{"name": "p", "projected": {"defaultMode": 420, "sources": [
            {"serviceAccountToken": {"path": "", "expirationSeconds": 5}},
            {"secret": {"name": "s", "items": [{"key": "a", "path": "x"}]}, "configMap": {"name": "c", "items": [{"key": "a", "path": "x"}]}},
        ]}}]}),
        &[
            "spec.volumes[0].projected.sources[0].serviceAccountToken.expirationSeconds: Invalid value: 5: may not specify a duration less than 10 minutes",
            "spec.volumes[0].projected.path: Required value",
            "spec.volumes[0].projected: Invalid value: \"c\": conflicting duplicate paths",
            "spec.volumes[0].projected.sources[1]: Forbidden: may not specify more than 1 volume type per source",
        ],
    );
    let mut pod = with_spec(json!({"volumes": [{"name": "p", "projected": {"sources": [
        {"serviceAccountToken": {"path": "t", "expirationSeconds": 3600}},
    ]}}]}));
    pod["spec"]["serviceAccountName"].take();
    assert_eq!(
        texts(validate_create(&pod)),
        [
            "spec.volumes[0].projected.sources[0].serviceAccountToken: Forbidden: must not be specified when serviceAccountName is not set"
        ]
    );
    check_spec(
        json!({"volumes": [
            {"name": "e", "ephemeral": {"volumeClaimTemplate": {"metadata": {"name": "x"}, "spec": {
                "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}},
            }}}},
            {"name": "c", "persistentVolumeClaim": {"claimName": "p-e"}},
        ]}),
        &[
            "spec.volumes[0].ephemeral.volumeClaimTemplate.metadata.name: Forbidden: cannot be set",
            "spec.volumes[1].persistentVolumeClaim.claimName: Invalid value: \"p-e\": must not reference a PVC that gets created for an ephemeral volume",
        ],
    );
}

#[test]
fn resources() {
    let resources = |value: Value| json!({"resources": value});
    check_container(
        resources(json!({"limits": {"cpu": "1"}, "requests": {"cpu": "2"}})),
        &[
            "spec.containers[0].resources.requests: Invalid value: \"2\": must be less than or equal to cpu limit of 1",
        ],
    );
    check_container(
        resources(json!({"requests": {"example.com/gpu": "1"}})),
        &[
            "spec.containers[0].resources.limits: Required value: Limit must be set for non overcommitable resources",
        ],
    );
    check_container(
        resources(json!({"requests": {"pods": "1"}})),
        &[
            "spec.containers[0].resources.requests[pods]: Invalid value: \"pods\": must be a standard resource for containers",
        ],
    );
    check_container(
        resources(json!({"limits": {"hugepages-2Mi": "3Mi"}})),
        &[
            "spec.containers[0].resources.limits[hugepages-2Mi]: Invalid value: \"3Mi\": 3Mi is not positive integer multiple of hugepages-2Mi",
            "spec.containers[0].resources: Forbidden: HugePages require cpu or memory",
        ],
    );
    check_container(
        resources(json!({"claims": [{"name": "c"}]})),
        &[
            "spec.containers[0].resources.claims[0]: Not found: \"c\": must be one of the names in pod.spec.resourceClaims which is empty",
        ],
    );
    let mut own = container();
    own["resources"] = json!({"requests": {"cpu": "2"}, "limits": {"cpu": "4"}});
    check_spec(
        json!({"containers": [own], "resources": {"requests": {"cpu": "1"}, "limits": {"cpu": "3", "ephemeral-storage": "1"}}}),
        &[
            "spec.resources.limits[ephemeral-storage]: Unsupported value: \"ephemeral-storage\": supported values: \"cpu\", \"hugepages-\", \"memory\"",
            "spec.resources.requests[cpu]: Invalid value: \"1\": must be greater than or equal to aggregate container requests of 2",
            "spec.resources.containers[0][cpu].limits: Invalid value: \"4\": must be less than or equal to pod limits of 3",
        ],
    );
}

#[test]
fn probes_and_hooks() {
    check_container(
        json!({
            "livenessProbe": {"exec": {"command": []}, "successThreshold": 2},
            "readinessProbe": {"httpGet": {"path": "/", "port": 0, "scheme": "x"}, "tcpSocket": {"port": 1}, "terminationGracePeriodSeconds": 5, "successThreshold": 1},
            "lifecycle": {"preStop": {"sleep": {"seconds": 60}}, "postStart": {}},
        }),
        &[
            "spec.containers[0].lifecycle.postStart: Required value: must specify a handler type",
            "spec.containers[0].lifecycle.preStop.sleep: Invalid value: 60: must be non-negative and less than terminationGracePeriodSeconds (30)",
            "spec.containers[0].livenessProbe.exec.command: Required value",
            "spec.containers[0].livenessProbe.successThreshold: Invalid value: 2: must be 1",
            "spec.containers[0].readinessProbe.httpGet.port: Invalid value: 0: must be between 1 and 65535, inclusive",
            "spec.containers[0].readinessProbe.httpGet.scheme: Unsupported value: \"x\": supported values: \"HTTP\", \"HTTPS\"",
            "spec.containers[0].readinessProbe.tcpSocket: Forbidden: may not specify more than 1 handler type",
            "spec.containers[0].readinessProbe.terminationGracePeriodSeconds: Invalid value: 5: must not be set for readinessProbes",
        ],
    );
}

#[test]
fn init_and_ephemeral_containers() {
    let mut own = container();
    put(
        &mut own,
        &json!({"livenessProbe": {}, "resizePolicy": [{"resourceName": "cpu", "restartPolicy": "RestartContainer"}]}),
    );
    check_spec(
        json!({"initContainers": [own]}),
        &[
            "spec.initContainers[0].name: Duplicate value: \"c\"",
            "spec.initContainers[0].livenessProbe: Forbidden: may not be set for init containers without restartPolicy=Always",
            "spec.initContainers[0].resizePolicy[0].restartPolicy: Invalid value: \"RestartContainer\": must not be set to 'RestartContainer' for non-sidecar initContainers",
        ],
    );
    let mut own = container();
    put(
        &mut own,
        &json!({"name": "e", "targetContainerName": "x", "ports": [{"containerPort": 1, "protocol": "TCP"}]}),
    );
    check_spec(
        json!({"ephemeralContainers": [own]}),
        &[
            "spec.ephemeralContainers[0].targetContainerName: Not found: \"x\"",
            "spec.ephemeralContainers[0].ports: Forbidden: cannot be set for an Ephemeral Container",
            "spec.ephemeralContainers: Forbidden: cannot be set on create",
        ],
    );
}

#[test]
fn restarts_of_containers() {
    check_container(
        json!({"restartPolicyRules": [{"action": "x", "exitCodes": {"operator": "Is", "values": [1]}}, {"action": "Restart"}]}),
        &[
            "spec.containers[0].restartPolicy: Required value: must specify restartPolicy when restart rules are used",
            "spec.containers[0].restartPolicyRules[0].action: Unsupported value: \"x\": supported values: \"Restart\", \"RestartAllContainers\"",
            "spec.containers[0].restartPolicyRules[0].exitCodes.operator: Unsupported value: \"Is\": supported values: \"In\", \"NotIn\"",
            "spec.containers[0].restartPolicyRules[1].exitCodes: Required value: must be specified",
        ],
    );
    let mut own = container();
    put(
        &mut own,
        &json!({"name": "i", "restartPolicyRules": [{"action": "x"}]}),
    );
    check_spec(
        json!({"initContainers": [own]}),
        &[
            "spec.initContainers[0].restartPolicy: Required value: must specify restartPolicy when restart rules are used",
        ],
    );
    let mut own = container();
    own["resizePolicy"] = json!([{"resourceName": "disk", "restartPolicy": "RestartContainer"}]);
    check_spec(
        json!({"restartPolicy": "Never", "containers": [own]}),
        &[
            "spec.containers[0].resizePolicy: Unsupported value: \"disk\": supported values: \"cpu\", \"memory\"",
            "spec.containers[0].resizePolicy: Invalid value: \"RestartContainer\": must be 'NotRequired' when pod `restartPolicy` is 'Never'",
        ],
    );
}

#[test]
fn security_contexts() {
    check_spec(
        json!({"hostPID": true, "shareProcessNamespace": true, "hostNetwork": true, "securityContext": {
            "runAsUser": -1, "fsGroupChangePolicy": "x", "supplementalGroupsPolicy": "x", "seLinuxChangePolicy": "MountOption",
            "sysctls": [{"name": "net.core.somaxconn"}, {"name": "A"}],
            "seccompProfile": {"type": "Localhost"}, "appArmorProfile": {"type": "Localhost", "localhostProfile": ""},
        }}),
        &[
            "spec.securityContext.runAsUser: Invalid value: -1: must be between 0 and 2147483647, inclusive",
            "spec.securityContext.shareProcessNamespace: Invalid value: true: ShareProcessNamespace and HostPID cannot both be enabled",
            "spec.securityContext.sysctls[0].name: Invalid value: \"net.core.somaxconn\": may not be specified when 'hostNetwork' is true",
            "spec.securityContext.sysctls[1].name: Invalid value: \"A\": must have at most 253 characters and match regex ^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$",
            "spec.securityContext.fsGroupChangePolicy: Unsupported value: \"x\": supported values: \"Always\", \"OnRootMismatch\"",
            "spec.securityContext.seccompProfile.localhostProfile: Required value: must be set when seccomp type is Localhost",
            "spec.securityContext.appArmorProfile.localhostProfile: Required value: must be set when AppArmor type is Localhost",
            "spec.securityContext.supplementalGroupsPolicy: Unsupported value: \"x\": supported values: \"Merge\", \"Strict\"",
            "spec.securityContext.seLinuxChangePolicy: Unsupported value: \"MountOption\": supported values: \"Recursive\"",
        ],
    );
    check_container(
        json!({"securityContext": {"procMount": "Unmasked", "allowPrivilegeEscalation": false, "privileged": true}}),
        &[
            "spec.containers[0].securityContext.procMount: Invalid value: \"Unmasked\": `hostUsers` must be false to use `Unmasked`",
            "spec.containers[0].securityContext: Invalid value: {\"AllowPrivilegeEscalation\":false,\"Privileged\":true,\"ProcMount\":\"Unmasked\"}: cannot set `allowPrivilegeEscalation` to false and `privileged` to true",
        ],
    );
    check_spec(
        json!({"hostUsers": false, "hostNetwork": true, "hostIPC": true}),
        &[
            "spec.hostNetwork: Forbidden: when `hostUsers` is false",
            "spec.HostIPC: Forbidden: when `hostUsers` is false",
        ],
    );
}

#[test]
fn operating_systems() {
    check_spec(
        json!({"os": {"name": "beos"}}),
        &["spec.os: Unsupported value: \"beos\": supported values: \"linux\", \"windows\""],
    );
    check_spec(
        json!({"os": {"name": "linux"}, "securityContext": {"windowsOptions": {"runAsUserName": "a\\b\\c"}}}),
        &[
            "spec.securityContext.windowsOptions.runAsUserName: Invalid value: \"a\\\\b\\\\c\": runAsUserName cannot contain more than one backslash",
            "spec.securityContext.windowsOptions: Forbidden: windows options cannot be set for a linux pod",
        ],
    );
    check_spec(
        json!({"os": {"name": "windows"}, "hostPID": true, "securityContext": {"fsGroup": 1, "windowsOptions": {"hostProcess": true}}}),
        &[
            "spec.hostNetwork: Invalid value: false: hostNetwork must be true if pod contains any hostProcess containers",
            "spec.hostPID: Forbidden: cannot be set for a windows pod",
            "spec.securityContext.fsGroup: Forbidden: cannot be set for a windows pod",
        ],
    );
}

#[test]
fn affinity_spread_and_gates() {
    check_spec(
        json!({"affinity": {
            "nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": []}},
            "podAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [
                {"weight": 0, "podAffinityTerm": {"topologyKey": "", "namespaces": ["A."], "matchLabelKeys": ["a"]}},
            ]},
        }}),
        &[
            "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms: Required value: must have at least one node selector term",
            "spec.affinity.podAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].weight: Invalid value: 0: must be in the range 1-100",
            "spec.affinity.podAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].podAffinityTerm.namespace: Invalid value: \"A.\": a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')",
            "spec.affinity.podAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].podAffinityTerm.matchLabelKeys: Forbidden: must not be specified when labelSelector is not set",
            "spec.affinity.podAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].podAffinityTerm.topologyKey: Required value: can not be empty",
            "spec.affinity.podAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].podAffinityTerm.topologyKey: Invalid value: \"\": name part must be non-empty",
            "spec.affinity.podAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].podAffinityTerm.topologyKey: Invalid value: \"\": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')",
        ],
    );
    let constraint = json!({
        "maxSkew": 0, "topologyKey": "z", "whenUnsatisfiable": "ScheduleAnyway", "minDomains": 1, "nodeTaintsPolicy": "x",
        "labelSelector": {"matchLabels": {"a": "b"}, "matchExpressions": [{"key": "a", "operator": "In", "values": ["b"]}]}, "matchLabelKeys": ["a"],
    });
    check_spec(
        json!({"topologySpreadConstraints": [constraint, constraint]}),
        &[
            "spec.topologySpreadConstraints[0].maxSkew: Invalid value: 0: must be greater than zero",
            "spec.topologySpreadConstraints[0].{topologyKey, whenUnsatisfiable}: Duplicate value: \"{z, ScheduleAnyway}\"",
            "spec.topologySpreadConstraints[0].minDomains: Invalid value: 1: can only use minDomains if whenUnsatisfiable=DoNotSchedule, not ScheduleAnyway",
            "spec.topologySpreadConstraints[0].nodeTaintsPolicy: Unsupported value: \"x\": supported values: \"Honor\", \"Ignore\"",
            "spec.topologySpreadConstraints[0][0]: Invalid value: \"a\": exists in both matchLabelKeys and labelSelector",
            "spec.topologySpreadConstraints[1].maxSkew: Invalid value: 0: must be greater than zero",
            "spec.topologySpreadConstraints[1].minDomains: Invalid value: 1: can only use minDomains if whenUnsatisfiable=DoNotSchedule, not ScheduleAnyway",
            "spec.topologySpreadConstraints[1].nodeTaintsPolicy: Unsupported value: \"x\": supported values: \"Honor\", \"Ignore\"",
            "spec.topologySpreadConstraints[1][0]: Invalid value: \"a\": exists in both matchLabelKeys and labelSelector",
        ],
    );
    check_spec(
        json!({"nodeName": "n", "schedulingGates": [{"name": "a/b"}, {"name": "a/b"}]}),
        &[
            "spec.schedulingGates[1]: Duplicate value: \"a/b\"",
            "spec.nodeName: Forbidden: cannot be set until all schedulingGates have been cleared",
        ],
    );
}

#[test]
fn names_and_addresses() {
    check_spec(
        json!({"dnsPolicy": "None"}),
        &["spec.dnsConfig: Required value: must provide `dnsConfig` when `dnsPolicy` is None"],
    );
    check_spec(
        json!({
            "dnsConfig": {"nameservers": ["x"], "searches": ["a_b.", "A"], "options": [{}]},
            "hostAliases": [{"ip": "1.2.3", "hostnames": ["A"]}], "activeDeadlineSeconds": 0,
            "hostname": "a.b", "preemptionPolicy": "x", "runtimeClassName": "", "hostnameOverride": "a",
            "setHostnameAsFQDN": true,
        }),
        &[
            "spec.dnsConfig.nameservers[0]: Invalid value: \"x\": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)",
            "spec.dnsConfig.searches[1]: Invalid value: \"A\": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '_', '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?(\\._?[a-z0-9]([-_a-z0-9]*[a-z0-9])?)*')",
            "spec.dnsConfig.options[0]: Required value: must not be empty",
            "spec.hostnameOverride: Forbidden: may not be specified when setHostnameAsFQDN is true",
            "spec.activeDeadlineSeconds: Invalid value: 0: must be between 1 and 2147483647, inclusive",
            "spec.hostname: Invalid value: \"a.b\": must not contain dots",
            "spec.hostAliases[0].ip: Invalid value: \"1.2.3\": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)",
            "spec.hostAliases[0].hostnames[0]: Invalid value: \"A\": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
            "spec.runtimeClassName: Invalid value: \"\": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
            "spec.preemptionPolicy: Unsupported value: \"x\": supported values: \"PreemptLowerPriority\", \"Never\"",
        ],
    );
    check_spec(
        json!({"resourceClaims": [{"name": "a"}, {"name": "b", "resourceClaimName": "x", "resourceClaimTemplateName": "y"}]}),
        &[
            "spec.resourceClaims[0]: Invalid value: {\"Name\":\"a\"}: must specify one of: `resourceClaimName`, `resourceClaimTemplateName`",
            "spec.resourceClaims[1]: Invalid value: {\"Name\":\"b\",\"ResourceClaimName\":\"x\",\"ResourceClaimTemplateName\":\"y\"}: at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified",
        ],
    );
}

#[test]
fn annotations_with_a_meaning() {
    let mut pod = valid_pod();
    pod["metadata"]["annotations"] = json!({
        "kubernetes.io/config.mirror": "x",
        "controller.kubernetes.io/pod-deletion-cost": "+1",
        "scheduler.alpha.kubernetes.io/tolerations": "[{\"KEY\":\"a b\",\"operator\":\"Equal\"}]",
        "seccomp.security.alpha.kubernetes.io/pod": "x",
        "container.apparmor.security.beta.kubernetes.io/d": "x",
    });
    assert_eq!(
        texts(validate_create(&pod)),
        [
            "metadata.annotations[kubernetes.io/config.mirror]: Invalid value: \"x\": must set spec.nodeName if mirror pod annotation is set",
            "metadata.annotations.scheduler.alpha.kubernetes.io/tolerations[0].key: Invalid value: \"a b\": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')",
            "metadata.annotations[controller.kubernetes.io/pod-deletion-cost]: Invalid value: \"+1\": must be a 32bit integer",
            "metadata.annotations.seccomp.security.alpha.kubernetes.io/pod: Invalid value: \"x\": must be a valid seccomp profile",
            "metadata.annotations[container.apparmor.security.beta.kubernetes.io/d]: Invalid value: \"d\": container not found",
            "metadata.annotations[container.apparmor.security.beta.kubernetes.io/d]: Invalid value: \"x\": invalid AppArmor profile name: \"x\"",
        ]
    );
}

#[test]
fn tolerations_of_old_are_read() {
    let check = |text: &str, why: &str| {
        let mut pod = valid_pod();
        let annotations = json!({"scheduler.alpha.kubernetes.io/tolerations": text});
        pod["metadata"]["annotations"] = annotations;
        let place =
            "metadata.annotations: Invalid value: \"scheduler.alpha.kubernetes.io/tolerations\"";
        let expected = match why {
            "" => Vec::new(),
            why => vec![format!("{place}: {why}")],
        };
        assert_eq!(texts(validate_create(&pod)), expected, "{text}");
    };
    let fine = r#"[{"key":"a","operator":"Exists","tolerationSeconds":null,"x":1}]"#;
    for text in ["", "null", "[]", fine] {
        check(text, "");
    }
    check("x", "invalid character 'x' looking for beginning of value");
    check("[", "unexpected end of JSON input");
    check(
        "{}",
        "json: cannot unmarshal object into Go value of type []core.Toleration",
    );
    check(
        "[1]",
        "json: cannot unmarshal number into Go value of type core.Toleration",
    );
    check(
        r#"[{"key":1}]"#,
        "json: cannot unmarshal number into Go struct field Toleration.Key of type string",
    );
}

#[track_caller]
fn check_update(before: Value, after: Value, expected: &[&str]) {
    let (old, new) = (with_spec(before), with_spec(after));
    let faults = texts(validate_update(&new, &old));
    let first_lines: Vec<&str> = faults.iter().filter_map(|f| f.lines().next()).collect();
    assert_eq!(first_lines, expected);
}

#[test]
fn what_may_change() {
    let tolerations = |seconds: i64| json!({"tolerations": [{"key": "a", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": seconds}]});
    check_update(tolerations(1), tolerations(2), &[]);
    check_update(
        tolerations(1),
        json!({}),
        &[
            "spec.tolerations: Forbidden: existing toleration can not be modified except its tolerationSeconds",
        ],
    );
    let mut image = container();
    image["image"] = "other".into();
    check_update(json!({}), json!({"containers": [image]}), &[]);
    check_update(
        json!({}),
        json!({"containers": [container(), {"name": "d", "image": "i", "imagePullPolicy": "Always", "terminationMessagePolicy": "File"}]}),
        &["spec.containers: Forbidden: pod updates may not add or remove containers"],
    );
    check_update(json!({}), json!({"activeDeadlineSeconds": 5}), &[]);
    check_update(
        json!({"activeDeadlineSeconds": 5}),
        json!({"activeDeadlineSeconds": 6}),
        &[
            "spec.activeDeadlineSeconds: Invalid value: 6: must be less than or equal to previous value",
        ],
    );
    check_update(
        json!({}),
        json!({"nodeSelector": {"a": "b"}}),
        &[
            "spec: Forbidden: pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)",
        ],
    );
}

#[test]
fn a_gated_pod_may_be_narrowed_down() {
    let gates = json!([{"name": "a/b"}]);
    let gated = |fields: Value| {
        let mut spec = json!({"schedulingGates": gates});
        put(&mut spec, &fields);
        spec
    };
    check_update(
        gated(json!({})),
        gated(json!({"nodeSelector": {"a": "b"}})),
        &[],
    );
    check_update(gated(json!({})), json!({}), &[]);
    check_update(
        gated(json!({"nodeSelector": {"a": "b"}})),
        gated(json!({})),
        &[
            "spec.nodeSelector: Invalid value: null: only additions to spec.nodeSelector are allowed (no mutations or deletions)",
        ],
    );
    check_update(
        gated(json!({})),
        json!({"schedulingGates": [{"name": "a/b"}, {"name": "c/d"}]}),
        &[
            "spec.schedulingGates[1].name: Forbidden: only deletion is allowed, but found new scheduling gate 'c/d'",
        ],
    );
    let affinity = |expressions: Value| {
        gated(
            json!({"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{"matchExpressions": expressions}]}}}}),
        )
    };
    let one = json!([{"key": "a", "operator": "Exists"}]);
    let two = json!([{"key": "a", "operator": "Exists"}, {"key": "b", "operator": "Exists"}]);
    check_update(gated(json!({})), affinity(one.clone()), &[]);
    check_update(affinity(one.clone()), affinity(two.clone()), &[]);
    check_update(
        affinity(two),
        affinity(one),
        &[
            "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0]: Invalid value: {\"MatchExpressions\":[{\"Key\":\"a\",\"Operator\":\"Exists\"}]}: only additions are allowed (no mutations or deletions)",
        ],
    );
}

#[track_caller]
fn check_resize(before: Value, after: Value, expected: &[&str]) {
    let pod = |resources: Value| {
        let mut own = container();
        own["resources"] = resources;
        let mut pod = with_spec(json!({"containers": [own]}));
        pod["status"]["qosClass"] = super::super::resources::qos_class(&pod["spec"]).into();
        pod
    };
    assert_eq!(texts(validate_resize(&pod(after), &pod(before))), expected);
}

#[test]
fn resizes() {
    let cpu = |amount: &str| json!({"requests": {"cpu": amount}});
    check_resize(cpu("1"), cpu("2"), &[]);
    check_resize(
        cpu("1"),
        json!({}),
        &[
            "spec: Invalid value: \"BestEffort\": Pod QOS Class may not change as a result of resizing",
            "spec.containers[0].resources.requests: Forbidden: resource requests cannot be removed",
        ],
    );
    check_resize(
        json!({"requests": {"cpu": "1", "ephemeral-storage": "1"}}),
        json!({"requests": {"cpu": "1", "ephemeral-storage": "2"}}),
        &["spec: Forbidden: only cpu and memory resources are mutable"],
    );
}

#[test]
fn status() {
    let mut old = valid_pod();
    put(
        &mut old,
        &json!({"spec": {"restartPolicy": "Never", "nodeName": "n"}, "status": {"containerStatuses": [{"name": "c", "state": {"terminated": {"exitCode": 0}}}]}}),
    );
    let mut new = old.clone();
    new["status"] = json!({
        "qosClass": "Guaranteed", "nominatedNodeName": "x", "podIPs": [{"ip": "1.2.3.4"}, {"ip": "1.2.3.5"}],
        "conditions": [{"type": "a b"}, {"type": "Ready", "observedGeneration": -1}],
        "containerStatuses": [{"name": "c", "state": {"running": {}}}],
    });
    let faults = texts(validate_status_update(&new, &old));
    assert_eq!(
        faults,
        [
            "status.conditions[0].Type: Invalid value: \"a b\": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')",
            "status.conditions[1].observedGeneration: Invalid value: -1: must be a non-negative integer",
            "status.nominatedNodeName: Forbidden: may not be set on pods that are already bound to a node",
            "status.qosClass: Invalid value: \"Guaranteed\": field is immutable",
            "status.containerStatuses[0].state: Forbidden: may not be transitioned to non-terminated state",
            "status.podIPs: Invalid value: [{\"Ip\":\"1.2.3.4\"},{\"Ip\":\"1.2.3.5\"}]: may specify no more than one IP for each IP family",
        ]
    );
    new = old.clone();
    new["spec"]["restartPolicy"] = "Always".into();
    assert_eq!(texts(validate_status_update(&new, &old)), [""; 0]);
}
