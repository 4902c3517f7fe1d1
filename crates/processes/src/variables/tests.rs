//! What containers find in their environment.

use super::*;
use serde_json::{Value, json};

fn sources() -> Sources {
    let mut sources = Sources::default();
    let map = |entries: &[(&str, &str)]| {
        let entries = entries.iter();
        entries
            .map(|(key, value)| ((*key).to_owned(), value.as_bytes().to_vec()))
            .collect()
    };
    sources
        .config_maps
        .insert("settings".to_owned(), Some(map(&[("a", "1"), ("b", "2")])));
    sources.config_maps.insert("none".to_owned(), None);
    sources
        .secrets
        .insert("password".to_owned(), Some(map(&[("word", "xyzzy")])));
    sources
}

fn check(container: Value, expected: Result<&[(&str, &str)], &str>) {
    let said = container.to_string();
    let pod =
        json!({"metadata": {"name": "p", "namespace": "n"}, "spec": {"containers": [container]}});
    let pod: Pod = serde_json::from_value(pod).unwrap();
    let container = &pod.spec.as_ref().unwrap().containers[0];
    let mut services = Variables::default();
    services.set("WEB_SERVICE_HOST", "10.0.0.9".to_owned());
    let got = of_container(&pod, container, &sources(), &services, &Place::default());
    let got = got.map(|all| {
        let all = all.into_vec();
        all.into_iter()
            .filter(|(name, _)| name != "WEB_SERVICE_HOST")
            .collect::<Vec<_>>()
    });
    let expected = expected.map_err(str::to_owned).map(|all| {
        let all = all.iter();
        all.map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect::<Vec<_>>()
    });
    assert_eq!(got, expected, "{said}");
}

#[test]
fn values_come_from_the_pod_config_maps_and_secrets() {
    let env = |env: Value| json!({"name": "c", "env": env});
    check(
        env(json!([
            {"name": "A", "value": "x"},
            {"name": "B", "value": "$(A)-$(WEB_SERVICE_HOST)-$(LATER)-$$(A)"},
            {"name": "LATER", "value": "y"},
        ])),
        Ok(&[
            ("A", "x"),
            ("B", "x-10.0.0.9-$(LATER)-$(A)"),
            ("LATER", "y"),
        ]),
    );
    check(
        env(json!([{"name": "N", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}])),
        Ok(&[("N", "p")]),
    );
    let key = |kind: &str, name: &str, key: &str, optional: bool| {
        env(
            json!([{"name": "K", "valueFrom": {kind: {"name": name, "key": key, "optional": optional}}}]),
        )
    };
    check(
        key("configMapKeyRef", "settings", "a", false),
        Ok(&[("K", "1")]),
    );
    check(
        key("secretKeyRef", "password", "word", false),
        Ok(&[("K", "xyzzy")]),
    );
    check(key("configMapKeyRef", "settings", "z", true), Ok(&[]));
    check(key("configMapKeyRef", "none", "z", true), Ok(&[]));
    check(
        key("configMapKeyRef", "settings", "z", false),
        Err("couldn't find key z in ConfigMap n/settings"),
    );
    check(
        key("configMapKeyRef", "none", "z", false),
        Err("configmap \"none\" not found"),
    );
    check(
        key("secretKeyRef", "none", "z", false),
        Err("secret \"none\" not found"),
    );
}

#[test]
fn whole_maps_come_first_and_are_overruled() {
    let from = json!([{"prefix": "P_", "configMapRef": {"name": "settings"}}]);
    check(
        json!({"name": "c", "envFrom": from, "env": [{"name": "P_a", "value": "own"}]}),
        Ok(&[("P_a", "own"), ("P_b", "2")]),
    );
    check(
        json!({"name": "c", "envFrom": [{"secretRef": {"name": "none"}}]}),
        Err("secret \"none\" not found"),
    );
    check(
        json!({"name": "c", "envFrom": [{"secretRef": {"name": "none", "optional": true}}]}),
        Ok(&[]),
    );
}

#[test]
fn services_are_told_of_and_the_api_is_where_it_can_be_reached() {
    let service = |namespace: &str, name: &str, ip: &str| {
        let ports = json!([{"name": "http", "port": 80}, {"port": 443, "protocol": "UDP"}]);
        let service = json!({
            "metadata": {"namespace": namespace, "name": name},
            "spec": {"clusterIP": ip, "ports": ports},
        });
        Arc::new(serde_json::from_value::<Service>(service).unwrap())
    };
    let all = [
        service("n", "my-web", "10.0.0.2"),
        service("n", "headless", "None"),
        service("other", "db", "10.0.0.3"),
        service("default", "kubernetes", "10.0.0.1"),
    ];
    let some = of_services(&all, "n", true, Some(("127.0.0.1", 6443)));
    for (name, expected) in [
        ("MY_WEB_SERVICE_HOST", Some("10.0.0.2")),
        ("MY_WEB_SERVICE_PORT", Some("80")),
        ("MY_WEB_SERVICE_PORT_HTTP", Some("80")),
        ("MY_WEB_PORT", Some("tcp://10.0.0.2:80")),
        ("MY_WEB_PORT_443_UDP_PROTO", Some("udp")),
        ("HEADLESS_SERVICE_HOST", None),
        ("DB_SERVICE_HOST", None),
        ("KUBERNETES_SERVICE_HOST", Some("127.0.0.1")),
        ("KUBERNETES_SERVICE_PORT", Some("6443")),
    ] {
        assert_eq!(some.get(name), expected, "{name}");
    }
    let none = of_services(&all, "n", false, None);
    assert_eq!(none.get("MY_WEB_SERVICE_HOST"), None);
    assert_eq!(none.get("KUBERNETES_SERVICE_HOST"), Some("10.0.0.1"));
}

#[test]
fn a_variable_of_an_unknown_kind_is_not_left_out_silently() {
    let from = json!({"fileKeyRef": {"key": "k", "path": "p", "volumeName": "v"}});
    check(
        json!({"name": "c", "env": [{"name": "A", "valueFrom": from}]}),
        Err("variable \"A\" is of a kind that is not supported for processes"),
    );
}

#[test]
fn amounts_of_init_containers_are_known() {
    let limits = json!({"limits": {"memory": "64Mi"}});
    let pod = json!({"metadata": {"name": "p"}, "spec": {
        "initContainers": [{"name": "i", "resources": limits}],
        "containers": [{"name": "c"}],
    }});
    let pod: Pod = serde_json::from_value(pod).unwrap();
    let found = |name: &str| crate::fields::container_named(&pod, name).map(|one| &*one.name);
    assert_eq!(found("i"), Some("i"));
    assert_eq!(found("c"), Some("c"));
    assert_eq!(found("x"), None);
}

#[test]
fn variables_that_double_and_double_are_refused() {
    let double = |count: usize, first: &str| {
        let one = |i: usize| match i {
            0 => json!({"name": "A0", "value": first}),
            _ => json!({"name": format!("A{i}"), "value": format!("$(A{0})$(A{0})", i - 1)}),
        };
        let env: Vec<Value> = (0..count).map(one).collect();
        json!({"name": "c", "env": env})
    };
    let why = "variable \"A14\": a text is longer than 128 KiB with its references replaced";
    check(double(40, "0123456789"), Err(why));
    let copies: Vec<Value> = (0..30)
        .map(|i| json!({"name": format!("B{i}"), "value": "x".repeat(100_000)}))
        .collect();
    let why = "the variables of the container are longer than 1 MiB in all";
    check(json!({"name": "c", "env": copies}), Err(why));
    let long = json!([{"name": "A", "value": "x".repeat(128 << 10)}]);
    let why = "variable \"A\" is longer than 128 KiB";
    check(json!({"name": "c", "env": long}), Err(why));
}
