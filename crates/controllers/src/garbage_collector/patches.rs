//! Requests about one object, and short conversations that change one.

use super::{Identity, Live, Owner, Verdict};
use serde_json::{Value, json};
use std::sync::Arc;

/// What becomes of the dependents of an object that is deleted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Policy {
    /// They are deleted first.
    Foreground,
    /// They are deleted afterwards.
    Background,
    /// They stay.
    Orphan,
}

impl Policy {
    /// `propagationPolicy`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Foreground => "Foreground",
            Self::Background => "Background",
            Self::Orphan => "Orphan",
        }
    }
}

/// How a patch is meant.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PatchType {
    /// Lists are merged by their keys. Custom resources do not know it.
    Strategic,
    /// Lists are replaced.
    Merge,
}

/// What the server is asked.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Request {
    /// What an object is like now. If its kind has no namespace, that of the identity does not matter.
    Get(Identity),
    /// To delete an object, if it still has this uid and version.
    Delete {
        /// The object.
        target: Identity,
        /// The version.
        resource_version: String,
        /// What becomes of its dependents.
        policy: Policy,
    },
    /// To change an object.
    Patch {
        /// The object.
        target: Identity,
        /// How.
        patch_type: PatchType,
        /// The change.
        body: Value,
    },
}

/// What the server says.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Answer {
    /// It is done.
    Done,
    /// This is the object.
    Found(Live),
    /// It is not there. Says whether objects of its kind have a namespace.
    NotFound {
        /// Whether objects of its kind have a namespace.
        namespaced: bool,
    },
    /// It has another version, or another uid.
    Conflict,
    /// Such patches are not known for its kind.
    Unsupported,
    /// Objects of its kind have a namespace, and none was given: a cluster-scoped object names such an owner.
    NoNamespace,
    /// It could not be found out, or not be done.
    Failed(String),
}

/// Strikes out owners of one object.
#[derive(Debug)]
pub struct RemoveOwners {
    target: Identity,
    uids: Vec<Arc<str>>,
    tried_strategic: bool,
}

impl RemoveOwners {
    /// Strikes these owners out.
    pub fn new(target: Identity, uids: Vec<Arc<str>>) -> Self {
        Self {
            target,
            uids,
            tried_strategic: false,
        }
    }

    /// What is asked first.
    pub fn start(&self) -> Request {
        let delete = |uid: &Arc<str>| json!({"$patch": "delete", "uid": &**uid});
        let owners: Vec<Value> = self.uids.iter().map(delete).collect();
        let body = json!({"metadata": {"ownerReferences": owners, "uid": &*self.target.uid}});
        patch(&self.target, PatchType::Strategic, body)
    }

    /// What is asked next, or the last answer.
    pub fn next(&mut self, answer: Answer) -> Result<Request, Answer> {
        match answer {
            Answer::Unsupported if !self.tried_strategic => {
                self.tried_strategic = true;
                Ok(Request::Get(self.target.clone()))
            }
            Answer::Found(live) if live.uid != *self.target.uid => Err(Answer::NotFound {
                namespaced: live.namespaced,
            }),
            Answer::Found(live) => {
                let stays = |owner: &&Owner| !self.uids.contains(&owner.uid);
                let owners = live.owners.iter().filter(stays);
                Ok(replace_owners(
                    &self.target,
                    &live,
                    owners.map(Owner::to_json),
                ))
            }
            answer => Err(answer),
        }
    }
}

fn patch(target: &Identity, patch_type: PatchType, body: Value) -> Request {
    Request::Patch {
        target: target.clone(),
        patch_type,
        body,
    }
}

fn replace_owners(target: &Identity, live: &Live, owners: impl Iterator<Item = Value>) -> Request {
    let owners: Vec<Value> = owners.collect();
    let body = json!({"metadata": {
        "resourceVersion": live.resource_version,
        "ownerReferences": owners,
    }});
    patch(target, PatchType::Merge, body)
}

/// Makes the owners of an object not wait for it: as a strategic merge patch, if its kind knows them.
pub(super) fn unblock(target: &Identity, owners: &[Owner], live: Option<&Live>) -> Request {
    let unblocked = |owner: &Owner| {
        let owner = Owner {
            block: Some(false),
            ..owner.clone()
        };
        owner.to_json()
    };
    match live {
        Some(live) => replace_owners(target, live, live.owners.iter().map(unblocked)),
        None => {
            let blocking = owners.iter().filter(|owner| owner.blocks());
            let owners: Vec<Value> = blocking.map(unblocked).collect();
            let body = json!({"metadata": {"ownerReferences": owners, "uid": &*target.uid}});
            patch(target, PatchType::Strategic, body)
        }
    }
}

/// A patch that takes a finalizer away; `None` if it is not there.
pub(super) fn without_finalizer(
    target: &Identity,
    live: &Live,
    finalizer: &str,
) -> Option<Request> {
    if !live.has(finalizer) {
        return None;
    }
    let stays = live.finalizers.iter().filter(|have| *have != finalizer);
    let stays: Vec<&String> = stays.collect();
    let body = json!({"metadata": {
        "resourceVersion": live.resource_version,
        "finalizers": stays,
    }});
    Some(patch(target, PatchType::Merge, body))
}

/// Takes a finalizer of one object away.
#[derive(Debug)]
pub struct RemoveFinalizer {
    target: Identity,
    finalizer: &'static str,
}

impl RemoveFinalizer {
    /// Takes this finalizer away.
    pub fn new(target: Identity, finalizer: &'static str) -> Self {
        Self { target, finalizer }
    }

    /// What is asked first.
    pub fn start(&self) -> Request {
        Request::Get(self.target.clone())
    }

    /// What is asked next, or how it ended.
    pub fn next(&mut self, answer: Answer) -> Result<Request, Verdict> {
        match answer {
            Answer::Found(live) if live.uid == *self.target.uid => {
                without_finalizer(&self.target, &live, self.finalizer).ok_or(Verdict::Forget)
            }
            Answer::Found(_) | Answer::NotFound { .. } | Answer::Done => Err(Verdict::Forget),
            Answer::Failed(why) => Err(Verdict::Retry(why)),
            answer => Err(Verdict::Retry(format!("{answer:?}"))),
        }
    }
}
