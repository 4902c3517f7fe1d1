//! Watches: what the API has, told to the engine as it changes.
//!
//! There is one reflector per kind that the engine reads. Objects go to the engine and are not kept here:
//! it converts them to its own form, which is much smaller. Where others in this process keep the objects
//! anyway, the engine is shown theirs, and nothing is read twice.

use crate::message::Message;
use std::sync::Arc;
use stowplan_api::load::{Object as ApiObject, types};
use stowplan_base::Env;
use stowplan_client::{Closed, Delta, Informers, ListWatch, Object, Reflector, Sink, read_lean};
use stowplan_engine::for_each_kind;
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
    informers: Option<&Informers>,
) -> JoinSet<()> {
    let mut tasks = JoinSet::new();
    if let Some(informers) = informers {
        for kind in Kind::ALL {
            follow(kind, informers, inbox.clone(), &mut tasks);
        }
        return tasks;
    }
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

/// Does something with the API's type of a kind.
macro_rules! with_type {
    ($kind:expr, |$name:ident| $what:expr) => {
        for_each_kind!(with_type; @match $kind, $name, $what;)
    };
    (@match $kind:expr, $name:ident, $what:expr; $($known:ident($_:ident),)*) => {
        match $kind {
            $(Kind::$known => {
                type $name = types::$known;
                $what
            })*
        }
    };
}

/// Where objects of a kind come from.
fn source(kind: Kind, client: kube::Client, env: Arc<dyn Env>) -> ListWatch<ApiObject> {
    with_type!(kind, |K| {
        let read = |text: &str| read_lean::<K>(text).map(ApiObject::from);
        ListWatch::read_as::<K>(client, env, read, ApiObject::metadata)
    })
}

/// Shows the engine the objects of a kind that informers keep.
fn follow(
    kind: Kind,
    informers: &Informers,
    inbox: UnboundedSender<Message>,
    tasks: &mut JoinSet<()>,
) {
    with_type!(kind, |K| {
        let informer = informers.of::<K>();
        tasks.spawn(async move {
            informer.synced().await;
            let told = inbox.clone();
            informer.add_handler(move |delta| {
                // Who is gone wants to know nothing.
                let _ = told.send(message(kind, &delta));
            });
            let _ = inbox.send(Message::Synced(kind));
        });
    });
}

/// What the engine is told of a change.
fn message<K: Object>(kind: Kind, delta: &Delta<'_, K>) -> Message
where
    ApiObject: From<Arc<K>>,
{
    let object = ApiObject::from(delta.object().clone());
    if matches!(delta, Delta::Deleted(_)) || is_finished(&object) {
        return Message::Delete {
            kind,
            namespace: object.namespace().into(),
            name: object.name().into(),
        };
    }
    Message::Upsert(object, None)
}

/// Finished pods take up nothing.
fn is_finished(object: &ApiObject) -> bool {
    let ApiObject::Pod(pod) = object else {
        return false;
    };
    let status = pod.status.as_ref();
    let phase = status.and_then(|status| status.phase.as_deref());
    matches!(phase, Some("Succeeded" | "Failed"))
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
        self.send(Message::Upsert(object, Some(room)))
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
