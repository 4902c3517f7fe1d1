//! What the real Kubernetes needs to be trusted by its clients.

use anyhow::Result;
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa,
    KeyPair, KeyUsagePurpose,
};
use std::fs;
use std::path::Path;

/// Writes `ca.crt`, `server.crt`, `server.key`, `admin.crt`, `admin.key`, `service-account.key` and
/// `.pub` into a folder.
pub(super) fn write(folder: &Path) -> Result<()> {
    let mut ca = CertificateParams::default();
    ca.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    ca.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    ca.distinguished_name.push(DnType::CommonName, "compare-ca");
    let ca = CertifiedIssuer::self_signed(ca, KeyPair::generate()?)?;
    let key = KeyPair::generate()?;
    let names = ["localhost", "127.0.0.1"].map(str::to_owned);
    let server = CertificateParams::new(names)?.signed_by(&key, &ca)?;
    fs::write(folder.join("ca.crt"), ca.pem())?;
    fs::write(folder.join("server.crt"), server.pem())?;
    fs::write(folder.join("server.key"), key.serialize_pem())?;
    let key = KeyPair::generate()?;
    let mut admin = CertificateParams::default();
    admin.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
    let name = &mut admin.distinguished_name;
    name.push(DnType::CommonName, "certified-admin");
    name.push(DnType::OrganizationName, "system:masters");
    let admin = admin.signed_by(&key, &ca)?;
    fs::write(folder.join("admin.crt"), admin.pem())?;
    fs::write(folder.join("admin.key"), key.serialize_pem())?;
    let account = KeyPair::generate()?;
    fs::write(folder.join("service-account.key"), account.serialize_pem())?;
    fs::write(folder.join("service-account.pub"), account.public_key_pem())?;
    Ok(())
}
