//! The ConfigMap `kube-root-ca.crt` of every namespace. Upstream:
//! `pkg/controller/certificates/rootcacertpublisher`.

use crate::common::{annotation, name, namespace};
use crate::service_account::is_active;
use crate::{Controller, Cx, Delta, Key, Plan, Watches, Write};
use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use std::collections::BTreeMap;
use std::sync::Arc;

const NAME: &str = "kube-root-ca.crt";
const DESCRIPTION_KEY: &str = "kubernetes.io/description";
const DESCRIPTION: &str = "Contains a CA bundle that can be used to verify the kube-apiserver when using internal \
     endpoints such as the internal service IP or kubernetes.default.svc. No other usage is guaranteed across \
     distributions of Kubernetes clusters.";

/// Publishes the certificates by which pods know the API server. Its keys are namespaces.
pub struct Publisher {
    /// `ca.crt`, and nothing else; `None` if there is nothing to publish.
    data: Option<BTreeMap<String, String>>,
}

impl Publisher {
    /// Publishes these certificates, as PEM.
    pub fn new(root_ca: Option<Arc<str>>) -> Self {
        let data = |root_ca: Arc<str>| BTreeMap::from([("ca.crt".to_owned(), root_ca.to_string())]);
        Self {
            data: root_ca.map(data),
        }
    }
}

impl Controller for Publisher {
    fn watch(&self, watches: &mut Watches) {
        watches.on::<Namespace>(|_, delta, keys| {
            if !matches!(delta, Delta::Deleted(_)) {
                keys.add_object(&**delta.object());
            }
        });
        watches.on::<ConfigMap>(|_, delta, keys| {
            let map = delta.object();
            if name(&**map) == NAME {
                keys.add(Key::new("", namespace(&**map)));
            }
        });
    }

    fn sync(&self, cx: &Cx<'_>, key: &Key) -> Plan {
        let Some(data) = &self.data else {
            return Plan::nothing();
        };
        let Some(map) = cx.cluster.get::<ConfigMap>(&key.name, NAME) else {
            let namespace = cx.cluster.get::<Namespace>("", &key.name);
            return match namespace.is_some_and(|namespace| is_active(&namespace)) {
                true => Plan::write(create(&key.name, data)),
                false => Plan::nothing(),
            };
        };
        let is_described = annotation(&*map, DESCRIPTION_KEY).is_some_and(|text| !text.is_empty());
        if map.data.as_ref() == Some(data) && is_described {
            return Plan::nothing();
        }
        let mut map = ConfigMap::clone(&map);
        map.data = Some(data.clone());
        let annotations = map.metadata.annotations.get_or_insert_default();
        annotations.insert(DESCRIPTION_KEY.to_owned(), DESCRIPTION.to_owned());
        Plan::write(Write::update(&map))
    }
}

fn create(namespace: &str, data: &BTreeMap<String, String>) -> Write {
    let annotations = BTreeMap::from([(DESCRIPTION_KEY.to_owned(), DESCRIPTION.to_owned())]);
    let map = ConfigMap {
        metadata: ObjectMeta {
            namespace: Some(namespace.to_owned()),
            name: Some(NAME.to_owned()),
            annotations: Some(annotations),
            ..ObjectMeta::default()
        },
        data: Some(data.clone()),
        ..ConfigMap::default()
    };
    let create = Write::create(&map);
    create.tolerating(&[404]).tolerating_terminating()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::World;
    use serde_json::{Value, json};

    fn publisher() -> Publisher {
        Publisher::new(Some("fake-root-ca".into()))
    }

    fn map(data: Value, annotations: Value) -> Value {
        json!({"metadata": {"name": NAME, "namespace": "shop", "annotations": annotations}, "data": data})
    }

    /// Upstream: `TestConfigMapCreation` and `TestConfigMapUpdateNoHotLoop`.
    #[test]
    fn every_namespace_has_the_certificates_and_nothing_else_in_that_map() {
        let right = json!({"ca.crt": "fake-root-ca"});
        let described = json!({DESCRIPTION_KEY: "by somebody"});
        let create = "POST /api/v1/namespaces/shop/configmaps";
        let update = "PUT /api/v1/namespaces/shop/configmaps/kube-root-ca.crt";
        for (found, written) in [
            (None, Some(create)),
            (Some(map(right.clone(), described.clone())), None),
            (Some(map(right.clone(), json!({}))), Some(update)),
            (
                Some(map(right.clone(), json!({DESCRIPTION_KEY: ""}))),
                Some(update),
            ),
            (Some(map(json!({}), described.clone())), Some(update)),
            (
                Some(map(json!({"ca.crt": "old"}), described.clone())),
                Some(update),
            ),
            (
                Some(map(json!({"ca.crt": "fake-root-ca", "x": "y"}), described)),
                Some(update),
            ),
        ] {
            let mut world = World::default();
            world.add_json::<Namespace>(
                json!({"metadata": {"name": "shop"}, "status": {"phase": "Active"}}),
            );
            if let Some(found) = found {
                world.add_json::<ConfigMap>(found);
            }
            world.sync(&publisher(), "", "shop");
            let expected: Vec<String> = written.iter().map(|&text| text.to_owned()).collect();
            assert_eq!(world.take_writes(), expected);
            let map = world.get::<ConfigMap>("shop", NAME);
            assert_eq!(json!(map.data), right);
            assert!(annotation(&*map, DESCRIPTION_KEY).is_some());
            world.sync(&publisher(), "", "shop");
            assert!(world.take_writes().is_empty());
        }
    }

    #[test]
    fn nothing_is_made_without_certificates_or_without_an_active_namespace() {
        let mut world = World::default();
        world.sync(&publisher(), "", "shop");
        let terminating = json!({"metadata": {"name": "shop"}, "status": {"phase": "Terminating"}});
        world.add_json::<Namespace>(terminating);
        world.sync(&publisher(), "", "shop");
        world.change::<Namespace>("", "shop", |namespace| {
            namespace.status.get_or_insert_default().phase = Some("Active".to_owned());
        });
        world.sync(&Publisher::new(None), "", "shop");
        assert!(world.take_writes().is_empty());
    }

    #[test]
    fn a_map_that_somebody_deletes_or_changes_is_made_right() {
        let mut world = World::default();
        let publisher = publisher();
        world.join(0, &publisher);
        world.add_json::<Namespace>(
            json!({"metadata": {"name": "shop"}, "status": {"phase": "Active"}}),
        );
        let settle = |world: &mut World| {
            world.settle(&[&publisher], std::time::Duration::from_secs(1));
            world.take_writes().len()
        };
        assert_eq!(settle(&mut world), 1);
        world.change::<ConfigMap>("shop", NAME, |map| map.data = None);
        assert_eq!(settle(&mut world), 1);
        world.remove::<ConfigMap>("shop", NAME);
        assert_eq!(settle(&mut world), 1);
        world.add_json::<ConfigMap>(json!({"metadata": {"name": "other", "namespace": "shop"}}));
        assert_eq!(settle(&mut world), 0);
    }
}
