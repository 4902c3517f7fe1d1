//! Where objects of a kind come from: lists and watches, as requests.

use super::page::{self, Key, Page, ReadOne, key_of};
use crate::ServedResource;
use futures::{Stream, StreamExt};
use kube::api::{ListParams, WatchEvent, WatchParams};
use kube::core::{ObjectMeta, Request, Status};
use kube::{Client, Error, Resource};
use serde::Deserialize;
use serde_json::value::RawValue;
use std::sync::Arc;
use std::time::Duration;
use stowplan_base::Env;
use stowplan_cache::{Erased, Kind, read_lean};
use stowplan_env::{timeout, timeout_at};
use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::sync::oneshot;
use tokio::task::{JoinError, JoinHandle, JoinSet};

/// How many objects are listed at a time. Small pages cost kube-apiserver more than what is in them:
/// 50,000 pods took twice as long with client-go's 500.
const PAGE: u32 = 5_000;

/// How long a page is waited for.
const PAGE_PATIENCE: Duration = Duration::from_secs(120);

/// How long a watch is to last, in seconds, and how much longer it is waited for: who hears nothing for
/// that long is not connected any more.
const WATCH_S: u32 = 290;
const GRACE: Duration = Duration::from_secs(5);

/// How objects of one kind are asked for and read.
pub struct ListWatch<T> {
    client: Client,
    env: Arc<dyn Env>,
    pub(super) kind: String,
    request: Request,
    fields: Option<&'static str>,
    /// Whether the server sends nothing but metadata.
    is_metadata: bool,
    read_one: ReadOne<T>,
    pub(super) meta: fn(&T) -> &ObjectMeta,
}

impl<T> Clone for ListWatch<T> {
    fn clone(&self) -> Self {
        Self {
            client: self.client.clone(),
            env: self.env.clone(),
            kind: self.kind.clone(),
            request: self.request.clone(),
            ..*self
        }
    }
}

/// Why no more is told.
#[derive(Debug)]
pub(super) enum Broken {
    /// A list could not be had.
    List(Error),
    /// A watch could not be had, or broke.
    Watch(Error),
    /// A watch ended with these words.
    Said(Box<Status>),
    /// A watch ended at once, without a word.
    Short,
}

impl Broken {
    /// The server's answer, if there was one.
    pub(super) fn status(&self) -> Option<&Status> {
        match self {
            Self::List(Error::Api(status)) | Self::Watch(Error::Api(status)) => Some(status),
            Self::Said(status) => Some(status),
            Self::List(_) | Self::Watch(_) | Self::Short => None,
        }
    }

    /// Whether everything has to be listed again: what changed since is not known any more.
    pub(super) fn is_expired(&self) -> bool {
        self.status().is_some_and(|status| status.code == 410)
    }
}

/// What a watch tells.
pub(super) enum Change<T> {
    /// An object is there, new or changed.
    Upsert(T),
    /// An object is gone.
    Delete(Key),
    /// Nothing that could be told happened up to here.
    Nothing,
}

impl ListWatch<Box<dyn Erased>> {
    /// All objects of a kind, in all namespaces, without their managed fields.
    pub fn of(kind: Kind, client: Client, env: Arc<dyn Env>) -> Self {
        Self {
            client,
            env,
            kind: kind.name.to_owned(),
            request: Request::new(kind.path("")),
            fields: None,
            is_metadata: false,
            read_one: kind.read,
            meta: |object| object.metadata(),
        }
    }
}

impl ListWatch<Metadata> {
    /// The metadata of all objects of a resource that is known by name only, without managed fields.
    pub fn metadata(resource: &ServedResource, client: Client, env: Arc<dyn Env>) -> Self {
        Self {
            client,
            env,
            kind: resource.kind.clone(),
            request: Request::new(resource.path("")),
            fields: None,
            is_metadata: true,
            read_one: read_lean,
            meta: |object| &object.metadata,
        }
    }
}

/// An object of which only the metadata is known.
#[derive(Clone, Debug, Deserialize)]
pub struct Metadata {
    /// The metadata.
    #[serde(default)]
    pub metadata: ObjectMeta,
}

impl<T> ListWatch<T> {
    /// All objects of kind `K`, each read as something else, of which `meta` is the metadata.
    pub fn read_as<K: Resource<DynamicType = ()>>(
        client: Client,
        env: Arc<dyn Env>,
        read_one: fn(&str) -> serde_json::Result<T>,
        meta: fn(&T) -> &ObjectMeta,
    ) -> Self {
        Self {
            client,
            env,
            kind: K::kind(&()).into_owned(),
            request: Request::new(K::url_path(&(), None)),
            fields: None,
            is_metadata: false,
            read_one,
            meta,
        }
    }

    /// Only those that have these fields.
    pub fn with_fields(mut self, fields: Option<&'static str>) -> Self {
        self.fields = fields;
        self
    }

    pub(super) fn env(&self) -> &dyn Env {
        &*self.env
    }
}

impl<T: Send + 'static> ListWatch<T> {
    /// All objects, page by page; the pages of one list are of the same version.
    pub(super) fn list(&self) -> Pages<T> {
        let mut fetching = JoinSet::new();
        let source = self.clone();
        fetching.spawn(async move { source.fetch(None).await });
        Pages {
            source: self.clone(),
            fetching,
        }
    }

    async fn fetch(&self, token: Option<String>) -> Result<String, Error> {
        let params = ListParams {
            limit: Some(PAGE),
            continue_token: token,
            field_selector: self.fields.map(str::to_owned),
            ..ListParams::default()
        };
        let request = match self.is_metadata {
            true => self.request.list_metadata(&params),
            false => self.request.list(&params),
        };
        let request = request.map_err(Error::BuildRequest)?;
        let fetched = timeout(&*self.env, PAGE_PATIENCE, self.client.request_text(request));
        fetched.await.unwrap_or_else(|_| Err(late()))
    }

    /// What happens from this version on, and the version after it; ends when it is time to ask again.
    pub(super) async fn watch(
        &self,
        version: &str,
    ) -> Result<impl Stream<Item = Result<(String, Change<T>), Broken>> + use<T>, Broken> {
        let params = WatchParams {
            field_selector: self.fields.map(str::to_owned),
            timeout: Some(WATCH_S),
            ..WatchParams::default()
        };
        let request = match self.is_metadata {
            true => self.request.watch_metadata(&params, version),
            false => self.request.watch(&params, version),
        };
        let request = request.map_err(|error| Broken::Watch(Error::BuildRequest(error)))?;
        let end = self.env.monotonic() + Duration::from_secs(WATCH_S.into()) + GRACE;
        let asked = timeout_at(&*self.env, end, self.client.request_events(request));
        let Ok(events) = asked.await else {
            return Err(Broken::Watch(late()));
        };
        let events = events.map_err(Broken::Watch)?;
        let (read_one, meta) = (self.read_one, self.meta);
        let told = move |event: Result<Event, Error>| {
            let event = event.map_err(Broken::Watch)?;
            change(event, read_one, meta)
        };
        let changes = StreamExt::map(events, told);
        Ok(Box::pin(changes.take_until(self.env.sleep_until(end))))
    }
}

fn late() -> Error {
    Error::ReadEvents(std::io::ErrorKind::TimedOut.into())
}

/// An event as it is sent; the object is read once it is known that it is one.
type Event = WatchEvent<Box<RawValue>>;

fn change<T>(
    event: Event,
    read_one: ReadOne<T>,
    meta: fn(&T) -> &ObjectMeta,
) -> Result<(String, Change<T>), Broken> {
    match event {
        Event::Added(raw) | Event::Modified(raw) => match read_one(raw.get()) {
            Ok(object) => {
                let version = meta(&object).resource_version.clone();
                Ok((version.unwrap_or_default(), Change::Upsert(object)))
            }
            // The rest of the kind must not wait for this one.
            Err(error) => {
                let key = key_of(&raw);
                let (namespace, name) = (&key.namespace, &key.name);
                tracing::error!(namespace, name, %error, "an object cannot be read");
                Ok((key.resource_version, Change::Nothing))
            }
        },
        Event::Deleted(raw) => {
            let mut key = key_of(&raw);
            let version = std::mem::take(&mut key.resource_version);
            Ok((version, Change::Delete(key)))
        }
        Event::Bookmark(bookmark) => Ok((bookmark.metadata.resource_version, Change::Nothing)),
        Event::Error(status) => Err(Broken::Said(status)),
    }
}

/// The pages of a list. While one is read and told, the next one is fetched.
pub(super) struct Pages<T> {
    source: ListWatch<T>,
    /// The text of the next page; nothing after the last.
    fetching: JoinSet<Result<String, Error>>,
}

impl<T: Send + 'static> Pages<T> {
    /// The next page; `None` after the last.
    pub(super) async fn next(&mut self) -> Option<Result<Page<T>, Broken>> {
        let text = match unbroken(self.fetching.join_next().await?) {
            Ok(text) => text,
            Err(error) => return Some(Err(Broken::List(error))),
        };
        let (tell, next) = oneshot::channel();
        let read_one = self.source.read_one;
        let reading = off_the_reactor(move || {
            let mut tell = Some(tell);
            // Nobody waits for the token if the list is given up.
            let mut ahead = |token| drop(tell.take().map(|tell| tell.send(token)));
            page::read(&text, read_one, &mut ahead)
        });
        if let Ok(Some(token)) = next.await {
            let source = self.source.clone();
            self.fetching
                .spawn(async move { source.fetch(Some(token)).await });
        }
        let page = unbroken(reading.await);
        Some(page.map_err(|error| Broken::List(Error::SerdeError(error))))
    }
}

/// Runs long work beside the threads that serve everybody. Where there is one thread only, and perhaps a
/// virtual clock, it runs at once.
fn off_the_reactor<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> JoinHandle<T> {
    match Handle::current().runtime_flavor() {
        RuntimeFlavor::CurrentThread => tokio::spawn(async { work() }),
        _ => tokio::task::spawn_blocking(work),
    }
}

/// What a task returned; its panic is ours.
fn unbroken<T>(joined: Result<T, JoinError>) -> T {
    joined.unwrap_or_else(|broke| match broke.try_into_panic() {
        Ok(panic) => std::panic::resume_unwind(panic),
        Err(cancelled) => panic!("{cancelled}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use k8s_openapi::api::core::v1::Pod;
    use kube::client::Body;
    use std::sync::Mutex;
    use stowplan_env::System;
    use tower::{BoxError, service_fn};

    /// A server that answers each query with the next of these, and the queries that it heard.
    fn server(answers: &[&str]) -> (Client, Arc<Mutex<Vec<String>>>) {
        let answers: Vec<String> = answers.iter().map(|text| (*text).to_owned()).collect();
        let asked = Arc::new(Mutex::new(Vec::new()));
        let heard = asked.clone();
        let service = service_fn(move |request: http::Request<Body>| {
            let mut heard = heard.lock().unwrap();
            heard.push(request.uri().query().unwrap_or_default().to_owned());
            let text = answers[heard.len() - 1].clone();
            let code = if text.contains("Expired") { 410 } else { 200 };
            let answer = http::Response::builder().status(code);
            let answer = answer.body(Body::from(text.into_bytes()));
            std::future::ready(answer.map_err(BoxError::from))
        });
        (Client::new(service, "default"), asked)
    }

    fn pods(client: Client) -> ListWatch<Pod> {
        ListWatch::read_as::<Pod>(client, Arc::new(System::new()), read_lean, Pod::meta)
    }

    #[tokio::test]
    async fn a_list_is_read_to_its_last_page() {
        let (client, asked) = server(&[
            r#"{"metadata":{"resourceVersion":"7","continue":"t"},"items":[{"metadata":{"name":"a"}}]}"#,
            r#"{"metadata":{"resourceVersion":"7"},"items":[{"metadata":{"name":"b"}}]}"#,
        ]);
        let source = pods(client);
        let mut pages = source.list();
        let mut names = Vec::new();
        while let Some(page) = pages.next().await {
            let page = page.unwrap();
            assert_eq!(page.version, "7");
            names.extend(page.objects.into_iter().filter_map(|pod| pod.metadata.name));
        }
        assert_eq!(names, ["a", "b"]);
        let asked = asked.lock().unwrap();
        assert_eq!(asked.len(), 2);
        assert!(asked[1].contains("continue=t"), "{asked:?}");
    }

    #[tokio::test]
    async fn a_list_that_is_too_old_to_go_on_has_to_begin_anew() {
        let (client, _) = server(&[
            r#"{"metadata":{"resourceVersion":"7","continue":"t"},"items":null}"#,
            r#"{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Expired","code":410,
                "message":"The provided continue parameter is too old"}"#,
        ]);
        let source = pods(client);
        let mut pages = source.list();
        assert!(pages.next().await.unwrap().is_ok());
        let broken = pages.next().await.unwrap().expect_err("it is too old");
        assert!(broken.is_expired());
    }

    #[tokio::test]
    async fn a_watch_that_is_too_old_says_so() {
        let (client, asked) = server(&[
            r#"{"type":"ADDED","object":{"metadata":{"name":"a","resourceVersion":"8"}}}
{"type":"ERROR","object":{"kind":"Status","status":"Failure","message":"too old","code":410}}
"#,
        ]);
        let source = pods(client).with_fields(Some("spec.nodeName="));
        let mut changes = source.watch("7").await.unwrap();
        let (version, change) = changes.next().await.unwrap().unwrap();
        assert!(matches!(change, Change::Upsert(_)) && version == "8");
        let broken = changes.next().await.unwrap().err().expect("it is too old");
        assert!(broken.is_expired());
        let asked = asked.lock().unwrap();
        assert!(asked[0].contains("resourceVersion=7"), "{asked:?}");
        assert!(
            asked[0].contains("fieldSelector=spec.nodeName"),
            "{asked:?}"
        );
    }

    fn told(line: &str) -> (String, Change<Pod>) {
        let event = serde_json::from_str(line).unwrap();
        change(event, read_lean, Pod::meta).unwrap()
    }

    #[test]
    fn an_object_that_cannot_be_read_does_not_stop_the_others() {
        let line = r#"{"type":"MODIFIED","object":{"kind":"Pod",
            "metadata":{"name":"p","namespace":"n","resourceVersion":"7"},
            "spec":{"containers":"none"}}}"#;
        let (version, change) = told(line);
        assert_eq!(version, "7");
        assert!(matches!(change, Change::Nothing));
    }

    #[test]
    fn what_is_gone_is_known_by_its_key() {
        let line = r#"{"type":"DELETED","object":{"kind":"Pod",
            "metadata":{"name":"p","namespace":"n","resourceVersion":"8"}}}"#;
        let (version, change) = told(line);
        let Change::Delete(key) = change else {
            panic!("it is gone");
        };
        assert_eq!(
            (version.as_str(), key.namespace.as_str(), key.name.as_str()),
            ("8", "n", "p")
        );
    }
}
