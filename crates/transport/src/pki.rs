//! The cluster's certificates: a CA made on first start, and a server certificate signed by it.

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
        let key = KeyPair::generate()?;
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![
            KeyUsagePurpose::KeyCertSign,
            KeyUsagePurpose::CrlSign,
            KeyUsagePurpose::DigitalSignature,
        ];
        params.distinguished_name = named("stowplan-ca", &[]);
        Ok(Self {
            ca_pem: params.self_signed(&key)?.pem(),
            ca_key_pem: key.serialize_pem(),
        })
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

    fn sign(&self, params: CertificateParams) -> Result<Identity, PkiError> {
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

fn named(name: &str, organisations: &[&str]) -> DistinguishedName {
    let mut out = DistinguishedName::new();
    out.push(DnType::CommonName, name);
    for organisation in organisations {
        out.push(DnType::OrganizationName, *organisation);
    }
    out
}
