//! The objects of an event, as queueing hints expect them. Upstream's `util.As`.

use crate::framework::Hint;
use crate::model::{Node, Object, Pod};

/// A pod that was added or updated: before, if it was there, and after.
pub(super) fn pod_change<'a>(
    old: Option<&'a Object>,
    new: Option<&'a Object>,
) -> Result<(Option<&'a Pod>, &'a Pod), Hint> {
    match (old, new) {
        (None, Some(Object::Pod(new))) => Ok((None, new)),
        (Some(Object::Pod(old)), Some(Object::Pod(new))) => Ok((Some(old), new)),
        _ => Err(unexpected()),
    }
}

/// A pod that was deleted.
pub(super) fn deleted_pod(old: Option<&Object>) -> Result<&Pod, Hint> {
    match old {
        Some(Object::Pod(old)) => Ok(old),
        _ => Err(unexpected()),
    }
}

/// A node that was added or updated: before, if it was there, and after.
pub(super) fn node_change<'a>(
    old: Option<&'a Object>,
    new: Option<&'a Object>,
) -> Result<(Option<&'a Node>, &'a Node), Hint> {
    match (old, new) {
        (None, Some(Object::Node(new))) => Ok((None, new)),
        (Some(Object::Node(old)), Some(Object::Node(new))) => Ok((Some(old), new)),
        _ => Err(unexpected()),
    }
}

pub(super) fn unexpected() -> Hint {
    Hint::Error("the event holds an object of another kind".to_owned())
}
