//! How requests reach the API server over the network: TLS, certificates, connection limits.
//!
//! It hands each request to a tower service and knows nothing of the API. A client that shows a
//! certificate signed by the cluster's CA arrives with a [`User`](stowplan_access::User) in the
//! request's extensions, and every client with its address, a [`SocketAddr`](std::net::SocketAddr).

mod certificates;
mod impatient;
mod kubeconfig;
mod listen;
mod pki;
mod recognition;
mod tls;

pub use certificates::{CertificateError, Certificates, certificates_der};
pub use kubeconfig::kubeconfig;
pub use listen::{Limits, Listener, Renewal};
pub use pki::{Pki, PkiError};
pub use recognition::{FrontProxies, FrontProxy};
pub use tls::{TlsSettings, TlsSettingsError};
