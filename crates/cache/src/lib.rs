//! What a process knows of the objects in the cluster: client-go's `tools/cache`.
//!
//! A [`Store`] has the objects of one kind, indexed, and those who are told of changes; a [`Cluster`] has
//! the stores of all kinds. Reflectors fill them from watches. Who writes an object puts the answer in as
//! well, so that it sees its own writes at once: a store never goes back to an older version. What
//! upstream's controllers keep expectations for does not happen here.

#![deny(clippy::disallowed_methods)]

mod cluster;
mod kind;
mod lean;
mod reference;
mod store;

pub use cluster::Cluster;
pub use kind::{Erased, Kind, MetadataDelta, MetadataHandler, Retain};
pub use lean::read_lean;
pub use reference::{EventType, ObjectRef};
pub use store::{Delta, Key, Store};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

/// A kind of object that `k8s-openapi` knows.
pub trait Object:
    k8s_openapi::Resource
    + k8s_openapi::Metadata<Ty = ObjectMeta>
    + serde::Serialize
    + for<'de> serde::Deserialize<'de>
    + Clone
    + Send
    + Sync
    + 'static
{
}

impl<K> Object for K where
    K: k8s_openapi::Resource
        + k8s_openapi::Metadata<Ty = ObjectMeta>
        + serde::Serialize
        + for<'de> serde::Deserialize<'de>
        + Clone
        + Send
        + Sync
        + 'static
{
}
