//! The secure port, as kube-scheduler's flags say.

use anyhow::{Context, Result, bail};
use clap::{Args, ValueHint};
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use stowplan_scheduler::server::{AuthenticationLookup, Callers, ProxyHeaders, SecurePort};
use stowplan_transport::{Certificates, FrontProxies, Pki, TlsSettings};

/// What certificates in a folder are called.
const PAIR_NAME: &str = "kube-scheduler";

/// Where health and metrics are served, and to whom.
#[derive(Args, Clone, Debug)]
pub(crate) struct Secure {
    /// The address to serve health and metrics on.
    #[arg(long, default_value = "0.0.0.0", value_name = "ADDRESS")]
    pub(crate) bind_address: IpAddr,

    /// The port for health and metrics, over TLS; 0 for none.
    #[arg(long, default_value_t = 10259, value_name = "PORT")]
    pub(crate) secure_port: u16,

    /// The certificate for the secure port and its intermediates, in PEM. Without it, one is generated at
    /// each start. The file is reloaded when it changes.
    #[arg(
        long,
        value_name = "FILE",
        value_hint = ValueHint::FilePath,
        requires = "tls_private_key_file"
    )]
    tls_cert_file: Option<PathBuf>,

    /// The private key of --tls-cert-file, in PEM.
    #[arg(
        long,
        value_name = "FILE",
        value_hint = ValueHint::FilePath,
        requires = "tls_cert_file"
    )]
    tls_private_key_file: Option<PathBuf>,

    /// The folder of kube-scheduler.crt and kube-scheduler.key, which are generated if they are missing.
    /// Ignored with --tls-cert-file.
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    cert_dir: Option<PathBuf>,

    /// The minimum TLS version: VersionTLS12 or VersionTLS13. Older ones are not supported.
    #[arg(long, value_name = "VERSION")]
    tls_min_version: Option<String>,

    /// The cipher suites for TLS 1.2, by Go's names [default: all secure ones].
    #[arg(long, value_name = "SUITES", value_delimiter = ',')]
    tls_cipher_suites: Vec<String>,

    /// Authenticate callers of the secure port by client certificates of these CAs, in PEM [default: the
    /// cluster's, from kube-system/extension-apiserver-authentication].
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    client_ca_file: Option<PathBuf>,

    /// Trust request headers that name a user, from proxies with client certificates of these CAs, in PEM
    /// [default: the cluster's, from kube-system/extension-apiserver-authentication].
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    requestheader_client_ca_file: Option<PathBuf>,

    /// The common names of these proxies [default: any].
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    requestheader_allowed_names: Vec<String>,

    /// The headers with the user's name.
    #[arg(
        long,
        value_name = "NAMES",
        value_delimiter = ',',
        default_value = "x-remote-user"
    )]
    requestheader_username_headers: Vec<String>,

    /// The headers with the user's uid.
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    requestheader_uid_headers: Vec<String>,

    /// The headers with the user's groups.
    #[arg(
        long,
        value_name = "NAMES",
        value_delimiter = ',',
        default_value = "x-remote-group"
    )]
    requestheader_group_headers: Vec<String>,

    /// The prefixes of headers with more about the user.
    #[arg(
        long,
        value_name = "PREFIXES",
        value_delimiter = ',',
        default_value = "x-remote-extra-"
    )]
    requestheader_extra_headers_prefix: Vec<String>,

    /// Do not look up in the cluster (ConfigMap kube-system/extension-apiserver-authentication) which CAs to
    /// trust.
    #[arg(
        long,
        num_args = 0..=1,
        require_equals = true,
        default_value_t = false,
        default_missing_value = "true",
        value_name = "BOOL"
    )]
    authentication_skip_lookup: bool,

    /// Start even if this lookup fails.
    #[arg(
        long,
        num_args = 0..=1,
        require_equals = true,
        default_value_t = true,
        default_missing_value = "true",
        value_name = "BOOL"
    )]
    authentication_tolerate_lookup_failure: bool,

    /// Paths that need no authorization. A path that ends in `*` matches all paths with that prefix.
    #[arg(
        long,
        value_name = "PATHS",
        value_delimiter = ',',
        default_values = stowplan_telemetry::OPEN_PATHS
    )]
    authorization_always_allow_paths: Vec<String>,
}

impl Secure {
    /// The port; none if it is 0.
    pub(super) fn port(&self) -> Result<Option<SecurePort>> {
        if self.secure_port == 0 {
            return Ok(None);
        }
        // One that is made stays the same while the process runs.
        let made = match (&self.tls_cert_file, &self.cert_dir) {
            (None, None) => Some(Pki::generate()?),
            (None, Some(folder)) => {
                self.fill(folder)?;
                None
            }
            (Some(_), _) => None,
        };
        let own = self.clone();
        let read = move || own.certificates(made.as_ref());
        // What is wrong from the beginning is told as it is.
        read()?;
        Ok(Some(SecurePort {
            address: SocketAddr::new(self.bind_address, self.secure_port),
            advertised: self.advertised(),
            certificates: Arc::new(move || read().map_err(|error| format!("{error:#}"))),
            callers: self.callers()?,
            open_paths: self.authorization_always_allow_paths.clone(),
        }))
    }

    /// How others reach a port that is open on all addresses: the pod's own, or the name of this
    /// host.
    fn advertised(&self) -> Option<String> {
        let pod_ip = std::env::var("POD_IP").ok().filter(|ip| !ip.is_empty());
        self.bind_address
            .is_unspecified()
            .then(|| pod_ip.unwrap_or_else(super::host_name))
    }

    fn certificates(&self, made: Option<&Pki>) -> Result<Certificates> {
        let tls = TlsSettings::new(self.tls_min_version.as_deref(), &self.tls_cipher_suites)?;
        let certificates = match (made, self.pair()) {
            (Some(pki), _) => pki.clone().into(),
            (None, Some((chain, key))) => {
                let pems = (
                    read("tls-cert-file", &chain)?,
                    read("tls-private-key-file", &key)?,
                );
                Certificates::given(pems.0, pems.1).with_context(|| {
                    let (chain, key) = (chain.display(), key.display());
                    format!("--tls-cert-file {chain}, --tls-private-key-file {key}")
                })?
            }
            (None, None) => bail!("there is no certificate"),
        };
        let certificates = certificates.with_tls(tls);
        match &self.client_ca_file {
            Some(file) => certificates
                .with_client_ca(read("client-ca-file", file)?)
                .with_context(|| format!("--client-ca-file {}", file.display())),
            None => Ok(certificates),
        }
    }

    /// The files with the certificate and its key.
    fn pair(&self) -> Option<(PathBuf, PathBuf)> {
        match (&self.tls_cert_file, &self.tls_private_key_file) {
            (Some(chain), Some(key)) => Some((chain.clone(), key.clone())),
            _ => self.cert_dir.as_deref().map(in_folder),
        }
    }

    /// Makes a certificate for the folder that has none, or one that was made here and is about to
    /// end.
    fn fill(&self, folder: &Path) -> Result<()> {
        let (chain, key) = in_folder(folder);
        if chain.exists() && key.exists() {
            let made = std::fs::read_to_string(&chain).unwrap_or_default();
            if !stowplan_transport::is_due(&made) {
                return Ok(());
            }
            crate::output::warn(format!("--cert-dir: {} is renewed", chain.display()));
        }
        let hosts: Vec<_> = self.advertised().into_iter().collect();
        let (chain_pem, key_pem) = Pki::generate()?.server_pem(self.bind_address, &hosts)?;
        let told = || format!("--cert-dir: cannot write to {}", folder.display());
        std::fs::create_dir_all(folder).with_context(told)?;
        crate::up::write_private(&key, key_pem.as_bytes()).with_context(told)?;
        std::fs::write(&chain, chain_pem).with_context(told)
    }

    fn callers(&self) -> Result<Callers> {
        let lookup = match (
            self.authentication_skip_lookup,
            self.authentication_tolerate_lookup_failure,
        ) {
            (true, _) => AuthenticationLookup::Skip,
            (false, true) => AuthenticationLookup::Tolerant,
            (false, false) => AuthenticationLookup::Strict,
        };
        let proxies = match &self.requestheader_client_ca_file {
            None => None,
            Some(file) => {
                let proxies = FrontProxies {
                    ca_pem: read("requestheader-client-ca-file", file)?,
                    allowed_names: self.requestheader_allowed_names.clone(),
                };
                let headers = ProxyHeaders {
                    username: self.requestheader_username_headers.clone(),
                    uid: self.requestheader_uid_headers.clone(),
                    group: self.requestheader_group_headers.clone(),
                    extra_prefix: self.requestheader_extra_headers_prefix.clone(),
                };
                Some((proxies, headers))
            }
        };
        Ok(Callers {
            lookup,
            knows_users: self.client_ca_file.is_some(),
            proxies,
        })
    }
}

fn in_folder(folder: &Path) -> (PathBuf, PathBuf) {
    let file = |end: &str| folder.join(format!("{PAIR_NAME}.{end}"));
    (file("crt"), file("key"))
}

fn read(flag: &str, file: &Path) -> Result<String> {
    std::fs::read_to_string(file)
        .with_context(|| format!("--{flag}: cannot read {}", file.display()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        secure: Secure,
    }

    fn port(flags: &[&str]) -> Result<Option<SecurePort>> {
        let line = [&["stowplan"], flags].concat();
        Line::try_parse_from(line)?.secure.port()
    }

    fn refused(flags: &[&str]) -> String {
        let error = port(flags).err();
        format!("{:#}", error.expect("it is refused"))
    }

    #[test]
    fn the_flags_of_kube_scheduler_are_followed() {
        assert!(port(&["--secure-port=0"]).unwrap().is_none());
        let default = port(&[]).unwrap().unwrap();
        assert_eq!(default.open_paths, ["/healthz", "/livez", "/readyz"]);
        assert_eq!(default.callers.lookup, AuthenticationLookup::Tolerant);
        let strict = [
            "--bind-address=127.0.0.1",
            "--tls-min-version=VersionTLS13",
            "--authentication-tolerate-lookup-failure=false",
            "--authorization-always-allow-paths=/healthz,/metrics",
        ];
        let strict = port(&strict).unwrap().unwrap();
        assert_eq!(strict.open_paths, ["/healthz", "/metrics"]);
        assert_eq!(strict.callers.lookup, AuthenticationLookup::Strict);
        assert_eq!(strict.advertised, None);
        let skipped = port(&["--authentication-skip-lookup"]).unwrap().unwrap();
        assert_eq!(skipped.callers.lookup, AuthenticationLookup::Skip);
        let suite = refused(&["--tls-cipher-suites=TLS_NONE"]);
        assert_eq!(
            suite,
            "Cipher suite TLS_NONE not supported or doesn't exist"
        );
        let file = refused(&["--requestheader-client-ca-file=/none"]);
        assert!(file.starts_with("--requestheader-client-ca-file: cannot read /none"));
    }

    #[test]
    fn a_folder_without_certificates_gets_some_and_keeps_them() {
        let name = format!("stowplan-cert-dir-{}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        let flag = format!("--cert-dir={}", folder.display());
        let shown = || {
            let port = port(&[&flag]).unwrap().unwrap();
            assert!((port.certificates)().is_ok());
            std::fs::read_to_string(folder.join("kube-scheduler.crt")).unwrap()
        };
        assert_eq!(shown(), shown());
        std::fs::remove_dir_all(folder).unwrap();
    }
}
