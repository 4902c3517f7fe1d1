//! What the arguments of plugins must satisfy. Upstream's `validation_pluginargs.go`.

use super::super::{ConfigError, Duration, Path};
use super::super::{
    DefaultPreemptionArgs, DynamicResourcesArgs, InterPodAffinityArgs,
    NodeResourcesBalancedAllocationArgs, NodeResourcesFitArgs, PluginArgs, PodTopologySpreadArgs,
    ResourceSpec, ScoringStrategy, UtilizationShapePoint, VolumeBindingArgs,
};
use super::selector;
use crate::config::packing;
use crate::names;
use k8s_openapi::api::core::v1::TopologySpreadConstraint;
use std::collections::BTreeSet;

type Errors = Vec<ConfigError>;

pub(super) fn validate(args: &PluginArgs, path: &Path, errors: &mut Errors) {
    match args {
        PluginArgs::BinPacking(args) => packing::validate_policy(args, path, errors),
        PluginArgs::DefaultPreemption(args) => default_preemption(args, path, errors),
        PluginArgs::DynamicResources(args) => dynamic_resources(args, path, errors),
        PluginArgs::InterPodAffinity(args) => inter_pod_affinity(args, path, errors),
        PluginArgs::LargestFirst(args) => packing::validate_reference(args, path, errors),
        PluginArgs::NodeAffinity(args) => {
            if let Some(affinity) = &args.added_affinity {
                selector::node_affinity(affinity, &path.child("addedAffinity"), errors);
            }
        }
        PluginArgs::NodeResourcesBalancedAllocation(args) => {
            balanced_allocation(args, path, errors);
        }
        PluginArgs::NodeResourcesFit(args) => fit(args, path, errors),
        PluginArgs::PodTopologySpread(args) => pod_topology_spread(args, path, errors),
        PluginArgs::VolumeBinding(args) => volume_binding(args, path, errors),
        PluginArgs::Other(_) => {}
    }
}

fn default_preemption(args: &DefaultPreemptionArgs, path: &Path, errors: &mut Errors) {
    let percentage = args.min_candidate_nodes_percentage;
    let absolute = args.min_candidate_nodes_absolute;
    let percentage_path = path.child("minCandidateNodesPercentage");
    let absolute_path = path.child("minCandidateNodesAbsolute");
    if !(0..=100).contains(&percentage) {
        errors.push(percentage_path.invalid(percentage, "not in valid range [0, 100]"));
    }
    if absolute < 0 {
        errors.push(absolute_path.invalid(absolute, "not in valid range [0, inf)"));
    }
    if percentage == 0 && absolute == 0 {
        errors.push(percentage_path.invalid(
            percentage,
            "cannot be zero at the same time as minCandidateNodesAbsolute",
        ));
        errors.push(absolute_path.invalid(
            absolute,
            "cannot be zero at the same time as minCandidateNodesPercentage",
        ));
    }
}

fn dynamic_resources(args: &DynamicResourcesArgs, path: &Path, errors: &mut Errors) {
    if args.filter_timeout < Duration::ZERO {
        let path = path.child("filterTimeout");
        errors.push(path.invalid(args.filter_timeout, "must be zero or positive"));
    }
    if args.binding_timeout < Duration::from_secs(1) {
        let path = path.child("bindingTimeout");
        errors.push(path.invalid(args.binding_timeout, "must be at least 1 second"));
    }
}

fn inter_pod_affinity(args: &InterPodAffinityArgs, path: &Path, errors: &mut Errors) {
    let weight = args.hard_pod_affinity_weight;
    if !(0..=100).contains(&weight) {
        let path = path.child("hardPodAffinityWeight");
        errors.push(path.invalid(weight, "not in valid range [0, 100]"));
    }
}

fn balanced_allocation(
    args: &NodeResourcesBalancedAllocationArgs,
    path: &Path,
    errors: &mut Errors,
) {
    let mut seen = BTreeSet::new();
    for (i, resource) in args.resources.iter().enumerate() {
        let path = path.child("resources").index(i);
        if !seen.insert(&resource.name) {
            errors.push(path.child("name").duplicate(&resource.name));
        }
        if resource.weight != 1 {
            errors.push(path.child("weight").invalid(resource.weight, "must be 1"));
        }
    }
}

fn fit(args: &NodeResourcesFitArgs, path: &Path, errors: &mut Errors) {
    let label_name = |name: &str, path: &Path, errors: &mut Errors| {
        let wrong = names::label_key(name);
        errors.extend(wrong.iter().map(|detail| path.invalid(name, detail)));
    };
    for (i, resource) in args.ignored_resources.iter().enumerate() {
        label_name(resource, &path.child("ignoredResources").index(i), errors);
    }
    for (i, group) in args.ignored_resource_groups.iter().enumerate() {
        let path = path.child("ignoredResourceGroups").index(i);
        if group.contains('/') {
            errors.push(path.invalid(group, "resource group name can't contain '/'"));
        }
        label_name(group, &path, errors);
    }
    scoring_strategy(
        &args.scoring_strategy,
        &path.child("scoringStrategy"),
        errors,
    );
}

fn scoring_strategy(strategy: &ScoringStrategy, path: &Path, errors: &mut Errors) {
    let kinds = [
        ScoringStrategy::LEAST_ALLOCATED,
        ScoringStrategy::MOST_ALLOCATED,
        ScoringStrategy::REQUESTED_TO_CAPACITY_RATIO,
    ];
    if !kinds.contains(&strategy.kind.as_str()) {
        errors.push(path.child("type").not_supported(&strategy.kind, &kinds));
    }
    resources(&strategy.resources, &path.child("resources"), errors);
    let by_ratio = strategy.kind == ScoringStrategy::REQUESTED_TO_CAPACITY_RATIO;
    let path = path.child("requestedToCapacityRatio");
    match &strategy.requested_to_capacity_ratio {
        Some(param) if by_ratio => function_shape(&param.shape, &path.child("shape"), errors),
        Some(_) => {
            errors.push(path.forbidden("must be nil when type is not RequestedToCapacityRatio"));
        }
        None if by_ratio => {
            let detail = "must be specified when type is RequestedToCapacityRatio";
            errors.push(path.required(detail));
        }
        None => {}
    }
}

fn resources(resources: &[ResourceSpec], path: &Path, errors: &mut Errors) {
    for (i, ResourceSpec { name, weight }) in resources.iter().enumerate() {
        if !(1..=100).contains(weight) {
            errors.push(path.index(i).child("weight").invalid(
                weight,
                format!("resource weight of {name} not in valid range (0, 100]"),
            ));
        }
    }
}

fn function_shape(shape: &[UtilizationShapePoint], path: &Path, errors: &mut Errors) {
    if shape.is_empty() {
        errors.push(path.required("at least one point must be specified"));
        return;
    }
    let falls = shape
        .windows(2)
        .position(|pair| pair[0].utilization >= pair[1].utilization);
    if let Some(before) = falls {
        let i = before + 1;
        errors.push(path.index(i).child("utilization").invalid(
            shape[i].utilization,
            "values must be sorted in increasing order",
        ));
    }
    for (i, point) in shape.iter().enumerate() {
        let path = path.index(i);
        if !(0..=100).contains(&point.utilization) {
            let path = path.child("utilization");
            errors.push(path.invalid(point.utilization, "not in valid range [0, 100]"));
        }
        if !(0..=10).contains(&point.score) {
            let path = path.child("score");
            errors.push(path.invalid(point.score, "not in valid range [0, 10]"));
        }
    }
}

fn pod_topology_spread(args: &PodTopologySpreadArgs, path: &Path, errors: &mut Errors) {
    let kinds = [
        PodTopologySpreadArgs::SYSTEM_DEFAULTING,
        PodTopologySpreadArgs::LIST_DEFAULTING,
    ];
    let (kind, constraints) = (args.defaulting_type.as_str(), &args.default_constraints);
    let kind_path = path.child("defaultingType");
    if !kinds.contains(&kind) {
        errors.push(kind_path.not_supported(kind, &kinds));
    } else if kind == PodTopologySpreadArgs::SYSTEM_DEFAULTING && !constraints.is_empty() {
        errors.push(kind_path.invalid(kind, "when .defaultConstraints are not empty"));
    }
    let path = path.child("defaultConstraints");
    for (i, constraint) in constraints.iter().enumerate() {
        let path = path.index(i);
        spread_constraint(constraint, &path, errors);
        let identity =
            |c: &TopologySpreadConstraint| (c.topology_key.clone(), c.when_unsatisfiable.clone());
        let (key, action) = identity(constraint);
        if constraints[..i]
            .iter()
            .any(|other| other.topology_key == key && other.when_unsatisfiable == action)
        {
            errors.push(path.duplicate(format!("{{{key}, {action}}}")));
        }
    }
}

fn spread_constraint(constraint: &TopologySpreadConstraint, path: &Path, errors: &mut Errors) {
    if constraint.max_skew <= 0 {
        let path = path.child("maxSkew");
        errors.push(path.invalid(constraint.max_skew, "not in valid range (0, inf)"));
    }
    let key_path = path.child("topologyKey");
    let key = &constraint.topology_key;
    if key.is_empty() {
        errors.push(key_path.required("can not be empty"));
    } else {
        let wrong = names::label_key(key);
        errors.extend(wrong.iter().map(|detail| key_path.invalid(key, detail)));
    }
    let action_path = path.child("whenUnsatisfiable");
    match constraint.when_unsatisfiable.as_str() {
        "DoNotSchedule" | "ScheduleAnyway" => {}
        "" => errors.push(action_path.required("can not be empty")),
        other => {
            errors.push(action_path.not_supported(other, &["DoNotSchedule", "ScheduleAnyway"]));
        }
    }
    if constraint.label_selector.is_some() {
        errors.push(
            path.child("labelSelector")
                .forbidden("constraint must not define a selector, as they deduced for each pod"),
        );
    }
}

fn volume_binding(args: &VolumeBindingArgs, path: &Path, errors: &mut Errors) {
    if args.bind_timeout_seconds < 0 {
        errors.push(path.child("bindTimeoutSeconds").invalid(
            args.bind_timeout_seconds,
            "invalid BindTimeoutSeconds, should not be a negative value",
        ));
    }
    if let Some(shape) = &args.shape {
        errors.push(path.child("shape").invalid(
            shape,
            "unexpected field `shape`, remove it or turn on the feature gate StorageCapacityScoring",
        ));
    }
}
