//! Names as the functions of Kubernetes v1.36.4 make them, from templates that went through protobuf.

use super::*;
use crate::history;

const PLAIN: &str = r#"{"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "nginx", "image": "nginx",
"resources": {}, "terminationMessagePath": "/dev/termination-log", "terminationMessagePolicy": "File",
"imagePullPolicy": "Always"}], "restartPolicy": "Always", "terminationGracePeriodSeconds": 30, "dnsPolicy":
"ClusterFirst", "securityContext": {}, "schedulerName": "default-scheduler"}}"#;

const RICH: &str = r#"{"metadata": {"annotations": {"note": "a b"}, "labels": {"app": "web", "tier": "front"}}, "spec":
{"affinity": {"podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [{"podAffinityTerm":
{"labelSelector": {"matchExpressions": [{"key": "app", "operator": "In", "values": ["web"]}]},
"topologyKey": "kubernetes.io/hostname"}, "weight": 100}]}}, "automountServiceAccountToken": false,
"containers": [{"command": ["sh", "-c", "sleep 1"], "env": [{"name": "A", "value": "x"}, {"name": "B",
"valueFrom": {"secretKeyRef": {"key": "k", "name": "s"}}}, {"name": "C"}], "envFrom": [{"configMapRef":
{"name": "cm"}}], "image": "i:1", "lifecycle": {"preStop": {"exec": {"command": ["a"]}}}, "livenessProbe":
{"failureThreshold": 3, "httpGet": {"path": "/", "port": "http", "scheme": "HTTP"}, "periodSeconds": 10,
"successThreshold": 1, "timeoutSeconds": 1}, "name": "c", "ports": [{"containerPort": 8080, "name": "http",
"protocol": "TCP"}], "readinessProbe": {"tcpSocket": {"port": 8080}, "timeoutSeconds": 1}, "resources":
{"limits": {"cpu": "500m", "memory": "128Mi", "nvidia.com/gpu": "1"}, "requests": {"a.b/c": "0", "cpu": "1",
"d.e/f": "10k", "ephemeral-storage": "1500M", "g.h/i": "123456789012345678", "memory": "1000Ti"}},
"securityContext": {"capabilities": {"drop": ["ALL"]}, "privileged": false, "runAsUser": 0}, "stdin": true,
"volumeMounts": [{"mountPath": "/c", "name": "cache", "readOnly": true}]}], "dnsConfig": {"options":
[{"name": "ndots", "value": "2"}]}, "enableServiceLinks": true, "hostNetwork": true, "initContainers":
[{"image": "s", "name": "side", "resources": {}, "restartPolicy": "Always"}], "nodeSelector": {"a": "1",
"b": "2"}, "os": {"name": "linux"}, "overhead": {"cpu": "250m"}, "preemptionPolicy": "Never",
"priorityClassName": "high", "restartPolicy": "Always", "schedulingGates": [{"name": "g"}],
"securityContext": {"fsGroup": 1000, "seccompProfile": {"type": "RuntimeDefault"}, "sysctls": [{"name": "n",
"value": "v"}]}, "serviceAccount": "sa", "serviceAccountName": "sa", "terminationGracePeriodSeconds": 5,
"tolerations": [{"effect": "NoExecute", "key": "k", "operator": "Exists", "tolerationSeconds": 60}],
"topologySpreadConstraints": [{"labelSelector": {"matchLabels": {"app": "web"}}, "maxSkew": 1, "minDomains":
2, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}], "volumes": [{"emptyDir": {}, "name":
"cache"}, {"configMap": {"defaultMode": 420, "items": [{"key": "a", "path": "b"}], "name": "c"}, "name":
"conf"}, {"name": "all", "projected": {"defaultMode": 420, "sources": [{"secret": {"name": "s", "optional":
true}}, {"downwardAPI": {"items": [{"fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.labels"},
"path": "l"}, {"path": "c", "resourceFieldRef": {"containerName": "c", "divisor": "0", "resource":
"limits.cpu"}}]}}, {"serviceAccountToken": {"expirationSeconds": 3600, "path": "t"}}]}}, {"emptyDir":
{"medium": "Memory", "sizeLimit": "64Mi"}, "name": "tmp"}, {"ephemeral": {"volumeClaimTemplate":
{"metadata": {}, "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}},
"volumeMode": "Filesystem"}}}, "name": "own"}]}}"#;

const QUANTITIES: &str = r#"{"metadata": {"labels": {"q": "t"}}, "spec": {"containers": [{"name": "c", "resources": {"limits": {"a/a":
"100", "a/b": "1k", "a/c": "1k", "a/d": "100n", "a/e": "8Ki", "a/f": "7Ki", "a/g": "1Ei", "a/h": "12e3",
"a/i": "1e3", "a/j": "1E", "a/k": "5u", "a/l": "1100m", "a/m": "0", "a/n": "16Gi", "a/o": "3Mi", "a/p":
"9223372036854775807", "a/q": "1234567890123456789"}}}]}}"#;

/// As `kubectl create deployment web --image=nginx` makes it, with fields of many kinds, with quantities that
/// are kept in different ways: the name, the one after a collision, and that of a StatefulSet's revision.
#[test]
fn names_are_upstreams() {
    for (template, name, after_collision, revision) in [
        (PLAIN, "7887448d46", "75467d87", "6455bfb9c"),
        (RICH, "59976bb886", "794c65fd5f", "57ddb79bb"),
        (QUANTITIES, "5c6f6db9c", "865f647c6d", "6d897f5b87"),
    ] {
        let template: PodTemplateSpec = serde_json::from_str(template).unwrap();
        assert_eq!(template_hash(&template, None), name);
        assert_eq!(template_hash(&template, Some(1)), after_collision);
        assert_eq!(history::hash(&history::patch(&template), 0), revision);
    }
}
