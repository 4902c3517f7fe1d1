//! A client for what runs in the same process as the API server.

use bytes::Bytes;
use http::{Request, Response};
use kube::client::Body;
use tower::{BoxError, Service};

/// A client that asks a server directly: no socket, no TLS, the same requests and answers. The service is
/// the server as one user sees it (`stowplan_server::Api::service`).
pub fn in_process<S, B>(service: S) -> kube::Client
where
    S: Service<Request<Body>, Response = Response<B>> + Send + 'static,
    S::Future: Send + 'static,
    S::Error: Into<BoxError>,
    B: http_body::Body<Data = Bytes> + Send + 'static,
    B::Error: Into<BoxError>,
{
    kube::Client::new(service, "default")
}
