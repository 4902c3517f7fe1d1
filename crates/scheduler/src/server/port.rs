//! The secure port: its certificate, the certificates that it trusts, and how both are kept up to date.

use crate::server::callers::{AuthenticationLookup, Callers, LookupError, Trust};
use crate::server::proxy_headers::ProxyHeaders;
use crate::server::scheduler_server::ServerError;
use crate::server::serve::serve;
use kube::Client;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;
use stowplan_base::Env;
use stowplan_client::election::LeaderAddress;
use stowplan_telemetry::{OPEN_PATHS, Ports};
use stowplan_transport::{Certificates, Limits, Listener, Renewal, open_files};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

/// How often files and the cluster are looked at again. Upstream looks at files as often.
const AGAIN: Duration = Duration::from_secs(60);

/// Reads the certificates, which may lie in files; an error says what is wrong with them.
pub type ReadCertificates = Arc<dyn Fn() -> Result<Certificates, String> + Send + Sync>;

/// Where and how health and metrics are served.
pub struct SecurePort {
    /// The address to listen on.
    pub address: SocketAddr,
    /// The name or address by which others reach it, if it is not that one.
    pub advertised: Option<String>,
    /// What it shows.
    pub certificates: ReadCertificates,
    /// Which client certificates it trusts.
    pub callers: Callers,
    /// Paths that anybody may ask for; one that ends in `*` stands for all that begin so.
    pub open_paths: Vec<String>,
}

/// The headers in which proxies name users, as of now.
pub(crate) type Headers = Arc<RwLock<Option<ProxyHeaders>>>;

/// A port that is bound, with all that belongs to it.
pub(crate) struct Bound {
    listener: Listener,
    pub(crate) address: SocketAddr,
    pub(crate) leader_address: LeaderAddress,
    headers: Headers,
    keeper: CertificateReloader,
}

/// A port that is served.
pub(crate) struct Port {
    pub(crate) address: SocketAddr,
    stop: oneshot::Sender<()>,
    served: JoinHandle<()>,
    kept: JoinHandle<()>,
}

impl SecurePort {
    /// A port with these certificates for good, which asks the cluster about no others.
    pub fn new(address: SocketAddr, certificates: Certificates) -> Self {
        Self {
            address,
            advertised: None,
            certificates: Arc::new(move || Ok(certificates.clone())),
            callers: Callers::default(),
            open_paths: OPEN_PATHS.map(str::to_owned).to_vec(),
        }
    }

    /// Binds the port; `client` is asked which CAs to trust.
    pub(crate) async fn bind(
        self,
        client: Client,
        env: Arc<dyn Env>,
    ) -> Result<Bound, ServerError> {
        let address = self.address;
        let failed = |source| ServerError::Listen { address, source };
        let trust = match self.callers.look_up(&client, &*env).await {
            Ok(trust) => trust,
            Err(error) if self.callers.lookup == AuthenticationLookup::Strict => {
                return Err(error.into());
            }
            Err(error) => {
                let error = told(&error);
                tracing::warn!(error, "callers are not known by the cluster's certificates");
                Trust::default()
            }
        };
        let advertised = self.advertised.clone();
        let mut keeper = CertificateReloader {
            read: self.certificates,
            advertised: self.advertised,
            callers: self.callers,
            client,
            env,
            trust,
            present: None,
        };
        let complete = match keeper.complete() {
            // What the cluster says of itself cannot be read: nobody is known by it.
            Err(error) if keeper.callers.lookup == AuthenticationLookup::Tolerant => {
                tracing::warn!(%error, "callers are not known by the cluster's certificates");
                keeper.trust = Trust::default();
                keeper.complete()
            }
            complete => complete,
        };
        let (certificates, headers) = complete.map_err(ServerError::Certificates)?;
        let limits = Limits::of_port(open_files());
        let listener = Listener::bind(address, &certificates, limits).await;
        let listener = listener.map_err(failed)?;
        let address = listener.address().map_err(failed)?;
        let reached = match advertised.as_deref().map(str::parse::<IpAddr>) {
            None => address.to_string(),
            Some(Ok(ip)) => SocketAddr::new(ip, address.port()).to_string(),
            Some(Err(_)) => format!("{}:{}", advertised.unwrap_or_default(), address.port()),
        };
        let leader_address = LeaderAddress {
            address: reached,
            ca_pem: certificates.own_ca_pem().map(str::to_owned),
        };
        keeper.present = Some(certificates);
        Ok(Bound {
            listener,
            address,
            leader_address,
            headers: Arc::new(RwLock::new(headers)),
            keeper,
        })
    }
}

impl Bound {
    /// Serves until it is told to stop.
    pub(crate) fn open(self, ports: Ports) -> Port {
        let (stop, stopped) = oneshot::channel::<()>();
        let stopped = async move { drop(stopped.await) };
        let renewal = self.listener.renewal();
        let headers = self.headers.clone();
        Port {
            address: self.address,
            stop,
            served: tokio::spawn(serve(self.listener, Arc::new(ports), self.headers, stopped)),
            kept: tokio::spawn(self.keeper.keep(renewal, headers)),
        }
    }
}

impl Port {
    pub(crate) async fn close(self) {
        self.kept.abort();
        let _ = self.stop.send(());
        let _ = self.served.await;
    }
}

/// Keeps certificates up to date.
struct CertificateReloader {
    read: ReadCertificates,
    advertised: Option<String>,
    callers: Callers,
    client: Client,
    env: Arc<dyn Env>,
    trust: Trust,
    present: Option<Certificates>,
}

impl CertificateReloader {
    fn complete(&self) -> Result<(Certificates, Option<ProxyHeaders>), String> {
        let mut certificates = (self.read)()?;
        if let Some(host) = &self.advertised {
            certificates = certificates.reached_by(host);
        }
        let complete = self.callers.complete(certificates, &self.trust);
        complete.map_err(|error| error.to_string())
    }

    async fn keep(mut self, renewal: Renewal, headers: Headers) {
        loop {
            self.env.sleep(AGAIN).await;
            self.look_again(&renewal, &headers).await;
        }
    }

    /// Gives the port what is new. What cannot be read or used stays as it was.
    async fn look_again(&mut self, renewal: &Renewal, headers: &Headers) {
        match self.callers.look_up(&self.client, &*self.env).await {
            Ok(trust) => self.trust = trust,
            Err(error) => tracing::debug!(error = told(&error), "the cluster does not say"),
        }
        let (certificates, new_headers) = match self.complete() {
            Ok(complete) => complete,
            Err(error) => return tracing::warn!(error, "the port keeps its certificates"),
        };
        if self.present.as_ref() != Some(&certificates) {
            match renewal.renew(&certificates) {
                Ok(()) => tracing::info!("the port has new certificates"),
                Err(error) => return tracing::warn!(%error, "the port keeps its certificates"),
            }
            self.present = Some(certificates);
        }
        *headers.write().unwrap_or_else(PoisonError::into_inner) = new_headers;
    }
}

fn told(error: &LookupError) -> String {
    let source = std::error::Error::source(error);
    source.map_or(error.to_string(), |source| format!("{error}: {source}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Mutex;
    use stowplan_transport::Pki;

    fn env() -> Arc<dyn Env> {
        Arc::new(stowplan_env::System::new())
    }

    /// A cluster that does not answer.
    fn silent() -> Client {
        let silence = tower::service_fn(|_: http::Request<kube::client::Body>| {
            std::future::pending::<Result<http::Response<kube::client::Body>, tower::BoxError>>()
        });
        Client::new(silence, "default")
    }

    /// A cluster that cannot be asked.
    fn nobody() -> Client {
        let refused = tower::service_fn(|_: http::Request<kube::client::Body>| async {
            Err::<http::Response<kube::client::Body>, tower::BoxError>("nobody is there".into())
        });
        Client::new(refused, "default")
    }

    #[tokio::test]
    async fn files_that_change_are_read_again_unless_they_are_broken() {
        let pkis = [Pki::generate().unwrap(), Pki::generate().unwrap()];
        let now = Arc::new(Mutex::new(Ok(Certificates::from(pkis[0].clone()))));
        let file = now.clone();
        let port = SecurePort {
            address: SocketAddr::from(([127, 0, 0, 1], 0)),
            advertised: None,
            certificates: Arc::new(move || file.lock().unwrap().clone()),
            callers: Callers::default(),
            open_paths: Vec::new(),
        };
        let mut bound = port.bind(nobody(), env()).await.ok().unwrap();
        let renewal = bound.listener.renewal();
        let shown = |bound: &Bound| {
            let present = bound.keeper.present.as_ref().unwrap();
            present.own_ca_pem().unwrap().to_owned()
        };
        let headers = bound.headers.clone();
        *now.lock().unwrap() = Ok(pkis[1].clone().into());
        bound.keeper.look_again(&renewal, &headers).await;
        assert_eq!(shown(&bound), pkis[1].ca_pem);
        *now.lock().unwrap() = Err("cannot be read".to_owned());
        bound.keeper.look_again(&renewal, &headers).await;
        assert_eq!(shown(&bound), pkis[1].ca_pem);
    }

    #[tokio::test]
    async fn a_cluster_that_does_not_say_is_an_error_only_if_it_has_to() {
        let bind = |lookup, client| {
            let pki = Pki::generate().unwrap();
            let port = SecurePort {
                address: SocketAddr::from(([127, 0, 0, 1], 0)),
                advertised: None,
                certificates: Arc::new(move || Ok(pki.clone().into())),
                callers: Callers {
                    lookup,
                    ..Callers::default()
                },
                open_paths: Vec::new(),
            };
            port.bind(client, env())
        };
        assert!(bind(AuthenticationLookup::Tolerant, nobody()).await.is_ok());
        let refused = bind(AuthenticationLookup::Strict, nobody())
            .await
            .err()
            .unwrap();
        assert!(
            matches!(refused, ServerError::AuthenticationLookup(_)),
            "{refused}"
        );
    }

    /// Nobody waits for such a cluster for long.
    #[tokio::test(start_paused = true)]
    async fn a_cluster_that_does_not_answer_is_not_waited_for() {
        let callers = Callers {
            lookup: AuthenticationLookup::Strict,
            ..Callers::default()
        };
        let late = callers.look_up(&silent(), &*env()).await;
        assert!(matches!(late, Err(LookupError::Late)), "{late:?}");
    }
}
