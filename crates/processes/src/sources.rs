//! ConfigMaps and Secrets that a pod refers to, read before they are needed.

use k8s_openapi::api::core::v1::{ConfigMap, Container, Secret};
use std::collections::{BTreeMap, BTreeSet};
use stowplan_client::{Failed, Requests};

/// The entries of a ConfigMap or Secret.
pub(crate) type Entries = BTreeMap<String, Vec<u8>>;

/// What was read; `None` for what is not there.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Sources {
    pub(crate) config_maps: BTreeMap<String, Option<Entries>>,
    pub(crate) secrets: BTreeMap<String, Option<Entries>>,
}

/// The names of what has to be read.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Names {
    pub(crate) config_maps: BTreeSet<String>,
    pub(crate) secrets: BTreeSet<String>,
}

impl Names {
    /// Those that a container's variables come from.
    pub(crate) fn of_variables(container: &Container) -> Self {
        let mut names = Self::default();
        for from in container.env_from.iter().flatten() {
            names
                .config_maps
                .extend(from.config_map_ref.as_ref().map(|one| one.name.clone()));
            names
                .secrets
                .extend(from.secret_ref.as_ref().map(|one| one.name.clone()));
        }
        for variable in container.env.iter().flatten() {
            let Some(from) = &variable.value_from else {
                continue;
            };
            let map = from.config_map_key_ref.as_ref();
            names.config_maps.extend(map.map(|one| one.name.clone()));
            let secret = from.secret_key_ref.as_ref();
            names.secrets.extend(secret.map(|one| one.name.clone()));
        }
        names
    }
}

impl Sources {
    /// Reads what is named. An error is what went wrong with the server.
    pub(crate) async fn read(
        requests: &Requests,
        namespace: &str,
        names: Names,
    ) -> Result<Self, Failed> {
        let mut sources = Self::default();
        for name in names.config_maps {
            let found = requests.read::<ConfigMap>(namespace, &name).await?;
            sources.config_maps.insert(name, found.map(of_config_map));
        }
        for name in names.secrets {
            let found = requests.read::<Secret>(namespace, &name).await?;
            sources.secrets.insert(name, found.map(of_secret));
        }
        Ok(sources)
    }

    /// A ConfigMap; `None` if it may be missing, and is.
    pub(crate) fn config_map(
        &self,
        name: &str,
        optional: Option<bool>,
    ) -> Result<Option<&Entries>, String> {
        found(&self.config_maps, "configmap", name, optional)
    }

    /// A Secret; `None` if it may be missing, and is.
    pub(crate) fn secret(
        &self,
        name: &str,
        optional: Option<bool>,
    ) -> Result<Option<&Entries>, String> {
        found(&self.secrets, "secret", name, optional)
    }
}

fn found<'a>(
    all: &'a BTreeMap<String, Option<Entries>>,
    what: &str,
    name: &str,
    optional: Option<bool>,
) -> Result<Option<&'a Entries>, String> {
    match all.get(name).and_then(Option::as_ref) {
        Some(entries) => Ok(Some(entries)),
        None if optional == Some(true) => Ok(None),
        None => Err(format!("{what} {name:?} not found")),
    }
}

fn of_config_map(map: ConfigMap) -> Entries {
    let text = map.data.into_iter().flatten();
    let text = text.map(|(key, value)| (key, value.into_bytes()));
    let binary = map.binary_data.into_iter().flatten();
    text.chain(binary.map(|(key, value)| (key, value.0)))
        .collect()
}

fn of_secret(secret: Secret) -> Entries {
    let data = secret.data.into_iter().flatten();
    data.map(|(key, value)| (key, value.0)).collect()
}
