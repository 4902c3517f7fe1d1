//! The scheduler that leads, found by its Lease.

use crate::address;
use kube::{Api, Client, Config};
use std::time::Duration;
use stowplan_api::k8s::api::coordination::v1::Lease;
use stowplan_client::election::LeaderAddress;
use stowplan_transport::certificates_der;

/// The Lease of the cluster's scheduler unless it is told otherwise. No other name is guessed: who may make
/// a Lease under a name that is not in use would be sent the credentials of those who ask.
pub(crate) const LEASE: &str = "kube-system/kube-scheduler";

/// How long an address may take to be connected to that may not be reachable from here at all, and how
/// long an answer may take.
const PATIENCE: (Duration, Duration) = (Duration::from_secs(5), Duration::from_secs(60));

/// A leader that can be asked.
pub(crate) struct Leader {
    /// Who it is and how that is known, for those who want to know what was tried.
    pub(super) title: String,
    /// How to reach it, as the same user.
    pub(crate) config: Config,
}

/// Finds the leader by the Lease that is named, or by the usual one. An error says what was tried.
pub(super) async fn find(
    lease: Option<&str>,
    config: &Config,
    client: &Client,
) -> Result<Leader, String> {
    at(lease.unwrap_or(LEASE), config, client, true).await
}

/// As [`find`], by the Lease of this name. Only one that is trusted may name the CA of the leader's
/// certificate: whoever may write it could have the credentials sent to a server of their own.
pub(crate) async fn at(
    lease: &str,
    config: &Config,
    client: &Client,
    trusts_lease: bool,
) -> Result<Leader, String> {
    let (namespace, name) = lease.split_once('/').unwrap_or(("kube-system", lease));
    let leases: Api<Lease> = Api::namespaced(client.clone(), namespace);
    let found = match leases.get_opt(name).await {
        Ok(Some(found)) => found,
        Ok(None) => return Err(format!("there is no Lease {namespace}/{name}")),
        Err(kube::Error::Api(status)) => {
            let why = status.message;
            return Err(format!(
                "the Lease {namespace}/{name} cannot be read: {why}"
            ));
        }
        Err(error) => {
            return Err(format!(
                "the Lease {namespace}/{name} cannot be read: {error}"
            ));
        }
    };
    let holder = found
        .spec
        .as_ref()
        .and_then(|spec| spec.holder_identity.clone());
    let holder = holder.filter(|holder| !holder.is_empty());
    let Some(holder) = holder else {
        return Err(format!("nobody holds the Lease {namespace}/{name}"));
    };
    let Some(leader) = LeaderAddress::of(&found) else {
        return Err(format!(
            "{holder}, which holds the Lease {namespace}/{name}, does not say there where it listens"
        ));
    };
    let address = leader.address.clone();
    let title = format!("{holder} at {address}, which holds the Lease {namespace}/{name}");
    match reach(config, leader, trusts_lease) {
        Ok(config) => Ok(Leader { title, config }),
        Err(why) => Err(format!("{title}, cannot be asked: {why}")),
    }
}

/// As the same user, but at the leader's address, whose certificate must be the one that the Lease
/// names or come from the cluster's CA.
fn reach(config: &Config, leader: LeaderAddress, trusts_lease: bool) -> Result<Config, String> {
    let url = address::secure_url(&format!("https://{}", leader.address))?;
    let mut config = super::live::at_scheduler(config.clone(), &url, false);
    config.tls_server_name = None;
    config.connect_timeout = Some(PATIENCE.0);
    config.read_timeout = Some(PATIENCE.1);
    if let Some(pem) = leader.ca_pem {
        let roots = certificates_der(&pem).map_err(|error| error.to_string())?;
        let own = config.root_cert.as_deref().unwrap_or_default();
        if !trusts_lease && !roots.iter().all(|root| own.contains(root)) {
            return Err(
                "its certificate is from a CA that only the Lease names; name it with --scheduler"
                    .to_owned(),
            );
        }
        config.root_cert = Some(roots);
    }
    Ok(config)
}

#[cfg(test)]
mod tests {
    use super::*;
    use stowplan_transport::Pki;

    fn config() -> Config {
        let mut config = Config::new(http::Uri::from_static("https://cluster:6443"));
        config.accept_invalid_certs = true;
        config.tls_server_name = Some("cluster".to_owned());
        config.auth_info.token = Some("secret".to_owned().into());
        config
    }

    fn at(address: &str, ca_pem: Option<&str>) -> Result<Config, String> {
        let leader = LeaderAddress {
            address: address.to_owned(),
            ca_pem: ca_pem.map(str::to_owned),
        };
        reach(&config(), leader, true)
    }

    #[test]
    fn a_leader_is_always_verified() {
        let pki = Pki::generate().unwrap();
        let made = at("10.0.0.7:10259", Some(&pki.ca_pem)).unwrap();
        assert_eq!(made.cluster_url, "https://10.0.0.7:10259/");
        assert_eq!(made.root_cert.map(|roots| roots.len()), Some(1));
        assert!(!made.accept_invalid_certs);
        assert_eq!(made.tls_server_name, None);
        let given = at("[::1]:10259", None).unwrap();
        assert!(!given.accept_invalid_certs);
        assert_eq!(given.root_cert, config().root_cert);
    }

    #[test]
    fn the_page_trusts_no_ca_that_only_a_lease_names() {
        let pki = Pki::generate().unwrap();
        let leader = || LeaderAddress {
            address: "10.0.0.7:10259".to_owned(),
            ca_pem: Some(pki.ca_pem.clone()),
        };
        let why = reach(&config(), leader(), false).unwrap_err();
        assert!(why.contains("name it with --scheduler"), "{why}");
        // That of the cluster is known besides.
        let mut known = config();
        known.root_cert = Some(certificates_der(&pki.ca_pem).unwrap());
        assert!(reach(&known, leader(), false).is_ok());
        let mut unnamed = leader();
        unnamed.ca_pem = None;
        assert!(reach(&config(), unnamed, false).is_ok());
    }

    #[test]
    fn what_is_no_address_or_certificate_is_not_asked() {
        assert!(at("", None).is_err());
        assert!(at("10.0.0.7:10259", Some("none")).is_err());
    }
}
