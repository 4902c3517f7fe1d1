//! Evictions: all at once, each tried again while a budget refuses it, until every pod is gone.

use super::args::Drain;
use super::cluster;
use crate::output;
use anyhow::{Result, anyhow, bail};
use http::Request;
use kube::Client;
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;
use stowplan_api::k8s::api::core::v1::Pod;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, sleep_until};

/// How long to wait before a refused eviction is tried again.
const RETRY: Duration = Duration::from_secs(5);

/// How often to look whether a pod is gone.
const LOOK: Duration = Duration::from_secs(1);

/// How one pod is made to leave.
struct Eviction {
    client: Client,
    uses_eviction: bool,
    grace_seconds: Option<i64>,
    deadline: Option<Instant>,
    timeout: stowplan_config::Duration,
    skip_after: u64,
}

/// Several things went wrong. Upstream's `Aggregate`.
#[derive(Debug)]
pub(super) struct Errors(pub(super) Vec<String>);

impl std::fmt::Display for Errors {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0.as_slice() {
            [one] => f.write_str(one),
            all => write!(f, "[{}]", all.join(", ")),
        }
    }
}

impl std::error::Error for Errors {}

/// Makes pods leave, and waits until they are gone.
pub(super) async fn all(client: &Client, args: &Drain, pods: Vec<Pod>) -> Result<()> {
    let timeout = u64::try_from(args.timeout.as_nanos()).unwrap_or(0);
    let deadline = Some(timeout).filter(|timeout| *timeout > 0);
    let eviction = Arc::new(Eviction {
        client: client.clone(),
        uses_eviction: !args.disable_eviction,
        grace_seconds: args.grace_seconds(),
        deadline: deadline.map(|nanos| Instant::now() + Duration::from_nanos(nanos)),
        timeout: args.timeout,
        skip_after: args.skip_wait_for_delete_timeout,
    });
    let mut tasks = JoinSet::new();
    for pod in pods {
        let eviction = eviction.clone();
        tasks.spawn(async move { eviction.remove(&pod).await });
    }
    let mut errors: Vec<String> = Vec::new();
    while let Some(ended) = tasks.join_next().await {
        if let Err(error) = ended.map_err(anyhow::Error::from).and_then(|ended| ended) {
            errors.push(crate::told(&error));
        }
    }
    errors.sort();
    match errors.is_empty() {
        true => Ok(()),
        false => Err(Errors(errors).into()),
    }
}

/// Whether a pod has been on its way out for longer than anybody wants to wait.
pub(super) fn is_given_up(pod: &Pod, skip_after: u64) -> bool {
    let Some(since) = pod.metadata.deletion_timestamp.as_ref() else {
        return false;
    };
    let age = jiff::Timestamp::now().as_second() - since.0.as_second();
    skip_after > 0 && u64::try_from(age).is_ok_and(|age| age > skip_after)
}

/// What the API said to an eviction.
enum Answer {
    /// The pod is on its way out.
    Accepted,
    /// There is no such pod.
    NotThere,
    /// Try again later.
    Refused(String),
    /// Its namespace is on its way out, and takes no evictions.
    NamespaceLeaves(String),
}

impl Eviction {
    async fn remove(&self, pod: &Pod) -> Result<()> {
        let namespace = pod.metadata.namespace.as_deref().unwrap_or_default();
        let name = pod.metadata.name.as_deref().unwrap_or_default();
        let path = format!("/api/v1/namespaces/{namespace}/pods/{name}");
        if !self.ask(pod, &path, namespace, name).await? {
            return Ok(());
        }
        let waited = self.wait(pod, &path).await;
        waited.map_err(|why| match self.uses_eviction {
            true => anyhow!(
                "error when waiting for pod {name:?} in namespace {namespace:?} to terminate: {why}"
            ),
            false => anyhow!("{why}"),
        })
    }

    fn is_late(&self) -> bool {
        self.deadline.is_some_and(|at| at <= Instant::now())
    }

    /// Tells that nothing more is done for a pod.
    fn tell(&self, name: &str, is_gone: bool) -> Result<()> {
        let done = match (self.uses_eviction, is_gone) {
            (true, true) => "evicted",
            (true, false) => "eviction failed",
            (false, true) => "deleted",
            (false, false) => "deletion failed",
        };
        output::print(&format!("pod/{name} {done}\n"))
    }

    /// Asks until the pod may go; `false` if it is not there any more.
    async fn ask(&self, pod: &Pod, path: &str, namespace: &str, name: &str) -> Result<bool> {
        let mut is_leaving = pod.metadata.deletion_timestamp.is_some();
        loop {
            if self.uses_eviction {
                output::print(&format!("evicting pod {namespace}/{name}\n"))?;
                if self.is_late() {
                    bail!(
                        "error when evicting pods/{name:?} -n {namespace:?}: global timeout reached: {}",
                        self.timeout
                    );
                }
            }
            let why = match self.send(path, namespace, name).await? {
                Answer::Accepted => return Ok(true),
                Answer::NotThere => return Ok(false),
                Answer::NamespaceLeaves(_) if is_leaving => return Ok(true),
                Answer::NamespaceLeaves(why) => format!(
                    "error when evicting pod {name:?} from terminating namespace {namespace:?} (will \
                     retry after 5s): {why}"
                ),
                Answer::Refused(why) => format!(
                    "error when evicting pods/{name:?} -n {namespace:?} (will retry after 5s): {why}"
                ),
            };
            anstream::eprintln!("{}", output::printable(&why));
            sleep(RETRY).await;
            if let Ok(now) = cluster::get::<Pod>(&self.client, path).await {
                is_leaving = now.metadata.deletion_timestamp.is_some();
            }
        }
    }

    async fn send(&self, path: &str, namespace: &str, name: &str) -> Result<Answer> {
        let mut options = json!({});
        if let Some(seconds) = self.grace_seconds {
            options["gracePeriodSeconds"] = json!(seconds);
        }
        let request = match self.uses_eviction {
            true => {
                let eviction = json!({
                    "apiVersion": "policy/v1",
                    "kind": "Eviction",
                    "metadata": {"name": name, "namespace": namespace},
                    "deleteOptions": options,
                });
                Request::post(format!("{path}/eviction")).body(serde_json::to_vec(&eviction)?)
            }
            false => Request::delete(path).body(serde_json::to_vec(&options)?),
        };
        let mut request = request?;
        let json = http::HeaderValue::from_static("application/json");
        request
            .headers_mut()
            .insert(http::header::CONTENT_TYPE, json);
        let status = match self.client.request::<Value>(request).await {
            Ok(_) => return Ok(Answer::Accepted),
            Err(kube::Error::Api(status)) => status,
            Err(error) => return Err(error.into()),
        };
        let details = status.details.iter();
        let mut causes = details.flat_map(|details| &details.causes);
        let namespace_leaves = causes.any(|cause| cause.reason == "NamespaceTerminating");
        let message = status.message.clone();
        match status.code {
            404 => Ok(Answer::NotThere),
            429 => Ok(Answer::Refused(message)),
            403 if namespace_leaves => Ok(Answer::NamespaceLeaves(message)),
            _ if !self.uses_eviction => bail!("{message}"),
            _ => bail!("error when evicting pods/{name:?} -n {namespace:?}: {message}"),
        }
    }

    /// Waits until the pod is gone, or another one has its name.
    async fn wait(&self, pod: &Pod, path: &str) -> Result<()> {
        let name = pod.metadata.name.as_deref().unwrap_or_default();
        loop {
            match cluster::get::<Pod>(&self.client, path).await {
                Ok(now) if now.metadata.uid != pod.metadata.uid => return self.tell(name, true),
                Ok(now) if is_given_up(&now, self.skip_after) => {
                    let seconds = self.skip_after;
                    return output::print(&format!(
                        "pod {name:?} has DeletionTimestamp older than {seconds} seconds, skipping\n"
                    ));
                }
                Ok(_) => {}
                Err(kube::Error::Api(status)) if status.code == 404 => {
                    return self.tell(name, true);
                }
                Err(error) => {
                    self.tell(name, false)?;
                    bail!("{error}");
                }
            }
            let next = Instant::now() + LOOK;
            sleep_until(self.deadline.map_or(next, |at| at.min(next))).await;
            if self.is_late() {
                bail!("context deadline exceeded");
            }
        }
    }
}
