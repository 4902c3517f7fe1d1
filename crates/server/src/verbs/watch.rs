//! Watches: a stream of what happens to the objects that a list would show.
//!
//! Upstream: `endpoints/handlers/watch.go` and `storage/cacher`.

use super::list::{find, wait_for};
use crate::answer::{self, Answer};
use crate::api::Api;
use crate::converted::What;
use crate::flowcontrol::{Flow, Held, Weight};
use crate::limits::{
    ANSWERS_KIB_MAX, LIGHT_BYTES_MAX, LIGHT_QUERY_MAX, WATCH_BYTES_PER_QUERY_BYTE,
};
use crate::negotiate::{self, Convert, Format, Output};
use crate::request::options::ListOptions;
use crate::request::{Request, Target};
use crate::select::Selection;
use crate::storage;
use crate::table::{Include, Style, metadata_of, table};
use crate::transform::partial;
use axum::body::Body;
use bytes::Bytes;
use serde_json::{Value, json};
use std::collections::VecDeque;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;
use stowplan_apimachinery::{Edit, Status};
use stowplan_base::Time;
use stowplan_store::{Entry, Error, Event, Revision};

/// How long a watch lasts if the client does not say: at least this, at most twice.
const DURATION_MIN: Duration = Duration::from_secs(1_800);
/// No watch lasts longer than this, whatever the client says.
const DURATION_MAX: Duration = Duration::from_secs(24 * 3_600);
/// How often a watch that may have bookmarks gets one.
const BOOKMARK_EVERY: Duration = Duration::from_secs(60);
/// A last bookmark comes so long before the end.
const BOOKMARK_BEFORE_END: Duration = Duration::from_secs(2);
/// How much of what is there is told at once, roughly.
const CHUNK_BYTES: usize = 64 << 10;
/// Objects from this size on are not copied for each watch.
const SHARED_BYTES_MIN: usize = CHUNK_BYTES;
/// What media types a stream can have.
const STREAMS: &str =
    "application/json;stream=watch, application/vnd.kubernetes.protobuf;stream=watch";

/// Answers a watch.
pub(crate) async fn watch(
    api: &Arc<Api>,
    request: &Request,
    target: &Target,
    flow: &Flow,
    mut options: ListOptions,
    output: Output,
) -> Result<Answer, Status> {
    let selection = Selection::new(request, target, &options)?;
    let text = options.resource_version.as_str();
    let wanted = match text {
        "" => Revision(0),
        text => storage::parse_revision(text).map_err(|why| {
            let shown = stowplan_apimachinery::go::quote(text);
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
    let Some(place) = api.flow_control().watch(flow) else {
        return Ok(answer::too_many_requests());
    };
    // What a long query becomes is kept for as long as the watch lasts.
    let query = request.query.bytes().saturating_sub(LIGHT_QUERY_MAX);
    let kib = (query * WATCH_BYTES_PER_QUERY_BYTE).div_ceil(1024);
    let Some(own) = api.flow_control().unread(flow, kib) else {
        return Ok(answer::too_many_requests());
    };
    let now = api.env().monotonic();
    let duration = match options.timeout_seconds {
        None | Some(0) => DURATION_MIN + spread(api),
        // One that was over before it began.
        Some(seconds) => Duration::from_secs(u64::try_from(seconds).unwrap_or(0)).min(DURATION_MAX),
    };
    let mut stream = Stream {
        _place: (place, own),
        api: Arc::clone(api),
        stopping: api.stopping(),
        target: target.clone(),
        selection,
        output,
        style,
        initial: Vec::new().into_iter(),
        initial_room: None,
        initial_end: None,
        definition: Definition::of(api, target),
        definitions: match target.resource.is_custom() {
            true => *api.resources().changes().borrow(),
            false => 0,
        },
        watch: None,
        after: wanted,
        buffer: Vec::new(),
        parts: VecDeque::new(),
        room: None,
        flow: flow.clone(),
        ended: duration.is_zero(),
        deadline: now + duration,
        bookmark_at: options.bookmarks.then(|| now + BOOKMARK_EVERY),
        last_bookmark: options.bookmarks && duration > BOOKMARK_BEFORE_END,
    };
    // Whoever asks by the path, as of old, and for no revision gets the state without a word about its
    // end. Upstream: `forceWatch`.
    let initial = match options.send_initial_events {
        None => wanted == Revision(0),
        Some(initial) => initial,
    };
    let begun = match initial {
        _ if stream.ended => Ok(()),
        true => {
            options.resource_version.clear();
            // Nobody computes meanwhile.
            match wait_for(api, target, wanted).await {
                Ok(()) => {
                    let weight = Weight::of_many(api, request, target);
                    let begin = std::pin::pin!(stream.begin_with_state(&options));
                    match weight.carry(api, flow, begin).await {
                        Some(begun) => begun,
                        None => return Ok(answer::too_many_requests()),
                    }
                }
                Err(status) => Err(status),
            }
        }
        false => {
            let weight = Weight::of_watch(api, &stream.prefix(), stream.start(wanted));
            let begin = std::pin::pin!(async { stream.begin_after(wanted) });
            match weight.carry(api, flow, begin).await {
                Some(begun) => begun,
                None => return Ok(answer::too_many_requests()),
            }
        }
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
    _place: (Held, Held),
    api: Arc<Api>,
    stopping: tokio::sync::watch::Receiver<bool>,
    target: Target,
    selection: Selection,
    output: Output,
    style: Style,
    /// What was there when the watch began and is still to be told.
    initial: std::vec::IntoIter<Arc<Entry>>,
    /// The room that it takes up.
    initial_room: Option<Held>,
    /// The bookmark that comes after it.
    initial_end: Option<Revision>,
    /// Of a custom resource.
    definition: Option<Definition>,
    /// How often definitions had changed when the watch began.
    definitions: u64,
    watch: Option<stowplan_store::Watch>,
    /// Events up to this revision are not told.
    after: Revision,
    buffer: Vec<u8>,
    /// What is told before what is in the buffer: large objects, as they lie in the store.
    parts: VecDeque<Bytes>,
    /// The room that large parts take up which are this watch's own.
    room: Option<Held>,
    flow: Flow,
    ended: bool,
    deadline: Time,
    bookmark_at: Option<Time>,
    last_bookmark: bool,
}

/// The definition that a watch lives and dies with.
struct Definition {
    key: String,
    born: Option<Revision>,
    changes: tokio::sync::watch::Receiver<u64>,
    gone: bool,
}

impl Definition {
    fn of(api: &Api, target: &Target) -> Option<Self> {
        let custom = target.resource.custom()?;
        // Before looking: who looks again after a change sees it.
        let changes = api.resources().changes();
        let (key, entry) = crate::crd::entry(api, &custom.definition);
        Some(Self {
            key,
            gone: entry.is_none(),
            born: entry.map(|entry| entry.create_revision),
            changes,
        })
    }

    /// Whether it is gone, even if there is another one of its name.
    fn is_gone(&mut self, api: &Api) -> bool {
        if !self.gone && self.changes.has_changed().unwrap_or(true) {
            self.changes.mark_unchanged();
            let entry = api.store().get(self.key.as_bytes());
            let present = entry.map(|entry| entry.create_revision);
            self.gone = present.is_none() || present != self.born;
        }
        self.gone
    }
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
    async fn begin_with_state(&mut self, options: &ListOptions) -> Result<(), Status> {
        let all = ListOptions {
            limit: 0,
            continue_token: String::new(),
            ..options.clone()
        };
        let found = find(&self.api, &self.target, &self.selection, &all).await?;
        self.after = found.revision;
        self.watch_after(found.revision)?;
        // The store may have newer ones soon, and then these are this watch's own.
        let bytes: usize = found.entries.iter().map(|entry| entry.value.len()).sum();
        let kib = (bytes / 1024).min(ANSWERS_KIB_MAX);
        self.initial_room = self.api.flow_control().unread(&self.flow, kib);
        if self.initial_room.is_none() {
            return Err(too_much_unread());
        }
        self.initial = found.entries.into_iter();
        let told = options.bookmarks && options.send_initial_events == Some(true);
        self.initial_end = told.then_some(found.revision);
        Ok(())
    }

    /// Some more of what was there; says whether that was anything.
    async fn tell_initial(&mut self) -> bool {
        while self.buffer.len() < CHUNK_BYTES && self.parts.is_empty() && !self.ended {
            if let Some(entry) = self.initial.next() {
                self.tell("ADDED", &entry, entry.mod_revision).await;
            } else if let Some(revision) = self.initial_end.take() {
                self.bookmark(revision, true);
            } else {
                // Its room is needed by others.
                self.initial = Vec::new().into_iter();
                self.initial_room = None;
                break;
            }
        }
        self.has_more() || self.ended
    }

    fn has_more(&self) -> bool {
        !self.buffer.is_empty() || !self.parts.is_empty()
    }

    /// The next piece of what is to be told, never a large one: whoever sends it may hold a copy.
    fn piece(&mut self) -> Option<Bytes> {
        if self.parts.is_empty() && !self.buffer.is_empty() {
            let own = Bytes::from(std::mem::take(&mut self.buffer));
            self.parts.push_back(own);
        }
        let first = self.parts.front_mut()?;
        let piece = first.split_to(first.len().min(CHUNK_BYTES));
        if first.is_empty() {
            self.parts.pop_front();
        }
        Some(piece)
    }

    /// Takes room for what is about to be held until it is read. A watch for which there is none ends,
    /// and its client begins another.
    fn take_room(&mut self) {
        let parts: usize = self.parts.iter().map(Bytes::len).sum();
        let bytes = self.buffer.len() + parts;
        self.room = None;
        if bytes <= CHUNK_BYTES {
            return;
        }
        self.room = self.api.flow_control().unread(&self.flow, bytes / 1024);
        if self.room.is_none() {
            // Nothing of it has been sent.
            self.buffer = Vec::new();
            self.parts.clear();
            self.fail(&too_much_unread());
        }
    }

    fn begin_after(&mut self, wanted: Revision) -> Result<(), Status> {
        let start = self.start(wanted);
        if wanted == Revision(0) {
            self.after = start;
        }
        self.watch_after(start)
    }

    /// After which revision a watch begins that wants this one; 0 is any.
    fn start(&self, wanted: Revision) -> Revision {
        let now = self.api.store().revision();
        match wanted {
            Revision(0) => now,
            wanted => wanted.min(now),
        }
    }

    fn watch_after(&mut self, revision: Revision) -> Result<(), Status> {
        let watch = self.api.store().watch(self.prefix(), revision);
        self.watch = Some(watch.map_err(|error| expired(&error))?);
        Ok(())
    }

    /// The next bytes; `None` at the end. However slowly they are read, and however much there is to
    /// tell, the watch ends in time and has its bookmarks.
    async fn next(&mut self) -> Option<Bytes> {
        loop {
            if let Some(piece) = self.piece() {
                return Some(piece);
            }
            self.room = None;
            if self.ended {
                return None;
            }
            let now = self.api.env().monotonic();
            let over = now >= self.deadline || *self.stopping.borrow();
            if self.tell_initial().await {
                self.ended |= over;
            } else if over {
                self.tell_events().await;
                self.ended = true;
            } else if self.bookmark_due().is_some_and(|at| now >= at) {
                self.regular_bookmark().await;
            } else if self.definition_is_gone() {
                // What became of the last objects is told before the end.
                let told = self.tell_events().await;
                self.ended |= told == Some(0);
            } else {
                self.wait().await;
            }
            self.take_room();
        }
    }

    fn bookmark_due(&self) -> Option<Time> {
        let at = self.bookmark_at?;
        Some(match self.last_bookmark {
            true => at.min(self.deadline - BOOKMARK_BEFORE_END),
            false => at,
        })
    }

    fn definition_is_gone(&mut self) -> bool {
        let definition = self.definition.as_mut();
        definition.is_some_and(|definition| definition.is_gone(&self.api))
    }

    /// Waits for something to do; events are told at once.
    async fn wait(&mut self) {
        let (api, deadline) = (Arc::clone(&self.api), self.deadline);
        let bookmark_at = self.bookmark_due();
        let Some(watch) = &mut self.watch else {
            self.ended = true;
            return;
        };
        let bookmark = async {
            match bookmark_at {
                Some(at) => api.env().sleep_until(at).await,
                None => std::future::pending().await,
            }
        };
        let stopping = &mut self.stopping;
        let stop = async {
            // Gone only together with the server.
            let _ = stopping.wait_for(|stopping| *stopping).await;
        };
        let definition = &self.definition;
        let defined = async {
            match definition {
                Some(definition) => drop(definition.changes.clone().changed().await),
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            seen = watch.next() => match seen {
                Ok(seen) => self.events(&seen.events).await,
                Err(error) => self.fail(&expired(&error)),
            },
            () = api.env().sleep_until(deadline) => {}
            () = stop => {}
            () = bookmark => {}
            () = defined => {}
        }
    }

    /// Tells some of what has happened; says how many events that were, and `None` if they are lost.
    async fn tell_events(&mut self) -> Option<usize> {
        match self.watch.as_mut()?.try_next() {
            Ok(seen) => {
                self.events(&seen.events).await;
                Some(seen.events.len())
            }
            Err(error) => {
                self.fail(&expired(&error));
                None
            }
        }
    }

    async fn regular_bookmark(&mut self) {
        let now = self.api.env().monotonic();
        self.bookmark_at = Some(now + BOOKMARK_EVERY);
        if now + BOOKMARK_BEFORE_END >= self.deadline {
            self.last_bookmark = false;
        }
        let seen = self.watch.as_mut().map(stowplan_store::Watch::try_next);
        if let Some(Ok(seen)) = seen {
            self.events(&seen.events).await;
            if !self.ended {
                self.bookmark(seen.revision, false);
            }
        }
    }

    async fn events(&mut self, events: &[Arc<Event>]) {
        for event in events {
            if !self.ended {
                self.event(event).await;
            }
        }
    }

    /// What an event means to this watch: objects come and go by the selection too.
    async fn event(&mut self, event: &Event) {
        if event.revision <= self.after {
            return;
        }
        let matches =
            |entry: Option<&Arc<Entry>>| entry.is_some_and(|entry| self.selection.matches(entry));
        let (now, before) = (matches(event.current()), matches(event.previous.as_ref()));
        match (now, before, &event.previous) {
            (true, false, _) => self.tell("ADDED", &event.entry, event.revision).await,
            (true, true, _) => self.tell("MODIFIED", &event.entry, event.revision).await,
            (false, true, Some(previous)) => self.tell("DELETED", previous, event.revision).await,
            _ => {}
        }
    }

    async fn tell(&mut self, kind: &str, entry: &Entry, revision: Revision) {
        if self.output.convert == Convert::Nothing && !self.target.resource.converts() {
            self.open(kind);
            if entry.value.len() < SHARED_BYTES_MIN {
                storage::write_object_at(&mut self.buffer, entry, revision);
            } else {
                let before = Bytes::from(std::mem::take(&mut self.buffer));
                let parts = storage::object_parts(entry, revision);
                self.parts.extend(std::iter::once(before).chain(parts));
            }
            self.buffer.extend_from_slice(b"}\n");
            return;
        }
        if self.ends_untold() {
            return;
        }
        let Some(shown) = self.shown(entry, revision).await else {
            return self.fail(&too_much_unread());
        };
        self.style.headers = false;
        self.open(kind);
        if shown.len() < SHARED_BYTES_MIN {
            self.buffer.extend_from_slice(&shown);
        } else {
            let before = Bytes::from(std::mem::take(&mut self.buffer));
            self.parts.extend([before, shown]);
        }
        self.buffer.extend_from_slice(b"}\n");
    }

    /// An object in the form that was asked for. It is made once for all watches that want the same. A
    /// large one is made off the reactor, if there is room for it; otherwise there is nothing to tell.
    async fn shown(&self, entry: &Entry, revision: Revision) -> Option<Bytes> {
        let what = What {
            key: entry.key.clone(),
            version: entry.mod_revision,
            revision,
            convert: self.output.convert,
            style: self.style,
            api_version: self.target.resource.api_version().to_string(),
            definitions: self.definitions,
            now_s: self.api.env().now().as_millis() / 1_000,
        };
        let bytes = entry.value.len();
        let told = self.api.converted().told(&what, bytes);
        if let Some(known) = told.get() {
            return Some(known.clone());
        }
        let make = || {
            let mut object = self.target.object(entry);
            if revision != entry.mod_revision {
                storage::set_revision(Arc::make_mut(&mut object), revision);
            }
            Bytes::from(self.converted(&object).to_string())
        };
        if bytes <= LIGHT_BYTES_MAX {
            return Some(told.get_or_init(async || make()).await.clone());
        }
        let _room = self.api.flow_control().unread(&self.flow, bytes / 1024)?;
        let made = told.get_or_try_init(async || {
            let work = std::pin::pin!(async { make() });
            let made = Weight::Heavy.carry(&self.api, &self.flow, work).await;
            made.ok_or(())
        });
        made.await.ok().cloned()
    }

    /// No event can be told as a list: upstream ends there.
    fn ends_untold(&mut self) -> bool {
        let ends = matches!(self.output.convert, Convert::Metadata(_, true));
        self.ended |= ends;
        ends
    }

    fn converted(&self, object: &Value) -> Value {
        match self.output.convert {
            Convert::Table(_) => {
                let style = self.style;
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
        self.style.headers = false;
        self.tell_value("BOOKMARK", &shown);
    }

    fn fail(&mut self, status: &Status) {
        self.tell_value("ERROR", &status.to_json());
        self.ended = true;
    }
}

fn too_much_unread() -> Status {
    Status::too_many_requests("too much of what watches were told has not been read", 1)
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
