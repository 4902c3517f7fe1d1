//! What the API has of one kind, told as it changes. client-go's `tools/cache/reflector.go`.
//!
//! A watch that breaks goes on where it was; where that is too long ago everything is listed again,
//! and [`Known`] tells what is new, what is the same, and what is gone. While one page of a list is read
//! the next one is fetched, and nothing reads managed fields.

mod known;
mod list_watch;
mod page;

pub use list_watch::{ListWatch, Metadata};

use crate::Backoff;
use futures::TryStreamExt;
use known::{Known, Verdict};
use list_watch::{Broken, Change};
use std::future::Future;
use std::time::Duration;

/// A watch that tells nothing and ends sooner than this is not asked for again at once.
const SHORT: Duration = Duration::from_secs(1);

/// The pauses between attempts while the server cannot be reached: those of kube-rs.
const PAUSE_FIRST: Duration = Duration::from_millis(800);
const PAUSE_MAX: Duration = Duration::from_secs(30);

/// Who is told has gone away.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Closed;

/// Who is told of the objects of a kind, in order.
pub trait Sink<T>: Send {
    /// An object is new or changed. Until this is done nothing more is read: back-pressure.
    fn upsert(&mut self, object: T) -> impl Future<Output = Result<(), Closed>> + Send;

    /// An object is gone.
    fn delete(&mut self, namespace: Box<str>, name: Box<str>) -> Result<(), Closed>;

    /// An object was gone as of this version: for those who may know of a later one by other means.
    fn delete_as_of(
        &mut self,
        namespace: Box<str>,
        name: Box<str>,
        _version: &str,
    ) -> Result<(), Closed> {
        self.delete(namespace, name)
    }

    /// All objects that there were as of this version have been told; `is_there` knows their namespaces and
    /// names. For those who may know of others by other means.
    fn listed(&mut self, _version: &str, _is_there: &dyn Fn(&str, &str) -> bool) {}

    /// All objects that there were at the start have been told. Told once.
    fn synced(&mut self) -> Result<(), Closed>;
}

/// Follows one kind and tells a [`Sink`] of it.
pub struct Reflector<T, S> {
    source: ListWatch<T>,
    sink: S,
    known: Known,
    /// Whether the sink was told that all objects are known.
    synced: bool,
}

/// Why nothing more is told for now.
enum Stopped {
    /// The API has nothing more to say.
    Broken(Broken),
    /// There is nobody to tell.
    Gone,
}

impl From<Broken> for Stopped {
    fn from(broken: Broken) -> Self {
        Self::Broken(broken)
    }
}

impl From<Closed> for Stopped {
    fn from(_: Closed) -> Self {
        Self::Gone
    }
}

impl<T: Send + 'static, S: Sink<T>> Reflector<T, S> {
    /// Tells this sink what comes from this source.
    pub fn new(source: ListWatch<T>, sink: S) -> Self {
        Self {
            source,
            sink,
            known: Known::default(),
            synced: false,
        }
    }

    /// Follows the kind until nobody wants to know any more.
    pub async fn run(mut self) {
        let mut backoff = Backoff::new(PAUSE_FIRST, PAUSE_MAX);
        // Up to where everything is known.
        let mut version = None;
        loop {
            let told = match &mut version {
                None => self.list().await.map(|listed| version = Some(listed)),
                Some(version) => self.watch(version, &mut backoff).await,
            };
            match told {
                Ok(()) => {}
                Err(Stopped::Gone) => return,
                Err(Stopped::Broken(broken)) => {
                    if self.failed(&broken).is_err() {
                        return;
                    }
                    if broken.is_expired() {
                        version = None;
                    }
                    let env = self.source.env();
                    let pause = env.sleep(backoff.pause(env));
                    pause.await;
                }
            }
        }
    }

    /// Tells all objects that there are; returns the version of the list.
    async fn list(&mut self) -> Result<String, Stopped> {
        self.known.start_list();
        let mut pages = self.source.list();
        let mut listed = String::new();
        while let Some(page) = pages.next().await {
            let page = page?;
            for object in page.objects {
                self.upsert(object).await?;
            }
            for (key, error) in page.unreadable {
                let (namespace, name) = (&key.namespace, &key.name);
                tracing::error!(namespace, name, %error, "an object cannot be read");
                // What is known of it stays.
                self.known.see(namespace, name, &key.resource_version);
            }
            listed = page.version;
        }
        for (namespace, name) in self.known.end_list() {
            self.sink.delete_as_of(namespace, name, &listed)?;
        }
        let known = &self.known;
        self.sink
            .listed(&listed, &|namespace, name| known.has(namespace, name));
        self.sync()?;
        Ok(listed)
    }

    /// Tells what happens from this version on, which moves on with it, until the watch ends.
    async fn watch(&mut self, version: &mut String, backoff: &mut Backoff) -> Result<(), Stopped> {
        let begun = self.source.env().monotonic();
        let mut changes = self.source.watch(version).await?;
        let mut heard = false;
        while let Some((seen, change)) = changes.try_next().await? {
            heard = true;
            backoff.reset();
            match change {
                Change::Nothing => {}
                Change::Upsert(object) => self.upsert(object).await?,
                Change::Delete(key) => {
                    self.known.remove(&key.namespace, &key.name);
                    let (namespace, name) = (key.namespace.into(), key.name.into());
                    self.sink.delete_as_of(namespace, name, &seen)?;
                }
            }
            if !seen.is_empty() {
                *version = seen;
            }
        }
        let lasted = self.source.env().monotonic().since(begun);
        match heard || lasted >= SHORT {
            true => Ok(()),
            false => Err(Broken::Short.into()),
        }
    }

    async fn upsert(&mut self, object: T) -> Result<(), Stopped> {
        let meta = (self.source.meta)(&object);
        let verdict = self.known.see(
            meta.namespace.as_deref().unwrap_or_default(),
            meta.name.as_deref().unwrap_or_default(),
            meta.resource_version.as_deref().unwrap_or_default(),
        );
        match verdict {
            Verdict::Same => Ok(()),
            Verdict::Changed => Ok(self.sink.upsert(object).await?),
        }
    }

    fn sync(&mut self) -> Result<(), Stopped> {
        if !std::mem::replace(&mut self.synced, true) {
            self.sink.synced()?;
        }
        Ok(())
    }

    /// It will be tried again. A kind that is not served has no objects.
    fn failed(&mut self, broken: &Broken) -> Result<(), Stopped> {
        let (kind, error) = (&self.source.kind, said(broken));
        match broken {
            // So it is with a server that is about to stop.
            Broken::Short => tracing::debug!(kind, error, "a watch ended; it will be tried again"),
            _ => tracing::warn!(kind, error, "a watch failed; it will be tried again"),
        }
        match broken {
            Broken::List(kube::Error::Api(status)) if status.code == 404 => self.sync(),
            _ => Ok(()),
        }
    }
}

/// What went wrong, in the server's words or those of whoever did not reach it.
fn said(broken: &Broken) -> String {
    if let Some(status) = broken.status() {
        return status.message.clone();
    }
    let (Broken::List(error) | Broken::Watch(error)) = broken else {
        return "it ended as soon as it began".to_owned();
    };
    let mut deepest: &dyn std::error::Error = error;
    while let Some(source) = deepest.source() {
        deepest = source;
    }
    deepest.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use kube::core::Status;

    #[test]
    fn errors_are_told_in_the_words_of_who_made_them() {
        let refusal = || Box::new(Status::failure("pods is forbidden", "Forbidden"));
        let listed = Broken::List(kube::Error::Api(refusal()));
        assert_eq!(said(&listed), "pods is forbidden");
        assert_eq!(said(&Broken::Said(refusal())), "pods is forbidden");
        let refused = std::io::Error::from(std::io::ErrorKind::ConnectionRefused);
        let service = kube::Error::Service(Box::new(refused));
        assert_eq!(said(&Broken::Watch(service)), "connection refused");
    }
}
