//! How to reach API servers and schedulers. The client takes for granted that addresses are whole.

use anyhow::{Context, Result};
use http::Uri;
use kube::config::{KubeConfigOptions, Kubeconfig};
use std::path::Path;

/// What the current context of a kubeconfig says.
pub(crate) async fn read(file: &Path) -> Result<kube::Config> {
    let kubeconfig = Kubeconfig::read_from(file);
    let kubeconfig = kubeconfig.with_context(|| format!("cannot read {}", file.display()))?;
    let options = KubeConfigOptions::default();
    let config = kube::Config::from_custom_kubeconfig(kubeconfig, &options).await;
    config.with_context(|| format!("cannot use {}", file.display()))
}

/// A URL with a scheme and a host.
pub(crate) fn url(text: &str) -> Result<Uri, String> {
    let uri = text.parse::<Uri>().ok().filter(is_whole);
    uri.ok_or_else(|| format!("{text:?} is not a URL, expected https://HOST:PORT"))
}

/// The URL of a secure port: whoever listens there is shown a token.
pub(crate) fn secure_url(text: &str) -> Result<Uri, String> {
    let uri = url(text)
        .ok()
        .filter(|uri| uri.scheme_str() == Some("https"));
    uri.ok_or_else(|| {
        format!("{text:?} is not the URL of a secure port, expected https://HOST:PORT")
    })
}

/// As [`url`], with `https://` where there is no scheme: kube-scheduler takes `HOST:PORT` as well.
pub(crate) fn master(text: &str) -> Result<Uri, String> {
    match text.contains("://") {
        true => url(text),
        false => url(&format!("https://{text}")),
    }
}

/// A configuration whose server can be asked. Who asks decides what is asked again: a client that does
/// so by itself does not know who leads, nor how long its answer is waited for.
pub(crate) fn checked(mut config: kube::Config) -> Result<kube::Config> {
    let checked = url(&config.cluster_url.to_string()).map_err(anyhow::Error::msg);
    checked.context("the cluster's server")?;
    config.default_retry = false;
    let agent = concat!("stowplan/", env!("CARGO_PKG_VERSION"));
    let agent = http::HeaderValue::from_static(agent);
    config.headers.push((http::header::USER_AGENT, agent));
    Ok(config)
}

fn is_whole(uri: &Uri) -> bool {
    matches!(uri.scheme_str(), Some("http" | "https"))
        && uri.host().is_some_and(|host| !host.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_asked_again_behind_the_back_of_who_asks() {
        let config = kube::Config::new(http::Uri::from_static("https://cluster:6443"));
        assert!(config.default_retry, "the client's own idea");
        assert!(!checked(config).unwrap().default_retry);
    }

    #[test]
    fn a_url_has_a_scheme_and_a_host() {
        assert!(url("https://127.0.0.1:10259").is_ok());
        assert!(url("http://[::1]").is_ok());
        for wrong in [
            "foo",
            "127.0.0.1:7450",
            "ftp://host",
            "https://",
            "/path",
            "",
        ] {
            assert!(url(wrong).is_err(), "{wrong}");
        }
        assert!(secure_url("https://127.0.0.1:10259").is_ok());
        assert!(secure_url("http://127.0.0.1:10259").is_err());
    }

    #[test]
    fn a_master_may_go_without_a_scheme() {
        assert_eq!(master("h:1").unwrap(), "https://h:1/");
        assert_eq!(master("http://h").unwrap(), "http://h/");
        assert!(master("").is_err());
        let config = |server: &str| kube::Config::new(server.parse().unwrap());
        assert!(checked(config("https://h:1")).is_ok());
        let error = checked(config("h:1")).unwrap_err();
        assert!(
            format!("{error:#}").contains("\"h:1\" is not a URL"),
            "{error:#}"
        );
    }
}
