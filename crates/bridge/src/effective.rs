//! A configuration as it is in effect: with all that its profiles leave to the defaults. Upstream's
//! `setDefaults_KubeSchedulerProfile` (`apis/config/v1/defaults.go`).

use crate::config::plugins;
use std::collections::BTreeSet;
use stowplan_config::{self as api, KubeSchedulerConfiguration, PluginConfig};
use stowplan_engine::framework::{PluginSet, Plugins, Point};
use stowplan_engine::plugins::registry::in_tree;

/// The configuration, its profiles merged with the default plugins and their default arguments.
pub fn effective(config: &KubeSchedulerConfiguration) -> KubeSchedulerConfiguration {
    let (mut config, registry) = (config.clone(), in_tree());
    for profile in &mut config.profiles {
        let merged = plugins(&profile.plugins).merged_with_defaults();
        for name in enabled(&merged) {
            let is_told = profile.plugin_config.iter().any(|told| told.name == name);
            if !is_told && let Some(args) = api::default_args(&registry, name) {
                let name = name.to_owned();
                profile.plugin_config.push(PluginConfig { name, args });
            }
        }
        set(&mut profile.plugins, &merged);
    }
    config
}

/// Every plugin that is enabled anywhere, in the order of names.
fn enabled(plugins: &Plugins) -> BTreeSet<&str> {
    let points = Point::ALL.into_iter().map(|point| plugins.at(point));
    let sets = points.chain([&plugins.multi_point]);
    sets.flat_map(|set| &set.enabled)
        .map(|plugin| plugin.name.as_str())
        .collect()
}

/// Puts merged plugins in the place of what a profile says.
fn set(plugins: &mut api::Plugins, merged: &Plugins) {
    plugins.multi_point = plugin_set(&merged.multi_point);
    for (point, set) in Point::ALL.into_iter().zip(plugins.points_mut()) {
        *set = plugin_set(merged.at(point));
    }
}

fn plugin_set(set: &PluginSet) -> api::PluginSet {
    let plugin = |name: &String, weight| api::Plugin {
        name: name.clone(),
        weight,
    };
    let enabled = set.enabled.iter();
    let disabled = set.disabled.iter();
    api::PluginSet {
        enabled: enabled.map(|p| plugin(&p.name, p.weight)).collect(),
        disabled: disabled.map(|name| plugin(name, 0)).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn told(profile: &Value) -> Value {
        let config = KubeSchedulerConfiguration::from_profiles(vec![profile.clone()]);
        effective(&config.expect("a configuration")).to_json()
    }

    fn names(list: &Value) -> Vec<&str> {
        let list = list.as_array().expect("a list").iter();
        list.map(|entry| entry["name"].as_str().expect("a name"))
            .collect()
    }

    #[test]
    fn a_profile_that_says_nothing_has_the_default_plugins_and_arguments() {
        let told = told(&json!({}));
        let profile = &told["profiles"][0];
        let enabled = &profile["plugins"]["multiPoint"]["enabled"];
        assert_eq!(enabled.as_array().expect("a list").len(), 20);
        assert_eq!(enabled[4], json!({"name": "TaintToleration", "weight": 3}));
        assert_eq!(
            names(&profile["pluginConfig"]),
            [
                "DefaultPreemption",
                "DynamicResources",
                "InterPodAffinity",
                "NodeAffinity",
                "NodeResourcesBalancedAllocation",
                "NodeResourcesFit",
                "PodTopologySpread",
                "VolumeBinding",
            ]
        );
        let fit = json!({"type": "LeastAllocated", "resources": [
            {"name": "cpu", "weight": 1}, {"name": "memory", "weight": 1}]});
        let args = &profile["pluginConfig"][5]["args"];
        assert_eq!(args["scoringStrategy"], fit);
    }

    #[test]
    fn what_a_profile_says_counts_and_is_told_once() {
        let profile = json!({
            "schedulerName": "a",
            "plugins": {
                "multiPoint": {"enabled": [{"name": "ImageLocality", "weight": 9}],
                    "disabled": [{"name": "DefaultPreemption"}]},
                "score": {"disabled": [{"name": "*"}]},
            },
            "pluginConfig": [{"name": "VolumeBinding", "args": {"bindTimeoutSeconds": 7}}],
        });
        let told = told(&profile);
        let profile = &told["profiles"][0];
        let enabled = &profile["plugins"]["multiPoint"]["enabled"];
        assert!(!names(enabled).contains(&"DefaultPreemption"));
        let image = json!({"name": "ImageLocality", "weight": 9});
        assert!(enabled.as_array().expect("a list").contains(&image));
        assert_eq!(names(&profile["plugins"]["score"]["disabled"]), ["*"]);
        let configs = names(&profile["pluginConfig"]);
        assert_eq!(configs[0], "VolumeBinding");
        assert!(!configs[1..].contains(&"VolumeBinding"));
        assert!(!configs.contains(&"DefaultPreemption"));
        let again = KubeSchedulerConfiguration::from_text(&told.to_string());
        assert_eq!(effective(&again.expect("it can be read")).to_json(), told);
    }
}
