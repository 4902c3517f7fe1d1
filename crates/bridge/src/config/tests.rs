use super::*;
use serde_json::json;
use stowplan_base::Names;
use stowplan_engine::framework::args::Args;
use stowplan_engine::model::{Op, ResourceNames};
use stowplan_engine::packing::Packing;
use stowplan_engine::plugins::default_preemption::DefaultPreemptionArgs;
use stowplan_engine::plugins::dynamic_resources::DynamicResourcesArgs;
use stowplan_engine::plugins::inter_pod_affinity::InterPodAffinityArgs;
use stowplan_engine::plugins::largest_first::LargestFirstArgs;
use stowplan_engine::plugins::node_affinity::NodeAffinityArgs;
use stowplan_engine::plugins::node_resources::balanced_allocation::NodeResourcesBalancedAllocationArgs;
use stowplan_engine::plugins::node_resources::fit::{
    ResourceSpec, ScoringStrategy, ScoringStrategyKind,
};
use stowplan_engine::plugins::pod_topology_spread::{DefaultConstraints, PodTopologySpreadArgs};
use stowplan_engine::plugins::volume_binding::VolumeBindingArgs;

fn with_interner<T>(work: impl FnOnce(&mut Interner<'_>) -> T) -> T {
    let (mut names, mut resource_names) = (Names::new(), ResourceNames::default());
    work(&mut Interner {
        names: &mut names,
        resource_names: &mut resource_names,
    })
}

fn framework(profile: Value) -> Framework {
    with_interner(|interner| profile_from_json(Some(&profile), interner)).unwrap()
}

fn errors(profile: Value) -> String {
    with_interner(
        |interner| match profile_from_json(Some(&profile), interner) {
            Ok(_) => String::new(),
            Err(errors) => errors.to_string(),
        },
    )
}

#[test]
fn fields_and_points_have_the_same_order() {
    let plugins = api::Plugins::default();
    for (point, (field, _)) in Point::ALL.into_iter().zip(plugins.points()) {
        assert_eq!(format!("{point:?}").to_lowercase(), field.to_lowercase());
    }
}

#[test]
fn no_profile_is_the_default_profile() {
    let framework = with_interner(|interner| profile_from_json(None, interner)).unwrap();
    assert_eq!(framework.profile_name, "default-scheduler");
    assert_eq!(framework.score_weights().len(), 9);
}

#[test]
fn a_profile_is_merged_with_the_defaults() {
    let framework = framework(json!({
        "schedulerName": "mine",
        "plugins": {
            "multiPoint": {"enabled": [{"name": "ImageLocality", "weight": 7}]},
            "score": {
                "disabled": [{"name": "NodeAffinity"}],
                "enabled": [{"name": "NodeResourcesFit", "weight": 5}],
            },
            "postFilter": {"disabled": [{"name": "*"}]},
        },
    }));
    assert_eq!(framework.profile_name, "mine");
    assert_eq!(
        framework.score_weights(),
        [
            ("NodeResourcesFit", 5),
            ("TaintToleration", 3),
            ("VolumeBinding", 1),
            ("PodTopologySpread", 2),
            ("InterPodAffinity", 2),
            ("DynamicResources", 2),
            ("NodeResourcesBalancedAllocation", 1),
            ("ImageLocality", 7),
        ]
    );
    assert!(!framework.has_post_filters());
}

#[test]
fn what_is_wrong_with_a_profile_names_its_place() {
    let enabled = |point: &str, names: &[&str]| json!({"plugins": {point: {"enabled": names.iter().map(|name| json!({"name": name})).collect::<Vec<_>>()}}});
    for (profile, expected) in [
        (
            enabled("score", &["ImageLocality", "Nope"]),
            "profiles[0].plugins.score.enabled[1].name: ScorePlugin \"Nope\" does not exist",
        ),
        (
            enabled("multiPoint", &["EBSLimits"]),
            "profiles[0].plugins.multiPoint.enabled[0].name: MultiPoint plugin \"EBSLimits\" does not exist",
        ),
        (
            enabled("permit", &["NodeName"]),
            "profiles[0].plugins.permit.enabled[0].name: plugin \"NodeName\" does not extend PermitPlugin plugin",
        ),
        (
            enabled("bind", &["DefaultBinder", "DefaultBinder"]),
            "profiles[0].plugins.bind.enabled[1].name: plugin \"DefaultBinder\" already registered as \"BindPlugin\"",
        ),
        (
            enabled("placementScore", &["NodeResourcesFit", "NodeName"]),
            "profiles[0].plugins.placementScore.enabled[1].name: plugin \"NodeName\" does not extend PlacementScorePlugin plugin",
        ),
        (
            json!({"plugins": {"queueSort": {"disabled": [{"name": "*"}]}}}),
            "profiles[0].plugins.queueSort: only one queue sort plugin required, but got 0",
        ),
        (
            json!({"plugins": {"filter": {"disabled": [{"name": "GangScheduling"}, {"name": "NodeNme"}]}}}),
            "profiles[0].plugins.filter.disabled[1].name: plugin \"NodeNme\" does not exist",
        ),
        (
            json!({"pluginConfig": [{"name": "NodeName", "args": {}}, {"name": "Nope"}]}),
            "profiles[0].pluginConfig[1].name: plugin \"Nope\" does not exist",
        ),
        (
            json!({"pluginConfig": [{"name": "NodeName", "args": {"x": 1}}]}),
            "profiles[0].pluginConfig[0].args: plugin \"NodeName\" takes no arguments",
        ),
        (
            json!({"pluginConfig": [{"name": "InterPodAffinity", "args": {"hardPodAffinityWeight": -1}}]}),
            "profiles[0].pluginConfig[0].args.hardPodAffinityWeight: Invalid value: -1: not in valid range [0, 100]",
        ),
    ] {
        assert_eq!(errors(profile), expected);
    }
}

/// The arguments that a configuration leads to.
fn args(text: &str) -> PluginArgs {
    let text = format!(
        "{{apiVersion: {}, kind: {}, {text}}}",
        api::API_VERSION,
        api::KIND
    );
    let config = KubeSchedulerConfiguration::from_text(&text).unwrap();
    let mut errors = Vec::new();
    let args = with_interner(|interner| {
        plugin_args(
            &config,
            &config.profiles[0],
            &in_tree(),
            interner,
            &Path::default(),
            &mut errors,
        )
    });
    assert_eq!(errors, []);
    args
}

#[test]
fn arguments_arrive() {
    let args = args(
        "profiles: [{pluginConfig: [
          {name: DefaultPreemption, args: {minCandidateNodesPercentage: 20, minCandidateNodesAbsolute: 5}},
          {name: DynamicResources, args: {filterTimeout: 1500ms}},
          {name: InterPodAffinity, args: {hardPodAffinityWeight: 9, ignorePreferredTermsOfExistingPods: true}},
          {name: NodeAffinity, args: {addedAffinity: {requiredDuringSchedulingIgnoredDuringExecution:
            {nodeSelectorTerms: [{matchExpressions: [{key: a, operator: Exists}]}]}}}},
          {name: NodeResourcesBalancedAllocation, args: {resources: [{name: x/y}]}},
          {name: NodeResourcesFit, args: {ignoredResources: [a/b], ignoredResourceGroups: [c],
            scoringStrategy: {type: RequestedToCapacityRatio, resources: [{name: x/y, weight: 3}],
              requestedToCapacityRatio: {shape: [{utilization: 0, score: 10}, {utilization: 100, score: 0}]}}}},
          {name: PodTopologySpread, args: {defaultingType: List, defaultConstraints:
            [{maxSkew: 2, topologyKey: zone, whenUnsatisfiable: ScheduleAnyway}]}},
          {name: VolumeBinding, args: {bindTimeoutSeconds: 7}}]}]",
    );
    fn of<'a, A: Args>(args: &'a PluginArgs, plugin: &str) -> &'a A {
        args.get(plugin)
            .unwrap_or_else(|| panic!("{plugin} has none"))
    }
    let preemption: &DefaultPreemptionArgs = of(&args, "DefaultPreemption");
    assert_eq!(preemption.min_candidate_nodes_percentage, 20);
    assert_eq!(preemption.min_candidate_nodes_absolute, 5);
    let devices: &DynamicResourcesArgs = of(&args, "DynamicResources");
    assert_eq!(devices.filter_timeout, Duration::from_millis(1500));
    let affinity: &InterPodAffinityArgs = of(&args, "InterPodAffinity");
    assert_eq!(affinity.hard_pod_affinity_weight, 9);
    assert!(affinity.ignore_preferred_terms_of_existing_pods);
    let added: &NodeAffinityArgs = of(&args, "NodeAffinity");
    let required = added.added_affinity.required.as_ref();
    let terms = &required.expect("a requirement").terms;
    assert_eq!(terms[0].expressions[0].op, Op::Exists);
    let resource = |weight| ResourceSpec {
        name: "x/y".to_owned(),
        weight,
    };
    let balanced: &NodeResourcesBalancedAllocationArgs =
        of(&args, "NodeResourcesBalancedAllocation");
    assert_eq!(balanced.resources, [resource(1)]);
    let fit: &NodeResourcesFitArgs = of(&args, "NodeResourcesFit");
    assert_eq!(fit.ignored_resources, ["a/b"]);
    assert_eq!(fit.ignored_resource_groups, ["c"]);
    assert_eq!(
        fit.scoring_strategy,
        ScoringStrategy {
            kind: ScoringStrategyKind::RequestedToCapacityRatio(vec![(0, 10), (100, 0)]),
            resources: vec![resource(3)],
        }
    );
    let spread: &PodTopologySpreadArgs = of(&args, "PodTopologySpread");
    let DefaultConstraints::List(constraints) = &spread.defaults else {
        panic!("expected a list of constraints");
    };
    assert_eq!(constraints[0].max_skew, 2);
    let volumes: &VolumeBindingArgs = of(&args, "VolumeBinding");
    assert_eq!(volumes.bind_timeout_seconds, 7);
}

#[test]
fn resources_of_extenders_take_the_place_of_ignored_resources() {
    let args = args(
        "extenders: [{managedResources: [{name: x.com/a, ignoredByScheduler: true}, {name: x.com/b}]}],
         profiles: [{pluginConfig: [{name: NodeResourcesFit, args: {ignoredResources: [x.com/c]}}]}]",
    );
    let fit: &NodeResourcesFitArgs = args.get("NodeResourcesFit").expect("they were told");
    assert_eq!(fit.ignored_resources, ["x.com/a"]);
}

#[test]
fn backoff_comes_from_the_configuration() {
    let config = KubeSchedulerConfiguration {
        pod_initial_backoff_seconds: 3,
        pod_max_backoff_seconds: 30,
        ..KubeSchedulerConfiguration::default()
    };
    let queue = queue_config(&config);
    assert_eq!(queue.initial_backoff, Duration::from_secs(3));
    assert_eq!(queue.max_backoff, Duration::from_secs(30));
    assert_eq!(queue.max_in_unschedulable_pods, Duration::from_secs(300));
}

#[test]
fn a_profile_can_pack() {
    let profile = |policy: &str| {
        framework(json!({
            "plugins": {"multiPoint": {"enabled": [{"name": "BinPacking"}]}},
            "pluginConfig": [{"name": "BinPacking", "args": {"policy": policy}}],
        }))
    };
    for policy in Packing::ALL {
        let framework = profile(policy.name());
        assert_eq!(framework.packing(), Some(policy));
        let decreasing = policy == Packing::FirstFitDecreasing;
        let sort = if decreasing {
            "LargestFirst"
        } else {
            "PrioritySort"
        };
        assert_eq!(framework.enabled_at(Point::QueueSort), [sort]);
    }
    let scoring = json!({"pluginConfig": [{"name": "BinPacking", "args": {"policy": "FirstFit"}}]});
    assert_eq!(framework(scoring).packing(), None, "it is not enabled");
}

#[test]
fn sizes_are_measured_by_the_reference() {
    let args = args(
        "profiles: [{pluginConfig: [
          {name: LargestFirst, args: {reference: {cpu: 16, memory: 1Ki, x.com/gpu: 4}}}]}]",
    );
    let args: &LargestFirstArgs = args.get("LargestFirst").expect("they were told");
    let amounts: Vec<i64> = args.reference.iter().map(|r| r.1).collect();
    assert_eq!(amounts, [16_000, 1024, 4]);
}

mod required_arguments {
    use super::*;
    use stowplan_engine::NodeInfo;
    use stowplan_engine::framework::args::{Args, FieldError, Fields};
    use stowplan_engine::framework::{Cx, Filter, Fit, Plugin, PluginBuilder};
    use stowplan_engine::model::Pod;

    #[derive(Clone, Debug, Default)]
    struct ZonesArgs;

    impl Args for ZonesArgs {
        fn decode(fields: &mut Fields<'_>) -> Result<Self, FieldError> {
            let zones: Vec<String> = fields.required("zones")?;
            fields.check(!zones.is_empty(), "zones", &*zones, "must not be empty");
            Ok(Self)
        }
    }

    struct Zones;

    impl Plugin for Zones {
        type FilterState = ();
        type ScoreState = ();
    }

    impl Filter for Zones {
        fn filter(&self, _: Cx<'_>, _: &(), _: &Pod, _: &NodeInfo) -> Fit {
            Ok(())
        }
    }

    /// What is said of a profile that enables the plugin and has this `pluginConfig`.
    fn said(plugin_config: serde_json::Value) -> Vec<String> {
        let registry = in_tree().with_args("Zones", |_: ZonesArgs| {
            PluginBuilder::new(Zones).filter().build()
        });
        let mut config = KubeSchedulerConfiguration::from_profiles(vec![serde_json::json!({
            "plugins": {"multiPoint": {"enabled": [{"name": "Zones"}]}},
        })])
        .expect("a profile");
        let given = serde_json::from_value(plugin_config).expect("a pluginConfig");
        config.profiles[0].plugin_config = given;
        with_interner(
            |interner| match profiles_with(&config, &registry, interner) {
                Ok(_) => Vec::new(),
                Err(ConfigErrors(errors)) => errors.iter().map(ToString::to_string).collect(),
            },
        )
    }

    #[test]
    fn a_plugin_that_needs_arguments_is_not_run_without() {
        let zones = serde_json::json!([{"name": "Zones", "args": {"zones": ["a"]}}]);
        assert_eq!(said(zones), [] as [String; 0]);
        assert_eq!(
            said(serde_json::json!([])),
            ["profiles[0].pluginConfig.Zones.args: missing field `zones`"]
        );
    }
}
