//! SchedulingGates. Upstream's `pkg/scheduler/framework/plugins/schedulinggates`.

use super::change::pod_change;
use crate::framework::{
    Action, AnyPlugin, ClusterEvent, Code, Cx, EnqueueExtensions, EventResource, Fit, Hint,
    PluginBuilder, PreEnqueue, Registration, Status,
};
use crate::model::{Object, Pod};

/// The plugin: a pod waits outside the queue until its gates are gone.
#[derive(Clone, Debug, Default)]
pub struct SchedulingGates;

impl SchedulingGates {
    /// The plugin at its extension points.
    pub fn build(self) -> AnyPlugin {
        PluginBuilder::new(self)
            .pre_enqueue()
            .enqueue_extensions()
            .build()
    }
}

impl PreEnqueue for SchedulingGates {
    fn pre_enqueue(&self, cx: Cx<'_>, pod: &Pod) -> Fit {
        if pod.scheduling_gates.is_empty() {
            return Ok(());
        }
        let gates: Vec<_> = pod
            .scheduling_gates
            .iter()
            .map(|gate| cx.cluster.names.text(*gate))
            .collect();
        Err(Status::made(
            Code::UnschedulableAndUnresolvable,
            format!("waiting for scheduling gates: [{}]", gates.join(" ")),
        ))
    }
}

impl EnqueueExtensions for SchedulingGates {
    fn events(&self) -> Vec<Registration> {
        vec![Registration::hinted(
            EventResource::Pod,
            Action::UPDATE_POD_SCHEDULING_GATES_ELIMINATED,
        )]
    }

    fn hint(
        &self,
        _cx: Cx<'_>,
        _event: &ClusterEvent,
        pod: &Pod,
        old: Option<&Object>,
        new: Option<&Object>,
    ) -> Hint {
        match pod_change(old, new) {
            Ok((_, modified)) => Hint::queue_if(modified.uid == pod.uid),
            Err(unexpected) => unexpected,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::World;
    use std::sync::Arc;

    #[test]
    fn a_gated_pod_waits_and_names_its_gates() {
        let mut world = World::default();
        let mut pod = world.pod("ns/p", &[]);
        assert_eq!(SchedulingGates.pre_enqueue(world.cx(), &pod), Ok(()));
        pod.scheduling_gates = ["a.example/quota", "b"].map(|gate| world.sym(gate)).into();
        let status = SchedulingGates.pre_enqueue(world.cx(), &pod).unwrap_err();
        assert_eq!(status.code, Code::UnschedulableAndUnresolvable);
        assert_eq!(
            status.message(&world.snapshot),
            "waiting for scheduling gates: [a.example/quota b]"
        );
    }

    #[test]
    fn only_the_pods_own_gates_matter() {
        let mut world = World::default();
        let pod = world.pod("ns/p", &[]);
        let event = SchedulingGates.events()[0].event;
        for (name, expected) in [("ns/p", Hint::Queue), ("ns/q", Hint::Skip)] {
            let modified = Object::Pod(Arc::new(world.pod(name, &[])));
            let hint =
                SchedulingGates.hint(world.cx(), &event, &pod, Some(&modified), Some(&modified));
            assert_eq!(hint, expected, "{name}");
        }
    }
}
