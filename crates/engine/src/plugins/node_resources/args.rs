//! The arguments of NodeResourcesFit, and what NodeResourcesBalancedAllocation shares of them.

use crate::framework::args::{ArgValue, Args, FieldError, FieldPath, Fields};
use stowplan_base::label_key;

/// `NodeResourcesFitArgs`.
#[derive(Clone, Debug)]
pub struct NodeResourcesFitArgs {
    /// `ignoredResources`.
    pub ignored_resources: Vec<String>,
    /// `ignoredResourceGroups`.
    pub ignored_resource_groups: Vec<String>,
    /// `scoringStrategy`.
    pub scoring_strategy: ScoringStrategy,
}

impl Default for NodeResourcesFitArgs {
    fn default() -> Self {
        Self {
            ignored_resources: Vec::new(),
            ignored_resource_groups: Vec::new(),
            scoring_strategy: ScoringStrategy {
                kind: ScoringStrategyKind::LeastAllocated,
                resources: ResourceSpec::cpu_and_memory(),
            },
        }
    }
}

/// `scoringStrategy`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ScoringStrategy {
    /// `type`, with what belongs to it.
    pub kind: ScoringStrategyKind,
    /// `resources`.
    pub resources: Vec<ResourceSpec>,
}

/// `scoringStrategy.type`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ScoringStrategyKind {
    /// Prefers empty nodes.
    LeastAllocated,
    /// Prefers full nodes.
    MostAllocated,
    /// A function of utilisation, given by its points (utilization 0..=100, score 0..=10).
    RequestedToCapacityRatio(Vec<(i32, i32)>),
}

/// A resource and what it weighs in a score.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ResourceSpec {
    /// `name`.
    pub name: String,
    /// `weight`.
    pub weight: i64,
}

impl ResourceSpec {
    /// `resources`: cpu and memory if empty; a weight of 0 becomes 1.
    pub(super) fn decode_list(fields: &mut Fields<'_>) -> Result<Vec<Self>, FieldError> {
        let mut resources = fields.list("resources", |resource| {
            let name = resource.required("name")?;
            let weight = resource.get("weight", 0)?;
            Ok(Self { name, weight })
        })?;
        if resources.is_empty() {
            resources = Self::cpu_and_memory();
        }
        for resource in &mut resources {
            if resource.weight == 0 {
                resource.weight = 1;
            }
        }
        let all: Vec<_> = resources.iter().map(Self::to_value).collect();
        fields.set("resources", all);
        Ok(resources)
    }

    fn to_value(&self) -> ArgValue {
        ArgValue::map([
            ("name", ArgValue::from(&self.name)),
            ("weight", ArgValue::from(self.weight)),
        ])
    }

    /// `cpu` and `memory`, one each: the default everywhere.
    pub fn cpu_and_memory() -> Vec<Self> {
        ["cpu", "memory"]
            .map(|name| Self {
                name: name.to_owned(),
                weight: 1,
            })
            .to_vec()
    }
}

const LEAST: &str = "LeastAllocated";
const MOST: &str = "MostAllocated";
const BY_RATIO: &str = "RequestedToCapacityRatio";

impl Args for NodeResourcesFitArgs {
    fn decode(fields: &mut Fields<'_>) -> Result<Self, FieldError> {
        let ignored_resources: Vec<String> = fields.get("ignoredResources", Vec::new())?;
        let ignored_resource_groups: Vec<String> =
            fields.get("ignoredResourceGroups", Vec::new())?;
        for (i, resource) in ignored_resources.iter().enumerate() {
            check_key(fields, &fields.path("ignoredResources").index(i), resource);
        }
        for (i, group) in ignored_resource_groups.iter().enumerate() {
            let path = fields.path("ignoredResourceGroups").index(i);
            if group.contains('/') {
                fields.reject(path.invalid(group, "resource group name can't contain '/'"));
            }
            check_key(fields, &path, group);
        }
        let strategy = fields.object("scoringStrategy", |strategy| {
            let kind = strategy.get("type", String::new())?;
            ScoringStrategy::decode(strategy, &kind)
        })?;
        let default = Self::default().scoring_strategy;
        if strategy.is_none() {
            let resources: Vec<_> = default
                .resources
                .iter()
                .map(ResourceSpec::to_value)
                .collect();
            let told = [
                ("type", ArgValue::from(LEAST)),
                ("resources", resources.into()),
            ];
            fields.set("scoringStrategy", ArgValue::map(told));
        }
        Ok(Self {
            ignored_resources,
            ignored_resource_groups,
            scoring_strategy: strategy.unwrap_or(default),
        })
    }
}

fn check_key(fields: &mut Fields<'_>, path: &FieldPath, name: &str) {
    for detail in label_key(name) {
        fields.reject(path.invalid(name, detail));
    }
}

impl ScoringStrategy {
    fn decode(fields: &mut Fields<'_>, kind: &str) -> Result<Self, FieldError> {
        let kinds = [LEAST, MOST, BY_RATIO];
        if !kinds.contains(&kind) {
            fields.reject(fields.path("type").not_supported(kind, &kinds));
        }
        let resources = ResourceSpec::decode_list(fields)?;
        for (i, ResourceSpec { name, weight }) in resources.iter().enumerate() {
            if !(1..=100).contains(weight) {
                let path = fields.path("resources").index(i).child("weight");
                let detail = format!("resource weight of {name} not in valid range (0, 100]");
                fields.reject(path.invalid(*weight, detail));
            }
        }
        let path = fields.path("requestedToCapacityRatio");
        let shape = fields.object("requestedToCapacityRatio", |param| {
            let points = param.list("shape", |point| {
                Ok((point.get("utilization", 0)?, point.get("score", 0)?))
            })?;
            if kind == BY_RATIO {
                check_shape(param, &points);
            }
            Ok(points)
        })?;
        match &shape {
            Some(_) if kind != BY_RATIO => fields
                .reject(path.forbidden("must be nil when type is not RequestedToCapacityRatio")),
            None if kind == BY_RATIO => {
                let detail = "must be specified when type is RequestedToCapacityRatio";
                fields.reject(path.required(detail));
            }
            _ => {}
        }
        Ok(Self {
            kind: match kind {
                MOST => ScoringStrategyKind::MostAllocated,
                BY_RATIO => {
                    ScoringStrategyKind::RequestedToCapacityRatio(shape.unwrap_or_default())
                }
                _ => ScoringStrategyKind::LeastAllocated,
            },
            resources,
        })
    }
}

fn check_shape(fields: &mut Fields<'_>, shape: &[(i32, i32)]) {
    let path = fields.path("shape");
    if shape.is_empty() {
        fields.reject(path.required("at least one point must be specified"));
        return;
    }
    let falls = shape.windows(2).position(|pair| pair[0].0 >= pair[1].0);
    if let Some(before) = falls {
        let path = path.index(before + 1).child("utilization");
        let detail = "values must be sorted in increasing order";
        fields.reject(path.invalid(shape[before + 1].0, detail));
    }
    for (i, (utilization, score)) in shape.iter().enumerate() {
        let path = path.index(i);
        if !(0..=100).contains(utilization) {
            let path = path.child("utilization");
            fields.reject(path.invalid(*utilization, "not in valid range [0, 100]"));
        }
        if !(0..=10).contains(score) {
            let path = path.child("score");
            fields.reject(path.invalid(*score, "not in valid range [0, 10]"));
        }
    }
}
