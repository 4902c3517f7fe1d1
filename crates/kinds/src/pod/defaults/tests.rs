use super::*;

fn defaulted(mut object: Value) -> Value {
    pod(&mut object);
    object
}

#[test]
fn a_bare_pod_is_filled_in() {
    let pod = defaulted(json!({"spec": {"containers": [{"name": "c", "image": "nginx"}]}}));
    assert_eq!(
        pod["spec"],
        json!({
            "containers": [{
                "name": "c", "image": "nginx", "imagePullPolicy": "Always",
                "terminationMessagePath": "/dev/termination-log", "terminationMessagePolicy": "File",
            }],
            "dnsPolicy": "ClusterFirst", "restartPolicy": "Always", "securityContext": {},
            "schedulerName": "default-scheduler", "terminationGracePeriodSeconds": 30,
            "enableServiceLinks": true,
        })
    );
}

#[test]
fn limits_become_requests_in_pods_only() {
    let spec = json!({"containers": [{"resources": {"limits": {"cpu": "1500u"}}}]});
    let pod = defaulted(json!({"spec": spec}));
    assert_eq!(
        pod["spec"]["containers"][0]["resources"],
        json!({"limits": {"cpu": "2m"}, "requests": {"cpu": "2m"}})
    );
    let mut of_template = json!({"spec": spec});
    template(&mut of_template);
    assert_eq!(
        of_template["spec"]["containers"][0]["resources"],
        json!({"limits": {"cpu": "2m"}})
    );
    assert!(!of_template["spec"].has("enableServiceLinks"));
}

#[test]
fn a_pod_asks_for_what_its_containers_ask_together() {
    let pod = defaulted(json!({"spec": {
        "containers": [{"resources": {"requests": {"cpu": "1e2"}, "limits": {"hugepages-2Mi": "4Mi"}}}],
        "resources": {"limits": {"cpu": "200", "memory": "1Gi"}},
    }}));
    assert_eq!(
        pod["spec"]["resources"],
        json!({
            "limits": {"cpu": "200", "memory": "1Gi", "hugepages-2Mi": "4Mi"},
            "requests": {"cpu": "100", "memory": "1Gi", "hugepages-2Mi": "4Mi"},
        })
    );
}

#[test]
fn the_service_account_has_two_names() {
    let names = |spec: Value| {
        let pod = defaulted(json!({"spec": spec}));
        let name = |field: &str| pod["spec"].text(field).to_owned();
        (name("serviceAccountName"), name("serviceAccount"))
    };
    let both = |name: &str| (name.to_owned(), name.to_owned());
    assert_eq!(names(json!({"serviceAccount": "old"})), both("old"));
    assert_eq!(
        names(json!({"serviceAccount": "old", "serviceAccountName": "new"})),
        both("new")
    );
    assert_eq!(names(json!({})), both(""));
}

#[test]
fn host_network_opens_ports_of_the_host() {
    let pod = defaulted(json!({"spec": {
        "hostNetwork": true,
        "containers": [{"ports": [{"containerPort": 80}, {"containerPort": 81, "hostPort": 8081}]}],
    }}));
    assert_eq!(
        pod["spec"]["containers"][0]["ports"],
        json!([
            {"containerPort": 80, "hostPort": 80, "protocol": "TCP"},
            {"containerPort": 81, "hostPort": 8081, "protocol": "TCP"},
        ])
    );
}

#[test]
fn a_volume_without_source_is_an_empty_directory() {
    let pod = defaulted(json!({"spec": {"volumes": [
        {"name": "a"},
        {"name": "b", "secret": {"secretName": "s"}},
        {"name": "c", "hostPath": {"path": "/x"}},
        {"name": "d", "projected": {"sources": [{"serviceAccountToken": {"path": "t"}}]}},
    ]}}));
    assert_eq!(
        pod["spec"]["volumes"],
        json!([
            {"name": "a", "emptyDir": {}},
            {"name": "b", "secret": {"secretName": "s", "defaultMode": 420}},
            {"name": "c", "hostPath": {"path": "/x", "type": ""}},
            {"name": "d", "projected": {
                "sources": [{"serviceAccountToken": {"path": "t", "expirationSeconds": 3600}}],
                "defaultMode": 420,
            }},
        ])
    );
}

#[test]
fn one_address_of_a_pod_is_also_the_first_of_the_list() {
    let status = |status: Value| defaulted(json!({"status": status}))["status"].take();
    assert_eq!(
        status(json!({"podIP": "1.2.3.4"})),
        json!({"podIP": "1.2.3.4", "podIPs": [{"ip": "1.2.3.4"}]})
    );
    assert_eq!(
        status(json!({"podIPs": [{"ip": "1.2.3.4"}]})),
        json!({"podIP": "1.2.3.4", "podIPs": [{"ip": "1.2.3.4"}]})
    );
    assert_eq!(
        status(json!({"podIP": "9.9.9.9", "podIPs": [{"ip": "1.2.3.4"}, {"ip": "::1"}]})),
        json!({"podIP": "9.9.9.9", "podIPs": [{"ip": "9.9.9.9"}]})
    );
}

#[test]
fn annotations_of_old_init_containers_are_dropped() {
    let pod = defaulted(json!({"metadata": {"annotations": {
        "pod.beta.kubernetes.io/init-containers": "[]", "a": "b",
    }}}));
    assert_eq!(pod["metadata"], json!({"annotations": {"a": "b"}}));
}
