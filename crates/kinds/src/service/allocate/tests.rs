use super::*;

fn in_use(services: &[Value]) -> InUse {
    services.iter().collect()
}

fn allocation<'a>(ranges: &'a Ranges, in_use: &'a InUse) -> Allocation<'a> {
    Allocation {
        ranges,
        in_use,
        seed: 0,
        dry_run: false,
    }
}

fn created(spec: Value, taken: &[Value], dry_run: bool) -> Result<Value, String> {
    let ranges = Ranges::default();
    let used = in_use(taken);
    let with = Allocation {
        dry_run,
        ..allocation(&ranges, &used)
    };
    let mut service = json!({"metadata": {"name": "a"}, "spec": spec});
    begin_create(&mut service, &with).map_err(|status| status.message)?;
    Ok(service["spec"].take())
}

fn updated(spec: Value, old: Value) -> Result<Value, String> {
    let ranges = Ranges::default();
    let old = json!({"metadata": {"name": "a"}, "spec": old});
    let used = in_use(std::slice::from_ref(&old));
    let mut new = json!({"metadata": {"name": "a"}, "spec": spec});
    begin_update(&mut new, &old, &allocation(&ranges, &used)).map_err(|s| s.message)?;
    Ok(new["spec"].take())
}

#[test]
fn a_plain_service_gets_one_address() {
    let spec = created(json!({"type": "ClusterIP"}), &[], false).unwrap();
    let expected = json!({"type": "ClusterIP", "ipFamilyPolicy": "SingleStack",
        "ipFamilies": ["IPv4"], "clusterIP": "10.0.0.17", "clusterIPs": ["10.0.0.17"]});
    assert_eq!(spec, expected);
    let next = created(
        json!({"type": "ClusterIP"}),
        &[json!({"spec": spec})],
        false,
    )
    .unwrap();
    assert_eq!(next["clusterIP"], "10.0.0.18");
    let dry = created(json!({"type": "ClusterIP"}), &[], true).unwrap();
    assert_eq!(dry["clusterIP"], "10.0.0.0");
}

#[test]
fn given_addresses_are_free_and_in_range() {
    let spec = |ip: &str| json!({"type": "ClusterIP", "clusterIP": ip});
    let ok = created(spec("10.0.0.250"), &[], false).unwrap();
    assert_eq!(ok["clusterIPs"], json!(["10.0.0.250"]));
    assert_eq!(ok["ipFamilies"], json!(["IPv4"]));
    let taken = [json!({"spec": {"clusterIPs": ["10.0.0.250"]}})];
    for (ip, dry_run, why) in [
        ("10.0.0.250", false, "provided IP is already allocated"),
        (
            "10.1.0.1",
            false,
            "the provided network does not match the current range",
        ),
        (
            "10.0.0.255",
            false,
            "the provided network does not match the current range",
        ),
        (
            "10.1.0.1",
            true,
            "the provided IP (10.1.0.1) is not in the valid range. The range of valid IPs is 10.0.0.0/24",
        ),
    ] {
        assert_eq!(
            created(spec(ip), &taken, dry_run).unwrap_err(),
            format!(
                "Service \"a\" is invalid: spec.clusterIPs: Invalid value: [\"{ip}\"]: failed to allocate IP {ip}: {why}"
            )
        );
    }
    assert_eq!(
        created(spec("fd00::1"), &[], false).unwrap_err(),
        "Service \"a\" is invalid: spec.clusterIPs[0]: Invalid value: [\"fd00::1\"]: IPv6 is not configured on this cluster"
    );
}

#[test]
fn families_follow_policy_and_selector() {
    let headless = created(
        json!({"type": "ClusterIP", "clusterIP": "None"}),
        &[],
        false,
    )
    .unwrap();
    assert_eq!(headless["ipFamilyPolicy"], "RequireDualStack");
    assert_eq!(headless["ipFamilies"], json!(["IPv4", "IPv6"]));
    let spec = json!({"type": "ClusterIP", "clusterIP": "None", "selector": {"a": "b"}});
    let selected = created(spec, &[], false).unwrap();
    assert_eq!(selected["ipFamilyPolicy"], "SingleStack");
    assert_eq!(selected["ipFamilies"], json!(["IPv4"]));
    let prefer = json!({"type": "ClusterIP", "ipFamilyPolicy": "PreferDualStack"});
    let prefer = created(prefer, &[], false).unwrap();
    assert_eq!(prefer["ipFamilies"], json!(["IPv4"]));
    let require = json!({"type": "ClusterIP", "ipFamilyPolicy": "RequireDualStack"});
    assert!(
        created(require, &[], false)
            .unwrap_err()
            .ends_with("this cluster is not configured for dual-stack services")
    );
    let spec = json!({"type": "ClusterIP", "ipFamilies": ["IPv6"]});
    assert!(
        created(spec, &[], false).unwrap_err().contains(
            "spec.ipFamilies[0]: Invalid value: \"IPv6\": not configured on this cluster"
        )
    );
    let external = json!({"type": "ExternalName"});
    assert_eq!(created(external.clone(), &[], false).unwrap(), external);
}

#[test]
fn protocols_share_a_node_port() {
    let ports = json!([{"port": 53, "protocol": "TCP"}, {"port": 53, "protocol": "UDP"},
        {"port": 80, "protocol": "TCP", "nodePort": 30007}]);
    let spec = created(json!({"type": "NodePort", "ports": ports}), &[], false).unwrap();
    assert_eq!(spec["ports"][0]["nodePort"], 30086);
    assert_eq!(spec["ports"][1]["nodePort"], 30086);
    assert_eq!(spec["ports"][2]["nodePort"], 30007);
    let dry = json!([{"port": 53}, {"port": 80}]);
    let spec = created(json!({"type": "NodePort", "ports": dry}), &[], true).unwrap();
    assert_eq!(spec["ports"][0]["nodePort"], 32769);
    assert_eq!(spec["ports"][1]["nodePort"], 32770);
    let out = json!({"type": "NodePort", "ports": [{"port": 80, "nodePort": 80}]});
    assert_eq!(
        created(out, &[], false).unwrap_err(),
        "Service \"a\" is invalid: spec.ports[0].nodePort: Invalid value: 80: provided port is not in the valid range. The range of valid ports is 30000-32767"
    );
}

#[test]
fn load_balancers_may_do_without_node_ports() {
    let spec = json!({"type": "LoadBalancer", "allocateLoadBalancerNodePorts": false,
        "externalTrafficPolicy": "Local", "ports": [{"port": 80}]});
    let spec = created(spec, &[], false).unwrap();
    assert!(spec["ports"][0].get("nodePort").is_none());
    assert_eq!(spec["healthCheckNodePort"], 30086);
    let bad = json!({"type": "LoadBalancer", "externalTrafficPolicy": "Local",
        "allocateLoadBalancerNodePorts": true, "healthCheckNodePort": 1});
    assert!(created(bad, &[], false).unwrap_err().starts_with(
        "Internal error occurred: failed to allocate requested HealthCheck NodePort 1:"
    ));
}

#[test]
fn what_an_update_leaves_out_stays() {
    let old = json!({"type": "NodePort", "clusterIP": "10.0.0.9", "clusterIPs": ["10.0.0.9"],
        "ipFamilies": ["IPv4"], "ipFamilyPolicy": "SingleStack",
        "ports": [{"name": "a", "port": 80, "nodePort": 30001}]});
    let ports = json!([{"name": "a", "port": 81}, {"name": "b", "port": 82}]);
    let new = updated(json!({"type": "NodePort", "ports": ports}), old.clone()).unwrap();
    assert_eq!(new["clusterIP"], "10.0.0.9");
    assert_eq!(new["clusterIPs"], json!(["10.0.0.9"]));
    assert_eq!(new["ipFamilyPolicy"], "SingleStack");
    assert_eq!(new["ports"][0]["nodePort"], 30001);
    assert_eq!(new["ports"][1]["nodePort"], 30086);
    let changed = updated(
        json!({"type": "NodePort", "clusterIP": "10.0.0.10",
        "clusterIPs": ["10.0.0.9"], "ipFamilies": ["IPv4"]}),
        old,
    )
    .unwrap();
    assert_eq!(changed["clusterIPs"], json!(["10.0.0.10"]));
}

#[test]
fn a_name_of_elsewhere_becomes_a_service_with_an_address() {
    let new = updated(
        json!({"type": "ClusterIP", "ports": [{"port": 80}]}),
        json!({"type": "ExternalName", "externalName": "x"}),
    );
    assert_eq!(new.unwrap()["clusterIP"], "10.0.0.17");
}

#[test]
fn a_full_range_says_so() {
    let taken: Vec<Value> = (0..=255)
        .map(|i| json!({"spec": {"clusterIPs": [format!("10.0.0.{i}")]}}))
        .collect();
    assert_eq!(
        created(json!({"type": "ClusterIP"}), &taken, false).unwrap_err(),
        "Internal error occurred: failed to allocate a serviceIP for Service \"a\": range is full"
    );
    let mut used = in_use(&taken);
    used.remove(&taken[7]);
    assert_eq!(used.cluster_ips.len(), 255);
}
