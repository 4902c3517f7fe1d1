//! A Kubernetes client for what runs in the same process as the API server: no socket, no TLS, the
//! same requests and answers.

use axum::body::Body;
use std::convert::Infallible;
use std::sync::Arc;
use stowplan_server::{Api, User};

/// A client that asks the server directly, as the given user.
pub fn client(api: Arc<Api>, user: User) -> kube::Client {
    let service = tower::service_fn(move |request: http::Request<kube::client::Body>| {
        let api = Arc::clone(&api);
        let mut request = request.map(Body::new);
        request.extensions_mut().insert(user.clone());
        async move { Ok::<_, Infallible>(api.call(request).await) }
    });
    kube::Client::new(service, "default")
}
