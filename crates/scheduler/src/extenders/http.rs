//! How an extender is reached.

use super::answers::field;
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use kube::config::{
    AuthInfo, Cluster, Context, KubeConfigOptions, Kubeconfig, NamedAuthInfo, NamedCluster,
    NamedContext,
};
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;
use stowplan_base::Env;
use stowplan_config as api;
use stowplan_env::timeout;

/// One extender.
pub(crate) struct Extender {
    pub(super) config: api::Extender,
    client: kube::Client,
    env: Arc<dyn Env>,
}

/// How long a call may take unless the configuration says otherwise.
const TIMEOUT: Duration = Duration::from_secs(5);

impl Extender {
    /// An extender as it is configured.
    pub(crate) async fn new(config: api::Extender, env: Arc<dyn Env>) -> Result<Self, String> {
        check(&config.url_prefix)?;
        let options = KubeConfigOptions::default();
        let found = kube::Config::from_custom_kubeconfig(connection(&config), &options).await;
        let mut found =
            found.map_err(|error| format!("urlPrefix: {}: {error}", config.url_prefix))?;
        found.read_timeout = None;
        // A busy extender is not asked again: the pod is, later.
        found.default_retry = false;
        let client = kube::Client::try_from(found);
        let client =
            client.map_err(|error| format!("urlPrefix: {}: {error}", config.url_prefix))?;
        Ok(Self {
            config,
            client,
            env,
        })
    }

    pub(super) fn url(&self) -> &str {
        &self.config.url_prefix
    }

    /// Whether names of nodes are enough for it.
    pub(super) fn knows_nodes(&self) -> bool {
        self.config.node_cache_capable
    }

    pub(super) fn binds(&self) -> bool {
        !self.config.bind_verb.is_empty()
    }

    pub(crate) fn is_ignorable(&self) -> bool {
        self.config.ignorable
    }

    /// Sends a question and waits for the answer, up to its time limit.
    pub(super) async fn ask(&self, verb: &str, question: &Value) -> Result<Value, String> {
        self.try_ask(verb, question).await.map_err(|no| no.message)
    }

    async fn try_ask(&self, verb: &str, question: &Value) -> Result<Value, No> {
        let millis = u64::try_from(self.config.http_timeout.as_millis()).unwrap_or(0);
        let limit = match millis {
            0 => TIMEOUT,
            millis => Duration::from_millis(millis),
        };
        let answer = timeout(&*self.env, limit, self.send(verb, question)).await;
        answer.unwrap_or_else(|_| {
            Err(No::silent(format!(
                "{}/{verb}: timed out",
                self.trimmed_url()
            )))
        })
    }

    fn trimmed_url(&self) -> &str {
        self.url().trim_end_matches('/')
    }

    async fn send(&self, verb: &str, question: &Value) -> Result<Value, No> {
        let url = format!("{}/{verb}", self.trimmed_url());
        let told = |error: &dyn std::fmt::Display| No::silent(format!("{url}: {error}"));
        let request = ::http::Request::post(format!("/{verb}"))
            .header("Content-Type", "application/json")
            .body(kube::client::Body::from(question.to_string().into_bytes()))
            .map_err(|error| told(&error))?;
        let response = self.client.send(request).await.map_err(|e| told(&e))?;
        let code = response.status();
        if code != ::http::StatusCode::OK {
            let code = code.as_u16();
            return Err(No {
                message: format!("failed {verb} with extender at URL {url}, code {code}"),
                is_open: code >= 500,
            });
        }
        let body = response.into_body().collect_bytes().await;
        let body = body.map_err(|error| told(&error))?;
        serde_json::from_slice(&body).map_err(|error| told(&error))
    }

    /// Lets the extender bind a pod.
    pub(crate) async fn bind(
        &self,
        namespace: &str,
        name: &str,
        uid: &str,
        node: &str,
    ) -> Result<(), No> {
        let question = json!({"PodName": name, "PodNamespace": namespace, "PodUID": uid,
            "Node": node});
        let answer = self.try_ask(&self.config.bind_verb, &question).await?;
        match field(&answer, "Error").as_str() {
            None | Some("") => Ok(()),
            Some(error) => Err(No {
                message: error.to_owned(),
                is_open: false,
            }),
        }
    }
}

/// Why an extender was asked in vain.
pub(crate) struct No {
    pub(crate) message: String,
    /// Whether it may have done what it was asked for all the same.
    pub(crate) is_open: bool,
}

impl No {
    /// There was no answer that could be read.
    fn silent(message: String) -> Self {
        Self {
            message,
            is_open: true,
        }
    }
}

/// The client takes for granted that addresses are whole.
fn check(url_prefix: &str) -> Result<(), String> {
    let uri = url_prefix.parse::<::http::Uri>().ok();
    let is_whole = uri.is_some_and(|uri| {
        matches!(uri.scheme_str(), Some("http" | "https"))
            && uri.host().is_some_and(|host| !host.is_empty())
    });
    match is_whole {
        true => Ok(()),
        false => Err(format!(
            "urlPrefix: {url_prefix:?} is not a URL, expected http://HOST:PORT/PATH"
        )),
    }
}

/// The same in the words of a kubeconfig. Upstream's `makeTransport`: without roots to trust,
/// HTTPS trusts everybody.
fn connection(config: &api::Extender) -> Kubeconfig {
    let tls = config.tls_config.as_ref();
    let path = |text: &String| (!text.is_empty()).then(|| text.clone());
    let data = |bytes: &Vec<u8>| (!bytes.is_empty()).then(|| BASE64_STANDARD.encode(bytes));
    let has_roots = tls.is_some_and(|tls| !tls.ca_file.is_empty() || !tls.ca_data.0.is_empty());
    let insecure = tls.is_some_and(|tls| tls.insecure) || (config.enable_https && !has_roots);
    let cluster = Cluster {
        server: Some(config.url_prefix.clone()),
        insecure_skip_tls_verify: Some(insecure),
        certificate_authority: tls.and_then(|tls| path(&tls.ca_file)),
        certificate_authority_data: tls.and_then(|tls| data(&tls.ca_data.0)),
        tls_server_name: tls.and_then(|tls| path(&tls.server_name)),
        ..Cluster::default()
    };
    let user = AuthInfo {
        client_certificate: tls.and_then(|tls| path(&tls.cert_file)),
        client_certificate_data: tls.and_then(|tls| data(&tls.cert_data.0)),
        client_key: tls.and_then(|tls| path(&tls.key_file)),
        client_key_data: tls.and_then(|tls| data(&tls.key_data.0).map(Into::into)),
        ..AuthInfo::default()
    };
    let name = || "extender".to_owned();
    Kubeconfig {
        clusters: vec![NamedCluster {
            name: name(),
            cluster: Some(cluster),
            ..NamedCluster::default()
        }],
        auth_infos: vec![NamedAuthInfo {
            name: name(),
            auth_info: Some(user),
            ..NamedAuthInfo::default()
        }],
        contexts: vec![NamedContext {
            name: name(),
            context: Some(Context {
                cluster: name(),
                user: Some(name()),
                ..Context::default()
            }),
            ..NamedContext::default()
        }],
        current_context: Some(name()),
        ..Kubeconfig::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn start(url_prefix: &str) -> Result<(), String> {
        let config = api::Extender {
            url_prefix: url_prefix.to_owned(),
            ..api::Extender::default()
        };
        Extender::new(config, Arc::new(stowplan_env::System::new()))
            .await
            .map(drop)
    }

    #[tokio::test]
    async fn an_address_that_nobody_could_ask_is_refused_at_once() {
        for url in [
            "",
            "extender",
            "extender:8888",
            "/filter",
            "ftp://extender",
            "http://",
        ] {
            let error = start(url).await.expect_err(url);
            assert!(error.starts_with("urlPrefix: "), "{error}");
        }
        assert_eq!(start("http://extender:8888/scheduler").await, Ok(()));
    }
}
