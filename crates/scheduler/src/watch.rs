//! Watches: what the API has, told to the engine as it changes.
//!
//! There is one reflector per kind that the engine reads. Objects go to the engine and are not kept here:
//! it converts them to its own form, which is much smaller.

use crate::message::Message;
use std::sync::Arc;
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
use stowplan_base::Env;
use stowplan_client::{Closed, ListWatch, Reflector, Sink, read_lean};
use stowplan_engine::model::Kind;
use tokio::sync::Semaphore;
use tokio::sync::mpsc::UnboundedSender;
use tokio::task::JoinSet;

/// How many objects may wait for the engine.
const WAITING_MAX: usize = 4096;

/// Starts to follow all kinds that the engine reads.
pub(crate) fn all(
    client: &kube::Client,
    env: &Arc<dyn Env>,
    inbox: &UnboundedSender<Message>,
) -> JoinSet<()> {
    let mut tasks = JoinSet::new();
    let room = Arc::new(Semaphore::new(WAITING_MAX));
    for kind in Kind::ALL {
        let feed = Feed {
            kind,
            inbox: inbox.clone(),
            room: room.clone(),
        };
        let source = source(kind, client.clone(), env.clone()).with_fields(fields(kind));
        tasks.spawn(Reflector::new(source, feed).run());
    }
    tasks
}

/// Where objects of a kind come from.
fn source(kind: Kind, client: kube::Client, env: Arc<dyn Env>) -> ListWatch<ApiObject> {
    macro_rules! read_as {
        ($($name:ident),* $(,)?) => {
            match kind {
                $(Kind::$name => {
                    let read = |text: &str| read_lean::<$name>(text).map(ApiObject::from);
                    ListWatch::read_as::<$name>(client, env, read, ApiObject::metadata)
                })*
            }
        };
    }
    read_as!(
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
        Pod,
    )
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
    inbox: UnboundedSender<Message>,
    room: Arc<Semaphore>,
}

impl Feed {
    fn send(&self, message: Message) -> Result<(), Closed> {
        self.inbox.send(message).map_err(|_| Closed)
    }
}

impl Sink<ApiObject> for Feed {
    async fn upsert(&mut self, object: ApiObject) -> Result<(), Closed> {
        let room = self.room.clone().acquire_owned().await;
        let room = room.map_err(|_| Closed)?;
        self.send(Message::Upsert(object, room))
    }

    fn delete(&mut self, namespace: Box<str>, name: Box<str>) -> Result<(), Closed> {
        self.send(Message::Delete {
            kind: self.kind,
            namespace,
            name,
        })
    }

    fn synced(&mut self) -> Result<(), Closed> {
        self.send(Message::Synced(self.kind))
    }
}
