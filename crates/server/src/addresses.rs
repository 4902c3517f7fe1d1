//! The addresses and ports that services have, followed as services change.
//!
//! Whoever writes a service waits for whoever is giving out addresses. So that takes as long for
//! thousands of large services as for none: each is looked at when it has changed.

use crate::storage::glance;
use bytes::Bytes;
use std::collections::BTreeMap;
use stowplan_kinds::columns::Read;
use stowplan_kinds::service::allocate::InUse;
use stowplan_store::{Entry, Store, Watch};

/// See the module.
#[derive(Default)]
pub(crate) struct Addresses {
    /// What services have by their keys; those that have nothing are left out. There are no more than
    /// there are addresses and ports.
    held: BTreeMap<Bytes, InUse>,
    /// Nothing before the first question, and after changes were missed.
    feed: Option<Watch>,
    #[cfg(test)]
    pub(crate) looked_at: usize,
}

const PREFIX: &str = "/registry/services/specs/";
const READS: &[Read] = &[Read("spec", &[])];

impl Addresses {
    /// What all services have now.
    pub(crate) fn in_use(&mut self, store: &Store) -> InUse {
        if self.follow().is_none() {
            self.read_all(store);
        }
        let mut all = InUse::default();
        for held in self.held.values() {
            all.cluster_ips.extend(&held.cluster_ips);
            all.node_ports.extend(&held.node_ports);
        }
        all
    }

    /// Takes in what has changed; nothing if there is a gap.
    fn follow(&mut self) -> Option<()> {
        loop {
            let seen = self.feed.as_mut()?.try_next().ok()?;
            if seen.events.is_empty() {
                return Some(());
            }
            for event in &seen.events {
                match event.current() {
                    Some(entry) => self.put(entry),
                    None => drop(self.held.remove(event.key())),
                }
            }
        }
    }

    fn read_all(&mut self, store: &Store) {
        self.held.clear();
        self.feed = store.watch(PREFIX, store.revision()).ok();
        let page = store.range(PREFIX.as_bytes(), None, None, None);
        for entry in page.map(|page| page.entries).unwrap_or_default() {
            self.put(&entry);
        }
    }

    fn put(&mut self, entry: &Entry) {
        #[cfg(test)]
        {
            self.looked_at += 1;
        }
        let mut held = InUse::default();
        held.add(&glance::part(entry, READS));
        match held.cluster_ips.is_empty() && held.node_ports.is_empty() {
            true => self.held.remove(&entry.key),
            false => self.held.insert(entry.key.clone(), held),
        };
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{api, get, send};
    use serde_json::{Value, json};

    const SERVICES: &str = "/api/v1/namespaces/default/services";

    fn service(name: &str, ip: &str) -> Value {
        json!({"metadata": {"name": name, "annotations": {"k": "x".repeat(10_000)}},
            "spec": {"clusterIP": ip, "ports": [{"port": 80}]}})
    }

    /// The attack: many large services without addresses, which every write of one had to read.
    #[tokio::test]
    async fn each_service_is_looked_at_once() {
        let api = api().await;
        for i in 0..50 {
            let (code, _) = send(
                &api,
                "POST",
                SERVICES,
                &[],
                &service(&format!("h{i}"), "None"),
            )
            .await;
            assert_eq!(code, 201);
        }
        // Each of those, the one of the server itself, and the last.
        let looked_at = async || api.addresses().lock().await.looked_at;
        assert!(looked_at().await <= 51, "{}", looked_at().await);
    }

    #[tokio::test]
    async fn addresses_are_given_once_and_given_back() {
        let api = api().await;
        let taken = |name| service(name, "10.0.0.77");
        let create = async |object: Value| send(&api, "POST", SERVICES, &[], &object).await.0;
        assert_eq!(create(taken("a")).await, 201);
        assert_eq!(create(taken("b")).await, 422);
        let of_a = format!("{SERVICES}/a");
        assert_eq!(send(&api, "DELETE", &of_a, &[], &Value::Null).await.0, 200);
        assert_eq!(create(taken("b")).await, 201);
        // What was missed is read again.
        let store = api.store();
        store.compact(store.revision()).await.expect("compacted");
        assert_eq!(create(taken("c")).await, 422);
        let (_, b) = get(&api, &format!("{SERVICES}/b"), "application/json").await;
        assert_eq!(b["spec"]["clusterIP"], "10.0.0.77");
    }
}
