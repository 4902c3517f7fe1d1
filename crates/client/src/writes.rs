//! Typed writes.

use crate::{Failed, PAUSES, Requests};
use serde::Serialize;
use serde::de::{DeserializeOwned, IgnoredAny};
use serde_json::{Value, json};

/// A kind of object that can be written: what `k8s-openapi` and derived custom resources are.
pub trait Writable:
    kube::Resource<DynamicType = ()> + Serialize + DeserializeOwned + Send + Sync
{
}

impl<K> Writable for K where
    K: kube::Resource<DynamicType = ()> + Serialize + DeserializeOwned + Send + Sync
{
}

/// What an object has to be like for a deletion to mean it.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Preconditions {
    /// Its uid: another object of the same name stays.
    pub uid: Option<String>,
    /// Its resource version: an object that changed since stays.
    pub resource_version: Option<String>,
}

impl Preconditions {
    /// Exactly this object, in whatever version.
    pub fn uid_of<K: kube::Resource>(object: &K) -> Self {
        Self {
            uid: object.meta().uid.clone(),
            resource_version: None,
        }
    }
}

impl Requests {
    /// Reads an object; `None` if it is not there.
    pub async fn read<K: Writable>(
        &self,
        namespace: &str,
        name: &str,
    ) -> Result<Option<K>, Failed> {
        match self.get(&path::<K>(namespace, name)).await {
            Ok(object) => Ok(Some(object)),
            Err(failed) if failed.code() == Some(404) => Ok(None),
            Err(failed) => Err(failed),
        }
    }

    /// Makes an object.
    pub async fn create<K: Writable>(&self, object: &K) -> Result<K, Failed> {
        let namespace = object.meta().namespace.as_deref().unwrap_or_default();
        let path = K::url_path(&(), Some(namespace).filter(|text| !text.is_empty()));
        let body = serde_json::to_value(object).map_err(kube::Error::SerdeError)?;
        self.change("POST", &path, "application/json", &body).await
    }

    /// Replaces an object; if it has a `resourceVersion`, only while that is still the object's. With
    /// `subresource` such as `status` only that part of it.
    pub async fn replace<K: Writable>(
        &self,
        object: &K,
        subresource: Option<&str>,
    ) -> Result<K, Failed> {
        let meta = object.meta();
        let namespace = meta.namespace.as_deref().unwrap_or_default();
        let mut path = path::<K>(namespace, meta.name.as_deref().unwrap_or_default());
        if let Some(subresource) = subresource {
            path = format!("{path}/{subresource}");
        }
        let body = serde_json::to_value(object).map_err(kube::Error::SerdeError)?;
        self.change("PUT", &path, "application/json", &body).await
    }

    /// Changes an object as `change` says, which is shown the object as it is, again if somebody else was
    /// faster; `None` if the object is not there, or `change` says that nothing has to be done. client-go's
    /// `retry.RetryOnConflict`.
    pub async fn update<K: Writable>(
        &self,
        namespace: &str,
        name: &str,
        subresource: Option<&str>,
        change: impl Fn(&mut K) -> bool,
    ) -> Result<Option<K>, Failed> {
        let mut pauses = PAUSES.into_iter();
        loop {
            let Some(mut object) = self.read::<K>(namespace, name).await? else {
                return Ok(None);
            };
            if !change(&mut object) {
                return Ok(None);
            }
            match self.replace(&object, subresource).await {
                Ok(written) => return Ok(Some(written)),
                Err(failed) if failed.code() == Some(409) => match pauses.next() {
                    Some(pause) => self.env().sleep(pause).await,
                    None => return Err(failed),
                },
                Err(failed) => return Err(failed),
            }
        }
    }

    /// A merge patch of an object, or of a part of it such as `status`.
    pub async fn merge<K: Writable>(
        &self,
        namespace: &str,
        name: &str,
        subresource: Option<&str>,
        patch: &Value,
    ) -> Result<K, Failed> {
        let mut path = path::<K>(namespace, name);
        if let Some(subresource) = subresource {
            path = format!("{path}/{subresource}");
        }
        let content_type = "application/merge-patch+json";
        self.change("PATCH", &path, content_type, patch).await
    }

    /// Deletes an object if it is as it has to be, after a grace period if it has one. Says whether it was
    /// there.
    pub async fn delete<K: Writable>(
        &self,
        namespace: &str,
        name: &str,
        preconditions: &Preconditions,
        grace_s: Option<u32>,
    ) -> Result<bool, Failed> {
        let mut options = json!({"apiVersion": "v1", "kind": "DeleteOptions"});
        let Preconditions {
            uid,
            resource_version,
        } = preconditions;
        if uid.is_some() || resource_version.is_some() {
            options["preconditions"] = json!({"uid": uid, "resourceVersion": resource_version});
        }
        if let Some(seconds) = grace_s {
            options["gracePeriodSeconds"] = seconds.into();
        }
        let path = path::<K>(namespace, name);
        let answer: Result<IgnoredAny, _> = self
            .change("DELETE", &path, "application/json", &options)
            .await;
        match answer {
            Ok(_) => Ok(true),
            Err(failed) if failed.code() == Some(404) => Ok(false),
            Err(failed) => Err(failed),
        }
    }
}

fn path<K: Writable>(namespace: &str, name: &str) -> String {
    let all = K::url_path(&(), Some(namespace).filter(|text| !text.is_empty()));
    format!("{all}/{name}")
}
