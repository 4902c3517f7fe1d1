//! The fast path: the same pod, decided again and again while the cluster changes and changes back.

use super::World;
use super::comparable::{normalize, told_by_attempt};
use crate::diff::diff;
use anyhow::Result;
use serde_json::{Value, json};
use std::sync::Arc;
use stowplan_base::Sym;
use stowplan_bridge::convert::object;
use stowplan_engine::fast::Classes;
use stowplan_engine::model::{Kind, Object, Pod};

/// A change that is taken back. What is left of it is the order of nodes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Detour {
    /// A pod like the one in question comes to the first node and goes.
    Pod,
    /// The first node goes and comes back.
    Node,
    /// A Service that selects nothing comes and goes.
    Service,
}

impl Detour {
    const ALL: [Self; 3] = [Self::Pod, Self::Node, Self::Service];

    fn as_str(self) -> &'static str {
        match self {
            Self::Pod => "after a pod came and went",
            Self::Node => "after a node went and came back",
            Self::Service => "after a Service came and went",
        }
    }
}

/// What differs from a comparable recording, first from a cold class, then from warm ones.
pub(super) fn differences(world: &mut World, expected: &Value) -> Result<Vec<String>> {
    let mut classes = Classes::default();
    let attempt = Expected::new(expected);
    let mut lines = attempt.differences("fast", world.attempt(&mut classes));
    lines.extend(world.explained(expected, "fast", &mut classes));
    for detour in Detour::ALL {
        world.take(detour, &mut classes)?;
        let path = format!("fast {}", detour.as_str());
        lines.extend(attempt.differences(&path, world.attempt(&mut classes)));
        lines.extend(world.explained(expected, &path, &mut classes));
    }
    Ok(lines)
}

/// What attempts should tell.
struct Expected {
    told: Value,
    /// Preemption broke: what it had found by then is not recorded.
    broke: bool,
}

impl Expected {
    fn new(expected: &Value) -> Self {
        Self {
            told: told_by_attempt(expected),
            broke: expected["preemption"]["status"] == "Error",
        }
    }

    fn differences(&self, path: &str, mut got: Value) -> Vec<String> {
        if let (true, Some(preemption)) = (self.broke, got.get_mut("preemption")) {
            let nothing = json!({
                "nominated": "", "victims": [], "pdb_violations": 0,
                "message": preemption["message"],
            });
            *preemption = nothing;
        }
        normalize(&mut got);
        let lines = diff(&self.told, &got).into_iter();
        lines.map(|line| format!("{path}: {line}")).collect()
    }
}

impl World {
    /// What an attempt comes to.
    fn attempt(&self, classes: &mut Classes) -> Value {
        let recorder = self.recorder();
        self.with_cx(|cx| {
            if let Some(held_back) = self.framework.run_pre_enqueue(cx, &self.pod, None) {
                return json!({"preenqueue": recorder.status(&held_back)});
            }
            recorder.attempt(&classes.schedule_pod(&self.framework, cx, &self.pod))
        })
    }

    /// What of the whole tournament, verdicts and scores by what is kept, differs from a comparable
    /// recording.
    fn explained(&self, expected: &Value, path: &str, classes: &mut Classes) -> Vec<String> {
        let explanation = self.with_cx(|cx| classes.explain(&self.framework, cx, &self.pod, false));
        let mut got = self.recorder().explanation(&explanation);
        normalize(&mut got);
        let lines = diff(expected, &got).into_iter();
        lines
            .map(|line| format!("{path}, explained: {line}"))
            .collect()
    }

    /// Changes something, lets the classes take that in, and changes it back.
    fn take(&mut self, detour: Detour, classes: &mut Classes) -> Result<()> {
        let Some(first) = self.cluster.nodes().first() else {
            return Ok(());
        };
        let node = first.node.clone();
        match detour {
            Detour::Pod => {
                let uid: Arc<str> = format!("{} again", self.pod.uid).into();
                // A port that two pods hold is free once one of them goes, as it is upstream.
                let pod = Pod {
                    uid: uid.clone(),
                    host_ports: Box::default(),
                    ..(*self.pod).clone()
                };
                self.cluster.assume_pod(Arc::new(pod), node.name);
                self.attempt(classes);
                self.cluster.remove_pod(&uid);
            }
            Detour::Node => {
                self.cluster.remove(Kind::Node, Sym::EMPTY, node.name);
                if !self.cluster.nodes().is_empty() {
                    self.attempt(classes);
                }
                self.cluster.upsert(Object::Node(node));
            }
            Detour::Service => {
                let namespace = self.cluster.names.text(self.pod.namespace);
                let json = json!({"metadata": {"name": "detour", "namespace": namespace}});
                let service = object(
                    &mut super::interner(&mut self.cluster),
                    Kind::Service,
                    &json,
                )?;
                let name = self.cluster.names.intern("detour");
                self.cluster.upsert(service);
                self.attempt(classes);
                let namespace = self.pod.namespace;
                self.cluster.remove(Kind::Service, namespace, name);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn later_attempts_are_made_from_a_warm_class() {
        let node = |name: &str| {
            let allocatable = json!({"cpu": "4", "memory": "8Gi", "pods": "110"});
            json!({"metadata": {"name": name}, "status": {"allocatable": allocatable}})
        };
        let case = json!({
            "profile": null,
            "objects": {"nodes": [node("a"), node("b")]},
            "pod": {
                "metadata": {"name": "web", "namespace": "default", "uid": "web"},
                "spec": {"containers": [{"name": "c", "image": "app"}]},
            },
        });
        let mut world = World::load(&case).expect("the case is complete");
        let mut classes = Classes::default();
        let cold = world.attempt(&mut classes);
        assert_eq!(cold["winners"], json!(["a", "b"]));
        for detour in Detour::ALL {
            world
                .take(detour, &mut classes)
                .expect("the world can change");
            world.attempt(&mut classes);
        }
        let stats = classes.stats();
        assert_eq!((stats.opened, stats.warm, stats.plain), (1, 6, 0));
    }
}
