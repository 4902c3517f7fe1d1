//! How requests reach the API server over the network: TLS, certificates, connection limits.
//!
//! It hands each request to a tower service and knows nothing of the API. A client that shows a
//! certificate signed by the cluster's CA arrives with a [`User`](stowplan_auth::User) in the
//! request's extensions, and every client with its address, a [`SocketAddr`](std::net::SocketAddr).

mod certificates;
mod connection;
mod connections;
mod hosts;
mod kubeconfig;
mod lifetime;
mod limits;
mod listen;
mod open_files;
mod pki;
mod recognition;
mod tls;
mod write_timeout;

pub use certificates::{CertificateError, Certificates, certificates_der};
pub use kubeconfig::kubeconfig;
pub use limits::Limits;
pub use listen::{Listener, Renewal};
pub use open_files::{open_files, raise_open_files};
pub use pki::{Pki, PkiError, is_due};
pub use recognition::{FrontProxies, FrontProxy};
pub use tls::{TlsSettings, TlsSettingsError};
