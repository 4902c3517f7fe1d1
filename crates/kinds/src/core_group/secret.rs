//! Secret.
//!
//! Upstream: `ValidateSecret` of `pkg/apis/core/validation/validation.go`,
//! `pkg/registry/core/secret/strategy.go`, `pkg/apis/core/v1/conversion.go`.

use super::config_map::{BYTES_MAX, decoded_len, validate_frozen};
use crate::common::faults::Faults;
use crate::common::{IMMUTABLE, kube_metadata, name_rules};
use crate::fields::{Fields, Refusal, by_path};
use crate::{Context, CreateStrategy, Strategy, UpdateStrategy};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;
use stowplan_apimachinery::field::{Error, ErrorList, Path};
use stowplan_apimachinery::{Edit, View, names};

pub(crate) struct Secret;

pub(crate) static FIELDS: Fields = Fields {
    known: &["type", "metadata.namespace", "metadata.name"],
    refusal: Refusal::NotSupported,
    value: by_path,
};

impl CreateStrategy for Secret {
    fn validate(&self, object: &Value, _: &Context<'_>) -> ErrorList {
        let mut errors = kube_metadata::validate(object, true, &name_rules::dns_subdomain);
        let path = Path::new("data");
        let mut bytes = 0;
        for (key, value) in object.entries("data") {
            errors.invalid_each(&path.key(key), key, names::config_map_key(key));
            bytes += decoded_len(value);
        }
        if bytes > BYTES_MAX {
            errors.push(Error::too_long(&path, BYTES_MAX));
        }
        errors.extend(validate_type(object));
        errors
    }

    fn validate_name(&self, name: &str, prefix: bool) -> Vec<String> {
        name_rules::dns_subdomain(name, prefix)
    }
}

impl UpdateStrategy for Secret {
    fn prepare_for_update(&self, new: &mut Value, old: &Value, _: &Context<'_>) {
        if new.text("type").is_empty() {
            new.set("type", old.text("type"));
        }
    }

    fn validate_update(&self, new: &Value, old: &Value, cx: &Context<'_>) -> ErrorList {
        let mut errors = kube_metadata::validate_update(new, old);
        if new.text("type") != old.text("type") {
            errors.invalid(&Path::new("type"), new.text("type"), IMMUTABLE);
        }
        errors.extend(validate_frozen(new, old, &["data"]));
        errors.extend(self.validate(new, cx));
        errors
    }
}

impl Strategy for Secret {
    fn set_defaults(&self, object: &mut Value) {
        if object.text("type").is_empty() {
            object.set("type", "Opaque");
        }
        // Plain texts overwrite data, and are not kept.
        let Some(Value::Object(texts)) = object.unset("stringData") else {
            return;
        };
        for (key, text) in texts {
            let encoded = STANDARD.encode(text.as_str().unwrap_or_default());
            object.at_mut("data").set(&key, encoded);
        }
    }

    fn warnings(&self, new: &Value, _: Option<&Value>) -> Vec<String> {
        match new.text("type") {
            "kubernetes.io/tls" => key_pair_fault(new).into_iter().collect(),
            _ => Vec::new(),
        }
    }
}

/// What a type demands of the data.
fn validate_type(secret: &Value) -> ErrorList {
    let mut errors = ErrorList::new();
    let path = Path::new("data");
    let data = secret.at("data");
    let kind = secret.text("type");
    let needed: &[&str] = match kind {
        "kubernetes.io/dockercfg" => &[".dockercfg"],
        "kubernetes.io/dockerconfigjson" => &[".dockerconfigjson"],
        "kubernetes.io/basic-auth" if !data.has("username") && !data.has("password") => {
            &["username", "password"]
        }
        "kubernetes.io/ssh-auth" if data.text("ssh-privatekey").is_empty() => &["ssh-privatekey"],
        "kubernetes.io/tls" => &["tls.crt", "tls.key"],
        _ => &[],
    };
    for key in needed {
        if !data.has(key) || kind == "kubernetes.io/ssh-auth" {
            errors.required(&path.key(key), "");
        } else if key.starts_with(".docker") {
            errors.extend(validate_docker(data, key));
        }
    }
    let account = "kubernetes.io/service-account.name";
    let annotations = secret.at("metadata").at("annotations");
    if kind == "kubernetes.io/service-account-token" && annotations.text(account).is_empty() {
        let path = Path::new("metadata");
        let path = path.child("annotations");
        errors.required(&path.key(account), "");
    }
    errors
}

fn decoded(data: &Value, key: &str) -> Vec<u8> {
    STANDARD.decode(data.text(key)).unwrap_or_default()
}

/// The credentials for registries are a JSON object.
fn validate_docker(data: &Value, key: &str) -> Option<Error> {
    let path = Path::new("data");
    let fault = json_object_fault(&decoded(data, key))?;
    let shown = "<secret contents redacted>";
    Some(Error::invalid(&path.key(key), shown, fault))
}

/// Why Go could not read these bytes into a map.
fn json_object_fault(bytes: &[u8]) -> Option<String> {
    let wrong_type = |word: &str| {
        Some(format!(
            "json: cannot unmarshal {word} into Go value of type map[string]interface {{}}"
        ))
    };
    match serde_json::from_slice::<Value>(bytes) {
        Ok(Value::Object(_) | Value::Null) => None,
        Ok(Value::Array(_)) => wrong_type("array"),
        Ok(Value::String(_)) => wrong_type("string"),
        Ok(Value::Bool(_)) => wrong_type("bool"),
        Ok(Value::Number(_)) => wrong_type("number"),
        Err(_) => {
            let fault = stowplan_schema::parse_json(bytes).err()?;
            Some(fault.to_string())
        }
    }
}

/// The blocks of a PEM text, by their type.
fn pem_blocks(text: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(text);
    let begins = text.lines().filter_map(|line| {
        let name = line.trim_end().strip_prefix("-----BEGIN ")?;
        name.strip_suffix("-----")
    });
    begins
        .filter(|name| text.contains(&format!("-----END {name}-----")))
        .map(str::to_owned)
        .collect()
}

/// What `tls.X509KeyPair` says of a certificate and key that are not even PEM. Whether they belong
/// together is not looked at.
fn key_pair_fault(secret: &Value) -> Option<String> {
    let data = secret.at("data");
    let certificates = pem_blocks(&decoded(data, "tls.crt"));
    let listed = |blocks: &[String]| blocks.join(" ");
    if !certificates.iter().any(|name| name == "CERTIFICATE") {
        return Some(match certificates.as_slice() {
            [] => "tls: failed to find any PEM data in certificate input".to_owned(),
            [one] if one.ends_with("PRIVATE KEY") => {
                "tls: failed to find certificate PEM data in certificate input, but did find a private key; PEM inputs may have been switched".to_owned()
            }
            many => format!(
                "tls: failed to find \"CERTIFICATE\" PEM block in certificate input after skipping PEM blocks of the following types: [{}]",
                listed(many)
            ),
        });
    }
    let keys = pem_blocks(&decoded(data, "tls.key"));
    if keys.iter().any(|name| name.ends_with("PRIVATE KEY")) {
        return None;
    }
    Some(match keys.as_slice() {
        [] => "tls: failed to find any PEM data in key input".to_owned(),
        [one] if one == "CERTIFICATE" => {
            "tls: found a certificate rather than a key in the PEM for the private key".to_owned()
        }
        many => format!(
            "tls: failed to find PEM block with type ending in \"PRIVATE KEY\" in key input after skipping PEM blocks of the following types: [{}]",
            listed(many)
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{faults, update_faults};
    use serde_json::json;

    fn secret(kind: &str, data: Value) -> Value {
        json!({"metadata": {"name": "a", "namespace": "n", "resourceVersion": "1"},
            "type": kind, "data": data})
    }

    #[test]
    fn plain_texts_become_data() {
        let mut object = json!({"data": {"k": "AA=="}, "stringData": {"k": "over", "s": ""}});
        Secret.set_defaults(&mut object);
        let expected = json!({"type": "Opaque", "data": {"k": "b3Zlcg==", "s": ""}});
        assert_eq!(object, expected);
    }

    #[test]
    fn types_demand_keys() {
        for (kind, data, expected) in [
            (
                "kubernetes.io/tls",
                json!({}),
                "data[tls.crt]: Required value;data[tls.key]: Required value",
            ),
            (
                "kubernetes.io/basic-auth",
                json!({}),
                "data[username]: Required value;data[password]: Required value",
            ),
            ("kubernetes.io/basic-auth", json!({"username": ""}), ""),
            (
                "kubernetes.io/ssh-auth",
                json!({"ssh-privatekey": ""}),
                "data[ssh-privatekey]: Required value",
            ),
            (
                "kubernetes.io/dockercfg",
                json!({}),
                "data[.dockercfg]: Required value",
            ),
            (
                "kubernetes.io/dockerconfigjson",
                json!({".dockerconfigjson": "e30="}),
                "",
            ),
            (
                "kubernetes.io/dockerconfigjson",
                json!({".dockerconfigjson": ""}),
                "data[.dockerconfigjson]: Invalid value: \"<secret contents redacted>\": unexpected end of JSON input",
            ),
            (
                "kubernetes.io/dockerconfigjson",
                json!({".dockerconfigjson": "hg=="}),
                "data[.dockerconfigjson]: Invalid value: \"<secret contents redacted>\": invalid character '\\u0086' looking for beginning of value",
            ),
            (
                "kubernetes.io/dockerconfigjson",
                json!({".dockerconfigjson": "W10="}),
                "data[.dockerconfigjson]: Invalid value: \"<secret contents redacted>\": json: cannot unmarshal array into Go value of type map[string]interface {}",
            ),
            (
                "kubernetes.io/service-account-token",
                json!({}),
                "metadata.annotations[kubernetes.io/service-account.name]: Required value",
            ),
            ("example.com/own", json!({}), ""),
        ] {
            let found = faults(&Secret, &secret(kind, data)).join(";");
            assert_eq!(found, expected, "{kind}");
        }
    }

    #[test]
    fn the_type_stays() {
        let old = secret("Opaque", json!({}));
        let new = secret("other", json!({}));
        assert_eq!(
            update_faults(&Secret, &new, &old),
            ["type: Invalid value: \"other\": field is immutable"]
        );
    }

    #[test]
    fn certificates_that_are_none_are_pointed_out() {
        let warn = |crt: &str, key: &str| {
            let data = json!({"tls.crt": STANDARD.encode(crt), "tls.key": STANDARD.encode(key)});
            Secret
                .warnings(&secret("kubernetes.io/tls", data), None)
                .join("")
        };
        let block = |name: &str| format!("-----BEGIN {name}-----\nAA==\n-----END {name}-----\n");
        let (crt, key) = (block("CERTIFICATE"), block("RSA PRIVATE KEY"));
        assert_eq!(
            warn("a", "b"),
            "tls: failed to find any PEM data in certificate input"
        );
        assert_eq!(
            warn(&crt, "b"),
            "tls: failed to find any PEM data in key input"
        );
        assert!(warn(&key, &key).contains("may have been switched"));
        assert!(warn(&crt, &crt).contains("found a certificate rather than a key"));
        assert_eq!(warn(&crt, &key), "");
    }
}
