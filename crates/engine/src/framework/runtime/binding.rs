//! Reserve, Permit, PreBind, Bind and PostBind.

use super::Framework;
use crate::framework::builder::code;
use crate::framework::{
    AnyPlugin, Command, Cx, CycleState, PermitResult, PluginStatus, Point, Slot, Status, Step,
};
use crate::model::{Object, Pod};
use std::sync::Arc;
use stowplan_base::{Duration, Sym};

/// The longest that Permit may hold a pod.
const PERMIT_WAIT_MAX: Duration = Duration::from_secs(15 * 60);

impl Framework {
    /// Whether some plugin has something to do for the pod at Reserve or PreBind. For PreBind this is
    /// upstream's `RunPreBindPreFlights`.
    pub fn takes_part(&self, point: Point, cycle: &CycleState, pod: &Pod) -> bool {
        let mut plugins = self.at(point);
        plugins.any(|(i, plugin)| !has_nothing_to_do(plugin, &cycle.filter[i], pod))
    }

    /// Whether the profile has plugins that run at this point.
    #[inline]
    pub fn has(&self, point: Point) -> bool {
        !self.enabled[point as usize].is_empty()
    }

    /// Runs Reserve: the objects that change with the placement, or who objects.
    pub fn run_reserve(
        &self,
        cx: Cx<'_>,
        cycle: &CycleState,
        pod: &Pod,
        node: Sym,
    ) -> Result<Vec<Object>, PluginStatus> {
        let mut objects = Vec::new();
        for (i, plugin) in self.at(Point::Reserve) {
            if has_nothing_to_do(plugin, &cycle.filter[i], pod) {
                continue;
            }
            match code(&plugin.reserve).reserve(cx, &cycle.filter[i], pod, node) {
                Ok(more) => objects.extend(more),
                Err(status) => {
                    return Err(PluginStatus::at(
                        "Reserve",
                        plugin.name(),
                        status,
                        cx.cluster,
                    ));
                }
            }
        }
        Ok(objects)
    }

    /// Runs Permit: who holds the pod and for how long, or who objects.
    pub fn run_permit(
        &self,
        cx: Cx<'_>,
        pod: &Pod,
        node: Sym,
    ) -> Result<Vec<(&'static str, Duration)>, PluginStatus> {
        let mut waits = Vec::new();
        for (_, plugin) in self.at(Point::Permit) {
            match code(&plugin.permit).permit(cx, pod, node) {
                PermitResult::Allow => {}
                PermitResult::Wait(at_most) => {
                    waits.push((plugin.name(), at_most.min(PERMIT_WAIT_MAX)))
                }
                PermitResult::Reject(status) => {
                    return Err(PluginStatus::at(
                        "Permit",
                        plugin.name(),
                        status,
                        cx.cluster,
                    ));
                }
            }
        }
        Ok(waits)
    }

    /// Runs Unreserve, in the reverse order of Reserve, also of those whose Reserve did not run.
    pub fn run_unreserve(&self, cx: Cx<'_>, pod: &Pod, node: Sym) {
        for (_, plugin) in self.at(Point::Reserve).rev() {
            code(&plugin.reserve).unreserve(cx, pod, node);
        }
    }

    /// Runs PreBind: what each plugin asks for, in order.
    pub fn run_pre_bind(
        &self,
        cx: Cx<'_>,
        cycle: &CycleState,
        pod: &Pod,
        node: Sym,
    ) -> Result<Vec<(&'static str, Step)>, PluginStatus> {
        let mut steps = Vec::new();
        for (i, plugin) in self.at(Point::PreBind) {
            if has_nothing_to_do(plugin, &cycle.filter[i], pod) {
                continue;
            }
            let name = plugin.name();
            match code(&plugin.pre_bind).pre_bind(cx, &cycle.filter[i], pod, node) {
                Ok(more) => steps.extend(more.into_iter().map(|step| (name, step))),
                Err(status) => {
                    return Err(PluginStatus::at("PreBind", name, status, cx.cluster));
                }
            }
        }
        Ok(steps)
    }

    /// Runs Bind: who binds the pod, and how.
    pub fn run_bind(
        &self,
        cx: Cx<'_>,
        pod: &Arc<Pod>,
        node: Sym,
    ) -> Result<(&'static str, Command), PluginStatus> {
        let bound = self
            .at(Point::Bind)
            .find_map(|(_, plugin)| Some((plugin.name(), code(&plugin.bind).bind(cx, pod, node)?)));
        bound.ok_or_else(|| PluginStatus {
            plugin: "",
            status: Status::error("no bind plugin took the pod"),
        })
    }

    /// Runs PostBind: what each plugin asks for, in order.
    pub fn run_post_bind(&self, cx: Cx<'_>, pod: &Pod, node: Sym) -> Vec<(&'static str, Command)> {
        let mut commands = Vec::new();
        for (_, plugin) in self.at(Point::PostBind) {
            let name = plugin.name();
            let more = code(&plugin.post_bind).post_bind(cx, pod, node).into_iter();
            commands.extend(more.map(|command| (name, command)));
        }
        commands
    }
}

/// Whether the plugin need not be asked at Reserve and PreBind: its PreFilter ran, and the pod has
/// nothing that the plugin is about.
fn has_nothing_to_do<S>(plugin: &AnyPlugin, own: &Slot<S>, pod: &Pod) -> bool {
    let state = plugin.filter_state.as_ref();
    matches!(own, Slot::Skipped) && state.is_some_and(|state| state.ignores(pod))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::framework::PluginArgs;
    use crate::framework::{Plugins, expand};
    use crate::plugins::registry::{default_framework, in_tree};
    use crate::testing::World;

    /// How many objects Reserve changes for a pod without volumes; `None` if somebody objects.
    fn reserved(framework: &Framework) -> Option<usize> {
        let mut world = World::default();
        let (pod, node) = (world.pod("ns/p", &[]), world.sym("n"));
        let outcome = framework.run_pre_filter(world.cx(), &pod).ok()?;
        let reserved = framework.run_reserve(world.cx(), &outcome.cycle, &pod, node);
        reserved.ok().map(|objects| objects.len())
    }

    #[test]
    fn who_misses_its_pre_filter_objects_even_for_a_pod_that_it_ignores() {
        assert_eq!(reserved(&default_framework()), Some(0));
        let mut plugins = Plugins::default_plugins();
        for point in [Point::PreFilter, Point::Filter] {
            let disabled = &mut plugins.at_mut(point).disabled;
            disabled.push("VolumeBinding".to_owned());
        }
        let (args, registry) = (PluginArgs::default(), in_tree());
        let framework = expand("p", &plugins, &args, &registry).expect("known plugins");
        assert_eq!(reserved(&framework), None);
    }
}
