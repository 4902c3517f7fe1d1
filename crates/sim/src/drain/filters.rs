//! Which pods of a node are evicted, which are left alone, and which are refused.
//!
//! Upstream: `k8s.io/kubectl/pkg/drain/filters.go`. A dry run and a drain of a live cluster ask here.

use stowplan_api::k8s::api::core::v1::Pod;
use stowplan_api::k8s::apimachinery::pkg::apis::meta::v1::OwnerReference;

const DAEMON_SET_FATAL: &str = "DaemonSet-managed Pods (use --ignore-daemonsets to ignore)";
const DAEMON_SET_WARNING: &str = "ignoring DaemonSet-managed Pods";
const LOCAL_STORAGE_FATAL: &str =
    "Pods with local storage (use --delete-emptydir-data to override)";
const LOCAL_STORAGE_WARNING: &str = "deleting Pods with local storage";
const UNMANAGED_FATAL: &str = "Pods that declare no controller (use --force to override)";
const UNMANAGED_WARNING: &str = "deleting Pods that declare no controller";

/// The annotation of pods that a kubelet runs by itself.
const MIRROR: &str = "kubernetes.io/config.mirror";

/// What the user allows: kubectl's flags of the same names.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Allowed {
    /// `--force`: pods that nobody makes again.
    pub force: bool,
    /// `--ignore-daemonsets`: leave their pods alone.
    pub ignore_daemonsets: bool,
    /// `--delete-emptydir-data`: pods with data on the node.
    pub delete_emptydir_data: bool,
}

/// What is to happen to a pod. Upstream's `PodDeleteStatus`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum PodDeleteStatus {
    /// It goes.
    Okay,
    /// It goes, and this is said of it.
    Warn(String),
    /// It stays, and nothing is said.
    Skip,
    /// It stays, and this is said of it.
    Leave(String),
    /// Nothing on the node goes because of it.
    Refuse(String),
}

impl PodDeleteStatus {
    /// Whether the pod goes.
    pub fn is_delete(&self) -> bool {
        matches!(self, Self::Okay | Self::Warn(_))
    }

    /// Asks one rule after the other, until one says that the pod stays. As upstream, what the last
    /// one says counts: of a pod with local storage that has a controller nothing is said.
    ///
    /// `daemon_set` says whether a DaemonSet of the pod's namespace is there, or why that is not known.
    pub fn of(
        pod: &Pod,
        allowed: Allowed,
        daemon_set: impl FnOnce(&str) -> Result<(), NotThere>,
    ) -> Self {
        let status = by_daemon_set(pod, allowed, daemon_set);
        if !status.is_delete() {
            return status;
        }
        let annotations = pod.metadata.annotations.as_ref();
        if annotations.is_some_and(|annotations| annotations.contains_key(MIRROR)) {
            return Self::Skip;
        }
        let status = by_local_storage(pod, allowed);
        if !status.is_delete() {
            return status;
        }
        by_controller(pod, allowed)
    }
}

/// Why a DaemonSet could not be read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NotThere {
    /// There is none.
    pub is_missing: bool,
    /// What the API says.
    pub message: String,
}

impl NotThere {
    /// What the API says of a DaemonSet that is not there.
    pub fn missing(name: &str) -> Self {
        Self {
            is_missing: true,
            message: format!("daemonsets.apps {name:?} not found"),
        }
    }
}

/// The owner that makes pods like this one.
pub fn controller(pod: &Pod) -> Option<&OwnerReference> {
    let mut owners = pod.metadata.owner_references.iter().flatten();
    owners.find(|owner| owner.controller == Some(true))
}

/// Whether the pod has run its course.
pub fn is_finished(pod: &Pod) -> bool {
    matches!(phase(pod), "Succeeded" | "Failed")
}

pub(super) fn phase(pod: &Pod) -> &str {
    let status = pod.status.as_ref();
    status
        .and_then(|status| status.phase.as_deref())
        .unwrap_or_default()
}

fn by_daemon_set(
    pod: &Pod,
    allowed: Allowed,
    daemon_set: impl FnOnce(&str) -> Result<(), NotThere>,
) -> PodDeleteStatus {
    let owner = controller(pod).filter(|owner| owner.kind == "DaemonSet");
    let Some(owner) = owner.filter(|_| !is_finished(pod)) else {
        return PodDeleteStatus::Okay;
    };
    match daemon_set(&owner.name) {
        Err(error) if error.is_missing && allowed.force => PodDeleteStatus::Warn(error.message),
        Err(error) => PodDeleteStatus::Refuse(error.message),
        Ok(()) if allowed.ignore_daemonsets => PodDeleteStatus::Leave(DAEMON_SET_WARNING.into()),
        Ok(()) => PodDeleteStatus::Refuse(DAEMON_SET_FATAL.into()),
    }
}

fn by_local_storage(pod: &Pod, allowed: Allowed) -> PodDeleteStatus {
    let mut volumes = pod
        .spec
        .iter()
        .flat_map(|spec| spec.volumes.iter().flatten());
    let has_local_storage = volumes.any(|volume| volume.empty_dir.is_some());
    match has_local_storage && !is_finished(pod) {
        false => PodDeleteStatus::Okay,
        true if allowed.delete_emptydir_data => PodDeleteStatus::Warn(LOCAL_STORAGE_WARNING.into()),
        true => PodDeleteStatus::Refuse(LOCAL_STORAGE_FATAL.into()),
    }
}

fn by_controller(pod: &Pod, allowed: Allowed) -> PodDeleteStatus {
    match controller(pod).is_some() || is_finished(pod) {
        true => PodDeleteStatus::Okay,
        false if allowed.force => PodDeleteStatus::Warn(UNMANAGED_WARNING.into()),
        false => PodDeleteStatus::Refuse(UNMANAGED_FATAL.into()),
    }
}

/// What is said of pods before any of them goes: each warning once, with the pods that it is about.
pub fn warnings<'a>(pods: impl IntoIterator<Item = (&'a str, &'a PodDeleteStatus)>) -> Vec<String> {
    said(pods, |status| match status {
        PodDeleteStatus::Warn(message) | PodDeleteStatus::Leave(message) => Some(message.clone()),
        _ => None,
    })
}

/// Why no pod of the node goes.
pub fn errors<'a>(pods: impl IntoIterator<Item = (&'a str, &'a PodDeleteStatus)>) -> Vec<String> {
    said(pods, |status| match status {
        PodDeleteStatus::Refuse(message) => Some(format!("cannot delete {message}")),
        _ => None,
    })
}

/// Texts in the order of their first pods, which upstream leaves to a Go map.
fn said<'a>(
    pods: impl IntoIterator<Item = (&'a str, &'a PodDeleteStatus)>,
    text: impl Fn(&PodDeleteStatus) -> Option<String>,
) -> Vec<String> {
    let mut said: Vec<(String, Vec<&str>)> = Vec::new();
    for (pod, status) in pods {
        let Some(text) = text(status) else { continue };
        match said.iter_mut().find(|(said, _)| *said == text) {
            Some((_, pods)) => pods.push(pod),
            None => said.push((text, vec![pod])),
        }
    }
    let line = |(text, pods): (String, Vec<&str>)| format!("{text}: {}", pods.join(", "));
    said.into_iter().map(line).collect()
}
