//! GET of many objects.

use crate::answer::{self, Answer};
use crate::api::Api;
use crate::flowcontrol::{Flow, Weight};
use crate::limits::{ANSWERS_KIB_MAX, TREE_BYTES_PER_BYTE};
use crate::negotiate::{Convert, Format, Output};
use crate::request::options::{ListOptions, Match};
use crate::request::{Request, Target};
use crate::select::Selection;
use crate::{pages, storage, transform};
use serde_json::{Map, Value};
use std::sync::Arc;
use std::time::Duration;
use stowplan_apimachinery::{Cause, Edit, Status};
use stowplan_env::timeout;
use stowplan_store::{Entry, Error, Revision};

/// How long a list waits for a revision that is not there yet. Upstream: `blockTimeout` of the
/// watch cache.
const PATIENCE: Duration = Duration::from_secs(3);

/// How much room objects of so many bytes take up once they are read.
pub(crate) fn trees_kib(bytes: usize) -> usize {
    (bytes / 1024)
        .saturating_mul(TREE_BYTES_PER_BYTE)
        .min(ANSWERS_KIB_MAX)
}

/// Upstream: `endpoints/handlers/get.go`, `ListResource`, and `storage/cacher`.
pub(crate) async fn list(
    api: &Api,
    request: &Request,
    target: &Target,
    flow: &Flow,
    options: &ListOptions,
    output: Output,
) -> Result<Answer, Status> {
    let selection = Selection::new(request, target, options)?;
    // Nobody computes meanwhile.
    wait_if_future(api, target, options).await?;
    let weight = Weight::of_many(api, request, target);
    let work = std::pin::pin!(async {
        let found = find(api, target, &selection, options).await?;
        // What it takes to make the answer, before it is taken.
        let bytes: usize = found.entries.iter().map(|entry| entry.value.len()).sum();
        let kib = match output.format == Format::Json && output.convert == Convert::Nothing {
            true if !output.pretty => (bytes / 1024).min(ANSWERS_KIB_MAX),
            _ => trees_kib(bytes),
        };
        let Some(_room) = api.flow_control().unread(flow, kib) else {
            return Ok(answer::too_many_requests());
        };
        shown(api, request, target, &found, output)
    });
    let done = weight.carry(api, flow, work).await;
    done.unwrap_or_else(|| Ok(answer::too_many_requests()))
}

/// What was found, in the form that was asked for.
fn shown(
    api: &Api,
    request: &Request,
    target: &Target,
    found: &Found,
    output: Output,
) -> Result<Answer, Status> {
    let metadata = found.metadata();
    if let Some(body) = transform::list_of_bytes(api, request, target, found, &metadata, output)? {
        return Ok(answer::json(200, body, output));
    }
    if output.convert != Convert::Nothing || target.resource.converts() {
        let objects: Vec<Arc<Value>> = found.entries.iter().map(|e| target.object(e)).collect();
        let objects = objects.iter().map(|object| &**object);
        return transform::list(api, request, target, objects, metadata, output);
    }
    Ok(answer::json(200, write(target, found, &metadata), output))
}

fn write(target: &Target, found: &Found, metadata: &Value) -> Vec<u8> {
    let head = serde_json::json!({
        "kind": format!("{}List", target.resource.kind()),
        "apiVersion": target.resource.api_version(),
        "metadata": metadata,
    });
    let custom = target.resource.is_custom();
    transform::write_list(&head, "items", &found.entries, |out, entry| match custom {
        true => storage::write_object(out, entry),
        false => storage::write_item(out, entry),
    })
}

/// One page of a list.
pub(crate) struct Found {
    pub(crate) entries: Vec<Arc<Entry>>,
    pub(crate) revision: Revision,
    /// How the next page is asked for; empty if this is the last.
    pub(crate) continue_token: String,
    remaining: Option<usize>,
}

impl Found {
    pub(crate) fn metadata(&self) -> Value {
        let mut metadata = Map::new();
        metadata.set("resourceVersion", self.revision.to_string());
        if !self.continue_token.is_empty() {
            metadata.set("continue", self.continue_token.as_str());
        }
        if let Some(remaining) = self.remaining {
            metadata.set("remainingItemCount", remaining);
        }
        Value::Object(metadata)
    }
}

/// Which entries, at which revision.
struct Plan {
    prefix: String,
    at: Option<Revision>,
    after: Option<String>,
    /// What a continue token is relative to.
    root: String,
    limit: Option<usize>,
}

/// The entries that a list is about.
pub(crate) async fn find(
    api: &Api,
    target: &Target,
    selection: &Selection,
    options: &ListOptions,
) -> Result<Found, Status> {
    let namespace = match target.namespace.as_str() {
        "" if target.resource.namespaced() => selection.single_namespace().unwrap_or_default(),
        namespace => namespace,
    };
    let root = storage::key(&target.resource, namespace, "");
    let single = selection.single_name();
    let single = single.filter(|_| !namespace.is_empty() || !target.resource.namespaced());
    // Who goes on with a list goes on with all of it.
    let single = single.filter(|_| options.continue_token.is_empty());
    if let Some(name) = single {
        let at = not_in_future(api, target, options).await?;
        let key = storage::key(&target.resource, namespace, name);
        return one(api, &key, at, selection);
    }
    let plan = plan(api, target, options, root).await?;
    page(api, selection, &plan)
}

/// The revision that an exact list wants; waits for one that is not there yet.
async fn not_in_future(
    api: &Api,
    target: &Target,
    options: &ListOptions,
) -> Result<Option<Revision>, Status> {
    let text = options.resource_version.as_str();
    if text.is_empty() || text == "0" {
        return Ok(None);
    }
    let wanted = storage::parse_revision(text).map_err(|why| {
        let shown = stowplan_apimachinery::go::quote(text);
        Status::bad_request(format!(
            "invalid resource version: resourceVersion: Invalid value: {shown}: {why}"
        ))
    })?;
    wait_for(api, target, wanted).await?;
    let exact = options.resource_version_match == Match::Exact
        || (options.resource_version_match == Match::Unset && options.limit > 0);
    Ok(exact.then_some(wanted))
}

/// Waits for a revision that is not there yet, before anything else is done for a list that wants it.
pub(crate) async fn wait_if_future(
    api: &Api,
    target: &Target,
    options: &ListOptions,
) -> Result<(), Status> {
    match storage::parse_revision(&options.resource_version) {
        Ok(wanted) if options.continue_token.is_empty() => wait_for(api, target, wanted).await,
        // What is wrong with it is told in its turn.
        _ => Ok(()),
    }
}

/// Waits until the store has come to a revision, but not for long. Upstream's events have no watch
/// cache, which is who tells clients to come again.
pub(crate) async fn wait_for(api: &Api, target: &Target, wanted: Revision) -> Result<(), Status> {
    if wanted <= api.store().revision() {
        return Ok(());
    }
    let reached = timeout(api.env(), PATIENCE, api.store().reached(wanted)).await;
    match reached {
        Ok(Ok(())) => Ok(()),
        _ => {
            let status = too_large(wanted, api.store().revision());
            Err(match target.resource.plural() {
                "events" if !target.resource.is_custom() => status,
                _ => status.retry_after(1),
            })
        }
    }
}

fn too_large(wanted: Revision, current: Revision) -> Status {
    let message = format!("Timeout: Too large resource version: {wanted}, current: {current}");
    Status::failure(504, "Timeout", message).because(Cause {
        reason: "ResourceVersionTooLarge".to_owned(),
        message: "Too large resource version".to_owned(),
        field: String::new(),
    })
}

async fn plan(
    api: &Api,
    target: &Target,
    options: &ListOptions,
    root: String,
) -> Result<Plan, Status> {
    let mut limit = usize::try_from(options.limit)
        .ok()
        .filter(|limit| *limit > 0);
    // The watch cache gives all there is to who asks for any revision; events are not cached.
    if options.resource_version == "0" && target.resource.plural() != "events" {
        limit = None;
    }
    if !options.continue_token.is_empty() {
        let (after, at) = pages::decode(&options.continue_token, &root)?;
        if !matches!(options.resource_version.as_str(), "" | "0") {
            return Err(Status::bad_request(
                "specifying resource version is not allowed when using continue",
            ));
        }
        return Ok(Plan {
            prefix: root.clone(),
            at,
            after: Some(after),
            root,
            limit,
        });
    }
    let at = not_in_future(api, target, options).await?;
    Ok(Plan {
        prefix: root.clone(),
        at,
        after: None,
        root,
        limit,
    })
}

fn one(api: &Api, key: &str, at: Option<Revision>, selection: &Selection) -> Result<Found, Status> {
    let page = api.store().range(key.as_bytes(), at, None, Some(1));
    let page = page.map_err(|error| expired(&error))?;
    let matches = |entry: &Arc<Entry>| entry.key == key && selection.matches(entry);
    Ok(Found {
        entries: page.entries.into_iter().filter(matches).collect(),
        revision: page.revision,
        continue_token: String::new(),
        remaining: None,
    })
}

/// How many objects are read at a time, at least, to find those that match.
const LOOK_AT_MIN: usize = 1_000;

fn page(api: &Api, selection: &Selection, plan: &Plan) -> Result<Found, Status> {
    let everything = selection.is_everything();
    let mut found: Vec<Arc<Entry>> = Vec::new();
    let mut after = plan.after.clone();
    let mut at = plan.at;
    // Where few may match many are looked at at a time.
    let mut size = plan.limit.map(|limit| match everything {
        true => limit,
        false => limit.max(LOOK_AT_MIN),
    });
    loop {
        let after_key = after.as_deref().map(str::as_bytes);
        let range = api
            .store()
            .range(plan.prefix.as_bytes(), at, after_key, size);
        let page = range.map_err(|error| match plan.after.is_some() {
            true => pages::expired(&plan.root, after.as_deref().unwrap_or_default()),
            false => expired(&error),
        })?;
        // All pages of one answer are from one revision.
        at = Some(page.revision);
        let mut more = page.more;
        for (i, entry) in page.entries.iter().enumerate() {
            after = Some(String::from_utf8_lossy(&entry.key).into_owned());
            if everything || selection.matches_one_of_many(entry) {
                found.push(Arc::clone(entry));
            }
            if plan.limit.is_some_and(|limit| found.len() >= limit) {
                more |= i + 1 < page.entries.len();
                break;
            }
        }
        let full = plan.limit.is_some_and(|limit| found.len() >= limit);
        if more && !full && plan.limit.is_some() {
            // Each goes through what has changed since: there are to be few of them.
            size = size.map(|size| size.saturating_mul(2));
            continue;
        }
        let last = after.unwrap_or_default();
        return Ok(Found {
            entries: found,
            revision: page.revision,
            continue_token: match more && plan.limit.is_some() {
                true => pages::encode(&last, &plan.root, page.revision),
                false => String::new(),
            },
            remaining: (more && everything && plan.limit.is_some()).then_some(page.remaining),
        });
    }
}

fn expired(error: &Error) -> Status {
    match error {
        Error::Compacted { .. } => {
            Status::expired("The resourceVersion for the provided list is too old.")
        }
        Error::Future { requested, current } => too_large(*requested, *current).retry_after(1),
        Error::Closed => Status::internal("the server is shutting down"),
    }
}
