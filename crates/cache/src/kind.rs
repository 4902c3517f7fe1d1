//! A kind of object as a value, for those who follow kinds that they do not know by type.

use crate::{Cluster, Delta, Key, Object, read_lean};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

/// A kind: where its objects are asked for, how one is read, and in which store it belongs.
#[derive(Clone, Copy, Debug)]
pub struct Kind {
    /// The kind's name.
    pub name: &'static str,
    /// The group; empty for the core group.
    pub group: &'static str,
    /// The version.
    pub version: &'static str,
    /// The resource, as in URLs.
    pub plural: &'static str,
    /// Reads an object without its managed fields.
    pub read: fn(&str) -> serde_json::Result<Box<dyn Erased>>,
    /// Takes an object that a watch says was gone as of a version out of its store.
    pub delete: fn(&Cluster, &Key, &str),
    /// Takes all objects out of its store that a list of a version does not have.
    pub retain: Retain,
    /// Lets somebody know of the metadata of all objects in its store, as [`Store::add_handler`] does.
    ///
    /// [`Store::add_handler`]: crate::Store::add_handler
    pub follow: fn(&Cluster, MetadataHandler),
}

/// Takes objects out of a store that a list of a version does not have.
pub type Retain = fn(&Cluster, &str, &dyn Fn(&Key) -> bool);

/// Is told of metadata.
pub type MetadataHandler = Box<dyn FnMut(MetadataDelta<'_>) + Send>;

/// What became of an object, as far as its metadata tells.
#[derive(Debug)]
pub enum MetadataDelta<'a> {
    /// It is there.
    Added(&'a ObjectMeta),
    /// It was like the first, and is like the second.
    Updated(&'a ObjectMeta, &'a ObjectMeta),
    /// It was like this, and is gone.
    Deleted(&'a ObjectMeta),
}

impl Kind {
    /// The kind of a type.
    pub fn of<K: Object>() -> Self {
        Self {
            name: K::KIND,
            group: K::GROUP,
            version: K::VERSION,
            plural: K::URL_PATH_SEGMENT,
            read: |text| Ok(Box::new(read_lean::<K>(text)?)),
            delete: |cluster, key, version| cluster.of::<K>().delete_as_of(key, version),
            retain: |cluster, version, is_there| {
                cluster.of::<K>().retain_as_of(version, is_there);
            },
            follow: |cluster, mut handler| {
                cluster.of::<K>().add_handler(move |delta| {
                    handler(match delta {
                        Delta::Added(now) => MetadataDelta::Added(now.metadata()),
                        Delta::Updated(before, now) => {
                            MetadataDelta::Updated(before.metadata(), now.metadata())
                        }
                        Delta::Deleted(before) => MetadataDelta::Deleted(before.metadata()),
                    });
                });
            },
        }
    }

    /// Where objects of the kind are: all of them if the namespace is empty.
    pub fn path(&self, namespace: &str) -> String {
        let root = match self.group {
            "" => format!("/api/{}", self.version),
            group => format!("/apis/{group}/{}", self.version),
        };
        match namespace {
            "" => format!("{root}/{}", self.plural),
            namespace => format!("{root}/namespaces/{namespace}/{}", self.plural),
        }
    }

    /// Where one object of the kind is.
    pub fn path_of(&self, key: &Key) -> String {
        format!("{}/{}", self.path(&key.namespace), key.name)
    }
}

/// An object of any kind.
pub trait Erased: Send {
    /// Its metadata.
    fn metadata(&self) -> &ObjectMeta;

    /// Puts it into its store, unless what is there is as new or newer.
    fn put(self: Box<Self>, cluster: &Cluster);
}

impl<K: Object> Erased for K {
    fn metadata(&self) -> &ObjectMeta {
        k8s_openapi::Metadata::metadata(self)
    }

    fn put(self: Box<Self>, cluster: &Cluster) {
        cluster.of::<K>().upsert(*self);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use k8s_openapi::api::apps::v1::Deployment;
    use k8s_openapi::api::core::v1::Node;

    #[test]
    fn paths_are_those_of_the_api() {
        let deployments = Kind::of::<Deployment>();
        assert_eq!(deployments.path(""), "/apis/apps/v1/deployments");
        let key = Key::new("shop", "web");
        assert_eq!(
            deployments.path_of(&key),
            "/apis/apps/v1/namespaces/shop/deployments/web"
        );
        let key = Key::new("", "n1");
        assert_eq!(Kind::of::<Node>().path_of(&key), "/api/v1/nodes/n1");
    }

    #[test]
    fn an_object_that_is_read_finds_its_store() {
        let cluster = Cluster::default();
        let kind = Kind::of::<Node>();
        let text = r#"{"metadata": {"name": "n1", "resourceVersion": "7", "managedFields": [{}]}}"#;
        let object = (kind.read)(text).expect("a node");
        assert_eq!(object.metadata().name.as_deref(), Some("n1"));
        assert_eq!(object.metadata().managed_fields, None);
        object.put(&cluster);
        assert_eq!(cluster.all::<Node>().len(), 1);
        (kind.delete)(&cluster, &Key::new("", "n1"), "8");
        assert!(cluster.all::<Node>().is_empty());
    }
}
