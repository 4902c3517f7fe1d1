//! Tokens without an end, kept in Secrets. Upstream: `pkg/serviceaccount/legacy.go`.

use super::Value;
use crate::User;
use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use stowplan_apimachinery::lookup::Lookup;
use stowplan_apimachinery::{View, meta};

/// Who signs such tokens, as the `iss` claim says it.
pub(super) const ISSUER: &str = "kubernetes/serviceaccount";

/// The user of such a token: its Secret and its account are there, and the Secret still has the token.
pub(super) fn holder(token: &str, claims: &Value, cluster: &dyn Lookup) -> Option<User> {
    let claim = |name: &str| claims.text(&format!("kubernetes.io/serviceaccount/{name}"));
    let namespace = claim("namespace");
    let (account, uid) = (claim("service-account.name"), claim("service-account.uid"));
    let subject = format!("system:serviceaccount:{namespace}:{account}");
    if uid.is_empty() || claims.text("sub") != subject {
        return None;
    }
    let lives = |resource: &str, name: &str| {
        let object = cluster.get("", resource, namespace, name)?;
        let is_deleted = object.at("metadata").has("deletionTimestamp");
        (!is_deleted).then_some(object)
    };
    let secret = lives("secrets", claim("secret.name"))?;
    let kept = BASE64.decode(secret.at("data").text("token")).ok()?;
    let is_invalid = !secret
        .at("metadata")
        .at("labels")
        .text("kubernetes.io/legacy-token-invalid-since")
        .is_empty();
    if kept != token.as_bytes() || is_invalid {
        return None;
    }
    let found = lives("serviceaccounts", account)?;
    (meta::uid(&found) == uid).then(|| User::service_account(namespace, account, uid))
}

#[cfg(test)]
mod tests {
    use super::super::{Key, Moment};
    use super::*;
    use crate::rbac::tests::Cluster;
    use serde_json::json;

    #[test]
    fn a_token_lives_as_long_as_its_secret_and_its_account() {
        let key = Key::from_pkcs8(&Key::generate().unwrap()).unwrap();
        let claims = json!({"iss": ISSUER, "sub": "system:serviceaccount:n:robot",
            "kubernetes.io/serviceaccount/namespace": "n",
            "kubernetes.io/serviceaccount/secret.name": "s",
            "kubernetes.io/serviceaccount/service-account.name": "robot",
            "kubernetes.io/serviceaccount/service-account.uid": "u1"});
        let token = key.sign(&claims).unwrap();
        let account = json!({"metadata": {"name": "robot", "namespace": "n", "uid": "u1"}});
        let secret = json!({"metadata": {"name": "s", "namespace": "n"},
            "data": {"token": BASE64.encode(&token)}});
        let now = Moment {
            seconds: 1,
            deleted_before: "",
        };
        let audiences = [super::super::ISSUER.to_owned()];
        let known = |account: &Value, secret: &Value| {
            let objects = vec![
                ("serviceaccounts", account.clone()),
                ("secrets", secret.clone()),
            ];
            let known = key.authenticate(&token, &audiences, now, &Cluster(objects));
            known.map(|known| (known.user.name, known.audiences)).ok()
        };
        let name = "system:serviceaccount:n:robot".to_owned();
        assert_eq!(known(&account, &secret), Some((name, audiences.to_vec())));
        let changed = |object: &Value, path: &str, value: Value| {
            let mut object = object.clone();
            *object.pointer_mut(path).unwrap() = value;
            object
        };
        assert_eq!(
            known(&changed(&account, "/metadata/uid", json!("u2")), &secret),
            None
        );
        assert_eq!(
            known(&account, &changed(&secret, "/data/token", json!("eA=="))),
            None
        );
        assert_eq!(
            known(&account, &changed(&secret, "/metadata/name", json!("t"))),
            None
        );
        let marked = json!({"name": "s", "namespace": "n",
            "labels": {"kubernetes.io/legacy-token-invalid-since": "2026-01-01"}});
        assert_eq!(
            known(&account, &changed(&secret, "/metadata", marked)),
            None
        );
        let deleted =
            json!({"name": "s", "namespace": "n", "deletionTimestamp": "2026-01-01T00:00:00Z"});
        assert_eq!(
            known(&account, &changed(&secret, "/metadata", deleted)),
            None
        );
    }
}
