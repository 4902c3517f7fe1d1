//! One more node.

use super::{add_node, check, place, pod};
use crate::model::{Effect, HostPort, Protocol, Taint};
use crate::testing::World;

/// More of them than changes are tried, and than models are kept.
#[test]
fn a_model_that_will_do_is_found_behind_many_that_will_not() {
    let mut world = World::default();
    for at in 0..100 {
        let name = format!("tainted-{at}");
        add_node(&mut world, &name, "2", |world, node| {
            let taint = |world: &mut World, key: &str| Taint {
                key: world.sym(key),
                value: world.sym(&name),
                effect: Effect::NoSchedule,
            };
            node.taints = [taint(world, "gpu"), taint(world, "spot")].into();
        });
    }
    add_node(&mut world, "good", "4", |_, _| {});
    // Both cpu and a port are in use there: no single change but a new node will do.
    let port = HostPort {
        ip: None,
        protocol: Protocol::Tcp,
        port: 80,
    };
    let mut holder = world.pod("a/holder", &[]);
    holder.host_ports = [port].into();
    world.add_pod(holder, "good");
    place(&mut world, "a/large", "4", 0, "good");
    let mut pod = pod(&mut world, "1");
    pod.host_ports = [port].into();
    check(&world, &pod, &["add good (1)"]);
}
