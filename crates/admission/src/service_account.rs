//! ServiceAccount: every pod runs as an account that exists, with its token mounted.
//! Upstream: `plugin/pkg/admission/serviceaccount`.

use crate::pods::containers;
use crate::{Attributes, Operation};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::sync::Arc;
use stowplan_apimachinery::lookup::Lookup;
use stowplan_apimachinery::meta;
use stowplan_apimachinery::{Edit, Status, View};

const MIRROR: &str = "kubernetes.io/config.mirror";
const ENFORCE_MOUNTABLE: &str = "kubernetes.io/enforce-mountable-secrets";
const TOKEN_PATH: &str = "/var/run/secrets/kubernetes.io/serviceaccount";
const VOLUME_PREFIX: &str = "kube-api-access-";

fn concerns(request: &Attributes<'_>) -> bool {
    request.is_for("", "pods")
        && matches!(request.subresource, "" | "ephemeralcontainers")
        && request.kind.kind == "Pod"
        && request.object.is_some()
}

fn is_mirror(pod: &Value) -> bool {
    pod.at("metadata").at("annotations").has(MIRROR)
}

pub(crate) fn admit(request: &mut Attributes<'_>, cluster: &dyn Lookup) -> Result<(), Status> {
    if !concerns(request) || request.operation != Operation::Create {
        return Ok(());
    }
    if !is_mirror(request.object()) {
        complete(request, cluster)?;
    }
    validate(request, cluster)
}

/// Names the account, mounts its token and brings in its pull secrets.
fn complete(request: &mut Attributes<'_>, cluster: &dyn Lookup) -> Result<(), Status> {
    let mut name = request
        .object()
        .at("spec")
        .text("serviceAccountName")
        .to_owned();
    if name.is_empty() {
        name = "default".to_owned();
        if let Some(pod) = request.object.as_deref_mut() {
            let spec = pod.at_mut("spec");
            spec.set("serviceAccountName", name.as_str());
            // The deprecated twin, which the conversion from the internal version fills in.
            spec.set("serviceAccount", name.as_str());
        }
    }
    let account = find(request, cluster, &name)?;
    let Some(pod) = request.object.as_deref_mut() else {
        return Ok(());
    };
    let spec = pod.at_mut("spec");
    let wanted = spec.at("automountServiceAccountToken").as_bool();
    let offered = account.at("automountServiceAccountToken").as_bool();
    if wanted.or(offered).unwrap_or(true) {
        mount_token(spec, request.suffix);
    }
    let pull_secrets = account.list("imagePullSecrets");
    if spec.list("imagePullSecrets").is_empty() && !pull_secrets.is_empty() {
        let names = pull_secrets.iter().map(|s| json!({"name": s.text("name")}));
        spec.set("imagePullSecrets", names.collect::<Vec<_>>());
    }
    Ok(())
}

fn find(request: &Attributes<'_>, cluster: &dyn Lookup, name: &str) -> Result<Arc<Value>, Status> {
    let namespace = request.namespace;
    let found = cluster.get("", "serviceaccounts", namespace, name);
    found.ok_or_else(|| {
        request.forbidden(format!(
            "error looking up service account {namespace}/{name}: serviceaccount \"{name}\" not found"
        ))
    })
}

fn mount_token(spec: &mut Value, suffix: &dyn Fn() -> String) {
    let volumes = spec.list("volumes").iter();
    let mut names = volumes.map(|volume| volume.text("name"));
    let present = names.find(|name| name.starts_with(VOLUME_PREFIX));
    let (volume, there) = match present {
        Some(name) => (name.to_owned(), true),
        None => (format!("{VOLUME_PREFIX}{}", suffix()), false),
    };
    let mut needed = false;
    for field in ["initContainers", "containers"] {
        for container in spec.each_mut(field) {
            let mut mounts = container.list("volumeMounts").iter();
            if mounts.any(|mount| mount.text("mountPath") == TOKEN_PATH) {
                continue;
            }
            needed = true;
            container
                .list_mut("volumeMounts")
                .push(json!({"name": volume, "readOnly": true, "mountPath": TOKEN_PATH}));
        }
    }
    if needed && !there {
        spec.list_mut("volumes").push(token_volume(&volume));
    }
}

fn token_volume(name: &str) -> Value {
    json!({"name": name, "projected": {
        "defaultMode": 0o644,
        "sources": [
            {"serviceAccountToken": {"path": "token", "expirationSeconds": 3607}},
            {"configMap": {
                "name": "kube-root-ca.crt",
                "items": [{"key": "ca.crt", "path": "ca.crt"}],
            }},
            {"downwardAPI": {"items": [{
                "path": "namespace",
                "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.namespace"},
            }]}},
        ],
    }})
}

pub(crate) fn validate(request: &Attributes<'_>, cluster: &dyn Lookup) -> Result<(), Status> {
    if !concerns(request) {
        return Ok(());
    }
    let pod = request.object();
    let debugs =
        request.operation == Operation::Update && request.subresource == "ephemeralcontainers";
    if !debugs && request.operation != Operation::Create {
        return Ok(());
    }
    if is_mirror(pod) && !debugs {
        return check_mirror(request);
    }
    let name = pod.at("spec").text("serviceAccountName");
    if name.is_empty() {
        let (namespace, name) = (request.namespace, meta::name(pod));
        let why = format!("no service account specified for pod {namespace}/{name}");
        return Err(request.forbidden(why));
    }
    let account = find(request, cluster, name)?;
    let annotation = account.at("metadata").at("annotations");
    if !is_true(annotation.text(ENFORCE_MOUNTABLE)) {
        return Ok(());
    }
    match debugs {
        // Upstream forgets to make this one a 403.
        true => limit_env(pod, &account, &["ephemeralContainers"]).map_err(Status::plain_error),
        false => limit_secrets(pod, &account).map_err(|why| request.forbidden(why)),
    }
}

/// `strconv.ParseBool`.
fn is_true(text: &str) -> bool {
    matches!(text, "1" | "t" | "T" | "true" | "TRUE" | "True")
}

/// A mirror pod shows what a node runs on its own; it may refer to nothing in the API.
fn check_mirror(request: &Attributes<'_>) -> Result<(), Status> {
    let spec = request.object().at("spec");
    if !spec.text("serviceAccountName").is_empty() {
        return Err(request.forbidden("a mirror pod may not reference service accounts"));
    }
    if refers_to_secrets(spec) {
        return Err(request.forbidden("a mirror pod may not reference secrets"));
    }
    let projects_token = |volume: &Value| {
        let mut sources = volume.at("projected").list("sources").iter();
        sources.any(|source| source.has("serviceAccountToken"))
    };
    if spec.list("volumes").iter().any(projects_token) {
        let why = "a mirror pod may not use ServiceAccountToken volume projections";
        return Err(request.forbidden(why));
    }
    Ok(())
}

/// Upstream: `VisitPodSecretNames`. Empty names do not count.
fn refers_to_secrets(spec: &Value) -> bool {
    let named = |value: &Value| !value.text("name").is_empty();
    let in_env = |container: &Value| {
        let from = container.list("envFrom").iter();
        let env = container.list("env").iter();
        from.map(|e| e.at("secretRef"))
            .chain(env.map(|e| e.at("valueFrom").at("secretKeyRef")))
            .any(named)
    };
    spec.list("imagePullSecrets").iter().any(named)
        || containers(spec).any(in_env)
        || spec.list("volumes").iter().any(volume_refers_to_secret)
}

fn volume_refers_to_secret(volume: &Value) -> bool {
    const WITH_REF: [&str; 8] = [
        "cephfs",
        "cinder",
        "flexVolume",
        "rbd",
        "scaleIO",
        "iscsi",
        "storageos",
        "csi",
    ];
    let mut sources = volume.at("projected").list("sources").iter();
    let by_ref = WITH_REF.iter().any(|source| {
        let field = match *source {
            "csi" => "nodePublishSecretRef",
            _ => "secretRef",
        };
        !volume.at(source).at(field).text("name").is_empty()
    });
    by_ref
        || !volume.at("azureFile").text("secretName").is_empty()
        || !volume.at("secret").text("secretName").is_empty()
        || sources.any(|s| !s.at("secret").text("name").is_empty())
}

fn names<'a>(account: &'a Value, field: &str) -> BTreeSet<&'a str> {
    account.list(field).iter().map(|s| s.text("name")).collect()
}

/// An account that is annotated so lends out only the secrets it names.
fn limit_secrets(pod: &Value, account: &Value) -> Result<(), String> {
    let mountable = names(account, "secrets");
    let holder = meta::name(account);
    let spec = pod.at("spec");
    for volume in spec.list("volumes").iter().filter(|v| v.has("secret")) {
        let secret = volume.at("secret").text("secretName");
        if !mountable.contains(secret) {
            return Err(format!(
                "volume with secret.secretName=\"{secret}\" is not allowed because service account {holder} does not reference that secret"
            ));
        }
    }
    limit_env(pod, account, &["initContainers", "containers"])?;
    let pullable = names(account, "imagePullSecrets");
    for (i, secret) in spec.list("imagePullSecrets").iter().enumerate() {
        let secret = secret.text("name");
        if !pullable.contains(secret) {
            return Err(format!(
                "imagePullSecrets[{i}].name=\"{secret}\" is not allowed because service account {holder} does not reference that imagePullSecret"
            ));
        }
    }
    Ok(())
}

fn limit_env(pod: &Value, account: &Value, fields: &[&str]) -> Result<(), String> {
    let mountable = names(account, "secrets");
    let holder = meta::name(account);
    let check = |what: &str, reference: &Value| match reference.text("name") {
        secret if reference.is_null() || mountable.contains(secret) => Ok(()),
        secret => Err(format!(
            "{what} referencing secret.secretName=\"{secret}\" is not allowed because service account {holder} does not reference that secret"
        )),
    };
    for field in fields {
        let kind = match *field {
            "initContainers" => "init container",
            "ephemeralContainers" => "ephemeral container",
            _ => "container",
        };
        for container in pod.at("spec").list(field) {
            let name = container.text("name");
            for env in container.list("env") {
                let what = format!("{kind} {name} with envVar {}", env.text("name"));
                check(&what, env.at("valueFrom").at("secretKeyRef"))?;
            }
            for from in container.list("envFrom") {
                check(&format!("{kind} {name} with envFrom"), from.at("secretRef"))?;
            }
        }
    }
    Ok(())
}

#[cfg(test)]
#[path = "service_account_tests.rs"]
mod tests;
