//! Objects as the API has them, for extenders that want to see them: calls ask nobody else.

use super::Extender;
use serde_json::Value;
use std::collections::HashMap;
use std::sync::Arc;
use stowplan_api::k8s::api::core::v1 as core;
use stowplan_base::Sym;
use stowplan_engine::model::Pod;

/// A set of extenders, one bit each.
pub(super) type ExtenderSet = u128;

/// What extenders want to see. Empty if there are none.
pub(super) struct ExtenderObjects {
    /// The resources of each extender; of none, for those that look at every pod.
    managed: Vec<Vec<String>>,
    wants_nodes: bool,
    wants_victims: bool,
    nodes: HashMap<String, Value>,
    pods: HashMap<(Sym, Sym), KeptPod>,
}

/// A pod that some extender is interested in, or may have to see as a victim.
struct KeptPod {
    uid: Arc<str>,
    interested: ExtenderSet,
    /// All of it, in JSON.
    text: Box<str>,
}

impl ExtenderObjects {
    pub(super) fn new(all: &[Extender]) -> Self {
        let managed = |extender: &Extender| {
            let resources = extender.config.managed_resources.iter();
            resources.map(|resource| resource.name.clone()).collect()
        };
        let unaware = || all.iter().filter(|extender| !extender.knows_nodes());
        Self {
            managed: all.iter().map(managed).collect(),
            wants_nodes: unaware().next().is_some(),
            wants_victims: unaware().any(|e| !e.config.preempt_verb.is_empty()),
            nodes: HashMap::new(),
            pods: HashMap::new(),
        }
    }

    pub(super) fn node_seen(&mut self, name: &str, node: &core::Node) {
        if self.wants_nodes
            && let Ok(value) = serde_json::to_value(node)
        {
            self.nodes.insert(name.to_owned(), value);
        }
    }

    pub(super) fn node_gone(&mut self, name: &str) {
        self.nodes.remove(name);
    }

    pub(super) fn node(&self, name: &str) -> Option<&Value> {
        self.nodes.get(name)
    }

    /// A pod is new or changed; it is kept if an extender may be asked about it.
    pub(super) fn pod_seen(&mut self, given: &core::Pod, pod: &Pod) {
        if self.managed.is_empty() {
            return;
        }
        let key = (pod.namespace, pod.name);
        let interested = match pod.is_assigned() {
            true => 0,
            false => self.interested(given),
        };
        let is_wanted = (interested != 0 || self.wants_victims) && !pod.finished;
        let text = is_wanted.then(|| serde_json::to_string(given).ok());
        match text.flatten() {
            Some(text) => {
                let kept = KeptPod {
                    uid: pod.uid.clone(),
                    interested,
                    text: text.into(),
                };
                self.pods.insert(key, kept);
            }
            None => drop(self.pods.remove(&key)),
        }
    }

    pub(super) fn pod_gone(&mut self, key: (Sym, Sym)) {
        self.pods.remove(&key);
    }

    fn pod(&self, pod: &Pod) -> Option<&KeptPod> {
        let kept = self.pods.get(&(pod.namespace, pod.name))?;
        (kept.uid == pod.uid).then_some(kept)
    }

    /// Whether this extender is interested in a pending pod.
    pub(super) fn is_interested(&self, extender: usize, pod: &Pod) -> bool {
        self.pod(pod)
            .is_some_and(|kept| kept.interested & bit(extender) != 0)
    }

    /// The pod as the API has it.
    pub(super) fn whole(&self, pod: &Pod) -> Result<Value, String> {
        let kept = self.pod(pod);
        let kept = kept.ok_or_else(|| format!("pod {} is not known any more", pod.key))?;
        serde_json::from_str(&kept.text).map_err(|error| error.to_string())
    }

    /// Upstream's `IsInterested`: an extender without resources of its own looks at every pod.
    fn interested(&self, pod: &core::Pod) -> ExtenderSet {
        let all = self.managed.iter().enumerate();
        all.filter(|(_, managed)| managed.is_empty() || has_any(pod, managed))
            .fold(0, |which, (at, _)| which | bit(at))
    }
}

fn bit(extender: usize) -> ExtenderSet {
    // Of very many extenders the last share a bit, and are asked more than they want.
    1 << extender.min(ExtenderSet::BITS as usize - 1)
}

/// Whether a container requests one of these resources, or has a limit on it.
fn has_any(pod: &core::Pod, managed: &[String]) -> bool {
    let Some(spec) = &pod.spec else { return false };
    let first = spec.init_containers.iter().flatten();
    let mut resources = spec
        .containers
        .iter()
        .chain(first)
        .filter_map(|container| container.resources.as_ref())
        .flat_map(|resources| [&resources.requests, &resources.limits])
        .flatten()
        .flat_map(|amounts| amounts.keys());
    resources.any(|name| managed.iter().any(|managed| managed == name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn asks(container: Value) -> core::Pod {
        let spec = json!({"containers": [], "initContainers": [container]});
        serde_json::from_value(json!({"metadata": {"name": "p"}, "spec": spec})).unwrap()
    }

    #[test]
    fn limits_interest_an_extender_too() {
        let kept = ExtenderObjects {
            managed: vec![vec!["example.com/a".to_owned()], Vec::new()],
            wants_nodes: false,
            wants_victims: false,
            nodes: HashMap::new(),
            pods: HashMap::new(),
        };
        for (resources, expected) in [
            (json!({"limits": {"example.com/a": "1"}}), 0b11),
            (json!({"requests": {"example.com/a": "1"}}), 0b11),
            (json!({"requests": {"cpu": "1"}}), 0b10),
            (json!({}), 0b10),
        ] {
            let pod = asks(json!({"name": "c", "resources": resources}));
            assert_eq!(kept.interested(&pod), expected, "{resources}");
        }
    }
}
