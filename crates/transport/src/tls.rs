//! What of TLS is spoken, in the words of kube-scheduler's flags.

use rustls::crypto::CryptoProvider;
use rustls::{SupportedProtocolVersion, version};

/// Suites that Go knows and nobody should speak; rustls does not.
const UNSPOKEN: [&str; 16] = [
    "TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA",
    "TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA256",
    "TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA",
    "TLS_ECDHE_ECDSA_WITH_RC4_128_SHA",
    "TLS_ECDHE_RSA_WITH_3DES_EDE_CBC_SHA",
    "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA",
    "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA256",
    "TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA",
    "TLS_ECDHE_RSA_WITH_RC4_128_SHA",
    "TLS_RSA_WITH_3DES_EDE_CBC_SHA",
    "TLS_RSA_WITH_AES_128_CBC_SHA",
    "TLS_RSA_WITH_AES_128_CBC_SHA256",
    "TLS_RSA_WITH_AES_128_GCM_SHA256",
    "TLS_RSA_WITH_AES_256_CBC_SHA",
    "TLS_RSA_WITH_AES_256_GCM_SHA384",
    "TLS_RSA_WITH_RC4_128_SHA",
];

/// Versions and cipher suites of a listener.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct TlsSettings {
    /// Nothing below TLS 1.3; else TLS 1.2 as well, which is the oldest that is spoken.
    only_1_3: bool,
    /// The suites of TLS 1.2 that are spoken; all if there are none. Those of 1.3 always are, as with
    /// Go.
    suites: Vec<String>,
}

/// A setting that cannot be followed.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum TlsSettingsError {
    /// No such version.
    #[error(
        "unknown tls version {0:?}, expected VersionTLS10, VersionTLS11, VersionTLS12 or VersionTLS13"
    )]
    Version(String),
    /// No such suite.
    #[error("Cipher suite {0} not supported or doesn't exist")]
    Suite(String),
    /// All of them are too old.
    #[error("none of these suites is spoken here; of TLS 1.2 there are {}", spoken().join(", "))]
    NoneSpoken,
}

impl TlsSettings {
    /// The values of `--tls-min-version` and `--tls-cipher-suites`.
    pub fn new(min_version: Option<&str>, suites: &[String]) -> Result<Self, TlsSettingsError> {
        let only_1_3 = match min_version.unwrap_or_default() {
            "" | "VersionTLS10" | "VersionTLS11" | "VersionTLS12" => false,
            "VersionTLS13" => true,
            other => return Err(TlsSettingsError::Version(other.to_owned())),
        };
        let mut chosen = Vec::new();
        let known_1_3 = rustls::crypto::ring::ALL_CIPHER_SUITES.iter();
        let known_1_3: Vec<_> = known_1_3.map(go_name).collect();
        for suite in suites {
            let whole = match suite.ends_with("_POLY1305") {
                true => format!("{suite}_SHA256"),
                false => suite.clone(),
            };
            if spoken().contains(&whole) {
                chosen.push(whole);
            } else if !known_1_3.contains(&whole) && !UNSPOKEN.contains(&&*whole) {
                return Err(TlsSettingsError::Suite(suite.clone()));
            }
        }
        if chosen.is_empty() && !suites.is_empty() && !only_1_3 {
            return Err(TlsSettingsError::NoneSpoken);
        }
        Ok(Self {
            only_1_3,
            suites: chosen,
        })
    }

    pub(crate) fn versions(&self) -> &'static [&'static SupportedProtocolVersion] {
        static ALL: [&SupportedProtocolVersion; 2] = [&version::TLS13, &version::TLS12];
        match self.only_1_3 {
            true => &ALL[..1],
            false => &ALL,
        }
    }

    pub(crate) fn provider(&self) -> CryptoProvider {
        let mut provider = rustls::crypto::ring::default_provider();
        if !self.suites.is_empty() {
            provider
                .cipher_suites
                .retain(|suite| suite.tls13().is_some() || self.suites.contains(&go_name(suite)));
        }
        provider
    }
}

fn go_name(suite: &rustls::SupportedCipherSuite) -> String {
    let name = format!("{:?}", suite.suite());
    name.replace("TLS13_", "TLS_")
}

/// The suites of TLS 1.2.
fn spoken() -> Vec<String> {
    let all = rustls::crypto::ring::ALL_CIPHER_SUITES.iter();
    all.filter(|suite| suite.tls13().is_none())
        .map(go_name)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(version: &str, suites: &[&str]) -> Result<TlsSettings, TlsSettingsError> {
        let suites: Vec<_> = suites.iter().map(|suite| (*suite).to_owned()).collect();
        TlsSettings::new(Some(version), &suites)
    }

    #[test]
    fn suites_are_named_as_go_names_them() {
        let suite = "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256";
        // As hardening guides list them: some that nobody speaks, and one by its older name.
        let listed = [
            suite,
            "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305",
            "TLS_RSA_WITH_AES_128_GCM_SHA256",
            "TLS_AES_128_GCM_SHA256",
        ];
        let provider = settings("", &listed).unwrap().provider();
        let of_1_2 = provider.cipher_suites.iter();
        let of_1_2 = of_1_2.filter(|suite| suite.tls13().is_none()).map(go_name);
        let mut of_1_2: Vec<_> = of_1_2.collect();
        of_1_2.sort();
        assert_eq!(
            of_1_2,
            [suite, "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256"]
        );
        assert!(provider.cipher_suites.len() > 2, "those of 1.3 stay");
    }

    #[test]
    fn what_cannot_be_followed_is_refused() {
        assert_eq!(settings("VersionTLS13", &[]).unwrap().versions().len(), 1);
        assert_eq!(settings("VersionTLS12", &[]).unwrap().versions().len(), 2);
        let version = settings("1.3", &[]).unwrap_err().to_string();
        assert!(version.starts_with("unknown tls version \"1.3\""));
        let suite = settings("", &["TLS_NONE"]).unwrap_err().to_string();
        assert_eq!(
            suite,
            "Cipher suite TLS_NONE not supported or doesn't exist"
        );
        let none = settings("", &["TLS_RSA_WITH_RC4_128_SHA"]).unwrap_err();
        assert_eq!(none, TlsSettingsError::NoneSpoken);
        assert!(settings("VersionTLS13", &["TLS_RSA_WITH_RC4_128_SHA"]).is_ok());
    }
}
