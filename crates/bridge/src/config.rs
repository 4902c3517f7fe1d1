//! KubeSchedulerConfiguration → the engine's profiles and the queue's settings.

use crate::convert::Interner;
use serde_json::Value;
use std::collections::BTreeSet;
use stowplan_base::{Duration, Names};
use stowplan_config::{self as api, ConfigError, ConfigErrors, KubeSchedulerConfiguration, Path};
use stowplan_engine::framework::args::{ArgErrors, ArgNames, ArgValue};
use stowplan_engine::framework::{
    EnabledPlugin, Framework, PluginArgs, PluginSet, Plugins, Point, ProfileError, Registry, expand,
};
use stowplan_engine::model::ResourceNames;
use stowplan_engine::plugins::node_resources::fit::NodeResourcesFitArgs;
use stowplan_engine::plugins::registry::in_tree;
use stowplan_engine::queue::QueueConfig;

/// Plugins of kube-scheduler whose feature gates are off by default. They may be disabled, not
/// enabled.
const OFF_BY_DEFAULT: [&str; 3] = [
    "GangScheduling",
    "PodGroupPodsCount",
    "TopologyPlacementGenerator",
];

/// The profiles of a configuration, in its order, or everything that is wrong with them.
pub fn profiles(
    config: &KubeSchedulerConfiguration,
    interner: &mut Interner<'_>,
) -> Result<Vec<Framework>, ConfigErrors> {
    profiles_with(config, &in_tree(), interner)
}

/// The same with plugins of one's own.
pub fn profiles_with(
    config: &KubeSchedulerConfiguration,
    registry: &Registry,
    interner: &mut Interner<'_>,
) -> Result<Vec<Framework>, ConfigErrors> {
    let mut frameworks: Vec<Framework> = Vec::new();
    let mut errors = Vec::new();
    for (i, profile) in config.profiles.iter().enumerate() {
        let path = Path::new("profiles").index(i);
        check_names(profile, registry, &path, &mut errors);
        let args = plugin_args(config, profile, registry, interner, &path, &mut errors);
        let plugins = plugins(&profile.plugins).merged_with_defaults();
        check_absent_args(profile, &plugins, registry, &path, &mut errors);
        let name = profile.scheduler_name.as_deref().unwrap_or_default();
        match expand(name, &plugins, &args, registry) {
            Ok(framework) => frameworks.push(framework),
            Err(error) => errors.push(profile_error(&error, profile, &path)),
        }
    }
    if errors.is_empty() {
        Ok(frameworks)
    } else {
        Err(ConfigErrors(errors))
    }
}

/// The profile that one entry of `profiles` describes; the default one if there is none.
pub fn profile_from_json(
    profile: Option<&Value>,
    interner: &mut Interner<'_>,
) -> Result<Framework, ConfigErrors> {
    let entries: Vec<Value> = profile.into_iter().cloned().collect();
    let mut frameworks = profiles_from_json(&entries, interner)?;
    Ok(frameworks.swap_remove(0))
}

/// The profiles that the entries of `profiles` describe; the default one if there are none.
pub fn profiles_from_json(
    entries: &[Value],
    interner: &mut Interner<'_>,
) -> Result<Vec<Framework>, ConfigErrors> {
    let config = KubeSchedulerConfiguration::from_profiles(entries.to_vec())?;
    profiles(&config, interner)
}

/// The settings of the scheduling queue.
pub fn queue_config(config: &KubeSchedulerConfiguration) -> QueueConfig {
    QueueConfig {
        initial_backoff: Duration::from_secs(config.pod_initial_backoff_seconds),
        max_backoff: Duration::from_secs(config.pod_max_backoff_seconds),
        ..QueueConfig::default()
    }
}

/// What a configuration asks for that the engine leaves out, to be told as warnings.
pub fn left_out(config: &KubeSchedulerConfiguration) -> Vec<ConfigError> {
    let path = Path::new("extenders");
    (0..config.extenders.len())
        .map(|i| path.index(i).error("extenders are not called here"))
        .collect()
}

/// Every plugin that is named anywhere must exist.
fn check_names(
    profile: &api::Profile,
    registry: &Registry,
    path: &Path,
    errors: &mut Vec<ConfigError>,
) {
    let exists =
        |name: &str| registry.names().any(|known| known == name) || OFF_BY_DEFAULT.contains(&name);
    let plugins_path = path.child("plugins");
    let unknown = |name: &str| format!("plugin {name:?} does not exist");
    for (field, set) in all_sets(&profile.plugins) {
        for (i, plugin) in set.disabled.iter().enumerate() {
            if plugin.name != "*" && !exists(&plugin.name) {
                let path = plugins_path.child(field).child("disabled").index(i);
                errors.push(path.child("name").error(unknown(&plugin.name)));
            }
        }
    }
    check_placement(&profile.plugins, &plugins_path, errors);
    for (i, config) in profile.plugin_config.iter().enumerate() {
        let path = path.child("pluginConfig").index(i);
        if !exists(&config.name) {
            errors.push(path.child("name").error(unknown(&config.name)));
        } else if !registry.takes_args(&config.name)
            && !config.args.is_null()
            && config
                .args
                .as_object()
                .is_none_or(|fields| !fields.is_empty())
        {
            let message = format!("plugin {:?} takes no arguments", config.name);
            errors.push(path.child("args").error(message));
        }
    }
}

fn all_sets(plugins: &api::Plugins) -> impl Iterator<Item = (&'static str, &api::PluginSet)> {
    plugins.points().into_iter().chain([
        ("multiPoint", &plugins.multi_point),
        ("placementGenerate", &plugins.placement_generate),
        ("placementScore", &plugins.placement_score),
    ])
}

/// The points of pod groups, which are off by default: enabling a plugin there has no effect, but
/// it must be one that could.
fn check_placement(plugins: &api::Plugins, path: &Path, errors: &mut Vec<ConfigError>) {
    for (field, kind, set, extending) in [
        (
            "placementGenerate",
            "PlacementGeneratePlugin",
            &plugins.placement_generate,
            None,
        ),
        (
            "placementScore",
            "PlacementScorePlugin",
            &plugins.placement_score,
            Some("NodeResourcesFit"),
        ),
    ] {
        for (i, plugin) in set.enabled.iter().enumerate() {
            if Some(plugin.name.as_str()) != extending {
                let path = path.child(field).child("enabled").index(i).child("name");
                let message = format!("plugin {:?} does not extend {kind} plugin", plugin.name);
                errors.push(path.error(message));
            }
        }
    }
}

pub(crate) fn plugins(plugins: &api::Plugins) -> Plugins {
    let mut converted = Plugins::default();
    converted.multi_point = plugin_set(&plugins.multi_point);
    for (point, (_, set)) in Point::ALL.into_iter().zip(plugins.points()) {
        *converted.at_mut(point) = plugin_set(set);
    }
    converted
}

fn plugin_set(set: &api::PluginSet) -> PluginSet {
    PluginSet {
        enabled: set
            .enabled
            .iter()
            .map(|plugin| EnabledPlugin {
                name: plugin.name.clone(),
                weight: plugin.weight,
            })
            .collect(),
        disabled: set.disabled.iter().map(|p| p.name.clone()).collect(),
    }
}

fn plugin_args(
    config: &KubeSchedulerConfiguration,
    profile: &api::Profile,
    registry: &Registry,
    interner: &mut Interner<'_>,
    path: &Path,
    errors: &mut Vec<ConfigError>,
) -> PluginArgs {
    let mut converted = PluginArgs::default();
    for (i, plugin) in profile.plugin_config.iter().enumerate() {
        let path = path.child("pluginConfig").index(i).child("args");
        let mut found = ArgErrors::default();
        let names = ArgNames {
            names: &mut *interner.names,
            resources: &mut *interner.resource_names,
        };
        let args = api::to_arg(&plugin.args);
        if let Some(args) = registry.decode(&plugin.name, args, &path, &mut found, names) {
            converted.insert(&plugin.name, args);
        }
        errors.extend(found.unreadable);
        errors.extend(found.invalid);
    }
    // What extenders look after takes the place of `ignoredResources`, as upstream has it.
    let ignored: Vec<_> = config
        .extenders
        .iter()
        .flat_map(|extender| &extender.managed_resources)
        .filter(|resource| resource.ignored_by_scheduler)
        .map(|resource| resource.name.clone())
        .collect();
    if !ignored.is_empty() {
        converted.entry("NodeResourcesFit", |args: &mut NodeResourcesFitArgs| {
            args.ignored_resources = ignored;
        });
    }
    converted
}

/// A plugin that cannot do without arguments must be given some.
fn check_absent_args(
    profile: &api::Profile,
    plugins: &Plugins,
    registry: &Registry,
    path: &Path,
    errors: &mut Vec<ConfigError>,
) {
    let is_given = |name: &str| profile.plugin_config.iter().any(|given| given.name == name);
    let takes = |name: &&str| registry.takes_args(name) && !is_given(name);
    let enabled: BTreeSet<&str> = plugins.enabled_names().collect();
    for name in enabled.into_iter().filter(takes) {
        let path = path.child("pluginConfig").child(name).child("args");
        // What is interned here is thrown away: the default arguments are the plugin's own.
        let (mut names, mut resources) = (Names::new(), ResourceNames::default());
        let mut found = ArgErrors::default();
        let names = ArgNames {
            names: &mut names,
            resources: &mut resources,
        };
        registry.decode(name, ArgValue::Null, &path, &mut found, names);
        errors.extend(found.unreadable);
        errors.extend(found.invalid);
    }
}

/// Where the profile's author went wrong.
fn profile_error(error: &ProfileError, profile: &api::Profile, path: &Path) -> ConfigError {
    let plugins = path.child("plugins");
    let enabled = |point: Option<Point>, plugin: &str| {
        let (field, set) = match point {
            Some(point) => profile.plugins.points()[point as usize],
            None => ("multiPoint", &profile.plugins.multi_point),
        };
        let path = plugins.child(field).child("enabled");
        match set.enabled.iter().rposition(|p| p.name == plugin) {
            Some(i) => path.index(i).child("name"),
            None => path,
        }
    };
    let place = match error {
        ProfileError::Unknown { point, plugin }
        | ProfileError::AlreadyRegistered { point, plugin } => enabled(*point, plugin),
        ProfileError::DoesNotExtend { point, plugin } => enabled(Some(*point), plugin),
        ProfileError::QueueSort { .. } => plugins.child("queueSort"),
        ProfileError::NoBind => plugins.child("bind"),
        ProfileError::Overflow => plugins.child("score"),
    };
    place.error(error.to_string())
}

#[cfg(test)]
mod tests;
