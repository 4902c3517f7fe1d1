use crate::testing::{Case, Cluster, cluster};
use serde_json::{Value, json};

fn world(labels: Value) -> Cluster {
    cluster([json!({"kind": "Namespace", "metadata": {"name": "ns", "labels": labels}})])
}

fn enforcing(level: &str, version: &str) -> Cluster {
    world(json!({
        "pod-security.kubernetes.io/enforce": level,
        "pod-security.kubernetes.io/enforce-version": version,
    }))
}

fn answer(case: Case, world: &Cluster) -> Result<Vec<String>, String> {
    let answer = case.ask(|request| super::validate(request, world));
    answer.map_err(|status| status.message)
}

/// What a level says of a pod; nothing if it passes.
fn said(level: &str, version: &str, pod: Value) -> String {
    let case = Case::create("", "pods", pod);
    let start = format!("pods \"p\" is forbidden: violates PodSecurity \"{level}:{version}\": ");
    match answer(case, &enforcing(level, version)) {
        Ok(_) => String::new(),
        Err(message) => message.strip_prefix(&start).expect(&message).to_owned(),
    }
}

fn pod(spec: Value) -> Value {
    json!({"metadata": {"name": "p"}, "spec": spec})
}

/// A pod with two containers, the second of which has this security context.
fn second(context: Value) -> Value {
    pod(json!({"containers": [{"name": "a"}, {"name": "b", "securityContext": context}]}))
}

fn with_annotation(key: &str, value: &str) -> Value {
    json!({
        "metadata": {"name": "p", "annotations": {key: value}},
        "spec": {"containers": [{"name": "a"}]},
    })
}

/// A pod that the restricted level lets pass, with this in its place.
fn strict(field: &str, value: Value) -> Value {
    let mut spec = json!({
        "securityContext": {"runAsNonRoot": true, "seccompProfile": {"type": "RuntimeDefault"}},
        "containers": [{"name": "a", "securityContext": {
            "allowPrivilegeEscalation": false, "capabilities": {"drop": ["ALL"]}}}],
    });
    let mut here = &mut spec;
    for key in field.split('.') {
        here = match key.parse::<usize>() {
            Ok(index) => &mut here[index],
            Err(_) => &mut here[key],
        };
    }
    *here = value;
    pod(spec)
}

#[test]
fn baseline_refuses_the_known_ways_out() {
    for (pod, text) in [
        (second(json!({})), ""),
        (
            second(json!({"capabilities": {"add": ["NET_ADMIN", "CHOWN", "A"]}})),
            "non-default capabilities (container \"b\" must not include \"A\", \"NET_ADMIN\" in securityContext.capabilities.add)",
        ),
        (
            pod(json!({"hostNetwork": true, "hostIPC": true})),
            "host namespaces (hostNetwork=true, hostIPC=true)",
        ),
        (
            pod(json!({"volumes": [{"name": "v", "hostPath": {}}, {"name": "w", "hostPath": {}}]})),
            "hostPath volumes (volumes \"v\", \"w\")",
        ),
        (
            pod(
                json!({"containers": [{"name": "a", "ports": [{"hostPort": 80}, {"hostPort": 0}]},
                {"name": "b", "ports": [{"hostPort": 443}]}]}),
            ),
            "hostPort (containers \"a\", \"b\" use hostPorts 443, 80)",
        ),
        (
            pod(
                json!({"containers": [{"name": "a", "livenessProbe": {"httpGet": {"host": "h"}},
                "lifecycle": {"preStop": {"tcpSocket": {"host": "g"}}}}]}),
            ),
            "probe or lifecycle host (container \"a\" uses probe or lifecycle hosts \"g\", \"h\")",
        ),
        (
            second(json!({"privileged": true})),
            "privileged (container \"b\" must not set securityContext.privileged=true)",
        ),
        (
            second(json!({"procMount": "Unmasked"})),
            "procMount (container \"b\" must not set securityContext.procMount to \"Unmasked\")",
        ),
        (
            pod(
                json!({"securityContext": {"seLinuxOptions": {"type": "t", "user": "u"}},
                "containers": [{"name": "a", "securityContext": {"seLinuxOptions": {"role": "r"}}}]}),
            ),
            "seLinuxOptions (pod and container \"a\" set forbidden securityContext.seLinuxOptions: type \"t\"; user may not be set; role may not be set)",
        ),
        (
            second(json!({"seccompProfile": {"type": "Unconfined"}})),
            "seccompProfile (container \"b\" must not set securityContext.seccompProfile.type to \"Unconfined\")",
        ),
        (
            pod(
                json!({"securityContext": {"sysctls": [{"name": "kernel.msgmax"}, {"name": "net.ipv4.tcp_rmem"}]}}),
            ),
            "forbidden sysctls (kernel.msgmax)",
        ),
        (
            pod(json!({"securityContext": {"windowsOptions": {"hostProcess": true}}})),
            "hostProcess (pod must not set securityContext.windowsOptions.hostProcess=true)",
        ),
        (
            second(json!({"appArmorProfile": {"type": "Unconfined"}})),
            "forbidden AppArmor profile (container \"b\" must not set AppArmor profile type to \"Unconfined\")",
        ),
        (
            with_annotation(
                "container.apparmor.security.beta.kubernetes.io/a",
                "unconfined",
            ),
            "forbidden AppArmor profile (annotation must not set AppArmor profile type to \"container.apparmor.security.beta.kubernetes.io/a=\"unconfined\"\")",
        ),
    ] {
        assert_eq!(said("baseline", "latest", pod), text);
    }
}

#[test]
fn restricted_asks_for_the_best() {
    let context = "containers.0.securityContext";
    for (pod, text) in [
        (strict("restartPolicy", json!("Never")), ""),
        (
            strict(&format!("{context}.allowPrivilegeEscalation"), Value::Null),
            "allowPrivilegeEscalation != false (container \"a\" must set securityContext.allowPrivilegeEscalation=false)",
        ),
        (
            strict(
                &format!("{context}.capabilities"),
                json!({"add": ["CHOWN", "NET_BIND_SERVICE"]}),
            ),
            "unrestricted capabilities (container \"a\" must set securityContext.capabilities.drop=[\"ALL\"]; container \"a\" must not include \"CHOWN\" in securityContext.capabilities.add)",
        ),
        (
            strict(
                "volumes",
                json!([{"name": "h", "hostPath": {}}, {"name": "n", "nfs": {}}, {"name": "e", "emptyDir": {}}]),
            ),
            "restricted volume types (volumes \"h\", \"n\" use restricted volume types \"hostPath\", \"nfs\")",
        ),
        (
            strict("securityContext.runAsNonRoot", Value::Null),
            "runAsNonRoot != true (pod or container \"a\" must set securityContext.runAsNonRoot=true)",
        ),
        (
            strict(&format!("{context}.runAsNonRoot"), json!(false)),
            "runAsNonRoot != true (container \"a\" must not set securityContext.runAsNonRoot=false)",
        ),
        (
            strict("securityContext.runAsUser", json!(0)),
            "runAsUser=0 (pod must not set runAsUser=0)",
        ),
        (
            strict("securityContext.seccompProfile", Value::Null),
            "seccompProfile (pod or container \"a\" must set securityContext.seccompProfile.type to \"RuntimeDefault\" or \"Localhost\")",
        ),
        (
            strict(&format!("{context}.procMount"), json!("Unmasked")),
            "procMount (container \"a\" must not set securityContext.procMount to \"Unmasked\")",
        ),
    ] {
        assert_eq!(said("restricted", "latest", pod), text);
    }
}

#[test]
fn releases_differ() {
    let sysctl =
        pod(json!({"securityContext": {"sysctls": [{"name": "net.ipv4.tcp_keepalive_time"}]}}));
    assert_ne!(said("baseline", "v1.28", sysctl.clone()), "");
    assert_eq!(said("baseline", "v1.29", sysctl), "");
    let probe =
        pod(json!({"containers": [{"name": "a", "livenessProbe": {"httpGet": {"host": "h"}}}]}));
    assert_eq!(said("baseline", "v1.33", probe.clone()), "");
    assert_ne!(said("baseline", "v1.99", probe), "");
    let engine = second(json!({"seLinuxOptions": {"type": "container_engine_t"}}));
    assert_ne!(said("baseline", "v1.30", engine.clone()), "");
    assert_eq!(said("baseline", "v1.31", engine), "");
    let annotated = with_annotation("container.seccomp.security.alpha.kubernetes.io/a", "x");
    assert_eq!(
        said("baseline", "v1.18", annotated.clone()),
        "seccompProfile (forbidden annotation container.seccomp.security.alpha.kubernetes.io/a=\"x\")"
    );
    assert_eq!(said("baseline", "v1.19", annotated), "");
    // Windows pods are exempt since 1.25, pods with users of their own since 1.35.
    let mut windows = strict("os", json!({"name": "windows"}));
    windows["spec"]["containers"][0]["securityContext"] = json!({});
    assert_ne!(said("restricted", "v1.24", windows.clone()), "");
    assert_eq!(said("restricted", "v1.25", windows), "");
    let mut own_users = strict("hostUsers", json!(false));
    own_users["spec"]["securityContext"]["runAsUser"] = json!(0);
    assert_ne!(said("restricted", "v1.34", own_users.clone()), "");
    assert_eq!(said("restricted", "v1.35", own_users), "");
    let mut unmasked = second(json!({"procMount": "Unmasked"}));
    unmasked["spec"]["hostUsers"] = json!(false);
    assert_eq!(said("baseline", "latest", unmasked.clone()), "");
    assert_ne!(said("baseline", "v1.34", unmasked), "");
}

#[test]
fn warnings_are_for_pods_that_pass_and_for_templates() {
    let world = world(json!({
        "pod-security.kubernetes.io/enforce": "baseline",
        "pod-security.kubernetes.io/warn": "restricted",
        "pod-security.kubernetes.io/warn-version": "v1.0",
    }));
    let warning = "would violate PodSecurity \"restricted:v1.0\": runAsNonRoot != true (pod or \
                   container \"a\" must set securityContext.runAsNonRoot=true)";
    let plain = json!({"containers": [{"name": "a"}]});
    assert_eq!(answer(Case::pod(plain.clone()), &world).unwrap(), [warning]);
    let template = json!({"metadata": {"name": "d"}, "spec": {"template": {"spec": plain}}});
    let create = |object| Case::create("apps", "deployments", object);
    assert_eq!(answer(create(template.clone()), &world).unwrap(), [warning]);
    let cron = json!({"spec": {"jobTemplate": {"spec": template["spec"]}}});
    let case = Case::create("batch", "cronjobs", cron);
    assert_eq!(answer(case, &world).unwrap(), [warning]);
    let scale = Case::update("apps", "deployments", json!({}), template).subresource("scale");
    assert!(answer(scale, &world).unwrap().is_empty());
}

#[test]
fn enforcing_warns_of_workloads_too() {
    let privileged =
        json!({"containers": [{"name": "a", "securityContext": {"privileged": true}}]});
    let template = json!({"spec": {"template": {"spec": privileged}}});
    let case = Case::create("apps", "deployments", template);
    let warnings = answer(case, &enforcing("baseline", "v1.30")).unwrap();
    assert_eq!(
        warnings,
        [
            "would violate PodSecurity \"baseline:v1.30\": privileged (container \"a\" must not set securityContext.privileged=true)"
        ]
    );
}

#[test]
fn of_an_update_only_containers_and_images_matter() {
    let pod = |image: &str, more: Value| {
        json!({"metadata": {"name": "p"}, "spec": {"hostPID": true,
            "containers": [{"name": "a", "image": image}], "ephemeralContainers": more}})
    };
    let world = enforcing("baseline", "latest");
    let update = |new: Value| answer(Case::update("", "pods", pod("i", json!([])), new), &world);
    assert!(update(pod("i", json!([]))).is_ok());
    assert!(update(pod("j", json!([]))).is_err());
    assert!(update(pod("i", json!([{"name": "e"}]))).is_err());
    let old = pod("i", json!([]));
    let case = Case::update("", "pods", old, pod("j", json!([]))).subresource("status");
    assert!(answer(case, &world).is_ok());
}

#[test]
fn labels_must_make_sense() {
    let create = |labels: Value| {
        let namespace = json!({"metadata": {"name": "x", "labels": labels}});
        answer(Case::create("", "namespaces", namespace), &cluster([]))
    };
    assert!(create(json!({"pod-security.kubernetes.io/enforce": "baseline"})).is_ok());
    assert_eq!(
        create(json!({
            "pod-security.kubernetes.io/enforce": "strict",
            "pod-security.kubernetes.io/audit-version": "1.2",
        }))
        .unwrap_err(),
        "Namespace \"x\" is invalid: [metadata.labels[pod-security.kubernetes.io/enforce]: Invalid \
         value: \"strict\": must be one of privileged, baseline, restricted, \
         metadata.labels[pod-security.kubernetes.io/audit-version]: Invalid value: \"1.2\": must \
         be \"latest\" or \"v1.x\"]"
    );
    for (version, good) in [
        ("latest", true),
        ("v1.0", true),
        ("v1.36", true),
        ("v1.01", false),
        ("v1.", false),
        ("v2.0", false),
    ] {
        let labels = json!({"pod-security.kubernetes.io/warn-version": version});
        assert_eq!(create(labels).is_ok(), good, "{version}");
    }
    // Bad labels that were there before do not stand in the way of other changes.
    let bad =
        json!({"metadata": {"name": "x", "labels": {"pod-security.kubernetes.io/warn": "no"}}});
    let update = Case::update("", "namespaces", bad.clone(), bad);
    assert!(answer(update, &cluster([])).is_ok());
}

#[test]
fn a_stricter_namespace_tells_of_the_pods_that_break_it() {
    let pod = |name: &str, spec: Value, owner: Value| json!({"kind": "Pod", "metadata": {"name": name, "namespace": "ns", "ownerReferences": owner}, "spec": spec});
    let host = json!({"hostPID": true});
    let owner = json!([{"uid": "u", "controller": true}]);
    let world = cluster([
        pod("a", json!({"containers": []}), json!([])),
        pod("b", host.clone(), json!([])),
        pod("c", host.clone(), owner.clone()),
        pod("d", host, owner),
        pod(
            "e",
            json!({"hostPID": true, "volumes": [{"name": "v", "hostPath": {}}]}),
            json!([]),
        ),
    ]);
    let namespace = |level: &str| json!({"metadata": {"name": "ns", "labels": {"pod-security.kubernetes.io/enforce": level}}});
    let change = |from: &str, to: &str| {
        let case = Case::update("", "namespaces", namespace(from), namespace(to));
        answer(case, &world).unwrap()
    };
    assert_eq!(
        change("privileged", "baseline"),
        [
            "existing pods in namespace \"ns\" violate the new PodSecurity enforce level \"baseline:latest\"",
            "b (and 2 other pods): host namespaces",
            "e: host namespaces, hostPath volumes",
        ]
    );
    assert!(change("restricted", "baseline").is_empty());
    assert!(change("baseline", "privileged").is_empty());
}
