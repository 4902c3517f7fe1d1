//! Packing policies as configurations, and what they come to.

use crate::{InputErrors, Simulation, SimulationReport, Source};
use std::borrow::Cow;
use std::collections::BTreeMap;
use stowplan_api::k8s::apimachinery::pkg::api::resource::Quantity as Text;
use stowplan_api::load::Object;
use stowplan_base::{Quantity, resource_names};
use stowplan_config::KubeSchedulerConfiguration;
use stowplan_engine::Snapshot;
use stowplan_engine::model::Pod;
use stowplan_engine::packing::{Packing, census};

/// How many nodes a policy used, and how few it could have.
pub struct PackingUse {
    /// The policy's name.
    pub policy: String,
    /// How many nodes it used.
    pub nodes_used: usize,
    /// How few any could have used.
    pub lower_bound: usize,
    /// The resource that the bound comes from.
    pub bound_by: Option<String>,
    /// Cpu of the nodes in use, in thousandths: what is asked for, and what there is.
    pub cpu: (i64, i64),
    /// Memory of the nodes in use, in bytes.
    pub memory: (i64, i64),
}

/// How nodes are chosen, whatever the profiles say.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Policy {
    /// The first node with room, in the order of the input.
    FirstFit,
    /// The node with the least left over.
    BestFit,
    /// The node with the most left over.
    WorstFit,
    /// First fit, with the largest pods first.
    FirstFitDecreasing,
    /// Scores, among which fuller nodes get more.
    MostAllocated,
    /// Scores, among which emptier nodes get more: the default.
    LeastAllocated,
}

impl Policy {
    /// All of them, in the order in which they are compared.
    pub const ALL: [Self; 6] = [
        Self::FirstFit,
        Self::BestFit,
        Self::WorstFit,
        Self::FirstFitDecreasing,
        Self::MostAllocated,
        Self::LeastAllocated,
    ];

    /// The policy's name in configuration files.
    fn name(self) -> &'static str {
        match self {
            Self::FirstFit => Packing::FirstFit.name(),
            Self::BestFit => Packing::BestFit.name(),
            Self::WorstFit => Packing::WorstFit.name(),
            Self::FirstFitDecreasing => Packing::FirstFitDecreasing.name(),
            Self::MostAllocated => "MostAllocated",
            Self::LeastAllocated => "LeastAllocated",
        }
    }
}

/// The configuration that was read, with the policy in all its profiles.
fn config(source: &Source, policy: Option<Policy>) -> Cow<'_, KubeSchedulerConfiguration> {
    let mut config = Cow::Borrowed(source.config());
    match policy {
        None => {}
        Some(policy @ (Policy::MostAllocated | Policy::LeastAllocated)) => {
            config.to_mut().score_by(policy.name());
        }
        Some(policy) => {
            config.to_mut().pack_by(policy.name());
            // Where no node has anything, pods are measured as the plugin does by default.
            let reference = largest_node(source);
            if !reference.is_empty() {
                config.to_mut().measure_by(&reference);
            }
        }
    }
    config
}

/// Of every resource that pods can ask for, the most that a node has.
fn largest_node(source: &Source) -> BTreeMap<String, String> {
    let mut most: BTreeMap<&str, Quantity> = BTreeMap::new();
    for loaded in source.objects() {
        let Object::Node(node) = &loaded.object else {
            continue;
        };
        let status = node.status.as_ref();
        let amounts = status.and_then(|status| status.allocatable.as_ref());
        for (name, Text(amount)) in amounts.into_iter().flatten() {
            if let Ok(amount) = amount.parse()
                && resource_names::can_be_requested(name)
                && amount > Quantity::ZERO
            {
                let most = most.entry(name).or_insert(amount);
                *most = amount.max(*most);
            }
        }
    }
    let most = most.into_iter();
    most.map(|(name, amount)| (name.to_owned(), text_of(amount)))
        .collect()
}

/// An amount as the API writes it, in whole units or in thousandths.
fn text_of(amount: Quantity) -> String {
    let units = amount.value();
    match Quantity::from_units(units) == amount {
        true => units.to_string(),
        false => format!("{}m", amount.milli_value()),
    }
}

/// What to call the way nodes are chosen: the policy that was asked for, or those of the profiles
/// that have one.
fn title(policy: Option<Policy>, simulation: &Simulation) -> Option<String> {
    if let Some(policy) = policy {
        return Some(policy.name().to_owned());
    }
    let frameworks = simulation.scheduler.profiles().frameworks().iter();
    let mut names: Vec<&str> = frameworks
        .filter_map(|framework| Some(framework.packing()?.name()))
        .collect();
    names.dedup();
    (!names.is_empty()).then(|| names.join(", "))
}

impl SimulationReport {
    /// Plays the simulation of what was read. Under a packing policy, the one that is given or one
    /// of the profiles' own, the nodes in use are counted.
    pub fn play(source: &Source, policy: Option<Policy>, seed: u64) -> Result<Self, InputErrors> {
        let mut simulation = source.simulation(&config(source, policy))?;
        let title = title(policy, &simulation);
        Ok(Self::of(&mut simulation, seed, title))
    }
}

impl PackingUse {
    /// Counts the nodes in use.
    pub(crate) fn of(cluster: &Snapshot, policy: String, is_new: impl Fn(&Pod) -> bool) -> Self {
        let census = census(cluster, is_new);
        let whole = |amount: i128| i64::try_from(amount).unwrap_or(i64::MAX);
        let both = |(asked, all): (i128, i128)| (whole(asked), whole(all));
        let resource = |id| {
            cluster
                .names
                .text(cluster.resource_names.name(id))
                .to_owned()
        };
        Self {
            policy,
            nodes_used: census.nodes_used,
            lower_bound: census.lower_bound.nodes,
            bound_by: census.lower_bound.by.map(resource),
            cpu: both(census.cpu),
            memory: both(census.memory),
        }
    }
}
