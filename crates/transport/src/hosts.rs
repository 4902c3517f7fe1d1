//! By which names a listener may be called.
//!
//! A page in a browser can point a name of its own at any address (DNS rebinding) and read what a
//! server there tells anybody. The `Host` of such a request is that name.

use http::header::HOST;
use http::uri::Authority;
use http::{HeaderMap, Uri};
use rustls::pki_types::CertificateDer;
use std::net::IpAddr;
use x509_parser::prelude::{FromDer, GeneralName, X509Certificate};

/// Names of a listener, besides addresses and `localhost`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Hosts(Vec<String>);

impl Hosts {
    /// The names in a certificate.
    pub(crate) fn of(certificate: &CertificateDer<'_>) -> Self {
        let mut names = Vec::new();
        if let Ok((_, certificate)) = X509Certificate::from_der(certificate)
            && let Ok(Some(alternatives)) = certificate.subject_alternative_name()
        {
            for name in &alternatives.value.general_names {
                if let GeneralName::DNSName(name) = name {
                    names.push(name.to_ascii_lowercase());
                }
            }
        }
        Self(names)
    }

    /// What a request calls the listener, if that is none of its names.
    pub(crate) fn stranger(&self, uri: &Uri, headers: &HeaderMap) -> Option<String> {
        let from_uri = uri.host().map(str::to_owned);
        let from_headers = headers.get_all(HOST).iter().map(|value| {
            let authority = Authority::try_from(value.as_bytes());
            let text = String::from_utf8_lossy(value.as_bytes());
            authority.map_or_else(|_| text.into_owned(), |known| known.host().to_owned())
        });
        let mut all = from_uri.into_iter().chain(from_headers);
        all.find(|host| !self.knows(host))
    }

    fn knows(&self, host: &str) -> bool {
        let bare = host.strip_prefix('[').and_then(|h| h.strip_suffix(']'));
        if host.is_empty() || bare.unwrap_or(host).parse::<IpAddr>().is_ok() {
            return true;
        }
        let host = host.to_ascii_lowercase();
        let host = host.strip_suffix('.').unwrap_or(&host);
        host == "localhost" || self.0.iter().any(|name| is_of(host, name))
    }

    /// What such a client is told.
    pub(crate) fn refusal(&self, host: &str) -> String {
        format!(
            "this server is not called {host:?}: ask for it by its address, or as {}\n",
            self.0.join(", ")
        )
    }
}

/// Whether a name of a certificate, which may begin with a wildcard, stands for a host.
fn is_of(host: &str, name: &str) -> bool {
    match name.strip_prefix("*.") {
        Some(parent) => host.split_once('.').is_some_and(|(_, rest)| rest == parent),
        None => host == name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stranger(uri: &str, host: Option<&str>) -> bool {
        let hosts = Hosts(vec!["kubernetes".to_owned(), "*.example.com".to_owned()]);
        let mut headers = HeaderMap::new();
        if let Some(host) = host {
            headers.insert(HOST, host.parse().unwrap());
        }
        hosts.stranger(&uri.parse().unwrap(), &headers).is_some()
    }

    #[test]
    fn addresses_and_names_of_the_certificate_are_known() {
        for host in [
            "127.0.0.1:6443",
            "[::1]:6443",
            "[2001:db8::1]",
            "localhost",
            "LOCALHOST:1",
            "kubernetes.",
            "Kubernetes:443",
            "a.example.com",
        ] {
            assert!(!stranger("/version", Some(host)), "{host}");
            assert!(
                !stranger(&format!("https://{host}/version"), None),
                "{host}"
            );
        }
        assert!(!stranger("/version", None));
    }

    #[test]
    fn other_names_are_not() {
        for host in [
            "evil.example",
            "example.com",
            "a.b.example.com",
            "127.0.0.1.evil.example:6443",
            "localhost.evil.example",
            "kubernetes@evil.example",
            "a b",
        ] {
            assert!(stranger("/version", Some(host)), "{host}");
        }
        assert!(stranger("https://evil.example/", Some("localhost")));
        assert!(stranger("https://localhost/", Some("evil.example")));
    }
}
