//! Groups whose objects are not stored but told by others in this process: decisions, metrics.

use crate::answer::Answer;
use crate::api::Api;
use crate::request::Request;
use crate::{decisions, metrics};
use serde_json::Value;
use std::sync::Arc;
use stowplan_apimachinery::Status;

/// A group that is told.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Group {
    /// `stowplan.dev`: why pods are where they are.
    Decisions,
    /// `metrics.k8s.io`: what pods and nodes use.
    Metrics,
}

impl Group {
    const ALL: [Self; 2] = [Self::Decisions, Self::Metrics];

    /// The groups that somebody in this process can tell of.
    pub(crate) fn told(api: &Api) -> impl Iterator<Item = Self> {
        Self::ALL.into_iter().filter(|group| match group {
            Self::Decisions => api.decisions().is_some(),
            Self::Metrics => api.usage().is_some(),
        })
    }

    /// The group of this name, if it is told.
    pub(crate) fn named(api: &Api, name: &str) -> Option<Self> {
        Self::told(api).find(|group| group.name() == name)
    }

    /// The group that a request is about, if it is told.
    pub(crate) fn of(api: &Api, name: &str, version: &str) -> Option<Self> {
        Self::named(api, name).filter(|group| group.version() == version)
    }

    /// Whether one of these groups, told or not, has this resource.
    pub(crate) fn has(group: &str, plural: &str) -> bool {
        (group, plural) == (decisions::GROUP, decisions::PLURAL)
            || (group == metrics::GROUP && metrics::PLURALS.contains(&plural))
    }

    /// The group's name.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Decisions => decisions::GROUP,
            Self::Metrics => metrics::GROUP,
        }
    }

    /// Its version.
    pub(crate) fn version(self) -> &'static str {
        match self {
            Self::Decisions => decisions::VERSION,
            Self::Metrics => metrics::VERSION,
        }
    }

    /// What discovery lists below the group.
    pub(crate) fn resource_list(self) -> Value {
        match self {
            Self::Decisions => decisions::resource_list(),
            Self::Metrics => metrics::resource_list(),
        }
    }

    /// What aggregated discovery lists below the group.
    pub(crate) fn resource_discovery(self) -> Value {
        match self {
            Self::Decisions => decisions::resource_discovery(),
            Self::Metrics => metrics::resource_discovery(),
        }
    }

    /// Answers a request about the group whose caller is allowed.
    pub(crate) async fn answer(self, api: &Arc<Api>, request: &Request) -> Result<Answer, Status> {
        match self {
            Self::Decisions => decisions::answer(api, request).await,
            Self::Metrics => metrics::answer(api, request),
        }
    }
}
