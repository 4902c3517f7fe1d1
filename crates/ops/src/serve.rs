//! The secure port.

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::Full;
use hyper::body::Incoming;
use std::convert::Infallible;
use std::future::Future;
use std::sync::Arc;
use stowplan_access::User;
use stowplan_telemetry::Ports;
use stowplan_transport::Listener;

/// Serves until `stop` ends.
pub async fn serve(listener: Listener, ports: Arc<Ports>, stop: impl Future<Output = ()>) {
    let service = tower::service_fn(move |request: Request<Incoming>| {
        let ports = Arc::clone(&ports);
        async move {
            let (parts, _) = request.into_parts();
            let user = parts.extensions.get::<User>();
            let certificate = user.map(|user| (user.name.clone(), user.groups.clone()));
            let answer: Response<Bytes> = ports.answer(&parts, certificate).await;
            Ok::<_, Infallible>(answer.map(Full::new))
        }
    });
    listener.serve(service, stop).await;
}
