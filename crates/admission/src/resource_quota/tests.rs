use super::Quotas;
use crate::testing::{Case, Cluster, cluster};
use serde_json::{Map, Value, json};

/// A quota `q` with these limits, and the same names used so far (0 where not said).
fn quota(hard: Value, used: Value) -> Value {
    let hard = hard.as_object().unwrap().clone();
    let mut all: Map<String, Value> = hard.keys().map(|k| (k.clone(), json!("0"))).collect();
    all.extend(used.as_object().unwrap().clone());
    json!({"kind": "ResourceQuota", "metadata": {"name": "q", "namespace": "ns", "resourceVersion": "7"},
        "spec": {"hard": hard}, "status": {"hard": hard, "used": all}})
}

fn scoped(hard: Value, spec: Value) -> Cluster {
    let mut quota = quota(hard, json!({}));
    quota["spec"]
        .as_object_mut()
        .unwrap()
        .extend(spec.as_object().unwrap().clone());
    cluster([quota])
}

/// `status.used` of the quotas that are charged, or what is said.
fn charged(case: Case, world: &Cluster) -> Result<Vec<Value>, String> {
    let answer = case.ask(|request| super::validate(request, world, Quotas::AsTold));
    let writes = answer.map_err(|status| status.message)?;
    let used = writes.iter().map(|write| {
        assert_eq!(write.quota["metadata"]["resourceVersion"], "7");
        write.quota["status"]["used"].clone()
    });
    Ok(used.collect())
}

fn one(case: Case, hard: Value) -> Value {
    let used = charged(case, &cluster([quota(hard, json!({}))])).unwrap();
    used.into_iter().next().unwrap_or_default()
}

fn pod(resources: Value) -> Case {
    Case::pod(json!({"containers": [{"name": "c", "resources": resources}]}))
}

#[test]
fn a_pod_is_charged_for_what_it_asks() {
    let resources = json!({
        "requests": {"cpu": "250m", "memory": "1Gi", "example.com/gpu": "2", "hugepages-2Mi": "4Mi"},
        "limits": {"cpu": "1", "ephemeral-storage": "1Gi"},
    });
    let hard = json!({
        "pods": "9", "count/pods": "9", "cpu": "9", "requests.cpu": "9", "limits.cpu": "9",
        "memory": "9Gi", "limits.ephemeral-storage": "9Gi", "requests.example.com/gpu": "9",
        "hugepages-2Mi": "9Mi", "requests.hugepages-2Mi": "9Mi", "services": "9",
    });
    assert_eq!(
        one(pod(resources), hard),
        json!({
            "pods": "1", "count/pods": "1", "cpu": "250m", "requests.cpu": "250m", "limits.cpu": "1",
            "memory": "1Gi", "limits.ephemeral-storage": "1Gi", "requests.example.com/gpu": "2",
            "hugepages-2Mi": "4Mi", "requests.hugepages-2Mi": "4Mi", "services": "0",
        })
    );
}

#[test]
fn what_goes_beyond_is_refused() {
    let world = cluster([quota(
        json!({"pods": "2", "requests.cpu": "1", "requests.memory": "1Gi"}),
        json!({"pods": "2", "requests.cpu": "800m"}),
    )]);
    let case = pod(json!({"requests": {"cpu": "300m", "memory": "1Mi"}}));
    assert_eq!(
        charged(case, &world).unwrap_err(),
        "pods \"p\" is forbidden: exceeded quota: q, requested: pods=1,requests.cpu=300m, \
         used: pods=2,requests.cpu=800m, limited: pods=2,requests.cpu=1"
    );
}

#[test]
fn where_cpu_or_memory_is_counted_every_container_must_ask() {
    let world = cluster([quota(
        json!({"requests.cpu": "9", "limits.memory": "9Gi", "ephemeral-storage": "9Gi"}),
        json!({}),
    )]);
    let case = Case::pod(json!({
        "containers": [{"name": "b"}, {"name": "a", "resources": {"requests": {"cpu": "1"}}}],
        "initContainers": [{"name": "i", "resources": {"limits": {"memory": "1Gi"}}}],
    }));
    assert_eq!(
        charged(case, &world).unwrap_err(),
        "pods \"p\" is forbidden: failed quota: q: must specify limits.memory for: a,b; \
         requests.cpu for: b,i"
    );
    let whole = Case::pod(json!({
        "containers": [{"name": "c"}],
        "resources": {"requests": {"cpu": "2"}, "limits": {"memory": "1Gi"}},
    }));
    assert_eq!(
        charged(whole, &world).unwrap(),
        [json!({"requests.cpu": "2", "limits.memory": "1Gi", "ephemeral-storage": "0"})]
    );
}

#[test]
fn a_quota_without_status_blocks_nothing_and_one_without_usage_everything() {
    let mut empty = quota(json!({"pods": "0"}), json!({}));
    empty["status"] = json!({});
    assert_eq!(charged(pod(json!({})), &cluster([empty])), Ok(vec![]));
    let mut unknown = quota(json!({"pods": "1"}), json!({}));
    unknown["status"]["used"] = json!({});
    assert_eq!(
        charged(pod(json!({})), &cluster([unknown])).unwrap_err(),
        "pods \"p\" is forbidden: status unknown for quota: q, resources: pods"
    );
}

#[test]
fn scopes_choose_the_pods() {
    let deadline = json!({"containers": [], "activeDeadlineSeconds": 5});
    let plain = json!({"containers": []});
    let burst = json!({"containers": [{"resources": {"requests": {"cpu": "1"}}}]});
    let class = json!({"containers": [], "priorityClassName": "high"});
    let affine = json!({"containers": [], "affinity": {"podAntiAffinity": {
        "preferredDuringSchedulingIgnoredDuringExecution": [
            {"podAffinityTerm": {"namespaces": ["x"]}}]}}});
    let expression = |name: &str, operator: &str, values: Value| {
        json!({"scopeSelector": {"matchExpressions": [
            {"scopeName": name, "operator": operator, "values": values}]}})
    };
    for (spec, scope, counts) in [
        (&deadline, json!({"scopes": ["Terminating"]}), true),
        (&plain, json!({"scopes": ["Terminating"]}), false),
        (&plain, json!({"scopes": ["NotTerminating"]}), true),
        (&plain, json!({"scopes": ["BestEffort"]}), true),
        (&burst, json!({"scopes": ["BestEffort"]}), false),
        (
            &burst,
            json!({"scopes": ["NotBestEffort", "Terminating"]}),
            false,
        ),
        (&class, json!({"scopes": ["PriorityClass"]}), true),
        (&plain, json!({"scopes": ["PriorityClass"]}), false),
        (
            &class,
            expression("PriorityClass", "In", json!(["high"])),
            true,
        ),
        (
            &class,
            expression("PriorityClass", "NotIn", json!(["high"])),
            false,
        ),
        (
            &plain,
            expression("PriorityClass", "NotIn", json!(["high"])),
            true,
        ),
        (
            &plain,
            expression("PriorityClass", "DoesNotExist", json!([])),
            true,
        ),
        (
            &affine,
            json!({"scopes": ["CrossNamespacePodAffinity"]}),
            true,
        ),
        (
            &plain,
            json!({"scopes": ["CrossNamespacePodAffinity"]}),
            false,
        ),
    ] {
        let world = scoped(json!({"pods": "5"}), scope.clone());
        let used = charged(Case::pod(spec.clone()), &world).unwrap();
        assert_eq!(!used.is_empty(), counts, "{spec} {scope}");
    }
    let secret = Case::create("", "secrets", json!({}));
    let world = scoped(json!({"secrets": "0"}), json!({"scopes": ["BestEffort"]}));
    assert_eq!(charged(secret, &world), Ok(vec![]));
}

#[test]
fn objects_are_counted_under_both_names() {
    let create =
        |group, resource| Case::create(group, resource, json!({"metadata": {"name": "x"}}));
    assert_eq!(
        one(
            create("", "configmaps"),
            json!({"configmaps": "1", "count/configmaps": "1", "secrets": "1"})
        ),
        json!({"configmaps": "1", "count/configmaps": "1", "secrets": "0"})
    );
    assert_eq!(
        one(
            create("apps", "deployments"),
            json!({"count/deployments.apps": "1"})
        ),
        json!({"count/deployments.apps": "1"})
    );
    assert_eq!(
        one(create("", "events"), json!({"count/events": "1"})),
        Value::Null
    );
    let update = Case::update("", "configmaps", json!({}), json!({}));
    assert_eq!(one(update, json!({"configmaps": "0"})), Value::Null);
}

#[test]
fn services_count_ports_and_balancers() {
    let hard = json!({"services": "9", "services.nodeports": "9", "services.loadbalancers": "9"});
    let used = |spec: Value| {
        let used = one(
            Case::create("", "services", json!({"spec": spec})),
            hard.clone(),
        );
        [
            &used["services"],
            &used["services.nodeports"],
            &used["services.loadbalancers"],
        ]
        .map(|v| v.as_str().unwrap().to_owned())
    };
    let ports = json!([{"port": 1}, {"port": 2, "nodePort": 30000}]);
    assert_eq!(
        used(json!({"type": "ClusterIP", "ports": ports})),
        ["1", "0", "0"]
    );
    assert_eq!(
        used(json!({"type": "NodePort", "ports": ports})),
        ["1", "2", "0"]
    );
    assert_eq!(
        used(json!({"type": "LoadBalancer", "ports": ports})),
        ["1", "2", "1"]
    );
    let chosen =
        json!({"type": "LoadBalancer", "ports": ports, "allocateLoadBalancerNodePorts": false});
    assert_eq!(used(chosen), ["1", "1", "1"]);
}

#[test]
fn volume_claims_count_in_all_and_by_class() {
    let hard = json!({
        "persistentvolumeclaims": "9", "requests.storage": "9Gi",
        "fast.storageclass.storage.k8s.io/requests.storage": "9Gi",
        "fast.storageclass.storage.k8s.io/persistentvolumeclaims": "9",
        "slow.storageclass.storage.k8s.io/requests.storage": "9Gi",
    });
    let claim = |size: &str| {
        json!({"metadata": {"name": "c", "resourceVersion": "1"}, "spec": {
            "storageClassName": "fast", "resources": {"requests": {"storage": size}}}})
    };
    let create = Case::create("", "persistentvolumeclaims", claim("1Gi"));
    assert_eq!(
        one(create, hard.clone()),
        json!({
            "persistentvolumeclaims": "1", "requests.storage": "1Gi",
            "fast.storageclass.storage.k8s.io/requests.storage": "1Gi",
            "fast.storageclass.storage.k8s.io/persistentvolumeclaims": "1",
            "slow.storageclass.storage.k8s.io/requests.storage": "0",
        })
    );
    let grow = |from, to| Case::update("", "persistentvolumeclaims", claim(from), claim(to));
    assert_eq!(
        one(grow("1Gi", "3Gi"), hard.clone())["requests.storage"],
        "2Gi"
    );
    assert_eq!(one(grow("3Gi", "1Gi"), hard), Value::Null);
    let tight = cluster([quota(json!({"requests.storage": "1Gi"}), json!({}))]);
    assert_eq!(
        charged(grow("1Gi", "3Gi"), &tight).unwrap_err(),
        "persistentvolumeclaims \"c\" is forbidden: exceeded quota: q, requested: \
         requests.storage=2Gi, used: requests.storage=0, limited: requests.storage=1Gi"
    );
}

#[test]
fn volume_attributes_classes_are_a_scope_of_claims() {
    let world = scoped(
        json!({"persistentvolumeclaims": "5"}),
        json!({"scopeSelector": {"matchExpressions": [
            {"scopeName": "VolumeAttributesClass", "operator": "In", "values": ["gold"]}]}}),
    );
    let create =
        |claim| charged(Case::create("", "persistentvolumeclaims", claim), &world).unwrap();
    assert_eq!(
        create(json!({"spec": {"volumeAttributesClassName": "gold"}})).len(),
        1
    );
    assert_eq!(
        create(json!({"status": {"currentVolumeAttributesClassName": "gold"}})).len(),
        1
    );
    assert_eq!(create(json!({"spec": {}})).len(), 0);
}

#[test]
fn resource_claims_count_devices_by_class() {
    let request = |class: &str, mode: &str, count: i64| json!({"deviceClassName": class, "allocationMode": mode, "count": count});
    let claim = json!({"spec": {"devices": {"requests": [
        {"name": "a", "exactly": request("gpu", "ExactCount", 2)},
        {"name": "b", "firstAvailable": [request("gpu", "ExactCount", 1), request("gpu", "ExactCount", 3)]},
        {"name": "c", "exactly": request("nic", "All", 0)},
    ]}}});
    let hard = json!({
        "count/resourceclaims.resource.k8s.io": "9",
        "gpu.deviceclass.resource.k8s.io/devices": "9",
        "nic.deviceclass.resource.k8s.io/devices": "99",
        "requests.example.com/gpu": "9",
    });
    let mut world = cluster([quota(hard, json!({}))]);
    world.put(json!({"kind": "DeviceClass", "metadata": {"name": "gpu"},
        "spec": {"extendedResourceName": "example.com/gpu"}}));
    let case = Case::create("resource.k8s.io", "resourceclaims", claim);
    assert_eq!(
        charged(case, &world).unwrap(),
        [json!({
            "count/resourceclaims.resource.k8s.io": "1",
            "gpu.deviceclass.resource.k8s.io/devices": "5",
            "nic.deviceclass.resource.k8s.io/devices": "32",
            "requests.example.com/gpu": "5",
        })]
    );
}

#[test]
fn updates_of_pods_count_when_their_scope_changes_or_through_resize() {
    let pod = |cpu: &str, deadline: Value| {
        json!({"metadata": {"name": "p", "resourceVersion": "1"}, "spec": {
            "activeDeadlineSeconds": deadline,
            "containers": [{"name": "c", "resources": {"requests": {"cpu": cpu}}}]}})
    };
    let hard = json!({"requests.cpu": "9"});
    let update = |old, new| Case::update("", "pods", old, new);
    let none = Value::Null;
    assert_eq!(
        one(
            update(pod("1", none.clone()), pod("3", none.clone())),
            hard.clone()
        ),
        Value::Null
    );
    let resize = update(pod("1", none.clone()), pod("3", none.clone())).subresource("resize");
    assert_eq!(one(resize, hard.clone()), json!({"requests.cpu": "2"}));
    let world = scoped(hard, json!({"scopes": ["Terminating"]}));
    let enters = update(pod("3", none), pod("3", json!(5)));
    assert_eq!(
        charged(enters, &world).unwrap(),
        [json!({"requests.cpu": "3"})]
    );
}

#[test]
fn pods_at_their_end_use_nothing_but_a_place_in_the_store() {
    let hard = json!({"pods": "9", "count/pods": "9"});
    let at_end = |more: Value| {
        let mut pod = json!({"metadata": {"name": "p"}, "spec": {"containers": []}});
        pod.as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        one(Case::create("", "pods", pod), hard.clone())
    };
    let only_count = json!({"pods": "0", "count/pods": "1"});
    assert_eq!(
        at_end(json!({"status": {"phase": "Succeeded"}})),
        only_count
    );
    let leaving =
        |at: &str| json!({"metadata": {"deletionTimestamp": at, "deletionGracePeriodSeconds": 30}});
    assert_eq!(at_end(leaving("2026-01-02T03:03:34Z")), only_count);
    assert_ne!(at_end(leaving("2026-01-02T03:03:35Z")), only_count);
}

#[test]
fn a_dry_run_is_judged_and_not_charged() {
    let case = |hard: &str| {
        let world = cluster([quota(json!({"pods": hard}), json!({}))]);
        charged(pod(json!({})).dry_run(), &world)
    };
    assert_eq!(case("1"), Ok(vec![]));
    assert!(case("0").is_err());
}
