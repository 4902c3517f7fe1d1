//! Bin packing, which kube-scheduler does not have: the plugins BinPacking and LargestFirst.

use super::{
    ConfigError, KubeSchedulerConfiguration, NodeResourcesFitArgs, Path, Plugin, PluginArgs,
    PluginConfig, PluginSet, Profile,
};
use crate::resource_names;
use k8s_openapi::apimachinery::pkg::api::resource::Quantity as Text;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use stowplan_base::Quantity;

const BIN_PACKING: &str = "BinPacking";
const LARGEST_FIRST: &str = "LargestFirst";
const NODE_RESOURCES_FIT: &str = "NodeResourcesFit";

/// Arguments of BinPacking.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub struct BinPackingArgs {
    /// One of [`POLICIES`](Self::POLICIES).
    pub policy: String,
}

impl BinPackingArgs {
    /// The first node, in the order in which they arrived.
    pub const FIRST_FIT: &str = "FirstFit";
    /// The fullest node.
    pub const BEST_FIT: &str = "BestFit";
    /// The emptiest node.
    pub const WORST_FIT: &str = "WorstFit";
    /// The first node, for the largest pods first.
    pub const FIRST_FIT_DECREASING: &str = "FirstFitDecreasing";
    /// All of them.
    pub const POLICIES: [&str; 4] = [
        Self::FIRST_FIT,
        Self::BEST_FIT,
        Self::WORST_FIT,
        Self::FIRST_FIT_DECREASING,
    ];
}

impl Default for BinPackingArgs {
    fn default() -> Self {
        Self {
            policy: Self::BEST_FIT.to_owned(),
        }
    }
}

/// Arguments of LargestFirst.
#[derive(Clone, PartialEq, Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub struct LargestFirstArgs {
    /// What pods are measured by, such as the resources of a typical node: a pod is as large as the
    /// largest share that it asks for.
    pub reference: BTreeMap<String, Text>,
}

impl Default for LargestFirstArgs {
    fn default() -> Self {
        let reference = [("cpu", "1"), ("memory", "4Gi")];
        Self {
            reference: reference
                .map(|(name, amount)| (name.to_owned(), Text(amount.to_owned())))
                .into(),
        }
    }
}

impl KubeSchedulerConfiguration {
    /// Makes every profile choose nodes by a policy of BinPacking.
    pub fn pack_by(&mut self, policy: &str) {
        for profile in &mut self.profiles {
            profile.stop_packing();
            profile.plugins.score.enabled.push(plugin(BIN_PACKING));
            *profile.args_mut(BIN_PACKING) = PluginArgs::BinPacking(BinPackingArgs {
                policy: policy.to_owned(),
            });
            profile.set_queue_sort();
        }
    }

    /// Makes every profile choose nodes by scores, those of NodeResourcesFit by a strategy without
    /// parameters: `MostAllocated` or `LeastAllocated`.
    pub fn score_by(&mut self, strategy: &str) {
        for profile in &mut self.profiles {
            profile.stop_packing();
            let args = profile.args_mut(NODE_RESOURCES_FIT);
            if !matches!(args, PluginArgs::NodeResourcesFit(_)) {
                let mut default = PluginArgs::NodeResourcesFit(NodeResourcesFitArgs::default());
                default.set_defaults();
                *args = default;
            }
            if let PluginArgs::NodeResourcesFit(args) = args {
                args.scoring_strategy.kind = strategy.to_owned();
                args.scoring_strategy.requested_to_capacity_ratio = None;
            }
        }
    }

    /// Gives LargestFirst something to measure pods by, where the configuration does not.
    pub fn measure_by(&mut self, reference: &BTreeMap<String, Text>) {
        for profile in &mut self.profiles {
            let args = profile.args_mut(LARGEST_FIRST);
            if let PluginArgs::Other(_) = args {
                *args = PluginArgs::LargestFirst(LargestFirstArgs {
                    reference: reference.clone(),
                });
            }
        }
    }
}

impl Profile {
    /// The policy by which the profile packs, if it does.
    fn packing(&self) -> Option<&str> {
        let names = |plugins: &[Plugin]| plugins.iter().any(|plugin| plugin.name == BIN_PACKING);
        let plugins = &self.plugins;
        let enabled = names(&plugins.score.enabled)
            || (names(&plugins.multi_point.enabled) && !names(&plugins.score.disabled));
        let mut configs = self.plugin_config.iter();
        let args = configs.find(|config| config.name == BIN_PACKING);
        enabled.then(|| match args.map(|config| &config.args) {
            Some(PluginArgs::BinPacking(args)) => args.policy.as_str(),
            _ => BinPackingArgs::BEST_FIT,
        })
    }

    /// First fit decreasing is first fit and an order of the queue.
    pub(super) fn set_queue_sort(&mut self) {
        let decreasing = self.packing() == Some(BinPackingArgs::FIRST_FIT_DECREASING);
        if decreasing && self.plugins.queue_sort == PluginSet::default() {
            self.plugins.queue_sort = largest_first();
        }
    }

    fn stop_packing(&mut self) {
        let plugins = &mut self.plugins;
        for set in [&mut plugins.score, &mut plugins.multi_point] {
            set.enabled.retain(|plugin| plugin.name != BIN_PACKING);
        }
        if plugins.queue_sort == largest_first() {
            plugins.queue_sort = PluginSet::default();
        }
    }

    /// The arguments of a plugin, at first absent.
    fn args_mut(&mut self, name: &str) -> &mut PluginArgs {
        let configs = &mut self.plugin_config;
        let at = configs.iter().position(|config| config.name == name);
        let at = at.unwrap_or_else(|| {
            configs.push(PluginConfig {
                name: name.to_owned(),
                args: PluginArgs::default(),
            });
            configs.len() - 1
        });
        &mut configs[at].args
    }
}

fn plugin(name: &str) -> Plugin {
    Plugin {
        name: name.to_owned(),
        weight: 0,
    }
}

fn largest_first() -> PluginSet {
    PluginSet {
        enabled: vec![plugin(LARGEST_FIRST)],
        disabled: vec![plugin("*")],
    }
}

pub(super) fn validate_policy(args: &BinPackingArgs, path: &Path, errors: &mut Vec<ConfigError>) {
    let policies = BinPackingArgs::POLICIES;
    if !policies.contains(&args.policy.as_str()) {
        let path = path.child("policy");
        errors.push(path.not_supported(&args.policy, &policies));
    }
}

pub(super) fn validate_reference(
    args: &LargestFirstArgs,
    path: &Path,
    errors: &mut Vec<ConfigError>,
) {
    let path = path.child("reference");
    if args.reference.is_empty() {
        errors.push(path.required("at least one resource must be specified"));
    }
    for (name, Text(amount)) in &args.reference {
        let path = path.key(name);
        if !resource_names::can_be_requested(name) {
            errors.push(path.invalid(name, "pods cannot ask for such a resource"));
        }
        match amount.parse::<Quantity>() {
            Ok(amount) if amount > Quantity::ZERO => {}
            Ok(_) => errors.push(path.invalid(amount, "must be greater than zero")),
            Err(error) => errors.push(path.invalid(amount, error)),
        }
    }
}

/// Who packs by first fit decreasing must have the order that goes with it.
pub(super) fn validate_queue_sort(profile: &Profile, path: &Path, errors: &mut Vec<ConfigError>) {
    let sort = &profile.plugins.queue_sort.enabled;
    let decreasing = profile.packing() == Some(BinPackingArgs::FIRST_FIT_DECREASING);
    if decreasing && !sort.iter().any(|plugin| plugin.name == LARGEST_FIRST) {
        let names: Vec<&str> = sort.iter().map(|plugin| plugin.name.as_str()).collect();
        errors.push(path.invalid(
            names,
            "BinPacking's policy FirstFitDecreasing needs LargestFirst here",
        ));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::tests::{args_errors, check, load};
    use expect_test::expect;

    #[test]
    fn arguments_name_what_is_wrong_with_them() {
        for policy in BinPackingArgs::POLICIES {
            let args = format!("{{policy: {policy}}}");
            assert_eq!(args_errors("BinPacking", &args), "");
        }
        expect![[r#"policy: Unsupported value: "NextFit": supported values: "FirstFit", "BestFit", "WorstFit", "FirstFitDecreasing""#]]
            .assert_eq(&args_errors("BinPacking", "{policy: NextFit}"));
        expect!["polcy: unknown field"].assert_eq(&args_errors("BinPacking", "{polcy: FirstFit}"));
        let reference = |text: &str| args_errors("LargestFirst", &format!("{{reference: {text}}}"));
        expect![""].assert_eq(&reference("{cpu: 16, memory: 64Gi, nvidia.com/gpu: 8}"));
        expect!["reference: Required value: at least one resource must be specified"]
            .assert_eq(&reference("{}"));
        expect![[r#"
            reference[cpu]: Invalid value: "0": must be greater than zero
            reference[memory]: Invalid value: "1GB": unable to parse quantity's suffix
            reference[pods]: Invalid value: "pods": pods cannot ask for such a resource"#]]
        .assert_eq(&reference("{cpu: 0, memory: 1GB, pods: 1}"));
    }

    fn packing(point: &str, policy: &str) -> String {
        format!(
            "plugins: {{{point}: {{enabled: [{{name: BinPacking}}]}}}}, \
             pluginConfig: [{{name: BinPacking, args: {{policy: {policy}}}}}]"
        )
    }

    #[test]
    fn first_fit_decreasing_brings_its_order() {
        let sort = |profile: &str| {
            let config = load(&format!("profiles: [{{{profile}}}]")).unwrap();
            config.profiles[0].plugins.queue_sort.clone()
        };
        for point in ["score", "multiPoint"] {
            assert_eq!(sort(&packing(point, "FirstFitDecreasing")), largest_first());
            assert_eq!(sort(&packing(point, "FirstFit")), PluginSet::default());
        }
        let disabled = "plugins: {multiPoint: {enabled: [{name: BinPacking}]}, \
                        score: {disabled: [{name: BinPacking}]}}, \
                        pluginConfig: [{name: BinPacking, args: {policy: FirstFitDecreasing}}]";
        assert_eq!(sort(disabled), PluginSet::default());
    }

    #[test]
    fn first_fit_decreasing_needs_its_order() {
        let decreasing = packing("score", "FirstFitDecreasing");
        let other = decreasing.replace(
            "plugins: {",
            "plugins: {queueSort: {enabled: [{name: PrioritySort}]}, ",
        );
        check(
            &format!("profiles: [{{{other}}}]"),
            expect![[
                r#"profiles[0].plugins.queueSort.enabled: Invalid value: ["PrioritySort"]: BinPacking's policy FirstFitDecreasing needs LargestFirst here"#
            ]],
        );
        check(
            &format!("profiles: [{{schedulerName: a, {decreasing}}}, {{schedulerName: b}}]"),
            expect![[
                r#"profiles[1].plugins.queueSort: Invalid value: {"disabled":[],"enabled":[]}: must be the same for all profiles"#
            ]],
        );
    }

    #[test]
    fn a_policy_for_all_profiles() {
        let mut config = load(&format!(
            "profiles: [{{schedulerName: a, {}}}, {{schedulerName: b}}]",
            packing("multiPoint", "WorstFit")
        ))
        .unwrap();
        let all = |config: &KubeSchedulerConfiguration| {
            let profiles = config.profiles.iter();
            let each = profiles.map(|profile| {
                let sort = &profile.plugins.queue_sort.enabled;
                let sort = sort.iter().map(|plugin| plugin.name.clone());
                (profile.packing().map(str::to_owned), sort.collect())
            });
            each.collect::<Vec<(Option<String>, Vec<String>)>>()
        };
        let none: Vec<String> = Vec::new();
        let twice = |policy: Option<&str>, sort: &[String]| {
            vec![(policy.map(str::to_owned), sort.to_vec()); 2]
        };
        config.pack_by("FirstFitDecreasing");
        let sort = ["LargestFirst".to_owned()];
        assert_eq!(all(&config), twice(Some("FirstFitDecreasing"), &sort));
        config.pack_by("FirstFit");
        assert_eq!(all(&config), twice(Some("FirstFit"), &none));
        config.score_by("MostAllocated");
        assert_eq!(all(&config), twice(None, &none));
        let scores = config.profiles.iter().flat_map(|p| &p.plugin_config);
        let kinds: Vec<&str> = scores
            .filter_map(|config| match &config.args {
                PluginArgs::NodeResourcesFit(args) => Some(args.scoring_strategy.kind.as_str()),
                _ => None,
            })
            .collect();
        assert_eq!(kinds, ["MostAllocated"; 2]);
    }
}
