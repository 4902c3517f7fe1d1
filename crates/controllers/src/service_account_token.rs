//! Secrets with tokens of service accounts: the old kind, without an end. Upstream:
//! `pkg/controller/serviceaccount/tokens_controller.go`.

use crate::common::{annotation, name, namespace, uid};
use crate::{Controller, Cx, Delta, Key, Keys, Options, Plan, Signer, Watches, Write};
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::{Secret, ServiceAccount};
use serde_json::json;
use std::sync::Arc;

const TYPE: &str = "kubernetes.io/service-account-token";
const ACCOUNT_NAME: &str = "kubernetes.io/service-account.name";
const ACCOUNT_UID: &str = "kubernetes.io/service-account.uid";

/// An index of the Secrets of an account, under `namespace/name`.
const INDEX: &str = "service-account-tokens";

/// Fills Secrets that want the token of an account, and deletes them with it. Its keys are Secrets.
pub struct Tokens {
    root_ca: Option<Arc<str>>,
    signer: Option<Signer>,
}

impl Tokens {
    /// With the certificates and the key that the options have. Without a key nothing is filled.
    pub fn new(options: &Options) -> Self {
        Self {
            root_ca: options.root_ca.clone(),
            signer: options.signer.clone(),
        }
    }
}

/// The account whose token a Secret wants.
fn account_of(secret: &Secret) -> Option<&str> {
    let is_token = secret.type_.as_deref() == Some(TYPE);
    let account = annotation(secret, ACCOUNT_NAME).filter(|_| is_token);
    account.filter(|account| !account.is_empty())
}

impl Controller for Tokens {
    fn watch(&self, watches: &mut Watches) {
        watches.index::<Secret>(INDEX, |secret| {
            let account = account_of(secret).into_iter();
            let value = |account| format!("{}/{account}", namespace(secret));
            account.map(value).collect()
        });
        watches.on::<Secret>(|_, delta, keys| {
            if account_of(delta.object()).is_some() {
                keys.add_object(&**delta.object());
            }
        });
        watches.on::<ServiceAccount>(|cluster, delta, keys: &mut Keys| {
            if matches!(delta, Delta::Updated(..)) {
                return;
            }
            let account = delta.object();
            let value = format!("{}/{}", namespace(&**account), name(&**account));
            for secret in cluster.of::<Secret>().indexed(INDEX, &value) {
                keys.add_object(&*secret);
            }
        });
    }

    fn sync(&self, cx: &Cx<'_>, key: &Key) -> Plan {
        let Some(signer) = &self.signer else {
            return Plan::nothing();
        };
        let Some(secret) = cx.cluster.get::<Secret>(&key.namespace, &key.name) else {
            return unreference(cx, key);
        };
        let Some(name) = account_of(&secret) else {
            return Plan::nothing();
        };
        let wanted = annotation(&*secret, ACCOUNT_UID).unwrap_or_default();
        let account = cx.cluster.get::<ServiceAccount>(&key.namespace, name);
        let is_it = |account: &Arc<ServiceAccount>| wanted.is_empty() || uid(&**account) == wanted;
        match account.filter(is_it) {
            Some(account) => self.fill(signer, &account, &secret),
            None => confirm_absent(&secret, name),
        }
    }
}

/// Deletes a Secret whose account does not exist. The account may have been made a moment ago: the server is
/// asked by a patch that changes nothing.
fn confirm_absent(secret: &Arc<Secret>, account: &str) -> Plan {
    let key = Key::new(namespace(&**secret), account);
    let look = Write::merge::<ServiceAccount>(&key, "", &json!({})).tolerating(&[404]);
    let secret = secret.clone();
    Plan::write(look).then(move |cx, outcomes| {
        if outcomes.iter().any(|outcome| outcome.failure().is_some()) {
            return Plan::nothing();
        }
        let wanted = annotation(&*secret, ACCOUNT_UID).unwrap_or_default();
        let found = cx.cluster.get::<ServiceAccount>(&key.namespace, &key.name);
        let is_there = outcomes.iter().any(crate::Outcome::is_done)
            && found.is_some_and(|found| wanted.is_empty() || uid(&*found) == wanted);
        match is_there {
            // It is filled when the account is heard of.
            true => Plan::nothing(),
            false => Plan::write(Write::delete(&*secret)),
        }
    })
}

/// A Secret that is gone is no longer one of its account's. Only accounts that name Secrets matter.
fn unreference(cx: &Cx<'_>, key: &Key) -> Plan {
    let accounts = cx.cluster.namespace::<ServiceAccount>(&key.namespace);
    let mut writes = Vec::new();
    for account in accounts {
        let secrets = account.secrets.iter().flatten();
        let names = |secret: &&k8s_openapi::api::core::v1::ObjectReference| {
            secret.name.as_deref() == Some(&*key.name)
        };
        if secrets.clone().any(|secret| names(&secret)) {
            let stay = secrets.filter(|secret| !names(secret)).cloned().collect();
            let mut account = ServiceAccount::clone(&account);
            account.secrets = Some(stay);
            writes.push(Write::update(&account).tolerating(&[404]));
        }
    }
    Plan::parallel(writes)
}

impl Tokens {
    /// Adds what is missing. Upstream's `generateTokenIfNeeded`.
    fn fill(&self, signer: &Signer, account: &ServiceAccount, secret: &Secret) -> Plan {
        let mut filled = secret.clone();
        let data = filled.data.get_or_insert_default();
        if let Some(root_ca) = &self.root_ca {
            data.insert("ca.crt".to_owned(), ByteString(root_ca.as_bytes().to_vec()));
        }
        let is_missing = |data: &std::collections::BTreeMap<String, ByteString>, key: &str| {
            data.get(key).is_none_or(|value| value.0.is_empty())
        };
        if is_missing(data, "namespace") {
            let text = namespace(secret).as_bytes().to_vec();
            data.insert("namespace".to_owned(), ByteString(text));
        }
        if is_missing(data, "token") {
            let Some(token) = signer(&claims(account, secret)) else {
                return Plan::retry("the token cannot be signed");
            };
            data.insert("token".to_owned(), ByteString(token.into_bytes()));
        }
        if filled.data == secret.data {
            return Plan::nothing();
        }
        let annotations = filled.metadata.annotations.get_or_insert_default();
        annotations.insert(ACCOUNT_NAME.to_owned(), name(account).to_owned());
        annotations.insert(ACCOUNT_UID.to_owned(), uid(account).to_owned());
        // Who changed it will be heard of; who deleted it wants no token.
        Plan::write(Write::update(&filled).tolerating(&[404, 409]))
    }
}

/// What the token says. Upstream's `LegacyClaims`.
fn claims(account: &ServiceAccount, secret: &Secret) -> serde_json::Value {
    let (namespace, account_name) = (namespace(account), name(account));
    json!({
        "iss": "kubernetes/serviceaccount",
        "sub": format!("system:serviceaccount:{namespace}:{account_name}"),
        "kubernetes.io/serviceaccount/namespace": namespace,
        "kubernetes.io/serviceaccount/secret.name": name(secret),
        "kubernetes.io/serviceaccount/service-account.name": account_name,
        "kubernetes.io/serviceaccount/service-account.uid": uid(account),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::World;
    use serde_json::Value;
    use std::time::Duration;

    fn tokens() -> Tokens {
        Tokens::new(&Options {
            root_ca: Some("CA".into()),
            signer: Some(Arc::new(|claims: &Value| Some(claims.to_string()))),
            ..Options::default()
        })
    }

    fn account(world: &mut World, uid: &str) {
        let account = json!({"metadata": {"name": "a", "namespace": "n", "uid": uid},
            "secrets": [{"name": "s"}, {"name": "other"}]});
        world.add_json::<ServiceAccount>(account);
    }

    fn secret(world: &mut World, type_: &str, uid: Option<&str>) {
        let mut annotations = json!({ACCOUNT_NAME: "a"});
        if let Some(uid) = uid {
            annotations[ACCOUNT_UID] = uid.into();
        }
        let secret = json!({"metadata": {"name": "s", "namespace": "n", "annotations": annotations},
            "type": type_});
        world.add_json::<Secret>(secret);
    }

    /// Upstream: the rows of `TestTokenCreation` about added Secrets.
    #[test]
    fn a_secret_gets_the_token_of_its_account_or_goes() {
        let deleted = [
            "PATCH /api/v1/namespaces/n/serviceaccounts/a",
            "DELETE /api/v1/namespaces/n/secrets/s",
        ];
        let filled = ["PUT /api/v1/namespaces/n/secrets/s"];
        for (with_account, type_, wanted, writes) in [
            (true, TYPE, None, &filled[..]),
            (true, TYPE, Some("1"), &filled),
            (true, TYPE, Some("2"), &deleted),
            (false, TYPE, None, &deleted),
            (true, "Opaque", None, &[]),
        ] {
            let mut world = World::default();
            if with_account {
                account(&mut world, "1");
            }
            secret(&mut world, type_, wanted);
            world.sync(&tokens(), "n", "s");
            assert_eq!(
                world.take_writes(),
                writes,
                "{with_account} {type_} {wanted:?}"
            );
            world.sync(&tokens(), "n", "s");
            let is_quiet = world
                .take_writes()
                .iter()
                .all(|write| write.contains("serviceaccounts"));
            assert!(is_quiet);
        }
    }

    #[test]
    fn what_is_there_stays_but_for_old_certificates() {
        let mut world = World::default();
        account(&mut world, "1");
        secret(&mut world, TYPE, Some("1"));
        world.change::<Secret>("n", "s", |secret| {
            let text = |text: &str| ByteString(text.as_bytes().to_vec());
            let data = [("token", "mine"), ("ca.crt", "old"), ("x", "y")];
            secret.data = Some(
                data.map(|(key, value)| (key.to_owned(), text(value)))
                    .into(),
            );
        });
        world.sync(&tokens(), "n", "s");
        let data = world.get::<Secret>("n", "s").data.clone().unwrap();
        let text = |key: &str| String::from_utf8(data[key].0.clone()).unwrap();
        assert_eq!(
            [text("token"), text("ca.crt"), text("namespace"), text("x")],
            ["mine", "CA", "n", "y"]
        );
        let mut world = World::default();
        account(&mut world, "1");
        secret(&mut world, TYPE, None);
        world.sync(&Tokens::new(&Options::default()), "n", "s");
        assert!(world.take_writes().is_empty(), "nobody can sign");
        world.sync(&tokens(), "n", "s");
        let secret = world.get::<Secret>("n", "s");
        assert_eq!(annotation(&*secret, ACCOUNT_UID), Some("1"));
        let token = &secret.data.as_ref().unwrap()["token"].0;
        let claims: Value = serde_json::from_slice(token).unwrap();
        assert_eq!(claims["sub"], "system:serviceaccount:n:a");
        assert_eq!(claims["kubernetes.io/serviceaccount/secret.name"], "s");
    }

    #[test]
    fn secrets_go_with_their_account_and_accounts_forget_their_secrets() {
        let mut world = World::default();
        let tokens = tokens();
        world.join(0, &tokens);
        account(&mut world, "1");
        secret(&mut world, TYPE, None);
        world.settle(&[&tokens], Duration::from_secs(1));
        world.remove::<Secret>("n", "s");
        world.settle(&[&tokens], Duration::from_secs(1));
        let secrets = world
            .get::<ServiceAccount>("n", "a")
            .secrets
            .clone()
            .unwrap();
        let names: Vec<_> = secrets
            .iter()
            .map(|secret| secret.name.as_deref())
            .collect();
        assert_eq!(names, [Some("other")]);
        secret(&mut world, TYPE, None);
        world.settle(&[&tokens], Duration::from_secs(1));
        world.remove::<ServiceAccount>("n", "a");
        world.settle(&[&tokens], Duration::from_secs(1));
        assert!(world.cluster.all::<Secret>().is_empty());
    }
}
