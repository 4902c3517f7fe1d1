//! All resources of a server, by two requests (`apidiscovery.k8s.io/v2`).

use crate::{Failed, Requests};
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};

/// The media type that has all resources of all groups.
const AGGREGATED: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

/// A resource that a server has, in one version.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct ServedResource {
    /// The group; empty for the core group.
    pub group: String,
    /// The version.
    pub version: String,
    /// The name in URLs.
    pub plural: String,
    /// The kind of its objects.
    pub kind: String,
    /// Whether its objects have a namespace.
    pub namespaced: bool,
    /// What can be done with them.
    pub verbs: BTreeSet<String>,
    /// Whether this is the version that the server prefers.
    pub is_preferred: bool,
}

impl ServedResource {
    /// Group and version as objects have them.
    pub fn api_version(&self) -> String {
        match &*self.group {
            "" => self.version.clone(),
            group => format!("{group}/{}", self.version),
        }
    }

    /// Where its objects are: all of them if the namespace is empty.
    pub fn path(&self, namespace: &str) -> String {
        let root = match &*self.group {
            "" => format!("/api/{}", self.version),
            group => format!("/apis/{group}/{}", self.version),
        };
        match namespace {
            "" => format!("{root}/{}", self.plural),
            namespace => format!("{root}/namespaces/{namespace}/{}", self.plural),
        }
    }

    /// Whether all of this can be done.
    pub fn has_verbs(&self, verbs: &[&str]) -> bool {
        verbs.iter().all(|&verb| self.verbs.contains(verb))
    }
}

/// All resources of a server, in all versions. client-go's `ServerGroupsAndResources`.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Discovery {
    /// The resources.
    pub resources: Vec<ServedResource>,
    /// Groups and versions whose resources are not known now, and why.
    pub failed: BTreeMap<String, String>,
}

impl Discovery {
    /// Asks a server.
    pub async fn fetch(requests: &Requests) -> Result<Self, Failed> {
        let mut discovery = Self::default();
        for path in ["/api", "/apis"] {
            let groups: Groups = requests.get_as(path, AGGREGATED).await?;
            discovery.take_in(groups);
        }
        Ok(discovery)
    }

    fn take_in(&mut self, groups: Groups) {
        for group in groups.items {
            let name = group.metadata.name.unwrap_or_default();
            let mut preferred = BTreeSet::new();
            for version in group.versions {
                if version.freshness.as_deref() == Some("Stale") {
                    let gv = match &*name {
                        "" => version.version,
                        group => format!("{group}/{}", version.version),
                    };
                    let why = format!("stale GroupVersion discovery: {gv}");
                    self.failed.insert(gv, why);
                    continue;
                }
                for resource in version.resources {
                    let Some(kind) = resource.response_kind.map(|kind| kind.kind) else {
                        continue;
                    };
                    self.resources.push(ServedResource {
                        group: name.clone(),
                        version: version.version.clone(),
                        kind,
                        namespaced: resource.scope == "Namespaced",
                        verbs: resource.verbs.into_iter().collect(),
                        // Versions come in the order in which they are preferred.
                        is_preferred: preferred.insert(resource.resource.clone()),
                        plural: resource.resource,
                    });
                }
            }
        }
    }

    /// The resource of a kind; `None` if the server does not serve it.
    pub fn resource(&self, api_version: &str, kind: &str) -> Option<&ServedResource> {
        let (group, version) = api_version.rsplit_once('/').unwrap_or(("", api_version));
        let mut resources = self.resources.iter();
        resources.find(|resource| {
            resource.kind == kind && resource.version == version && resource.group == group
        })
    }

    /// Each resource once, in the version that the server prefers. client-go's
    /// `ServerPreferredResources`.
    pub fn preferred(&self) -> impl Iterator<Item = &ServedResource> {
        self.resources
            .iter()
            .filter(|resource| resource.is_preferred)
    }
}

/// `APIGroupDiscoveryList`.
#[derive(Deserialize)]
struct Groups {
    items: Vec<Group>,
}

#[derive(Deserialize)]
struct Group {
    #[serde(default)]
    metadata: Name,
    #[serde(default)]
    versions: Vec<Version>,
}

#[derive(Deserialize, Default)]
struct Name {
    name: Option<String>,
}

#[derive(Deserialize)]
struct Version {
    version: String,
    #[serde(default)]
    resources: Vec<Resource>,
    freshness: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Resource {
    resource: String,
    response_kind: Option<ResponseKind>,
    #[serde(default)]
    scope: String,
    #[serde(default)]
    verbs: Vec<String>,
}

#[derive(Deserialize)]
struct ResponseKind {
    kind: String,
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_first_version_of_a_resource_is_preferred_and_stale_ones_are_told() {
        let resource = |name: &str, scope: &str| {
            json!({"resource": name, "responseKind": {"group": "", "version": "", "kind": "Thing"},
                "scope": scope, "verbs": ["get", "list"]})
        };
        let groups = json!({"items": [
            {"metadata": {"name": "x.dev"}, "versions": [
                {"version": "v2", "freshness": "Current", "resources": [resource("new", "Cluster")]},
                {"version": "v1", "resources": [resource("new", "Cluster"), resource("old", "Namespaced")]},
                {"version": "v0", "freshness": "Stale"}]},
            {"metadata": {}, "versions": [{"version": "v1", "resources": [resource("pods", "Namespaced")]}]},
        ]});
        let mut discovery = Discovery::default();
        discovery.take_in(serde_json::from_value(groups).unwrap());
        let shown: Vec<String> = discovery
            .preferred()
            .map(|resource| format!("{} {}", resource.path("n"), resource.namespaced))
            .collect();
        assert_eq!(
            shown,
            [
                "/apis/x.dev/v2/namespaces/n/new false",
                "/apis/x.dev/v1/namespaces/n/old true",
                "/api/v1/namespaces/n/pods true"
            ]
        );
        assert_eq!(discovery.resources.len(), 4);
        let why = &discovery.failed["x.dev/v0"];
        assert_eq!(why, "stale GroupVersion discovery: x.dev/v0");
        let found = discovery.resource("x.dev/v1", "Thing").unwrap();
        assert_eq!((&*found.plural, &*found.api_version()), ("new", "x.dev/v1"));
        assert!(found.has_verbs(&["get"]) && !found.has_verbs(&["get", "watch"]));
        assert!(discovery.resource("v1", "Nothing").is_none());
    }
}
