//! Watches: a stream of what happens to the objects that a list would show.
//!
//! Upstream: `endpoints/handlers/watch.go` and `storage/cacher`.

use super::list::{find, wait_for};
use crate::answer::{self, Answer};
use crate::api::Api;
use crate::negotiate::{self, Convert, Format, Output};
use crate::places::WatchPlace;
use crate::request::options::ListOptions;
use crate::request::{Request, Target};
use crate::select::Selection;
use crate::storage;
use crate::table::{Include, Style, metadata_of, table};
use crate::transform::partial;
use axum::body::Body;
use bytes::Bytes;
use serde_json::{Value, json};
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;
use stowplan_machinery::{Edit, Status};
use stowplan_store::{Entry, Error, Event, Revision};
use tokio::time::Instant;

/// How long a watch lasts if the client does not say: at least this, at most twice.
const DURATION_MIN: Duration = Duration::from_secs(1_800);
/// No watch lasts longer than this, whatever the client says.
const DURATION_MAX: Duration = Duration::from_secs(24 * 3_600);
/// How often a watch that may have bookmarks gets one.
const BOOKMARK_EVERY: Duration = Duration::from_secs(60);
/// A last bookmark comes so long before the end.
const BOOKMARK_BEFORE_END: Duration = Duration::from_secs(2);
/// What media types a stream can have.
const STREAMS: &str =
    "application/json;stream=watch, application/vnd.kubernetes.protobuf;stream=watch";

/// Answers a watch.
pub(crate) async fn watch(
    api: &Arc<Api>,
    request: &Request,
    target: &Target,
    mut options: ListOptions,
    output: Output,
) -> Result<Answer, Status> {
    let selection = Selection::new(request, target, &options)?;
    let text = options.resource_version.as_str();
    let wanted = match text {
        "" => Revision(0),
        text => storage::parse_revision(text).map_err(|why| {
            let shown = stowplan_machinery::go::quote(text);
            Status::plain_error(format!("resourceVersion: Invalid value: {shown}: {why}"))
        })?,
    };
    let style = Style {
        version: match output.convert {
            Convert::Table(version) | Convert::Metadata(version, _) => version,
            Convert::Nothing => "v1",
        },
        include: match output.convert {
            Convert::Table(_) => Include::read(request)?,
            _ => Include::Metadata,
        },
        headers: true,
    };
    if output.format != Format::Json {
        return Err(negotiate::not_acceptable(STREAMS));
    }
    let Some(place) = api.places().watch(&request.user.name) else {
        return Ok(answer::too_many_requests());
    };
    let now = Instant::now();
    let duration = match options.timeout_seconds {
        None | Some(0) => DURATION_MIN + spread(api),
        // One that was over before it began.
        Some(seconds) => Duration::from_secs(u64::try_from(seconds).unwrap_or(0)).min(DURATION_MAX),
    };
    let mut stream = Stream {
        _place: place,
        api: Arc::clone(api),
        stopping: api.stopping(),
        target: target.clone(),
        selection,
        output,
        style,
        watch: None,
        after: wanted,
        buffer: Vec::new(),
        ended: duration.is_zero(),
        deadline: now + duration,
        bookmark_at: options.bookmarks.then(|| now + BOOKMARK_EVERY),
        last_bookmark: options.bookmarks && duration > BOOKMARK_BEFORE_END,
    };
    let initial = options.send_initial_events == Some(true);
    let begun = match initial {
        _ if stream.ended => Ok(()),
        true => {
            options.resource_version.clear();
            stream.begin_with_state(wanted, &options).await
        }
        false => stream.begin_after(wanted),
    };
    if let Err(status) = begun {
        stream.fail(&status);
    }
    let chunks = futures_util::stream::unfold(stream, |mut stream| async move {
        let chunk = stream.next().await?;
        Some((Ok::<_, Infallible>(chunk), stream))
    });
    let mut answer = answer::bytes(200, "application/json", Bytes::new());
    *answer.body_mut() = Body::from_stream(chunks);
    Ok(answer)
}

/// Up to as much again, so that watches that began together do not end together.
fn spread(api: &Api) -> Duration {
    let range = DURATION_MIN.as_millis().max(1);
    let millis = u128::from(api.env().random()) % range;
    Duration::from_millis(u64::try_from(millis).unwrap_or_default())
}

struct Stream {
    _place: WatchPlace,
    api: Arc<Api>,
    stopping: tokio::sync::watch::Receiver<bool>,
    target: Target,
    selection: Selection,
    output: Output,
    style: Style,
    watch: Option<stowplan_store::Watch>,
    /// Events up to this revision are not told.
    after: Revision,
    buffer: Vec<u8>,
    ended: bool,
    deadline: Instant,
    bookmark_at: Option<Instant>,
    last_bookmark: bool,
}

impl Stream {
    fn prefix(&self) -> String {
        let namespace = match self.target.namespace.as_str() {
            "" if self.target.resource.namespaced() => {
                self.selection.single_namespace().unwrap_or_default()
            }
            namespace => namespace,
        };
        storage::key(&self.target.resource, namespace, "")
    }

    /// Everything that is there, then what happens.
    async fn begin_with_state(
        &mut self,
        wanted: Revision,
        options: &ListOptions,
    ) -> Result<(), Status> {
        wait_for(&self.api, &self.target, wanted).await?;
        let all = ListOptions {
            limit: 0,
            continue_token: String::new(),
            ..options.clone()
        };
        let found = find(&self.api, &self.target, &self.selection, &all).await?;
        for entry in &found.entries {
            self.tell("ADDED", entry, entry.mod_revision);
        }
        self.after = found.revision;
        self.watch_after(found.revision)?;
        if options.bookmarks {
            self.bookmark(found.revision, true);
        }
        Ok(())
    }

    fn begin_after(&mut self, wanted: Revision) -> Result<(), Status> {
        let now = self.api.store().revision();
        if wanted == Revision(0) {
            self.after = now;
        }
        self.watch_after(self.after.min(now))
    }

    fn watch_after(&mut self, revision: Revision) -> Result<(), Status> {
        let watch = self.api.store().watch(self.prefix(), revision);
        self.watch = Some(watch.map_err(|error| expired(&error))?);
        Ok(())
    }

    /// The next bytes; `None` at the end.
    async fn next(&mut self) -> Option<Bytes> {
        loop {
            if !self.buffer.is_empty() {
                return Some(Bytes::from(std::mem::take(&mut self.buffer)));
            }
            if self.ended {
                return None;
            }
            self.wait().await;
        }
    }

    async fn wait(&mut self) {
        let Some(watch) = &mut self.watch else {
            self.ended = true;
            return;
        };
        let end = self.deadline;
        let bookmark_at = match self.last_bookmark {
            true => self.bookmark_at.map(|at| at.min(end - BOOKMARK_BEFORE_END)),
            false => self.bookmark_at,
        };
        let bookmark = async {
            match bookmark_at {
                Some(at) => tokio::time::sleep_until(at).await,
                None => std::future::pending().await,
            }
        };
        let stopping = &mut self.stopping;
        let stop = async {
            // Gone only together with the server.
            let _ = stopping.wait_for(|stopping| *stopping).await;
        };
        tokio::select! {
            biased;
            seen = watch.next() => match seen {
                Ok(seen) => seen.events.iter().for_each(|event| self.event(event)),
                Err(error) => self.fail(&expired(&error)),
            },
            () = tokio::time::sleep_until(end) => self.ended = true,
            () = stop => self.ended = true,
            () = bookmark => self.regular_bookmark(),
        }
    }

    fn regular_bookmark(&mut self) {
        let now = Instant::now();
        self.bookmark_at = Some(now + BOOKMARK_EVERY);
        if now + BOOKMARK_BEFORE_END >= self.deadline {
            self.last_bookmark = false;
        }
        let seen = self.watch.as_mut().map(stowplan_store::Watch::try_next);
        if let Some(Ok(seen)) = seen {
            seen.events.iter().for_each(|event| self.event(event));
            self.bookmark(seen.revision, false);
        }
    }

    /// What an event means to this watch: objects come and go by the selection too.
    fn event(&mut self, event: &Event) {
        if event.revision <= self.after {
            return;
        }
        let matches =
            |entry: Option<&Arc<Entry>>| entry.is_some_and(|entry| self.selection.matches(entry));
        let (now, before) = (matches(event.current()), matches(event.previous.as_ref()));
        match (now, before, &event.previous) {
            (true, false, _) => self.tell("ADDED", &event.entry, event.revision),
            (true, true, _) => self.tell("MODIFIED", &event.entry, event.revision),
            (false, true, Some(previous)) => self.tell("DELETED", previous, event.revision),
            _ => {}
        }
    }

    fn tell(&mut self, kind: &str, entry: &Entry, revision: Revision) {
        if self.output.convert == Convert::Nothing && !self.target.resource.converts() {
            self.open(kind);
            storage::write_object_at(&mut self.buffer, entry, revision);
            self.buffer.extend_from_slice(b"}\n");
            return;
        }
        if self.ends_untold() {
            return;
        }
        let mut object = self.target.object(entry);
        if revision != entry.mod_revision {
            storage::set_revision(Arc::make_mut(&mut object), revision);
        }
        let shown = self.converted(&object);
        self.tell_value(kind, &shown);
    }

    /// No event can be told as a list: upstream ends there.
    fn ends_untold(&mut self) -> bool {
        let ends = matches!(self.output.convert, Convert::Metadata(_, true));
        self.ended |= ends;
        ends
    }

    fn converted(&mut self, object: &Value) -> Value {
        match self.output.convert {
            Convert::Table(_) => {
                let style = self.style;
                self.style.headers = false;
                let metadata = metadata_of(object);
                table(
                    &self.api,
                    &self.target,
                    std::iter::once(object),
                    metadata,
                    style,
                )
            }
            Convert::Metadata(version, _) => partial(object, version),
            Convert::Nothing => object.clone(),
        }
    }

    fn open(&mut self, kind: &str) {
        self.buffer.extend_from_slice(b"{\"type\":\"");
        self.buffer.extend_from_slice(kind.as_bytes());
        self.buffer.extend_from_slice(b"\",\"object\":");
    }

    fn tell_value(&mut self, kind: &str, value: &Value) {
        self.open(kind);
        // Writing JSON to memory does not fail.
        let _ = serde_json::to_writer(&mut self.buffer, value);
        self.buffer.extend_from_slice(b"}\n");
    }

    /// Tells up to which revision everything has been told.
    fn bookmark(&mut self, revision: Revision, ends_initial: bool) {
        if self.ends_untold() {
            return;
        }
        let mut object = json!({
            "kind": self.target.resource.kind(),
            "apiVersion": self.target.resource.api_version(),
            "metadata": {"resourceVersion": revision.to_string()},
        });
        if ends_initial {
            let annotations = json!({"k8s.io/initial-events-end": "true"});
            object.at_mut("metadata").set("annotations", annotations);
        }
        let shown = self.converted(&object);
        self.tell_value("BOOKMARK", &shown);
    }

    fn fail(&mut self, status: &Status) {
        self.tell_value("ERROR", &status.to_json());
        self.ended = true;
    }
}

fn expired(error: &Error) -> Status {
    match error {
        Error::Compacted {
            requested,
            compacted,
        } => Status::expired(format!(
            "too old resource version: {requested} ({compacted})"
        )),
        error => Status::internal(error.to_string()),
    }
}
