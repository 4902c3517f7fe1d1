//! Bin packing, which kube-scheduler does not have: the plugins BinPacking and LargestFirst.

use super::{
    ConfigError, KubeSchedulerConfiguration, Path, Plugin, PluginConfig, PluginSet, Profile,
    default_args,
};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use stowplan_engine::packing::Packing;
use stowplan_engine::plugins::registry::in_tree;

const BIN_PACKING: &str = "BinPacking";
const LARGEST_FIRST: &str = "LargestFirst";
const NODE_RESOURCES_FIT: &str = "NodeResourcesFit";

impl KubeSchedulerConfiguration {
    /// Makes every profile choose nodes by a policy of BinPacking.
    pub fn pack_by(&mut self, policy: &str) {
        for profile in &mut self.profiles {
            profile.stop_packing();
            profile.plugins.score.enabled.push(plugin(BIN_PACKING));
            *profile.args_mut(BIN_PACKING) = json!({ "policy": policy });
            profile.set_queue_sort();
        }
    }

    /// Makes every profile choose nodes by scores, those of NodeResourcesFit by a strategy without
    /// parameters: `MostAllocated` or `LeastAllocated`.
    pub fn score_by(&mut self, strategy: &str) {
        for profile in &mut self.profiles {
            profile.stop_packing();
            let args = profile.args_mut(NODE_RESOURCES_FIT);
            if args.is_null() {
                *args = default_args(&in_tree(), NODE_RESOURCES_FIT).unwrap_or_default();
            }
            let scoring = &mut args["scoringStrategy"];
            scoring["type"] = strategy.into();
            if let Value::Object(fields) = scoring {
                fields.remove("requestedToCapacityRatio");
            }
        }
    }

    /// Gives LargestFirst something to measure pods by, where the configuration does not.
    pub fn measure_by(&mut self, reference: &BTreeMap<String, String>) {
        for profile in &mut self.profiles {
            let args = profile.args_mut(LARGEST_FIRST);
            if args.is_null() {
                *args = json!({ "reference": reference });
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
        let policy = args.and_then(|config| config.args["policy"].as_str());
        enabled.then(|| policy.unwrap_or(Packing::default().name()))
    }

    /// First fit decreasing is first fit and an order of the queue.
    pub(super) fn set_queue_sort(&mut self) {
        let decreasing = self.packing() == Some(Packing::FirstFitDecreasing.name());
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
    fn args_mut(&mut self, name: &str) -> &mut Value {
        let configs = &mut self.plugin_config;
        let at = configs.iter().position(|config| config.name == name);
        let at = at.unwrap_or_else(|| {
            configs.push(PluginConfig {
                name: name.to_owned(),
                args: Value::Null,
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

/// Who packs by first fit decreasing must have the order that goes with it.
pub(super) fn validate_queue_sort(profile: &Profile, path: &Path, errors: &mut Vec<ConfigError>) {
    let sort = &profile.plugins.queue_sort.enabled;
    let decreasing = profile.packing() == Some(Packing::FirstFitDecreasing.name());
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
    use crate::tests::{args_errors, check, load};
    use expect_test::expect;

    #[test]
    fn arguments_name_what_is_wrong_with_them() {
        for policy in Packing::ALL.map(Packing::name) {
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
            reference[memory]: Invalid value: "1GB": quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'
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
            .filter_map(|config| config.args["scoringStrategy"]["type"].as_str())
            .collect();
        assert_eq!(kinds, ["MostAllocated"; 2]);
    }
}
