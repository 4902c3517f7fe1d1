//! Watches: what the API has, told to the engine as it changes.
//!
//! A watch that breaks goes on where it was; where that is too long ago everything is listed again,
//! and [`Known`] tells what is new, what is the same, and what is gone.

mod known;
mod lean;

use crate::message::Message;
use futures::{StreamExt, TryStreamExt};
use known::{Known, Verdict};
use kube::api::Api;
use kube::runtime::WatchStreamExt;
use kube::runtime::watcher::{self, Event, watcher};
use kube::{Resource, ResourceExt};
use lean::Lean;
use serde::de::DeserializeOwned;
use std::fmt::Debug;
use std::sync::Arc;
use std::sync::mpsc::Sender;
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

/// How many objects are listed at a time. Small pages cost kube-apiserver more than what is in them:
/// 50,000 pods took twice as long with client-go's 500.
const PAGE: u32 = 5_000;

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
            tasks.spawn(feed.follow::<$kind>(client.clone()));
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

/// One kind on its way to the engine.
struct Feed {
    kind: Kind,
    known: Known,
    inbox: Sender<Message>,
    room: Arc<Semaphore>,
    /// Whether the engine was told that all objects are known.
    synced: bool,
}

/// The engine is gone: there is nobody to tell.
struct Gone;

impl Feed {
    async fn follow<K>(mut self, client: kube::Client)
    where
        K: Resource<DynamicType = ()> + Clone + Debug + DeserializeOwned + Send + 'static,
        ApiObject: From<K>,
    {
        let config = watcher::Config::default().page_size(PAGE);
        let config = match self.kind {
            // Finished pods take up nothing; upstream leaves them out as well.
            Kind::Pod => config.fields("status.phase!=Succeeded,status.phase!=Failed"),
            _ => config,
        };
        let mut events = watcher(Api::<Lean<K>>::all(client), config)
            .default_backoff()
            .boxed();
        loop {
            let told = match events.try_next().await {
                Ok(Some(event)) => self.tell(event).await,
                Ok(None) => return,
                Err(error) => self.failed(&error),
            };
            if told.is_err() {
                return;
            }
        }
    }

    async fn tell<K>(&mut self, event: Event<Lean<K>>) -> Result<(), Gone>
    where
        K: Resource<DynamicType = ()>,
        ApiObject: From<K>,
    {
        match event {
            Event::Init => self.known.start_list(),
            Event::InitApply(object) | Event::Apply(object) => self.upsert(object).await?,
            Event::Delete(object) => {
                let namespace = object.namespace().unwrap_or_default();
                let name = object.name_any();
                self.known.remove(&namespace, &name);
                self.delete(namespace.into(), name.into())?;
            }
            Event::InitDone => {
                for (namespace, name) in self.known.end_list() {
                    self.delete(namespace, name)?;
                }
                self.sync()?;
            }
        }
        Ok(())
    }

    async fn upsert<K>(&mut self, Lean(object): Lean<K>) -> Result<(), Gone>
    where
        K: Resource<DynamicType = ()>,
        ApiObject: From<K>,
    {
        let namespace = object.namespace().unwrap_or_default();
        let version = object.resource_version().unwrap_or_default();
        match self.known.see(&namespace, &object.name_any(), &version) {
            Verdict::Same => Ok(()),
            Verdict::Changed => {
                let room = self.room.clone().acquire_owned().await.map_err(|_| Gone)?;
                self.send(Message::Upsert(ApiObject::from(object), room))
            }
        }
    }

    fn delete(&self, namespace: Box<str>, name: Box<str>) -> Result<(), Gone> {
        self.send(Message::Delete {
            kind: self.kind,
            namespace,
            name,
        })
    }

    fn sync(&mut self) -> Result<(), Gone> {
        if !std::mem::replace(&mut self.synced, true) {
            self.send(Message::Synced(self.kind))?;
        }
        Ok(())
    }

    /// The watch goes on by itself. A kind that is not served has no objects.
    fn failed(&mut self, error: &watcher::Error) -> Result<(), Gone> {
        let kind = self.kind;
        tracing::warn!(
            ?kind,
            error = said(error),
            "a watch failed; it will be tried again"
        );
        match error {
            watcher::Error::InitialListFailed(kube::Error::Api(status)) if status.code == 404 => {
                self.sync()
            }
            _ => Ok(()),
        }
    }

    fn send(&self, message: Message) -> Result<(), Gone> {
        self.inbox.send(message).map_err(|_| Gone)
    }
}

/// What went wrong, in the server's words or those of whoever did not reach it.
fn said(error: &watcher::Error) -> String {
    match error {
        watcher::Error::InitialListFailed(kube::Error::Api(status))
        | watcher::Error::WatchStartFailed(kube::Error::Api(status))
        | watcher::Error::WatchFailed(kube::Error::Api(status))
        | watcher::Error::WatchError(status) => status.message.clone(),
        other => {
            let mut deepest: &dyn std::error::Error = other;
            while let Some(source) = deepest.source() {
                deepest = source;
            }
            deepest.to_string()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kube::core::Status;

    #[test]
    fn errors_are_told_in_the_words_of_who_made_them() {
        let refusal = || Box::new(Status::failure("pods is forbidden", "Forbidden"));
        let listed = watcher::Error::InitialListFailed(kube::Error::Api(refusal()));
        assert_eq!(said(&listed), "pods is forbidden");
        assert_eq!(
            said(&watcher::Error::WatchError(refusal())),
            "pods is forbidden"
        );
        let refused = std::io::Error::from(std::io::ErrorKind::ConnectionRefused);
        let service = kube::Error::Service(Box::new(refused));
        assert_eq!(
            said(&watcher::Error::WatchFailed(service)),
            "connection refused"
        );
    }
}
