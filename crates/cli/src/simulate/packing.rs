//! `--pack`: policies as configurations, and what they come to.

use crate::args::Pack;
use crate::world::{Source, World};
use std::borrow::Cow;
use std::collections::BTreeMap;
use stowplan_api::k8s::apimachinery::pkg::api::resource::Quantity as Text;
use stowplan_api::load::Object;
use stowplan_api::resource_names;
use stowplan_base::Quantity;
use stowplan_config::KubeSchedulerConfiguration;
use stowplan_engine::Snapshot;
use stowplan_engine::model::Pod;
use stowplan_engine::packing::{Packing, census};

/// How many nodes a policy used, and how few it could have.
pub(super) struct PackingUse {
    pub(super) policy: String,
    pub(super) nodes_used: usize,
    pub(super) lower_bound: usize,
    /// The resource that the bound comes from.
    pub(super) bound_by: Option<String>,
    /// Cpu of the nodes in use, in thousandths: what is asked for, and what there is.
    pub(super) cpu: (i64, i64),
    /// Memory of the nodes in use, in bytes.
    pub(super) memory: (i64, i64),
}

/// What is compared, in this order.
pub(super) const POLICIES: [Pack; 6] = [
    Pack::FirstFit,
    Pack::BestFit,
    Pack::WorstFit,
    Pack::FirstFitDecreasing,
    Pack::MostAllocated,
    Pack::LeastAllocated,
];

/// The policy's name in configuration files.
fn name(policy: Pack) -> &'static str {
    match policy {
        Pack::FirstFit => Packing::FirstFit.name(),
        Pack::BestFit => Packing::BestFit.name(),
        Pack::WorstFit => Packing::WorstFit.name(),
        Pack::FirstFitDecreasing => Packing::FirstFitDecreasing.name(),
        Pack::MostAllocated => "MostAllocated",
        Pack::LeastAllocated => "LeastAllocated",
        Pack::All => "all",
    }
}

/// The configuration that was read, with the policy in all its profiles.
pub(super) fn config(source: &Source, policy: Option<Pack>) -> Cow<'_, KubeSchedulerConfiguration> {
    let mut config = Cow::Borrowed(source.config());
    match policy {
        None | Some(Pack::All) => {}
        Some(policy @ (Pack::MostAllocated | Pack::LeastAllocated)) => {
            config.to_mut().score_by(name(policy));
        }
        Some(policy) => {
            config.to_mut().pack_by(name(policy));
            config.to_mut().measure_by(&largest_node(source));
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
    most.map(|(name, amount)| (name.to_owned(), resource_names::text_of(amount).0))
        .collect()
}

/// What to call the way nodes are chosen: the policy that was asked for, or those of the profiles
/// that have one.
pub(super) fn title(policy: Option<Pack>, world: &World) -> Option<String> {
    if let Some(policy) = policy {
        return Some(name(policy).to_owned());
    }
    let frameworks = world.scheduler.profiles().frameworks().iter();
    let mut names: Vec<&str> = frameworks
        .filter_map(|framework| Some(framework.packing()?.name()))
        .collect();
    names.dedup();
    (!names.is_empty()).then(|| names.join(", "))
}

impl PackingUse {
    /// Counts the nodes in use.
    pub(super) fn of(cluster: &Snapshot, policy: String, is_new: impl Fn(&Pod) -> bool) -> Self {
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
