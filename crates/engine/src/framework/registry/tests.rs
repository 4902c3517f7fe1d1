use super::*;
use crate::NodeInfo;
use crate::fast::Classes;
use crate::framework::args::{FieldError, Fields};
use crate::framework::{
    Cx, Filter, Fit, Framework, Plugin, PluginBuilder, PluginSet, Plugins, Status, expand,
};
use crate::model::{Pod, ResourceNames};
use crate::plugins::registry::in_tree;
use crate::schedule::{Attempt, schedule_pod};
use crate::testing::World;
use stowplan_base::Names;

#[derive(Clone, Debug, Default)]
struct ForbiddenArgs {
    label: String,
}

impl Args for ForbiddenArgs {
    fn decode(fields: &mut Fields<'_>) -> Result<Self, FieldError> {
        let label = fields.required("label")?;
        Ok(Self { label })
    }
}

/// Keeps pods off nodes with a label. Its author has never heard of the fast path.
struct Forbidden(ForbiddenArgs);

impl Plugin for Forbidden {
    type FilterState = ();
    type ScoreState = ();
}

impl Filter for Forbidden {
    fn filter(&self, cx: Cx<'_>, _state: &(), _pod: &Pod, node: &NodeInfo) -> Fit {
        let names = &cx.cluster.names;
        let mut labels = node.node.labels.iter();
        match labels.any(|(key, _)| names.text(key) == self.0.label) {
            true => Err(Status::unschedulable("node(s) were forbidden")),
            false => Ok(()),
        }
    }
}

/// A profile with an out-of-tree plugin, whose name nobody knew at compile time.
fn framework(label: &str) -> Framework {
    let name = format!("Forbidden{}", label.len());
    let registry = in_tree().with_args(name.clone(), |args| {
        PluginBuilder::new(Forbidden(args)).filter().build()
    });
    let (mut names, mut resources) = (Names::new(), ResourceNames::default());
    let names = ArgNames {
        names: &mut names,
        resources: &mut resources,
    };
    let value = ArgValue::map([("label", label)]);
    let (path, mut errors) = (FieldPath::default(), ArgErrors::default());
    let decoded = registry.decode(&name, value, &path, &mut errors, names);
    let mut args = PluginArgs::default();
    args.insert(&name, decoded.expect("they can be read"));
    let mut plugins = Plugins::default_plugins();
    let set = PluginSet::enabling([(name.as_str(), 0)]);
    plugins.multi_point.enabled.extend(set.enabled);
    expand("test", &plugins, &args, &registry).expect("a valid profile")
}

fn outcome(attempt: Attempt) -> Vec<usize> {
    match attempt {
        Attempt::Placed(placement) => placement.best,
        _ => Vec::new(),
    }
}

#[test]
fn a_plugin_registered_at_run_time_runs_on_both_paths() {
    let mut world = World::default();
    for (name, label) in [("a", "forbidden"), ("b", "free"), ("c", "forbidden")] {
        let mut node = world.node(name, &[(label, "")]);
        world.set_allocatable(&mut node, &[("cpu", "4")]);
        world.add_node(node);
    }
    let pod = world.pod("ns/p", &[]);
    let framework = framework("forbidden");
    let mut classes = Classes::default();
    for _ in 0..3 {
        let plain = outcome(schedule_pod(&framework, world.cx(), &pod));
        let fast = outcome(classes.schedule_pod(&framework, world.cx(), &pod));
        assert_eq!(plain, [1]);
        assert_eq!(fast, plain);
    }
}

#[test]
fn the_last_of_a_name_counts() {
    let registry = in_tree().with("NodeName", || PluginBuilder::new(()).build());
    let plugin = registry.build("NodeName", &PluginArgs::default());
    assert!(plugin.is_some_and(|plugin| plugin.points().is_empty()));
    assert!(!registry.takes_args("NodeName"));
    assert!(registry.takes_args("NodeAffinity"));
}
