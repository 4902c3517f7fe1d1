//! How long a request will take, guessed before it is worked on.

use super::{Flow, off_the_reactor};
use crate::api::Api;
use crate::limits::{LIGHT_BYTES_MAX, LIGHT_LIST_BYTES_MAX, LIGHT_OBJECTS_MAX, LIGHT_QUERY_MAX};
use crate::request::{Request, Target};
use crate::{pages, storage};
use std::future::Future;
use std::pin::Pin;
use stowplan_store::Revision;

/// How long a request will compute. Upstream's work estimator guesses by the same signs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Weight {
    /// Milliseconds at most.
    Light,
    /// It computes for long.
    Heavy,
}

impl Weight {
    /// Of a request about one object. Those about many see to it themselves: see [`Weight::of_many`].
    pub(crate) fn of(api: &Api, request: &Request, target: &Target) -> Self {
        let body = request.body.len();
        let heavy = match request.info.verb.as_str() {
            "list" | "watch" | "deletecollection" => false,
            "get" => converts(request) && large(api, target),
            // What it grants may be much more than what it says, and is compared with all that its author
            // holds.
            "create" | "update" | "patch" if grants(target) => true,
            "patch" => body > LIGHT_BYTES_MAX || copies(request) || large(api, target),
            "update" | "delete" => body > LIGHT_BYTES_MAX || large(api, target),
            _ => body > LIGHT_BYTES_MAX,
        };
        if heavy { Self::Heavy } else { Self::Light }
    }

    /// Of a request that looks at all objects of a kind.
    pub(crate) fn of_many(api: &Api, request: &Request, target: &Target) -> Self {
        let prefix = storage::key(&target.resource, &target.namespace, "");
        let (count, bytes) = (LIGHT_OBJECTS_MAX, LIGHT_LIST_BYTES_MAX);
        let many = || api.store().outweighs(prefix.as_bytes(), count, bytes);
        match request.query.bytes() > LIGHT_QUERY_MAX || goes_back(api, request) || many() {
            true => Self::Heavy,
            false => Self::Light,
        }
    }

    /// Of a watch that begins after a revision.
    pub(crate) fn of_watch(api: &Api, prefix: &str, after: Revision) -> Self {
        let events = api.store().events_to_join(prefix.as_bytes(), after);
        match events > LIGHT_OBJECTS_MAX {
            true => Self::Heavy,
            false => Self::Light,
        }
    }

    /// Does work of this weight, where it belongs. Nothing if there is no seat for it. The work is
    /// pinned: futures are large, and moving them takes longer than answering a small request.
    pub(crate) async fn carry<T>(
        self,
        api: &Api,
        flow: &Flow,
        work: Pin<&mut impl Future<Output = T>>,
    ) -> Option<T> {
        match self {
            Self::Light => Some(work.await),
            Self::Heavy => {
                let _seat = api.flow_control().heavy(flow).await?;
                Some(off_the_reactor(work).await)
            }
        }
    }
}

/// Whether the answer is not just the bytes that are stored.
fn converts(request: &Request) -> bool {
    let accept = request.header("accept");
    accept.contains("yaml") || accept.contains("as=") || request.query.get("pretty").is_some()
}

/// Whether a patch may become much more than its body.
fn copies(request: &Request) -> bool {
    request.header("content-type").contains("json-patch") && may_copy(&request.body)
}

/// Whether a JSON patch may have an operation "copy". The word can be written with escapes.
pub(super) fn may_copy(body: &[u8]) -> bool {
    memchr::memmem::find(body, b"copy").is_some() || memchr::memchr(b'\\', body).is_some()
}

/// Whether a list is of a time from which much has changed since, whatever it was that changed.
fn goes_back(api: &Api, request: &Request) -> bool {
    let asked = |name| request.query.get(name).unwrap_or_default();
    let at = match asked("continue") {
        "" => storage::parse_revision(asked("resourceVersion")).ok(),
        token => pages::revision(token),
    };
    let exact = !asked("continue").is_empty()
        || asked("resourceVersionMatch") == "Exact"
        || !matches!(asked("limit"), "" | "0");
    let at = at.filter(|at| exact && at.0 > 0);
    let since = |at: Revision| api.store().revision().0.saturating_sub(at.0);
    at.is_some_and(|at| since(at) > LIGHT_OBJECTS_MAX as u64)
}

fn grants(target: &Target) -> bool {
    target.resource.group() == "rbac.authorization.k8s.io"
}

/// Whether the object that is asked for is large.
fn large(api: &Api, target: &Target) -> bool {
    let entry = api.store().get(target.key().as_bytes());
    entry.is_some_and(|entry| entry.value.len() > LIGHT_BYTES_MAX)
}
