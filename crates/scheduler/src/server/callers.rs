//! Which client certificates the secure port trusts: what the cluster says in the ConfigMap
//! `extension-apiserver-authentication`. Upstream's `DelegatingAuthenticationOptions`.

use crate::server::proxy_headers::ProxyHeaders;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::{Api, Client};
use std::collections::BTreeMap;
use std::time::Duration;
use stowplan_base::Env;
use stowplan_env::timeout;
use stowplan_transport::{CertificateError, Certificates, FrontProxies};

const NAMESPACE: &str = "kube-system";
const NAME: &str = "extension-apiserver-authentication";

/// How long the cluster may take to say: a scheduler starts, and may lead, without it.
const PATIENCE: Duration = Duration::from_secs(10);

/// Whether the cluster is asked which CAs to trust.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum AuthenticationLookup {
    /// No: `--authentication-skip-lookup`.
    #[default]
    Skip,
    /// Yes; if it does not say, callers need tokens.
    Tolerant,
    /// Yes, and it has to say: `--authentication-tolerate-lookup-failure=false`.
    Strict,
}

/// The CAs that the operator names; those that he does not name are looked up.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Callers {
    /// Whether to ask the cluster for the rest.
    pub lookup: AuthenticationLookup,
    /// Whether the certificates say already who signs those of users (`--client-ca-file`).
    pub knows_users: bool,
    /// Proxies that ask for others, and how they say so (`--requestheader-*`).
    pub proxies: Option<(FrontProxies, ProxyHeaders)>,
}

/// The cluster does not say which CAs to trust.
#[derive(Debug, thiserror::Error)]
pub enum LookupError {
    /// It could not be asked.
    #[error(
        "cannot read the ConfigMap {NAMESPACE}/{NAME}; the scheduler needs the role \
         extension-apiserver-authentication-reader there, or --authentication-skip-lookup"
    )]
    Unread(#[source] kube::Error),
    /// It did not answer in time.
    #[error("the ConfigMap {NAMESPACE}/{NAME} could not be read in time")]
    Late,
    /// What it says makes no sense.
    #[error("the ConfigMap {NAMESPACE}/{NAME}: {0}")]
    Senseless(String),
}

impl From<CertificateError> for LookupError {
    fn from(error: CertificateError) -> Self {
        Self::Senseless(error.to_string())
    }
}

/// What the cluster says.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Trust {
    client_ca_pem: Option<String>,
    proxies: Option<(FrontProxies, ProxyHeaders)>,
}

impl Callers {
    /// What the cluster says of what the operator does not say.
    pub(crate) async fn look_up(
        &self,
        client: &Client,
        env: &dyn Env,
    ) -> Result<Trust, LookupError> {
        if self.lookup == AuthenticationLookup::Skip {
            return Ok(Trust::default());
        }
        let maps: Api<ConfigMap> = Api::namespaced(client.clone(), NAMESPACE);
        let found = timeout(env, PATIENCE, maps.get_opt(NAME)).await;
        let found = found.map_err(|_| LookupError::Late)?;
        let found = found.map_err(LookupError::Unread)?;
        let data = found.and_then(|map| map.data).unwrap_or_default();
        Trust::read(&data).map_err(LookupError::Senseless)
    }

    /// The certificates with whom they are to know, and how proxies say for whom they ask.
    pub(crate) fn complete(
        &self,
        mut certificates: Certificates,
        trust: &Trust,
    ) -> Result<(Certificates, Option<ProxyHeaders>), CertificateError> {
        if let (false, Some(pem)) = (self.knows_users, &trust.client_ca_pem) {
            certificates = certificates.with_client_ca(pem.clone())?;
        }
        let Some((proxies, headers)) = self.proxies.as_ref().or(trust.proxies.as_ref()) else {
            return Ok((certificates, None));
        };
        let certificates = certificates.with_front_proxies(proxies.clone())?;
        Ok((certificates, Some(headers.clone())))
    }
}

impl Trust {
    fn read(data: &BTreeMap<String, String>) -> Result<Self, String> {
        let text = |key: &str| data.get(key).filter(|text| !text.is_empty()).cloned();
        let list = |key: &str| match text(key) {
            None => Ok(Vec::new()),
            Some(text) => serde_json::from_str::<Vec<String>>(&text)
                .map_err(|error| format!("{key}: {error}")),
        };
        let proxies = match text("requestheader-client-ca-file") {
            None => None,
            Some(ca_pem) => {
                let proxies = FrontProxies {
                    ca_pem,
                    allowed_names: list("requestheader-allowed-names")?,
                };
                let headers = ProxyHeaders {
                    username: list("requestheader-username-headers")?,
                    uid: list("requestheader-uid-headers")?,
                    group: list("requestheader-group-headers")?,
                    extra_prefix: list("requestheader-extra-headers-prefix")?,
                };
                Some((proxies, headers))
            }
        };
        Ok(Self {
            client_ca_pem: text("client-ca-file"),
            proxies,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_config_map_is_read_as_the_api_server_writes_it() {
        let data = [
            ("client-ca-file", "CA"),
            ("requestheader-client-ca-file", "PROXIES"),
            ("requestheader-allowed-names", "[\"front-proxy-client\"]"),
            ("requestheader-username-headers", "[\"X-Remote-User\"]"),
            ("requestheader-group-headers", "[\"X-Remote-Group\"]"),
            (
                "requestheader-extra-headers-prefix",
                "[\"X-Remote-Extra-\"]",
            ),
        ];
        let data = data.map(|(key, value)| (key.to_owned(), value.to_owned()));
        let mut data = BTreeMap::from(data);
        let trust = Trust::read(&data).unwrap();
        assert_eq!(trust.client_ca_pem.as_deref(), Some("CA"));
        let (proxies, headers) = trust.proxies.unwrap();
        assert_eq!(proxies.allowed_names, ["front-proxy-client"]);
        assert_eq!(headers.username, ["X-Remote-User"]);
        assert!(headers.uid.is_empty());
        data.insert("requestheader-allowed-names".to_owned(), "x".to_owned());
        assert!(Trust::read(&data).is_err());
        assert_eq!(Trust::read(&BTreeMap::new()), Ok(Trust::default()));
    }
}
