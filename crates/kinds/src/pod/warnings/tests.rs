use super::*;
use serde_json::json;

fn of_pod(spec: Value) -> Vec<String> {
    warnings(&json!({"spec": spec}), &Path::ROOT, false)
}

#[test]
fn ports_that_clash() {
    let port = |host_ip: &str, host_port: i64| json!({"containerPort": 80, "protocol": "TCP", "hostIP": host_ip, "hostPort": host_port, "name": "http"});
    assert_eq!(
        of_pod(json!({"containers": [{"ports": [port("", 0)]}, {"ports": [port("", 0)]}]})),
        [
            "spec.containers[1].ports[0]: duplicate port definition with spec.containers[0].ports[0]",
            "spec.containers[1].ports[0]: duplicate port name \"http\" with spec.containers[0].ports[0], services and probes that select ports by name will use spec.containers[0].ports[0]",
        ]
    );
    let how = |a: Value, b: Value| {
        let spec = json!({"containers": [{"ports": [a]}, {"ports": [b]}]});
        of_pod(spec)[0].clone()
    };
    assert!(how(port("", 0), port("", 8080)).contains("overlapping port definition"));
    assert!(how(port("", 8080), port("10.0.0.1", 8080)).contains("dangerously ambiguous"));
    assert_eq!(
        of_pod(json!({"containers": [{"ports": [port("127.0.0.1", 0)]}]})),
        [
            "spec.containers[0].ports[0]: hostIP set without hostPort: {Name:http HostPort:0 ContainerPort:80 Protocol:TCP HostIP:127.0.0.1}"
        ]
    );
}

#[test]
fn old_volumes_and_null_selectors() {
    assert_eq!(
        of_pod(json!({
            "volumes": [{"name": "v", "rbd": {}}, {"name": "w", "storageos": {}}],
            "topologySpreadConstraints": [{"topologyKey": "beta.kubernetes.io/os"}],
            "affinity": {"podAntiAffinity": {PREFERRED: [{"podAffinityTerm": {}}]}},
        })),
        [
            "spec.topologySpreadConstraints[0].topologyKey: beta.kubernetes.io/os is deprecated since v1.14; use \"kubernetes.io/os\" instead",
            "spec.topologySpreadConstraints[0].labelSelector: a null labelSelector results in matching no pod",
            "spec.volumes[0].rbd: deprecated in v1.28, non-functional in v1.31+",
            "spec.volumes[1].storageOS: deprecated in v1.22, non-functional in v1.25+",
            "spec.affinity.podAntiAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].podAffinityTerm.labelSelector: a null labelSelector results in matching no pod",
        ]
    );
}

#[test]
fn files_that_overwrite_each_other() {
    let items = json!([{"key": "a", "path": "x"}, {"key": "b", "path": "x/y"}]);
    assert_eq!(
        of_pod(json!({"volumes": [
            {"name": "v", "configMap": {"name": "cm", "items": items}},
            {"name": "p", "projected": {"sources": [
                {}, {"secret": {"name": "s", "items": [{"key": "a", "path": "t"}]}},
                {"serviceAccountToken": {"path": "t"}},
            ]}},
        ]})),
        [
            "volume \"v\" (ConfigMap \"cm\"): overlapping paths: \"x/y\" with \"x\"",
            "volume \"p\" (Projected) has no sources provided",
            "volume \"p\" (Projected): overlapping paths: \"t\" (ServiceAccountToken) with \"t\" (Secret \"s\")",
        ]
    );
}

#[test]
fn variables_duplicates_and_fractions() {
    let env = |value: &str| json!([{"name": "A", "value": "1"}, {"name": "A", "value": value}]);
    let of_env = |value: &str| of_pod(json!({"containers": [{"env": env(value)}]})).len();
    assert_eq!((of_env("2"), of_env("$(A)"), of_env("$(A)2")), (1, 1, 0));
    assert_eq!(
        of_pod(json!({
            "imagePullSecrets": [{"name": "a"}, {"name": "a"}, {"name": ""}],
            "containers": [{"resources": {"limits": {"memory": "100m"}}}],
        })),
        [
            "spec.imagePullSecrets[1].name: duplicate name \"a\"",
            "spec.imagePullSecrets[2].name: invalid empty name \"\"",
            "spec.containers[0].resources.limits[memory]: fractional byte value \"100m\" is invalid, must be an integer",
        ]
    );
}

#[test]
fn templates_are_told_of_annotations() {
    let key = "container.apparmor.security.beta.kubernetes.io/c";
    let template = json!({
        "metadata": {"annotations": {key: "unconfined"}},
        "spec": {"containers": [{"name": "c"}]},
    });
    let path = Path::new("template");
    assert_eq!(
        warnings(&template, &path, true),
        [format!(
            "template.metadata.annotations[{key}]: deprecated since v1.30; use the \"appArmorProfile\" field instead"
        )]
    );
    assert!(warnings(&template, &path, false).is_empty());
}
