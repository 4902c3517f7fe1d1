//! NodePorts. Upstream's `pkg/scheduler/framework/plugins/nodeports`.

use super::change::deleted_pod;
use crate::NodeInfo;
use crate::framework::{
    Action, AnyPlugin, ClusterEvent, Cx, EnqueueExtensions, EventResource, Filter, FilterState,
    Fit, Hint, Plugin, PluginBuilder, PreFilter, PreFilterResult, Registration, Scope, Status,
};
use crate::model::{Object, Pod};

/// The plugin: no two pods on a node serve one host port.
#[derive(Clone, Debug, Default)]
pub struct NodePorts;

impl NodePorts {
    /// The plugin at its extension points.
    pub fn build(self) -> AnyPlugin {
        PluginBuilder::new(self)
            .pre_filter()
            .filter()
            .filter_state()
            .enqueue_extensions()
            .build()
    }
}

impl Plugin for NodePorts {
    type FilterState = ();
    type ScoreState = ();
}

impl PreFilter for NodePorts {
    fn pre_filter(&self, _cx: Cx<'_>, pod: &Pod) -> PreFilterResult<()> {
        if pod.host_ports.is_empty() {
            PreFilterResult::Skip
        } else {
            PreFilterResult::Ready(())
        }
    }

    fn pre_filter_disabled(&self, _cx: Cx<'_>, _pod: &Pod) -> Result<(), Status> {
        Err(Status::error(
            "reading \"PreFilterNodePorts\" from cycleState: not found",
        ))
    }
}

impl Filter for NodePorts {
    fn filter(&self, _cx: Cx<'_>, _state: &(), pod: &Pod, node: &NodeInfo) -> Fit {
        let taken = |port| node.used_ports.conflicts(port);
        if pod.host_ports.iter().any(taken) {
            return Err(Status::unschedulable(
                "node(s) didn't have free ports for the requested pod ports",
            ));
        }
        Ok(())
    }
}

impl FilterState<NodePorts> for () {
    const SCOPE: Scope = Scope::Node;
}

impl EnqueueExtensions for NodePorts {
    fn events(&self) -> Vec<Registration> {
        vec![
            Registration::hinted(EventResource::Pod, Action::DELETE),
            Registration::always(EventResource::Node, Action::ADD),
        ]
    }

    fn hint(
        &self,
        _cx: Cx<'_>,
        _event: &ClusterEvent,
        pod: &Pod,
        old: Option<&Object>,
        _new: Option<&Object>,
    ) -> Hint {
        let deleted = match deleted_pod(old) {
            Ok(deleted) => deleted,
            Err(unexpected) => return unexpected,
        };
        if deleted.node_name.is_none() && deleted.nominated_node_name.is_none() {
            return Hint::Skip;
        }
        let freed = deleted.host_ports.iter();
        Hint::queue_if(
            freed
                .flat_map(|freed| pod.host_ports.iter().map(move |port| (freed, port)))
                .any(|(freed, port)| freed.conflicts(port)),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{HostPort, Protocol};
    use crate::testing::World;
    use std::sync::Arc;

    fn port(world: &mut World, ip: Option<&str>, protocol: Protocol, port: u16) -> HostPort {
        HostPort {
            ip: ip.map(|ip| world.sym(ip)),
            protocol,
            port,
        }
    }

    /// Semantic 16 of the oracle: an absent address and 0.0.0.0 stand for all, `::` does not.
    #[test]
    fn ports_collide_on_one_address_or_on_all() {
        let mut world = World::default();
        let tcp = |world: &mut World, ip| port(world, ip, Protocol::Tcp, 80);
        let held = [
            tcp(&mut world, Some("10.0.0.1")),
            port(&mut world, None, Protocol::Udp, 53),
        ];
        let mut holder = world.pod("ns/holder", &[]);
        holder.host_ports = held.into();
        let node = world.node("n", &[]);
        world.add_node(node);
        world.add_pod(holder, "n");
        let mut pod = world.pod("ns/p", &[]);
        for (wanted, fits) in [
            (tcp(&mut world, Some("10.0.0.1")), false),
            (tcp(&mut world, None), false),
            (tcp(&mut world, Some("10.0.0.2")), true),
            (tcp(&mut world, Some("::")), true),
            (port(&mut world, Some("::"), Protocol::Udp, 53), false),
            (port(&mut world, None, Protocol::Sctp, 80), true),
        ] {
            pod.host_ports = [wanted].into();
            let fit = NodePorts.filter(world.cx(), &(), &pod, &world.snapshot.nodes()[0]);
            assert_eq!(fit.is_ok(), fits, "{wanted:?}");
        }
    }

    #[test]
    fn a_pod_without_host_ports_is_not_checked() {
        let mut world = World::default();
        let pod = world.pod("ns/p", &[]);
        let skipped = NodePorts.pre_filter(world.cx(), &pod);
        assert!(matches!(skipped, PreFilterResult::Skip));
    }

    #[test]
    fn a_deleted_pod_helps_if_it_held_a_wanted_port() {
        let mut world = World::default();
        let mut pod = world.pod("ns/p", &[]);
        pod.host_ports = [port(&mut world, None, Protocol::Tcp, 80)].into();
        let event = NodePorts.events()[0].event;
        let node = Some(world.sym("n"));
        for (number, assigned, nominated, expected) in [
            (80, node, None, Hint::Queue),
            (80, None, node, Hint::Queue),
            (80, None, None, Hint::Skip),
            (81, node, None, Hint::Skip),
        ] {
            let mut deleted = world.pod("ns/gone", &[]);
            deleted.host_ports = [port(&mut world, Some("10.0.0.1"), Protocol::Tcp, number)].into();
            deleted.node_name = assigned;
            deleted.nominated_node_name = nominated;
            let deleted = Object::Pod(Arc::new(deleted));
            let hint = NodePorts.hint(world.cx(), &event, &pod, Some(&deleted), None);
            assert_eq!(hint, expected, "{number} {assigned:?} {nominated:?}");
        }
    }
}
