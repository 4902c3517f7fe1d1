//! Who shows a certificate: a user, or a proxy that asks for others.

use rustls::RootCertStore;
use rustls::crypto::CryptoProvider;
use rustls::pki_types::{CertificateDer, UnixTime};
use rustls::server::WebPkiClientVerifier;
use rustls::server::danger::ClientCertVerifier;
use std::sync::Arc;
use stowplan_auth::User;
use x509_parser::prelude::{FromDer, X509Certificate};

type Error = Box<dyn std::error::Error + Send + Sync>;

/// Proxies that say in headers for whom they ask: upstream's request headers.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FrontProxies {
    /// Who signed their certificates, in PEM.
    pub ca_pem: String,
    /// The common names that may do so; any, if there are none.
    pub allowed_names: Vec<String>,
}

/// A proxy that may say for whom it asks; among the extensions of its requests.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FrontProxy(pub String);

/// Tells users and proxies apart, by who signed their certificates.
#[derive(Clone, Default)]
pub(crate) struct Recognition {
    users: Option<Arc<dyn ClientCertVerifier>>,
    proxies: Option<(Arc<dyn ClientCertVerifier>, Vec<String>)>,
}

/// Who a client is, by its certificate.
#[derive(Clone, Default)]
pub(crate) struct Recognized {
    pub(crate) user: Option<User>,
    pub(crate) proxy: Option<FrontProxy>,
}

impl Recognition {
    pub(crate) fn new(
        users_pem: Option<&str>,
        proxies: Option<&FrontProxies>,
        provider: &Arc<CryptoProvider>,
    ) -> Result<Self, Error> {
        let users = users_pem
            .map(|pem| verifier(&[pem], provider))
            .transpose()?;
        let proxies = match proxies {
            Some(proxies) => {
                let verifier = verifier(&[&proxies.ca_pem], provider)?;
                Some((verifier, proxies.allowed_names.clone()))
            }
            None => None,
        };
        Ok(Self { users, proxies })
    }

    /// Who shows these certificates, the verified one first.
    pub(crate) fn of(&self, shown: Option<&[CertificateDer<'_>]>) -> Recognized {
        let Some((own, others)) = shown.and_then(<[_]>::split_first) else {
            return Recognized::default();
        };
        let is_signed = |by: &Arc<dyn ClientCertVerifier>| {
            let verified = by.verify_client_cert(own, others, UnixTime::now());
            verified.is_ok()
        };
        let subject = subject(own);
        let user = self.users.as_ref().filter(|users| is_signed(users));
        let user = user.and(subject.as_ref());
        let proxy = self.proxies.as_ref().filter(|(by, _)| is_signed(by));
        let proxy = proxy.and_then(|(_, allowed)| {
            let (name, _) = subject.as_ref()?;
            let may = allowed.is_empty() || allowed.contains(name);
            may.then(|| FrontProxy(name.clone()))
        });
        Recognized {
            user: user.map(|(name, groups)| {
                User::new(name, &groups.iter().map(String::as_str).collect::<Vec<_>>())
            }),
            proxy,
        }
    }
}

/// Verifies certificates of clients that one of these CAs signed; clients may go without.
pub(crate) fn verifier(
    pems: &[&str],
    provider: &Arc<CryptoProvider>,
) -> Result<Arc<dyn ClientCertVerifier>, Error> {
    let mut roots = RootCertStore::empty();
    for pem in pems {
        for certificate in crate::certificates::certificates(pem)? {
            roots.add(certificate)?;
        }
    }
    let roots = Arc::new(roots);
    let builder = WebPkiClientVerifier::builder_with_provider(roots, provider.clone());
    Ok(builder.allow_unauthenticated().build()?)
}

/// The common name, and the organisations as groups.
fn subject(certificate: &CertificateDer<'_>) -> Option<(String, Vec<String>)> {
    let (_, certificate) = X509Certificate::from_der(certificate).ok()?;
    let subject = certificate.subject();
    let name = subject.iter_common_name().next()?.as_str().ok()?;
    let groups = subject.iter_organization().filter_map(|o| o.as_str().ok());
    let groups = groups.map(str::to_owned).collect();
    (!name.is_empty()).then(|| (name.to_owned(), groups))
}
