use crate::testing::{Case, Cluster, cluster};
use serde_json::{Value, json};

fn account(name: &str, more: Value) -> Value {
    let mut account =
        json!({"kind": "ServiceAccount", "metadata": {"name": name, "namespace": "ns"}});
    let fields = account.as_object_mut().unwrap();
    fields.extend(more.as_object().unwrap().clone());
    account
}

fn admitted(spec: Value, world: &Cluster) -> Value {
    let case = Case::pod(spec);
    let out = case.after(|request| super::admit(request, world).unwrap());
    out["spec"].clone()
}

fn refusal(case: Case, world: &Cluster) -> String {
    let answer = case.ask(|request| super::admit(request, world));
    let message = answer.unwrap_err().message;
    let start = "pods \"p\" is forbidden: ";
    message.strip_prefix(start).expect(&message).to_owned()
}

#[test]
fn a_pod_runs_as_default_with_a_token() {
    let world = cluster([account("default", json!({}))]);
    let spec = admitted(
        json!({"containers": [{"name": "c"}], "initContainers": [{"name": "i"}]}),
        &world,
    );
    assert_eq!(spec["serviceAccountName"], "default");
    assert_eq!(spec["serviceAccount"], "default");
    let mount = json!([{"name": "kube-api-access-abcde", "readOnly": true,
        "mountPath": "/var/run/secrets/kubernetes.io/serviceaccount"}]);
    assert_eq!(spec["containers"][0]["volumeMounts"], mount);
    assert_eq!(spec["initContainers"][0]["volumeMounts"], mount);
    assert_eq!(spec["volumes"][0]["name"], "kube-api-access-abcde");
    assert_eq!(
        spec["volumes"][0]["projected"]["sources"][0],
        json!({"serviceAccountToken": {"path": "token", "expirationSeconds": 3607}})
    );
}

#[test]
fn the_token_is_not_mounted_over_something_or_where_it_is_not_wanted() {
    let there =
        json!([{"name": "x", "mountPath": "/var/run/secrets/kubernetes.io/serviceaccount"}]);
    let mounted = json!({"containers": [{"name": "c", "volumeMounts": there}]});
    let world = cluster([account("default", json!({}))]);
    assert!(admitted(mounted, &world).get("volumes").is_none());
    let declined = json!({"automountServiceAccountToken": false, "containers": [{"name": "c"}]});
    assert!(admitted(declined, &world).get("volumes").is_none());
    let shy = cluster([account(
        "default",
        json!({"automountServiceAccountToken": false}),
    )]);
    let plain = json!({"containers": [{"name": "c"}]});
    assert!(admitted(plain, &shy).get("volumes").is_none());
    let asked = json!({"automountServiceAccountToken": true, "containers": [{"name": "c"}]});
    assert!(admitted(asked, &shy).get("volumes").is_some());
    let own = json!({"volumes": [{"name": "kube-api-access-own"}], "containers": [{"name": "c"}]});
    let spec = admitted(own, &world);
    assert_eq!(spec["volumes"].as_array().unwrap().len(), 1);
    assert_eq!(
        spec["containers"][0]["volumeMounts"][0]["name"],
        "kube-api-access-own"
    );
}

#[test]
fn pull_secrets_come_from_the_account_only_where_the_pod_has_none() {
    let world = cluster([account(
        "default",
        json!({"imagePullSecrets": [{"name": "s"}]}),
    )]);
    let spec = admitted(json!({"containers": []}), &world);
    assert_eq!(spec["imagePullSecrets"], json!([{"name": "s"}]));
    let spec = admitted(json!({"imagePullSecrets": [{"name": "own"}]}), &world);
    assert_eq!(spec["imagePullSecrets"], json!([{"name": "own"}]));
}

#[test]
fn the_account_must_exist() {
    assert_eq!(
        refusal(
            Case::pod(json!({"serviceAccountName": "nobody"})),
            &cluster([])
        ),
        "error looking up service account ns/nobody: serviceaccount \"nobody\" not found"
    );
}

#[test]
fn mirror_pods_refer_to_nothing() {
    let mirror = |spec: Value| {
        let metadata = json!({"name": "p", "annotations": {"kubernetes.io/config.mirror": "x"}});
        Case::create("", "pods", json!({"metadata": metadata, "spec": spec}))
    };
    let world = cluster([]);
    for (spec, why) in [
        (
            json!({"serviceAccountName": "a"}),
            "a mirror pod may not reference service accounts",
        ),
        (
            json!({"volumes": [{"secret": {"secretName": "s"}}]}),
            "a mirror pod may not reference secrets",
        ),
        (
            json!({"containers": [{"env": [{"valueFrom": {"secretKeyRef": {"name": "s"}}}]}]}),
            "a mirror pod may not reference secrets",
        ),
        (
            json!({"volumes": [{"projected": {"sources": [{"serviceAccountToken": {}}]}}]}),
            "a mirror pod may not use ServiceAccountToken volume projections",
        ),
    ] {
        assert_eq!(refusal(mirror(spec), &world), why);
    }
    let plain = mirror(json!({"containers": [{"name": "c"}]}));
    let out = plain.after(|request| super::admit(request, &world).unwrap());
    assert_eq!(out["spec"], json!({"containers": [{"name": "c"}]}));
}

#[test]
fn an_account_can_keep_its_pods_to_the_secrets_it_names() {
    let world = cluster([json!({"kind": "ServiceAccount",
        "metadata": {"name": "default", "namespace": "ns",
            "annotations": {"kubernetes.io/enforce-mountable-secrets": "true"}},
        "secrets": [{"name": "ok"}]})]);
    let tail = "is not allowed because service account default does not reference that";
    for (spec, why) in [
        (
            json!({"volumes": [{"name": "v", "secret": {"secretName": "no"}}]}),
            format!("volume with secret.secretName=\"no\" {tail} secret"),
        ),
        (
            json!({"containers": [{"name": "c", "env": [{"name": "E", "valueFrom": {"secretKeyRef": {"name": "no"}}}]}]}),
            format!("container c with envVar E referencing secret.secretName=\"no\" {tail} secret"),
        ),
        (
            json!({"initContainers": [{"name": "i", "envFrom": [{"secretRef": {"name": "no"}}]}]}),
            format!(
                "init container i with envFrom referencing secret.secretName=\"no\" {tail} secret"
            ),
        ),
        (
            json!({"imagePullSecrets": [{"name": "no"}]}),
            format!("imagePullSecrets[0].name=\"no\" {tail} imagePullSecret"),
        ),
    ] {
        assert_eq!(refusal(Case::pod(spec), &world), why);
    }
    admitted(
        json!({"containers": [], "volumes": [{"name": "v", "secret": {"secretName": "ok"}}]}),
        &world,
    );
}
