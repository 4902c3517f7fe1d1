//! Verdicts.

use crate::Snapshot;
use crate::model::ResourceId;
use std::sync::Arc;

/// Why a plugin said no.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Code {
    /// Something broke; the attempt fails and is retried.
    Error,
    /// Not now; taking other pods away might help.
    Unschedulable,
    /// Not now, and preemption cannot help.
    UnschedulableAndUnresolvable,
    /// Not yet: the plugin itself will wake the pod.
    Pending,
}

impl Code {
    /// The code as upstream prints it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Error => "Error",
            Self::Unschedulable => "Unschedulable",
            Self::UnschedulableAndUnresolvable => "UnschedulableAndUnresolvable",
            Self::Pending => "Pending",
        }
    }
}

/// One user-visible reason, rendered only when somebody reads it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Reason {
    /// A fixed text.
    Text(&'static str),
    /// `Insufficient RESOURCE`.
    Insufficient(ResourceId),
    /// A text made for the occasion.
    Made(Arc<str>),
}

impl Reason {
    /// The reason as the user sees it.
    pub fn render(&self, cluster: &Snapshot) -> String {
        match self {
            Self::Text(text) => (*text).to_owned(),
            Self::Insufficient(id) => {
                format!(
                    "Insufficient {}",
                    cluster.names.text(cluster.resource_names.name(*id))
                )
            }
            Self::Made(text) => (**text).to_owned(),
        }
    }
}

/// One reason (the rule) or several.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Reasons {
    /// Exactly one.
    One(Reason),
    /// Any other number.
    Many(Box<[Reason]>),
}

/// A verdict other than "fits".
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Status {
    /// What kind of no.
    pub code: Code,
    /// Why.
    pub reasons: Reasons,
}

/// A verdict: fits, or why not.
pub type Fit = Result<(), Status>;

impl Status {
    /// [`Code::Unschedulable`] for one fixed reason.
    pub fn unschedulable(reason: &'static str) -> Self {
        Self::new(Code::Unschedulable, Reason::Text(reason))
    }

    /// [`Code::UnschedulableAndUnresolvable`] for one fixed reason.
    pub fn unresolvable(reason: &'static str) -> Self {
        Self::new(Code::UnschedulableAndUnresolvable, Reason::Text(reason))
    }

    /// [`Code::Error`] with its text.
    pub fn error(text: impl Into<Arc<str>>) -> Self {
        Self::new(Code::Error, Reason::Made(text.into()))
    }

    /// A verdict for one reason.
    pub fn new(code: Code, reason: Reason) -> Self {
        Self {
            code,
            reasons: Reasons::One(reason),
        }
    }

    /// A verdict for one reason whose text is made for the occasion.
    pub fn made(code: Code, text: impl Into<Arc<str>>) -> Self {
        Self::new(code, Reason::Made(text.into()))
    }

    /// The reasons.
    pub fn reasons(&self) -> &[Reason] {
        match &self.reasons {
            Reasons::One(reason) => std::slice::from_ref(reason),
            Reasons::Many(reasons) => reasons,
        }
    }

    /// The reasons as the user sees them, joined.
    pub fn message(&self, cluster: &Snapshot) -> String {
        let texts: Vec<_> = self.reasons().iter().map(|r| r.render(cluster)).collect();
        texts.join(", ")
    }

    /// Upstream's `IsRejected`: a no that is not an error.
    pub fn is_rejected(&self) -> bool {
        self.code != Code::Error
    }
}

/// A verdict and who gave it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PluginStatus {
    /// The plugin's name; empty for the framework itself.
    pub plugin: &'static str,
    /// The verdict.
    pub status: Status,
}

impl PluginStatus {
    /// The verdict of a plugin at an extension point. As upstream, an error says where it happened.
    pub(crate) fn at(
        point: &str,
        plugin: &'static str,
        status: Status,
        cluster: &Snapshot,
    ) -> Self {
        let status = match status.code {
            Code::Error => {
                let error = status.message(cluster);
                Status::error(format!("running {point} plugin {plugin:?}: {error}"))
            }
            _ => status,
        };
        Self { plugin, status }
    }
}
