//! One look at a namespace that is being deleted. Upstream:
//! `pkg/controller/namespace/deletion/namespaced_resources_deleter.go`.

use super::content::{self, Remains};
use futures::StreamExt;
use futures::stream;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::Namespace;
use std::sync::Arc;
use stowplan_base::Env;
use stowplan_client::{Discovery, Failed, Requests, ServedResource};
use stowplan_controllers::namespace::{FINALIZER, Findings};

/// How many resources are deleted side by side.
const SIDE_BY_SIDE: usize = 8;

/// What is left of a namespace.
pub(super) enum Left {
    /// Nothing, or nothing to be done.
    Nothing,
    /// Content that goes by itself.
    Content {
        /// In so many seconds, probably.
        estimate_s: u64,
    },
}

/// Deletes the content of namespaces.
pub(super) struct Deleter {
    requests: Arc<Requests>,
    env: Arc<dyn Env>,
}

impl Deleter {
    pub(super) fn new(requests: Arc<Requests>, env: Arc<dyn Env>) -> Self {
        Self { requests, env }
    }

    fn now(&self) -> Timestamp {
        let nanos = self.env.now().as_nanos().into();
        Timestamp::from_nanosecond(nanos).unwrap_or_default()
    }

    /// Deletes what can be deleted, and says what is left.
    pub(super) async fn delete(&self, name: &str) -> Result<Left, String> {
        let failed = |failed: Failed| failed.message();
        let found = self.requests.read::<Namespace>("", name).await;
        let Some(namespace) = found.map_err(failed)? else {
            return Ok(Left::Nothing);
        };
        if namespace.metadata.deletion_timestamp.is_none() {
            return Ok(Left::Nothing);
        }
        let marked = self.changed(namespace, "status", terminating).await;
        let Some(mut namespace) = marked.map_err(failed)? else {
            return Ok(Left::Nothing);
        };
        let finalizers = namespace
            .spec
            .as_ref()
            .and_then(|spec| spec.finalizers.as_ref());
        if finalizers.is_none_or(Vec::is_empty) {
            return Ok(Left::Nothing);
        }
        let estimate_s = self.delete_content(&mut namespace).await?;
        if estimate_s > 0 {
            return Ok(Left::Content { estimate_s });
        }
        let finalized = self.changed(namespace, "finalize", finalize).await;
        finalized.map_err(failed)?;
        Ok(Left::Nothing)
    }

    /// Changes a part of the namespace, again as long as somebody else is faster; `None` if it is gone.
    async fn changed(
        &self,
        mut namespace: Namespace,
        part: &str,
        change: fn(&mut Namespace) -> bool,
    ) -> Result<Option<Namespace>, Failed> {
        let uid = namespace.metadata.uid.clone();
        let name = namespace.metadata.name.clone().unwrap_or_default();
        loop {
            let mut wanted = namespace.clone();
            if !change(&mut wanted) {
                return Ok(Some(namespace));
            }
            match self.requests.replace(&wanted, Some(part)).await {
                Ok(changed) => return Ok(Some(changed)),
                Err(failed) if failed.code() == Some(404) => return Ok(None),
                Err(failed) if failed.code() == Some(409) => {}
                Err(failed) => return Err(failed),
            }
            match self.requests.read::<Namespace>("", &name).await? {
                Some(latest) if latest.metadata.uid == uid => namespace = latest,
                _ => return Ok(None),
            }
        }
    }

    /// Deletes all content, pods first, and says how many seconds it may take until it is gone.
    async fn delete_content(&self, namespace: &mut Namespace) -> Result<u64, String> {
        let mut findings = Findings::default();
        let served = match Discovery::fetch(&self.requests).await {
            Ok(served) => served,
            Err(failed) => {
                findings.discovery_error = Some(failed.message());
                Discovery::default()
            }
        };
        findings.undiscovered = served.failed.clone();
        let mut errors: Vec<String> = findings.discovery_failure().into_iter().collect();
        let name = namespace.metadata.name.clone().unwrap_or_default();
        let deleted_s = namespace.metadata.deletion_timestamp.as_ref().map(|at| {
            let since = self.now().duration_since(at.0).as_secs();
            u64::try_from(since).unwrap_or_default()
        });
        let deleted_s = deleted_s.unwrap_or_default();
        let deletable = served
            .preferred()
            .filter(|resource| resource.namespaced && resource.has_verbs(&["delete"]))
            .cloned();
        let (pods, others): (Vec<ServedResource>, Vec<_>) =
            deletable.partition(|resource| resource.group.is_empty() && resource.plural == "pods");
        let mut estimate_s = 0;
        for (is_pods, resources) in [(true, pods), (false, others)] {
            // Whatever pods need stays until they are gone.
            if !is_pods && !findings.remaining.is_empty() {
                break;
            }
            let mut deletions = Vec::new();
            for resource in resources {
                let (requests, name) = (self.requests.clone(), name.clone());
                deletions.push(async move {
                    let remains = content::delete(&requests, &resource, &name, deleted_s).await;
                    (resource, remains)
                });
            }
            let mut deleted = stream::iter(deletions).buffer_unordered(SIDE_BY_SIDE);
            while let Some((resource, remains)) = deleted.next().await {
                if let Some(error) = &remains.error {
                    errors.push(match is_pods {
                        true => {
                            format!("failed to delete pods for namespace: {name}, err: {error}")
                        }
                        false => error.clone(),
                    });
                }
                estimate_s = estimate_s.max(remains.estimate_s);
                take_in(&mut findings, &resource, remains);
            }
        }
        self.tell(namespace, &findings).await;
        match errors.is_empty() {
            true => Ok(estimate_s),
            false => Err(errors.join(", ")),
        }
    }

    /// Writes down what was found.
    async fn tell(&self, namespace: &mut Namespace, findings: &Findings) {
        let now = Timestamp::from_second(self.now().as_second()).unwrap_or_default();
        if !findings.apply(namespace, now) {
            return;
        }
        match self.requests.replace(namespace, Some("status")).await {
            Ok(written) => *namespace = written,
            Err(error) => {
                tracing::warn!(%error, "the status of a namespace cannot be written");
            }
        }
    }
}

fn take_in(findings: &mut Findings, resource: &ServedResource, remains: Remains) {
    findings.errors.extend(remains.error);
    if remains.count > 0 {
        let name = (resource.plural.clone(), resource.group.clone());
        findings.remaining.insert(name, remains.count);
        for (finalizer, count) in remains.finalizers {
            *findings.finalizers.entry(finalizer).or_default() += count;
        }
    }
}

/// Whether the phase had to be changed.
fn terminating(namespace: &mut Namespace) -> bool {
    let phase = &mut namespace.status.get_or_insert_default().phase;
    let is_changed =
        namespace.metadata.deletion_timestamp.is_some() && phase.as_deref() != Some("Terminating");
    if is_changed {
        *phase = Some("Terminating".to_owned());
    }
    is_changed
}

/// Takes our finalizer away.
fn finalize(namespace: &mut Namespace) -> bool {
    let finalizers = namespace
        .spec
        .get_or_insert_default()
        .finalizers
        .get_or_insert_default();
    finalizers.retain(|finalizer| finalizer != FINALIZER);
    finalizers.sort();
    true
}
