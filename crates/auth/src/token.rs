//! Tokens of service accounts: signed here, checked here.
//!
//! JSON web tokens with an ES256 signature and upstream's claims
//! (`pkg/serviceaccount/claims.go`), so that clients can read them.

mod legacy;
mod rsa;

pub use rsa::RsaKey;

use crate::User;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;
use ring::rand::{SecureRandom, SystemRandom};
use ring::signature::{
    ECDSA_P256_SHA256_FIXED, ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair,
    UnparsedPublicKey,
};
use serde_json::{Value, json};
use stowplan_apimachinery::lookup::Lookup;
use stowplan_apimachinery::{View, go, meta};

/// Who signs, as the `iss` claim says it.
pub const ISSUER: &str = "https://stow";

/// The key that signs tokens.
pub struct Key {
    pair: EcdsaKeyPair,
    random: SystemRandom,
}

/// The key is unusable, or the system gave no randomness.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("the key that signs service account tokens cannot be used")]
pub struct KeyError;

/// 256 random bits as hexadecimal text: a token that nobody can guess.
pub fn random_text() -> Result<String, KeyError> {
    let mut bytes = [0; 32];
    let random = SystemRandom::new();
    SecureRandom::fill(&random, &mut bytes).map_err(|_| KeyError)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// The object that a token lives and dies with.
pub struct Bound<'a> {
    /// `pod`, `secret` or `node`.
    pub kind: &'a str,
    /// Its name.
    pub name: &'a str,
    /// Its uid.
    pub uid: &'a str,
    /// The name and the uid of the node that a pod is on; the uid is empty if the node is gone.
    pub node: Option<(&'a str, &'a str)>,
}

/// How long tokens of what is being deleted are good for after it should be gone. Upstream:
/// `jwt.DefaultLeeway`.
pub const LEEWAY_SECONDS: i64 = 60;

/// The present, as tokens are judged by it.
#[derive(Clone, Copy, Debug)]
pub struct Moment<'a> {
    /// Seconds since the epoch.
    pub seconds: i64,
    /// [`LEEWAY_SECONDS`] earlier, as the API writes times: what should be gone before then is taken
    /// to be.
    pub deleted_before: &'a str,
}

/// Whom a token stands for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Authenticated {
    /// The user.
    pub user: User,
    /// Those of the wanted audiences that the token is for.
    pub audiences: Vec<String>,
}

/// Why a token is not accepted, in upstream's words.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Refusal {
    /// Nobody made it, or its time or its object is gone.
    #[error("token lookup failed")]
    Unknown,
    /// It was made for others.
    #[error("token audiences {} is invalid for the target audiences {}", list(.0), list(.1))]
    Audience(Vec<String>, Vec<String>),
}

/// A list of texts as Go prints it with `%q`.
fn list(texts: &[String]) -> String {
    let quoted: Vec<_> = texts.iter().map(|text| go::quote(text)).collect();
    format!("[{}]", quoted.join(" "))
}

impl Key {
    /// A new key, as PKCS #8: what to keep.
    pub fn generate() -> Result<Vec<u8>, KeyError> {
        let random = SystemRandom::new();
        let key = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &random);
        Ok(key.map_err(|_| KeyError)?.as_ref().to_vec())
    }

    /// A kept key.
    pub fn from_pkcs8(bytes: &[u8]) -> Result<Self, KeyError> {
        let random = SystemRandom::new();
        let pair = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, bytes, &random);
        Ok(Self {
            pair: pair.map_err(|_| KeyError)?,
            random,
        })
    }

    /// A token for a service account.
    pub fn issue(
        &self,
        account: &Value,
        bound: Option<&Bound<'_>>,
        audiences: &[String],
        (issued_s, expires_s): (i64, i64),
        id: &str,
    ) -> Result<String, KeyError> {
        let (namespace, name) = (meta::namespace(account), meta::name(account));
        let mut private = json!({
            "namespace": namespace,
            "serviceaccount": {"name": name, "uid": meta::uid(account)},
        });
        if let Some(bound) = bound {
            private[bound.kind] = json!({"name": bound.name, "uid": bound.uid});
            match bound.node {
                Some((name, "")) => private["node"] = json!({"name": name}),
                Some((name, uid)) => private["node"] = json!({"name": name, "uid": uid}),
                None => {}
            }
        }
        let claims = json!({
            "iss": ISSUER,
            "sub": format!("system:serviceaccount:{namespace}:{name}"),
            "aud": audiences,
            "iat": issued_s,
            "nbf": issued_s,
            "exp": expires_s,
            "jti": id,
            "kubernetes.io": private,
        });
        self.sign(&claims)
    }

    /// A token with these claims.
    pub fn sign(&self, claims: &Value) -> Result<String, KeyError> {
        let header = json!({"alg": "ES256", "kid": self.id()});
        let encode = |value: &Value| BASE64.encode(value.to_string());
        let signed = format!("{}.{}", encode(&header), encode(claims));
        let signature = self.pair.sign(&self.random, signed.as_bytes());
        let signature = BASE64.encode(signature.map_err(|_| KeyError)?.as_ref());
        Ok(format!("{signed}.{signature}"))
    }

    /// The key that checks signatures, as a set of JSON web keys. Upstream: `publicJWKSFromKeys`.
    pub fn public_set(&self) -> Value {
        // An uncompressed point: 4, then both coordinates.
        let point = self.pair.public_key().as_ref();
        let coordinates = point.get(1..).unwrap_or_default();
        let (x, y) = coordinates.split_at(coordinates.len() / 2);
        json!({"keys": [{
            "use": "sig",
            "kty": "EC",
            "kid": self.id(),
            "crv": "P-256",
            "alg": "ES256",
            "x": BASE64.encode(x),
            "y": BASE64.encode(y),
        }]})
    }

    /// By what the key is known. Upstream: `keyIDFromPublicKey`, a digest of its DER form.
    fn id(&self) -> String {
        /// `SubjectPublicKeyInfo` of a point on P-256, up to the point.
        const HEAD: [u8; 26] = [
            0x30, 0x59, 0x30, 0x13, 0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01, 0x06,
            0x08, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07, 0x03, 0x42, 0x00,
        ];
        let der = [&HEAD, self.pair.public_key().as_ref()].concat();
        let digest = ring::digest::digest(&ring::digest::SHA256, &der);
        BASE64.encode(digest.as_ref())
    }

    /// The claims of a token that this key signed.
    pub fn claims(&self, token: &str) -> Option<Value> {
        let (signed, signature) = token.rsplit_once('.')?;
        let key = UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, self.pair.public_key());
        let signature = BASE64.decode(signature).ok()?;
        key.verify(signed.as_bytes(), &signature).ok()?;
        let (_, claims) = signed.split_once('.')?;
        serde_json::from_slice(&BASE64.decode(claims).ok()?).ok()
    }

    /// The user behind a token: the signature holds, it is not expired, it is meant for one of the
    /// audiences, and the account (and what the token is bound to) is still the same object.
    pub fn authenticate(
        &self,
        token: &str,
        audiences: &[String],
        now: Moment<'_>,
        cluster: &dyn Lookup,
    ) -> Result<Authenticated, Refusal> {
        let claims = self.claims(token).ok_or(Refusal::Unknown)?;
        let made_for = claims.list("aud").iter();
        let made_for = made_for.filter_map(|audience| audience.as_str().map(str::to_owned));
        let mut made_for: Vec<String> = made_for.collect();
        let is_legacy = claims.text("iss") == legacy::ISSUER;
        if is_legacy && made_for.is_empty() {
            made_for.push(ISSUER.to_owned());
        }
        let common = made_for
            .iter()
            .filter(|audience| audiences.contains(audience));
        let common: Vec<String> = common.cloned().collect();
        let user = match is_legacy {
            true => legacy::holder(token, &claims, cluster),
            false => holder(&claims, now, cluster),
        };
        let user = user.ok_or(Refusal::Unknown)?;
        match common.is_empty() {
            true => Err(Refusal::Audience(made_for, audiences.to_vec())),
            false => Ok(Authenticated {
                user,
                audiences: common,
            }),
        }
    }
}

/// The user of claims that hold now.
fn holder(claims: &Value, now: Moment<'_>, cluster: &dyn Lookup) -> Option<User> {
    let private = claims.at("kubernetes.io");
    let in_time = claims.int("exp")? > now.seconds && claims.int("nbf")? <= now.seconds;
    if !in_time || claims.text("iss") != ISSUER {
        return None;
    }
    let namespace = private.text("namespace");
    let lives = |resource: &str, namespace: &str, reference: &Value| {
        let object = cluster.get("", resource, namespace, reference.text("name"));
        object.is_some_and(|o| {
            let end = o.at("metadata").text("deletionTimestamp");
            meta::uid(&o) == reference.text("uid") && (end.is_empty() || end >= now.deleted_before)
        })
    };
    let account = private.at("serviceaccount");
    if !lives("serviceaccounts", namespace, account) {
        return None;
    }
    let mut user = User::service_account(namespace, account.text("name"), account.text("uid"));
    let mut note = |key: &str, value: &str| {
        let key = format!("authentication.kubernetes.io/{key}");
        user.extra.insert(key, vec![value.to_owned()]);
    };
    note("credential-id", &format!("JTI={}", claims.text("jti")));
    let pod = private.at("pod");
    if pod.is_object() {
        if !lives("pods", namespace, pod) {
            return None;
        }
        note("pod-name", pod.text("name"));
        note("pod-uid", pod.text("uid"));
    }
    let secret = private.at("secret");
    if secret.is_object() && !lives("secrets", namespace, secret) {
        return None;
    }
    let node = private.at("node");
    if node.is_object() {
        // A token bound to a pod only mentions the node; one bound to the node dies with it.
        if !pod.is_object() && !lives("nodes", "", node) {
            return None;
        }
        note("node-name", node.text("name"));
        if node.has("uid") {
            note("node-uid", node.text("uid"));
        }
    }
    Some(user)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rbac::tests::Cluster;

    fn at(seconds: i64) -> Moment<'static> {
        Moment {
            seconds,
            deleted_before: "2026-01-01T00:00:00Z",
        }
    }

    #[test]
    fn a_token_lives_as_long_as_its_account_and_its_time() {
        let key = Key::from_pkcs8(&Key::generate().unwrap()).unwrap();
        let account = json!({"metadata": {"name": "robot", "namespace": "n", "uid": "u1"}});
        let audiences = [ISSUER.to_owned()];
        let token = key
            .issue(&account, None, &audiences, (100, 200), "id")
            .unwrap();
        let cluster = Cluster(vec![("serviceaccounts", account.clone())]);
        let known = key
            .authenticate(&token, &audiences, at(150), &cluster)
            .unwrap();
        assert_eq!(known.audiences, audiences);
        let user = known.user;
        assert_eq!(user.name, "system:serviceaccount:n:robot");
        let unknown = Err(Refusal::Unknown);
        assert_eq!(
            key.authenticate(&token, &audiences, at(200), &cluster),
            unknown
        );
        assert_eq!(
            key.authenticate(&token, &audiences, at(99), &cluster),
            unknown
        );
        let other = json!({"metadata": {"name": "robot", "namespace": "n", "uid": "u2"}});
        let other = Cluster(vec![("serviceaccounts", other)]);
        assert_eq!(
            key.authenticate(&token, &audiences, at(150), &other),
            unknown
        );
        let stranger = Key::from_pkcs8(&Key::generate().unwrap()).unwrap();
        assert_eq!(
            stranger.authenticate(&token, &audiences, at(150), &cluster),
            unknown
        );
        for broken in ["", ".", "a.b.c", &token[1..]] {
            assert_eq!(
                key.authenticate(broken, &audiences, at(150), &cluster),
                unknown,
                "{broken}"
            );
        }
    }

    #[test]
    fn others_can_check_signatures() {
        let key = Key::from_pkcs8(&Key::generate().unwrap()).unwrap();
        let account = json!({"metadata": {"name": "robot", "namespace": "n", "uid": "u1"}});
        let token = key.issue(&account, None, &[], (100, 200), "id").unwrap();
        let set = key.public_set();
        let part = |text: &str| BASE64.decode(text).unwrap();
        let parts: Vec<&str> = token.split('.').collect();
        let header: Value = serde_json::from_slice(&part(parts[0])).unwrap();
        assert_eq!(header["kid"], set["keys"][0]["kid"]);
        let half = |name: &str| part(set["keys"][0][name].as_str().unwrap());
        let point = [vec![4], half("x"), half("y")].concat();
        let public = UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, point);
        let signed = format!("{}.{}", parts[0], parts[1]);
        assert!(public.verify(signed.as_bytes(), &part(parts[2])).is_ok());
    }

    #[test]
    fn a_token_for_others_is_refused() {
        let key = Key::from_pkcs8(&Key::generate().unwrap()).unwrap();
        let account = json!({"metadata": {"name": "robot", "namespace": "n", "uid": "u1"}});
        let texts = |texts: &[&str]| texts.iter().map(|&t| t.to_owned()).collect::<Vec<_>>();
        let both = texts(&["vault", "other"]);
        let token = key.issue(&account, None, &both, (100, 200), "id").unwrap();
        let cluster = Cluster(vec![("serviceaccounts", account)]);
        let refused = key.authenticate(&token, &texts(&[ISSUER]), at(150), &cluster);
        let expected = r#"token audiences ["vault" "other"] is invalid for the target audiences ["https://stow"]"#;
        assert_eq!(refused.unwrap_err().to_string(), expected);
        let wanted = texts(&[ISSUER, "vault"]);
        let known = key
            .authenticate(&token, &wanted, at(150), &cluster)
            .unwrap();
        assert_eq!(known.audiences, ["vault"]);
    }

    #[test]
    fn a_bound_token_dies_with_its_pod() {
        let key = Key::from_pkcs8(&Key::generate().unwrap()).unwrap();
        let account = json!({"metadata": {"name": "robot", "namespace": "n", "uid": "u1"}});
        let audiences = [ISSUER.to_owned()];
        let bound = Bound {
            kind: "pod",
            name: "p",
            uid: "p1",
            node: Some(("n1", "m1")),
        };
        let token = key
            .issue(&account, Some(&bound), &audiences, (0, 9), "id")
            .unwrap();
        let mut objects = vec![("serviceaccounts", account)];
        assert!(
            key.authenticate(&token, &audiences, at(1), &Cluster(objects.clone()))
                .is_err()
        );
        objects.push((
            "pods",
            json!({"metadata": {"name": "p", "namespace": "n", "uid": "p1"}}),
        ));
        let authenticate = |objects: &[(&'static str, Value)]| {
            let known = key.authenticate(&token, &audiences, at(1), &Cluster(objects.to_vec()));
            known.map(|known| known.user)
        };
        let user = authenticate(&objects).unwrap();
        assert_eq!(user.extra["authentication.kubernetes.io/pod-name"], ["p"]);
        assert_eq!(user.extra["authentication.kubernetes.io/node-name"], ["n1"]);
        assert_eq!(user.extra["authentication.kubernetes.io/node-uid"], ["m1"]);
        // What should be gone for long is, even if it is still there.
        for i in 0..2 {
            for (end, good) in [
                ("2026-01-01T00:00:00Z", true),
                ("2025-12-31T23:59:59Z", false),
            ] {
                let mut objects = objects.clone();
                objects[i].1["metadata"]["deletionTimestamp"] = json!(end);
                assert_eq!(authenticate(&objects).is_ok(), good, "{i} {end}");
            }
        }
    }

    #[test]
    fn a_node_that_is_gone_is_known_by_its_name() {
        let key = Key::from_pkcs8(&Key::generate().unwrap()).unwrap();
        let account = json!({"metadata": {"name": "robot", "namespace": "n", "uid": "u1"}});
        let bound = Bound {
            kind: "pod",
            name: "p",
            uid: "p1",
            node: Some(("n1", "")),
        };
        let token = key
            .issue(&account, Some(&bound), &[], (0, 9), "id")
            .unwrap();
        let claims = key.claims(&token).unwrap();
        assert_eq!(claims["kubernetes.io"]["node"], json!({"name": "n1"}));
    }
}
