//! The secure port.

use crate::server::port::Headers;
use bytes::Bytes;
use http::request::Parts;
use http::{Request, Response};
use http_body_util::Full;
use hyper::body::Incoming;
use std::convert::Infallible;
use std::future::Future;
use std::sync::{Arc, PoisonError};
use stowplan_auth::User;
use stowplan_telemetry::{Identity, Ports};
use stowplan_transport::{FrontProxy, Listener};

/// Serves until `stop` ends.
pub(crate) async fn serve(
    listener: Listener,
    ports: Arc<Ports>,
    headers: Headers,
    stop: impl Future<Output = ()>,
) {
    let service = tower::service_fn(move |request: Request<Incoming>| {
        let (ports, headers) = (Arc::clone(&ports), Arc::clone(&headers));
        async move {
            let (parts, _) = request.into_parts();
            let caller = known(&parts, &headers);
            let answer: Response<Bytes> = ports.answer(&parts, caller).await;
            Ok::<_, Infallible>(answer.map(Full::new))
        }
    });
    listener.serve(service, stop).await;
}

/// Who asks, by the certificate that was shown: whom a proxy names, else the certificate's own user.
fn known(request: &Parts, headers: &Headers) -> Option<Identity> {
    let proxied = request.extensions.get::<FrontProxy>().and_then(|_| {
        let headers = headers.read().unwrap_or_else(PoisonError::into_inner);
        headers.as_ref()?.identity(&request.headers)
    });
    proxied.or_else(|| {
        let user = request.extensions.get::<User>()?;
        Some(Identity {
            name: user.name.clone(),
            groups: user.groups.clone(),
            ..Identity::default()
        })
    })
}
