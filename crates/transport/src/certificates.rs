//! What a listener shows of itself, and whose clients it knows by their certificates.

use crate::hosts::Hosts;
use crate::pki::Pki;
use crate::recognition::{FrontProxies, Recognition, verifier};
use crate::tls::TlsSettings;
use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use std::net::IpAddr;
use std::sync::Arc;

type Error = Box<dyn std::error::Error + Send + Sync>;

/// A certificate, key or CA cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("{what}: {why}")]
pub struct CertificateError {
    what: &'static str,
    why: Error,
}

/// The certificates of a listener.
#[derive(Clone, PartialEq, Eq)]
pub struct Certificates {
    server: Server,
    /// Who signed the certificates of clients; without it none are asked for.
    client_ca_pem: Option<String>,
    /// Proxies that ask for others.
    front_proxies: Option<FrontProxies>,
    tls: TlsSettings,
    /// Names and addresses by which clients reach the listener, besides its own.
    hosts: Vec<String>,
    /// Whether requests for other names are turned away.
    only_its_hosts: bool,
}

/// What a listener needs.
pub(crate) struct Made {
    pub(crate) config: ServerConfig,
    pub(crate) recognition: Recognition,
    /// If only these are to be served.
    pub(crate) hosts: Option<Hosts>,
}

#[derive(Clone, PartialEq, Eq)]
enum Server {
    /// One is made at each start.
    Made(Pki),
    /// The operator's own.
    Given { chain_pem: String, key_pem: String },
}

impl From<Pki> for Certificates {
    /// A certificate that is made at each start and signed by this CA; so are those of clients.
    fn from(pki: Pki) -> Self {
        Self {
            client_ca_pem: Some(pki.ca_pem.clone()),
            front_proxies: None,
            tls: TlsSettings::default(),
            hosts: Vec::new(),
            only_its_hosts: false,
            server: Server::Made(pki),
        }
    }
}

impl Certificates {
    /// The operator's own certificate, with those that lead to its CA, and its key, in PEM.
    pub fn given(chain_pem: String, key_pem: String) -> Result<Self, CertificateError> {
        let given = Self {
            server: Server::Given { chain_pem, key_pem },
            client_ca_pem: None,
            front_proxies: None,
            tls: TlsSettings::default(),
            hosts: Vec::new(),
            only_its_hosts: false,
        };
        given.checked("the certificate and its key")
    }

    /// Clients are known by certificates that one of these CAs signed.
    pub fn with_client_ca(mut self, pem: String) -> Result<Self, CertificateError> {
        self.client_ca_pem = Some(pem);
        self.checked("the CA of clients")
    }

    /// Clients with certificates of this CA may say for whom they ask.
    pub fn with_front_proxies(mut self, proxies: FrontProxies) -> Result<Self, CertificateError> {
        self.front_proxies = Some(proxies);
        self.checked("the CA of proxies")
    }

    /// TLS is spoken this way only.
    pub fn with_tls(mut self, tls: TlsSettings) -> Self {
        self.tls = tls;
        self
    }

    /// Clients reach the listener by this name or address, too: a certificate that is made is good
    /// for it.
    pub fn reached_by(mut self, host: &str) -> Self {
        self.hosts.push(host.to_owned());
        self
    }

    /// Requests for a host that is not an address, `localhost` or a name in the certificate are turned
    /// away with 421.
    pub fn only_for_its_hosts(mut self) -> Self {
        self.only_its_hosts = true;
        self
    }

    /// For a listener at this address that speaks something else than HTTP.
    pub fn without_http(&self, address: IpAddr) -> Result<ServerConfig, CertificateError> {
        let what = "the certificate and its key";
        let made = self
            .config(address)
            .map_err(|why| CertificateError { what, why })?;
        let mut config = made.config;
        config.alpn_protocols.clear();
        Ok(config)
    }

    /// Whether the certificate is made here, and can be made anew.
    pub(crate) fn is_made(&self) -> bool {
        matches!(self.server, Server::Made(_))
    }

    /// The CA of a certificate that is made at each start, which nobody else knows.
    pub fn own_ca_pem(&self) -> Option<&str> {
        match &self.server {
            Server::Made(pki) => Some(&pki.ca_pem),
            Server::Given { .. } => None,
        }
    }

    fn checked(self, what: &'static str) -> Result<Self, CertificateError> {
        match self.config(IpAddr::from([127, 0, 0, 1])) {
            Ok(_) => Ok(self),
            Err(why) => Err(CertificateError { what, why }),
        }
    }

    /// What a listener at this address needs.
    pub(crate) fn config(&self, address: IpAddr) -> Result<Made, Error> {
        let made;
        let (chain, key) = match &self.server {
            Server::Given { chain_pem, key_pem } => (chain_pem, key_pem),
            Server::Made(pki) => {
                made = pki.server(&addresses(address), &self.hosts)?;
                (&made.certificate_pem, &made.key_pem)
            }
        };
        let provider = Arc::new(self.tls.provider());
        let proxies = self.front_proxies.as_ref();
        let users_pem = self.client_ca_pem.as_deref();
        let recognition = Recognition::new(users_pem, proxies, &provider)?;
        let signers = users_pem.into_iter();
        let signers: Vec<_> = signers
            .chain(proxies.map(|proxies| &*proxies.ca_pem))
            .collect();
        let clients = match signers.is_empty() {
            true => WebPkiClientVerifier::no_client_auth(),
            false => verifier(&signers, &provider)?,
        };
        let chain = certificates(chain)?;
        let own = chain.first().filter(|_| self.only_its_hosts);
        let hosts = own.map(Hosts::of);
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_protocol_versions(self.tls.versions())?
            .with_client_cert_verifier(clients)
            .with_single_cert(chain, PrivateKeyDer::from_pem_slice(key.as_bytes())?)?;
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        Ok(Made {
            config,
            recognition,
            hosts,
        })
    }
}

/// The certificates in a text of PEM, in DER.
pub fn certificates_der(pem: &str) -> Result<Vec<Vec<u8>>, CertificateError> {
    match certificates(pem) {
        Ok(all) => Ok(all.into_iter().map(|one| one.to_vec()).collect()),
        Err(why) => Err(CertificateError {
            what: "the certificate",
            why,
        }),
    }
}

pub(crate) fn certificates(pem: &str) -> Result<Vec<CertificateDer<'static>>, Error> {
    let all: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem.as_bytes()).collect();
    match all? {
        all if all.is_empty() => Err("there is no certificate in it".into()),
        all => Ok(all),
    }
}

/// The addresses that a certificate is made for.
pub(crate) fn addresses(listens: IpAddr) -> Vec<IpAddr> {
    let mut addresses = vec![
        IpAddr::from([127, 0, 0, 1]),
        IpAddr::from([0, 0, 0, 0, 0, 0, 0, 1]),
        // The service's own address, the first of its range.
        IpAddr::from([10, 0, 0, 1]),
    ];
    if !addresses.contains(&listens) && !listens.is_unspecified() {
        addresses.push(listens);
    }
    addresses
}

#[cfg(test)]
mod tests {
    use super::*;

    fn identity() -> (String, String) {
        let pki = Pki::generate().unwrap();
        pki.client("scheduler", &[]).unwrap()
    }

    #[test]
    fn a_certificate_goes_with_its_key_only() {
        let (chain, key) = identity();
        assert!(Certificates::given(chain.clone(), key.clone()).is_ok());
        let (_, other) = identity();
        for (chain, key) in [
            (chain.clone(), other),
            (chain.clone(), chain.clone()),
            (key.clone(), key.clone()),
            (String::new(), key),
        ] {
            let refused = Certificates::given(chain, key).err().unwrap().to_string();
            assert!(
                refused.starts_with("the certificate and its key: "),
                "{refused}"
            );
        }
    }

    #[test]
    fn a_ca_of_clients_is_a_certificate() {
        let pki = Pki::generate().unwrap();
        let (chain, key) = identity();
        let own = Certificates::given(chain, key).unwrap();
        assert!(own.clone().with_client_ca(pki.ca_pem).is_ok());
        let refused = own.with_client_ca("none".to_owned()).err().unwrap();
        assert_eq!(
            refused.to_string(),
            "the CA of clients: there is no certificate in it"
        );
    }
}
