//! The port that the kubelets of all simulated nodes share: `kubectl logs` on any cluster.
//!
//! Upstream: `pkg/kubelet/server/server.go`. One port does for all nodes, because requests name the pod and
//! not the node. It is for the API server of the same machine only: callers are not asked who they are.

use super::args::Nodes as NodesArgs;
use super::provider::NodesOfThisProcess;
use crate::output;
use anyhow::{Context, Result};
use axum::body::Body;
use http::{Method, Request, Response, StatusCode};
use std::convert::Infallible;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use stowplan_api::k8s::api::core::v1::Pod;
use stowplan_base::Env;
use stowplan_server::{LogOptions, Provider, Status};
use stowplan_transport::{Certificates, Limits, Listener, Pki, open_files};

/// A port that is bound.
pub(crate) struct Port {
    pub(crate) address: SocketAddr,
    listener: Listener,
}

/// An address that only this machine reaches.
pub(crate) fn loopback(text: &str) -> Result<IpAddr, String> {
    let address: IpAddr = text
        .parse()
        .map_err(|_| format!("{text:?} is not an address, expected for example 127.0.0.1"))?;
    match address.is_loopback() {
        true => Ok(address),
        false => Err(format!(
            "{address} can be reached by others, expected a loopback address such as 127.0.0.1"
        )),
    }
}

/// Binds the port, if it is wanted.
pub(crate) async fn bind(args: &NodesArgs) -> Result<Option<Port>> {
    let Some(port) = args.kubelet_port else {
        return Ok(None);
    };
    let address = SocketAddr::new(args.kubelet_address, port);
    let port = Port::bind(address).await;
    let port = port.with_context(|| format!("cannot serve kubelets on {address}"))?;
    output::print(&format!("kubelets: https://{}\n", port.address))?;
    Ok(Some(port))
}

/// Serves it until this is dropped; without one, nothing happens.
pub(crate) async fn serve(port: Option<Port>, nodes: NodesOfThisProcess, env: Arc<dyn Env>) {
    match port {
        Some(port) => port.serve(Kubelet { nodes, env }).await,
        None => std::future::pending().await,
    }
}

impl Port {
    async fn bind(address: SocketAddr) -> Result<Self> {
        // Clients are not asked for certificates, which others may have signed.
        let (chain, key) = Pki::generate()?.server_pem(address.ip(), &[])?;
        let certificates = Certificates::given(chain, key)?;
        let limits = Limits::of_port(open_files());
        let listener = Listener::bind(address, &certificates, limits).await?;
        Ok(Self {
            address: listener.address()?,
            listener,
        })
    }

    async fn serve(self, kubelet: Kubelet) {
        let kubelet = Arc::new(kubelet);
        let service = tower::service_fn(move |request: Request<hyper::body::Incoming>| {
            let kubelet = Arc::clone(&kubelet);
            async move {
                let (parts, _) = request.into_parts();
                let answer = kubelet.answer(&parts.method, &parts.uri).await;
                Ok::<_, Infallible>(answer)
            }
        });
        self.listener.serve(service, std::future::pending()).await;
    }
}

/// Whether a pod has a container, of whichever kind.
fn has_container(pod: &Pod, name: &str) -> bool {
    let spec = serde_json::to_value(&pod.spec).unwrap_or_default();
    ["containers", "initContainers", "ephemeralContainers"]
        .iter()
        .filter_map(|list| spec[*list].as_array())
        .flatten()
        .any(|one| one["name"] == name)
}

/// The kubelets of all simulated nodes.
struct Kubelet {
    nodes: NodesOfThisProcess,
    env: Arc<dyn Env>,
}

impl Kubelet {
    async fn answer(&self, method: &Method, uri: &http::Uri) -> Response<Body> {
        let path: Vec<&str> = uri.path().trim_matches('/').split('/').collect();
        let answer = match (method, path.as_slice()) {
            (&Method::GET, ["healthz"]) => Ok(Body::from("ok")),
            (&Method::GET, ["containerLogs", namespace, pod, container]) => {
                let query = uri.query().unwrap_or_default();
                self.logs([namespace, pod, container], query).await
            }
            (
                &Method::GET | &Method::POST,
                ["exec" | "attach", namespace, pod, container]
                | ["exec" | "attach", namespace, pod, _, container],
            ) => Err(self.nothing_runs(namespace, pod, container)),
            (&Method::GET | &Method::POST, ["portForward", _, pod, ..]) => Err((
                500,
                format!("pod {pod} is simulated: nobody listens on its ports"),
            )),
            _ => Err((404, "404 page not found\n".to_owned())),
        };
        let (code, body) = match answer {
            Ok(body) => (200, body),
            Err((code, text)) => (code, Body::from(text)),
        };
        let mut answer = Response::new(body);
        *answer.status_mut() =
            StatusCode::from_u16(code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let plain = http::HeaderValue::from_static("text/plain; charset=utf-8");
        answer
            .headers_mut()
            .insert(http::header::CONTENT_TYPE, plain);
        answer
    }

    /// Upstream: `getContainerLogs`.
    async fn logs(&self, whose: [&str; 3], query: &str) -> Result<Body, (u16, String)> {
        let [namespace, name, container] = whose;
        let mut options = LogOptions::parse(query).map_err(|status| match status.code {
            422 => (422, "{\"message\": \"Invalid request.\"}".to_owned()),
            _ => (400, "{\"message\": \"Unable to decode query.\"}".to_owned()),
        })?;
        let pod = self.pod(namespace, name);
        let pod = pod.ok_or_else(|| (404, format!("pod {name:?} does not exist")))?;
        if !has_container(&pod, container) {
            return Err((
                404,
                format!("container {container:?} not found in pod {name:?}"),
            ));
        }
        options.container = container.to_owned();
        let told = |status: Status| (status.code, status.message);
        let pod = serde_json::to_value(&*pod).unwrap_or_default();
        let now = self.env.now();
        self.nodes.log(&pod, &options, now).await.map_err(told)
    }

    /// Who wants to talk to a process is told that there is none.
    fn nothing_runs(&self, namespace: &str, pod: &str, container: &str) -> (u16, String) {
        if self.pod(namespace, pod).is_none() {
            return (404, "pod does not exist".to_owned());
        }
        match self.nodes.nodes.runs(namespace, pod, container) {
            true => (
                500,
                format!("container {container} of pod {pod} is simulated: no process runs in it"),
            ),
            false => (500, format!("container not found ({container:?})")),
        }
    }

    /// A pod of one of the nodes.
    fn pod(&self, namespace: &str, name: &str) -> Option<Arc<Pod>> {
        let pod = self.nodes.cluster.get::<Pod>(namespace, name)?;
        let node = pod.spec.as_ref()?.node_name.as_deref()?;
        self.nodes.has_node(node).then_some(pod)
    }
}

#[cfg(test)]
mod tests;
