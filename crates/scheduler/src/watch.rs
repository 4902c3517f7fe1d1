//! Watches: what the API has, told to the engine as it changes.
//!
//! A watch that breaks goes on where it was; where that is too long ago everything is listed again,
//! and [`Known`] tells what is new, what is the same, and what is gone.

mod known;
mod lean;
mod page;
mod source;

use crate::message::Message;
use futures::TryStreamExt;
use known::{Known, Verdict};
use kube::runtime::utils::Backoff;
use kube::runtime::watcher::DefaultBackoff;
use page::Page;
use source::{Broken, Change, Source};
use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::time::{Duration, Instant};
use stowplan_api::k8s::api::apps::v1::{ReplicaSet, StatefulSet};
use stowplan_api::k8s::api::core::v1::{
    Namespace, Node, PersistentVolume, PersistentVolumeClaim, Pod, ReplicationController, Service,
};
use stowplan_api::k8s::api::policy::v1::PodDisruptionBudget;
use stowplan_api::k8s::api::resource::v1::{DeviceClass, ResourceClaim, ResourceSlice};
use stowplan_api::k8s::api::storage::v1::{
    CSIDriver, CSINode, CSIStorageCapacity, StorageClass, VolumeAttachment,
};
use stowplan_api::load::Object as ApiObject;
use stowplan_engine::model::Kind;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

/// How many objects may wait for the engine.
const WAITING_MAX: usize = 4096;

/// A watch that tells nothing and ends sooner than this is not asked for again at once.
const SHORT: Duration = Duration::from_secs(1);

/// The kinds that are watched.
pub(crate) const KINDS: usize = 18;

/// Starts all watches.
pub(crate) fn all(client: &kube::Client, inbox: &Sender<Message>) -> JoinSet<()> {
    let mut tasks = JoinSet::new();
    let room = Arc::new(Semaphore::new(WAITING_MAX));
    macro_rules! follow {
        ($($kind:ident),*) => {$({
            let feed = Feed {
                kind: Kind::$kind,
                known: Known::default(),
                inbox: inbox.clone(),
                room: room.clone(),
                synced: false,
            };
            let source = Source::new::<$kind>(client.clone(), fields(Kind::$kind));
            tasks.spawn(feed.follow(source));
        })*};
    }
    follow!(
        Namespace,
        Node,
        StorageClass,
        PersistentVolume,
        PersistentVolumeClaim,
        CSIDriver,
        CSINode,
        CSIStorageCapacity,
        VolumeAttachment,
        DeviceClass,
        ResourceClaim,
        ResourceSlice,
        Service,
        PodDisruptionBudget,
        ReplicationController,
        ReplicaSet,
        StatefulSet,
        Pod
    );
    debug_assert_eq!(tasks.len(), KINDS);
    tasks
}

/// Which objects of a kind are asked for; `None` for all.
fn fields(kind: Kind) -> Option<&'static str> {
    match kind {
        // Finished pods take up nothing; upstream leaves them out as well.
        Kind::Pod => Some("status.phase!=Succeeded,status.phase!=Failed"),
        _ => None,
    }
}

/// One kind on its way to the engine.
struct Feed {
    kind: Kind,
    known: Known,
    inbox: Sender<Message>,
    room: Arc<Semaphore>,
    /// Whether the engine was told that all objects are known.
    synced: bool,
}

/// Why nothing more is told for now.
enum Stopped {
    /// The API has nothing more to say.
    Broken(Broken),
    /// The engine is gone: there is nobody to tell.
    Gone,
}

impl From<Broken> for Stopped {
    fn from(broken: Broken) -> Self {
        Self::Broken(broken)
    }
}

impl Feed {
    async fn follow(mut self, source: Source) {
        let mut backoff = DefaultBackoff::default();
        // Up to where everything is known.
        let mut version = None;
        loop {
            let told = match &mut version {
                None => self
                    .list(&source)
                    .await
                    .map(|listed| version = Some(listed)),
                Some(version) => self.watch(&source, version, &mut backoff).await,
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
                    let pause = backoff.next().unwrap_or_default();
                    tokio::time::sleep(pause).await;
                }
            }
        }
    }

    /// Tells all objects that there are; returns the version of the list.
    async fn list(&mut self, source: &Source) -> Result<String, Stopped> {
        self.known.start_list();
        let mut pages = source.list();
        let mut listed = String::new();
        while let Some(page) = pages.next().await {
            let page: Page = page?;
            for object in page.objects {
                self.upsert(object).await?;
            }
            for (key, error) in page.unreadable {
                let (namespace, name) = (&key.namespace, &key.name);
                tracing::error!(namespace, name, %error, "an object cannot be read");
                // What is known of it stays.
                self.known.see(namespace, name, &key.resource_version);
            }
            let version = page.version;
            listed = version;
        }
        for (namespace, name) in self.known.end_list() {
            self.delete(namespace, name)?;
        }
        self.sync()?;
        Ok(listed)
    }

    /// Tells what happens from this version on, which moves on with it, until the watch ends.
    async fn watch(
        &mut self,
        source: &Source,
        version: &mut String,
        backoff: &mut DefaultBackoff,
    ) -> Result<(), Stopped> {
        let begun = Instant::now();
        let mut changes = source.watch(version).await?;
        let mut heard = false;
        while let Some((seen, change)) = changes.try_next().await? {
            heard = true;
            backoff.reset();
            match change {
                Change::Nothing => {}
                Change::Upsert(object) => self.upsert(object).await?,
                Change::Delete(key) => {
                    self.known.remove(&key.namespace, &key.name);
                    self.delete(key.namespace.into(), key.name.into())?;
                }
            }
            if !seen.is_empty() {
                *version = seen;
            }
        }
        match heard || begun.elapsed() >= SHORT {
            true => Ok(()),
            false => Err(Broken::Short.into()),
        }
    }

    async fn upsert(&mut self, object: ApiObject) -> Result<(), Stopped> {
        let meta = object.metadata();
        let verdict = self.known.see(
            meta.namespace.as_deref().unwrap_or_default(),
            meta.name.as_deref().unwrap_or_default(),
            meta.resource_version.as_deref().unwrap_or_default(),
        );
        match verdict {
            Verdict::Same => Ok(()),
            Verdict::Changed => {
                let room = self.room.clone().acquire_owned().await;
                let room = room.map_err(|_| Stopped::Gone)?;
                self.send(Message::Upsert(object, room))
            }
        }
    }

    fn delete(&self, namespace: Box<str>, name: Box<str>) -> Result<(), Stopped> {
        self.send(Message::Delete {
            kind: self.kind,
            namespace,
            name,
        })
    }

    fn sync(&mut self) -> Result<(), Stopped> {
        if !std::mem::replace(&mut self.synced, true) {
            self.send(Message::Synced(self.kind))?;
        }
        Ok(())
    }

    /// It will be tried again. A kind that is not served has no objects.
    fn failed(&mut self, broken: &Broken) -> Result<(), Stopped> {
        let (kind, error) = (self.kind, said(broken));
        match broken {
            // So it is with a server that is about to stop.
            Broken::Short => tracing::debug!(?kind, error, "a watch ended; it will be tried again"),
            _ => tracing::warn!(?kind, error, "a watch failed; it will be tried again"),
        }
        match broken {
            Broken::List(kube::Error::Api(status)) if status.code == 404 => self.sync(),
            _ => Ok(()),
        }
    }

    fn send(&self, message: Message) -> Result<(), Stopped> {
        self.inbox.send(message).map_err(|_| Stopped::Gone)
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
