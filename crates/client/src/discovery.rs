//! Which resource a kind is.

use kube::Client;
use kube::core::{ApiResource, GroupVersionKind};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Knows the resources of a server: client-go's `RESTMapper` with deferred discovery. A kind that is not
/// known yet is asked for: it may be that of a CustomResourceDefinition made a moment ago.
#[derive(Clone)]
pub struct Discovery {
    client: Client,
    known: Arc<Mutex<Known>>,
}

/// Resources by group, version and kind.
type Known = BTreeMap<(String, String, String), ApiResource>;

/// Why it is not known which resource a kind is.
#[derive(Debug, thiserror::Error)]
pub enum DiscoveryError {
    /// The server does not serve it.
    #[error("no matches for kind {kind:?} in version {version:?}")]
    NoMatch {
        /// The kind.
        kind: String,
        /// Group and version.
        version: String,
    },
    /// The server did not say.
    #[error("cannot discover the server's resources")]
    Api(#[source] kube::Error),
}

impl Discovery {
    /// Knows nothing yet.
    pub fn new(client: Client) -> Self {
        Self {
            client,
            known: Arc::default(),
        }
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The resource of a kind.
    pub async fn resource(&self, gvk: &GroupVersionKind) -> Result<ApiResource, DiscoveryError> {
        let key = (gvk.group.clone(), gvk.version.clone(), gvk.kind.clone());
        if let Some(resource) = self.known().get(&key) {
            return Ok(resource.clone());
        }
        let version = gvk.api_version();
        let list = match gvk.group.is_empty() {
            true => self.client.list_core_api_resources(&gvk.version).await,
            false => self.client.list_api_group_resources(&version).await,
        };
        let list = match list {
            Err(kube::Error::Api(status)) if status.code == 404 => Vec::new(),
            Err(error) => return Err(DiscoveryError::Api(error)),
            Ok(list) => list.resources,
        };
        let mut known = self.known();
        // Subresources are named after the resource that they belong to.
        for found in list.into_iter().filter(|found| !found.name.contains('/')) {
            let resource = ApiResource {
                group: gvk.group.clone(),
                version: gvk.version.clone(),
                api_version: version.clone(),
                kind: found.kind.clone(),
                plural: found.name,
            };
            let key = (gvk.group.clone(), gvk.version.clone(), found.kind);
            known.insert(key, resource);
        }
        known.get(&key).cloned().ok_or(DiscoveryError::NoMatch {
            kind: gvk.kind.clone(),
            version,
        })
    }
}
