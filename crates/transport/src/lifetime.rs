//! How long certificates are good.

use rcgen::CertificateParams;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use time::{Duration, OffsetDateTime};
use x509_parser::prelude::{FromDer, X509Certificate};

/// Of a CA. Upstream's `MaxCertificateLifetime` and kubeadm have ten years, too.
pub(crate) const CA: Duration = Duration::days(3_650);
/// Of what it signs. As with kubeadm.
pub(crate) const SIGNED: Duration = Duration::days(365);
/// How far back they are good: clocks differ.
const SKEW: Duration = Duration::hours(1);

/// Makes a certificate good from now on for so long, but not longer than the one that signs it.
pub(crate) fn limit(params: &mut CertificateParams, lifetime: Duration, signer_pem: Option<&str>) {
    let now = OffsetDateTime::now_utc();
    params.not_before = now - SKEW;
    params.not_after = now + lifetime;
    if let Some((_, end)) = signer_pem.and_then(validity) {
        params.not_after = params.not_after.min(end);
    }
}

/// Whether a certificate has to be made anew: less than a third of its time is left, or it is good for
/// longer than those that are made now.
pub(crate) fn is_due(pem: &str, lifetime: Duration) -> bool {
    is_due_at(pem, lifetime, OffsetDateTime::now_utc())
}

fn is_due_at(pem: &str, lifetime: Duration, now: OffsetDateTime) -> bool {
    validity(pem).is_some_and(|(start, end)| {
        let whole = end - start;
        end - now < whole / 3 || whole > lifetime + SKEW * 2
    })
}

fn validity(pem: &str) -> Option<(OffsetDateTime, OffsetDateTime)> {
    let der = CertificateDer::from_pem_slice(pem.as_bytes()).ok()?;
    let (_, certificate) = X509Certificate::from_der(&der).ok()?;
    let validity = certificate.validity();
    let (start, end) = (&validity.not_before, &validity.not_after);
    Some((start.to_datetime(), end.to_datetime()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Pki;

    /// Days from now until a certificate ends.
    fn days(pem: &str) -> i64 {
        let (start, end) = validity(pem).unwrap();
        let now = OffsetDateTime::now_utc();
        assert!(start < now);
        (end - now + SKEW).whole_days()
    }

    #[test]
    fn certificates_end_and_are_due_before_that() {
        let pki = Pki::generate().unwrap();
        assert_eq!(days(&pki.ca_pem), 3_650);
        let (client, _) = pki.client("jane", &[]).unwrap();
        let (server, _) = pki.server_pem([127, 0, 0, 1].into(), &[]).unwrap();
        assert_eq!((days(&client), days(&server)), (365, 365));
        let now = OffsetDateTime::now_utc();
        for (after, due) in [(0, false), (240, false), (250, true), (400, true)] {
            let then = now + Duration::days(after);
            assert_eq!(is_due_at(&server, SIGNED, then), due, "{after}");
        }
    }

    #[test]
    fn nothing_outlives_the_one_that_signed_it() {
        let mut pki = Pki::generate().unwrap();
        let mut params = CertificateParams::default();
        limit(&mut params, Duration::days(30), None);
        pki.ca_pem = pki.certificate(params).unwrap();
        assert_eq!(days(&pki.client("jane", &[]).unwrap().0), 30);
    }

    #[test]
    fn a_ca_is_renewed_with_its_key() {
        let pki = Pki::generate().unwrap();
        assert!(pki.renewed().unwrap().is_none());
        // One as they were made before: good until 4096.
        let mut old = pki.clone();
        old.ca_pem = pki.certificate(CertificateParams::default()).unwrap();
        let new = old.renewed().unwrap().expect("it is due");
        assert_eq!(days(&new.ca_pem), 3_650);
        assert!(new.ca_key_pem == old.ca_key_pem && new.check().is_ok());
    }
}
