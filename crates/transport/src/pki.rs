//! The cluster's certificates: a CA made on first start, and a server certificate signed by it.

use crate::lifetime;
use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa,
    Issuer, KeyPair, KeyUsagePurpose, SanType,
};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use std::net::IpAddr;
use x509_parser::prelude::{FromDer, X509Certificate};

/// Everything that has to be kept to be the same server after a restart.
#[derive(Clone, PartialEq, Eq)]
pub struct Pki {
    /// The CA's certificate.
    pub ca_pem: String,
    /// The CA's key: whoever has it is the cluster.
    pub ca_key_pem: String,
}

/// A certificate or key could not be made or read.
#[derive(Debug, thiserror::Error)]
pub enum PkiError {
    /// One of them is broken.
    #[error("cannot make or read the certificates: {0}")]
    Broken(#[from] rcgen::Error),
    /// The key is another certificate's.
    #[error("the key does not belong to the certificate")]
    NotItsKey,
}

/// A certificate and its key.
pub(crate) struct Identity {
    pub(crate) certificate_pem: String,
    pub(crate) key_pem: String,
}

const CA_NAME: &str = "stowplan-ca";

const NAMES: &[&str] = &[
    "localhost",
    "kubernetes",
    "kubernetes.default",
    "kubernetes.default.svc",
    "kubernetes.default.svc.cluster.local",
];

impl Pki {
    /// A new CA.
    pub fn generate() -> Result<Self, PkiError> {
        let mut new = Self {
            ca_pem: String::new(),
            ca_key_pem: KeyPair::generate()?.serialize_pem(),
        };
        new.ca_pem = new.ten_years()?;
        Ok(new)
    }

    /// The same CA with a new certificate, if that is due: less than a third of its time is left, or
    /// it is good for longer than ten years. Whoever trusts the old one trusts what the new one
    /// signs, for the key is the same.
    pub fn renewed(&self) -> Result<Option<Self>, PkiError> {
        if !lifetime::is_due(&self.ca_pem, lifetime::CA) {
            return Ok(None);
        }
        Ok(Some(Self {
            ca_pem: self.ten_years()?,
            ca_key_pem: self.ca_key_pem.clone(),
        }))
    }

    fn ten_years(&self) -> Result<String, PkiError> {
        let mut params = CertificateParams::default();
        lifetime::limit(&mut params, lifetime::CA, None);
        self.certificate(params)
    }

    /// A certificate of the CA itself.
    pub(crate) fn certificate(&self, mut params: CertificateParams) -> Result<String, PkiError> {
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![
            KeyUsagePurpose::KeyCertSign,
            KeyUsagePurpose::CrlSign,
            KeyUsagePurpose::DigitalSignature,
        ];
        params.distinguished_name = named(CA_NAME, &[]);
        let key = KeyPair::from_pem(&self.ca_key_pem)?;
        Ok(params.self_signed(&key)?.pem())
    }

    /// Whether the key is the certificate's.
    pub fn check(&self) -> Result<(), PkiError> {
        let key = KeyPair::from_pem(&self.ca_key_pem)?;
        let no_certificate = || PkiError::Broken(rcgen::Error::CouldNotParseCertificate);
        let der = CertificateDer::from_pem_slice(self.ca_pem.as_bytes());
        let der = der.map_err(|_| no_certificate())?;
        let (_, certificate) = X509Certificate::from_der(&der).map_err(|_| no_certificate())?;
        match certificate.public_key().subject_public_key.data == key.public_key_raw() {
            true => Ok(()),
            false => Err(PkiError::NotItsKey),
        }
    }

    /// The server's certificate, made anew at each start for the addresses it listens on, and for
    /// other names and addresses.
    pub(crate) fn server(
        &self,
        addresses: &[IpAddr],
        hosts: &[String],
    ) -> Result<Identity, PkiError> {
        let names = NAMES.iter().map(|n| (*n).to_owned());
        // Those that are addresses become addresses there.
        let names: Vec<String> = names.chain(hosts.iter().cloned()).collect();
        let mut params = CertificateParams::new(names)?;
        let addresses = addresses.iter().copied();
        params
            .subject_alt_names
            .extend(addresses.map(SanType::IpAddress));
        params.distinguished_name = named("stowplan-apiserver", &[]);
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        self.sign(params)
    }

    /// A certificate for a server at this address and these names or addresses, as PEM: the
    /// certificate with this CA's, then its key.
    pub fn server_pem(
        &self,
        address: IpAddr,
        hosts: &[String],
    ) -> Result<(String, String), PkiError> {
        let addresses = crate::certificates::addresses(address);
        let made = self.server(&addresses, hosts)?;
        Ok((made.certificate_pem + &self.ca_pem, made.key_pem))
    }

    /// A client certificate for a user of these groups, as PEM: the certificate, then its key.
    pub fn client(&self, user: &str, groups: &[&str]) -> Result<(String, String), PkiError> {
        let mut params = CertificateParams::default();
        params.distinguished_name = named(user, groups);
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        let identity = self.sign(params)?;
        Ok((identity.certificate_pem, identity.key_pem))
    }

    fn sign(&self, mut params: CertificateParams) -> Result<Identity, PkiError> {
        lifetime::limit(&mut params, lifetime::SIGNED, Some(&self.ca_pem));
        let ca_key = KeyPair::from_pem(&self.ca_key_pem)?;
        let issuer = Issuer::from_ca_cert_pem(&self.ca_pem, ca_key)?;
        let key = KeyPair::generate()?;
        let certificate = params.signed_by(&key, &issuer)?;
        Ok(Identity {
            certificate_pem: certificate.pem(),
            key_pem: key.serialize_pem(),
        })
    }
}

/// Whether a certificate for a server was made here, by [`Pki::server_pem`], and has to be made anew.
/// Those of others are theirs to renew.
pub fn is_due(chain_pem: &str) -> bool {
    let der = CertificateDer::from_pem_slice(chain_pem.as_bytes());
    let is_own = der.is_ok_and(|der| {
        let parsed = X509Certificate::from_der(&der);
        parsed.is_ok_and(|(_, certificate)| {
            let mut names = certificate.issuer().iter_common_name();
            names.any(|name| name.as_str() == Ok(CA_NAME))
        })
    });
    is_own && lifetime::is_due(chain_pem, lifetime::SIGNED)
}

fn named(name: &str, organisations: &[&str]) -> DistinguishedName {
    let mut out = DistinguishedName::new();
    out.push(DnType::CommonName, name);
    for organisation in organisations {
        out.push(DnType::OrganizationName, *organisation);
    }
    out
}
