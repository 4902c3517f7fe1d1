//! What a configuration must satisfy. Upstream's `apis/config/validation/validation.go` and
//! `component-base/config/validation`.

use super::{
    API_VERSION, ConfigError, Extender, KubeSchedulerConfiguration, LeaderElection, Path, Plugin,
    PluginSet, Profile, args, packing,
};
use std::collections::{BTreeMap, BTreeSet};
use stowplan_base::label_key;
use stowplan_base::resource_names::is_extended;
use stowplan_engine::framework::Registry;
use stowplan_engine::framework::args::ArgValue;

/// Plugins that this version does not have any more.
const REMOVED: [&str; 4] = [
    "AzureDiskLimits",
    "CinderLimits",
    "EBSLimits",
    "GCEPDLimits",
];

/// Everything that is wrong.
pub(super) fn validate(
    config: &KubeSchedulerConfiguration,
    registry: &Registry,
) -> Vec<ConfigError> {
    let mut errors = Vec::new();
    if config.client_connection.burst < 0 {
        let path = Path::new("clientConnection").child("burst");
        errors.push(path.invalid(config.client_connection.burst, "must be non-negative"));
    }
    leader_election(&config.leader_election, &mut errors);
    if config.parallelism <= 0 {
        errors.push(Path::new("parallelism").invalid(
            config.parallelism,
            "should be an integer value greater than zero",
        ));
    }
    profiles(&config.profiles, registry, &mut errors);
    percentage(
        config.percentage_of_nodes_to_score,
        &Path::new("percentageOfNodesToScore"),
        &mut errors,
    );
    let (initial, max) = (
        config.pod_initial_backoff_seconds,
        config.pod_max_backoff_seconds,
    );
    if initial <= 0 {
        let path = Path::new("podInitialBackoffSeconds");
        errors.push(path.invalid(initial, "must be greater than 0"));
    }
    if max < initial {
        errors.push(Path::new("podMaxBackoffSeconds").invalid(
            max,
            "must be greater than or equal to PodInitialBackoffSeconds",
        ));
    }
    extenders(&config.extenders, &mut errors);
    errors
}

fn leader_election(election: &LeaderElection, errors: &mut Vec<ConfigError>) {
    if !election.leader_elect {
        return;
    }
    let path = Path::new("leaderElection");
    for (field, span) in [
        ("leaseDuration", election.lease_duration),
        ("renewDeadline", election.renew_deadline),
        ("retryPeriod", election.retry_period),
    ] {
        if span.as_nanos() <= 0 {
            errors.push(path.child(field).invalid(span, "must be greater than zero"));
        }
    }
    if election.lease_duration <= election.renew_deadline {
        errors.push(path.child("leaseDuration").invalid(
            election.renew_deadline,
            "must be greater than `RenewDeadline`",
        ));
    }
    if election.resource_lock != "leases" {
        errors.push(path.child("resourceLock").invalid(
            &election.resource_lock,
            "resourceLock value must be \"leases\"",
        ));
    }
}

fn profiles(profiles: &[Profile], registry: &Registry, errors: &mut Vec<ConfigError>) {
    let path = Path::new("profiles");
    let mut seen: BTreeMap<&str, usize> = BTreeMap::new();
    for (i, profile) in profiles.iter().enumerate() {
        let path = path.index(i);
        self::profile(profile, registry, &path, errors);
        let name = profile.scheduler_name.as_deref().unwrap_or_default();
        if let Some(first) = seen.insert(name, i) {
            errors.push(
                path.child("schedulerName")
                    .duplicate(format!("profiles[{first}].schedulerName")),
            );
        }
    }
    common_queue_sort(profiles, &path, errors);
}

fn profile(profile: &Profile, registry: &Registry, path: &Path, errors: &mut Vec<ConfigError>) {
    if profile.scheduler_name.as_deref().is_none_or(str::is_empty) {
        errors.push(path.child("schedulerName").required(""));
    }
    if let Some(value) = profile.percentage_of_nodes_to_score {
        percentage(value, &path.child("percentageOfNodesToScore"), errors);
    }
    for (point, set) in profile.plugins.points() {
        for (i, plugin) in set.enabled.iter().enumerate() {
            if REMOVED.contains(&plugin.name.as_str()) {
                let path = path.child("plugins").child(point).child("enabled");
                errors.push(removed(&plugin.name, &path.index(i)));
            }
        }
    }
    let mut seen = BTreeSet::new();
    for (i, config) in profile.plugin_config.iter().enumerate() {
        let path = path.child("pluginConfig").index(i);
        if !seen.insert(&config.name) {
            errors.push(path.duplicate(&config.name));
        }
        if REMOVED.contains(&config.name.as_str()) {
            errors.push(removed(&config.name, &path));
        } else {
            let path = path.child("args");
            args::validate(registry, &config.name, &config.args, &path, errors);
        }
    }
    let path = path.child("plugins").child("queueSort").child("enabled");
    packing::validate_queue_sort(profile, &path, errors);
}

fn removed(plugin: &str, path: &Path) -> ConfigError {
    let detail = format!(
        "was invalid in version \"v1\" (KubeSchedulerConfiguration is version {API_VERSION:?})"
    );
    path.invalid(plugin, detail)
}

fn percentage(value: i32, path: &Path, errors: &mut Vec<ConfigError>) {
    if !(0..=100).contains(&value) {
        errors.push(path.invalid(value, "not in valid range [0-100]"));
    }
}

/// All profiles share one queue, so they must agree on its order.
fn common_queue_sort(profiles: &[Profile], path: &Path, errors: &mut Vec<ConfigError>) {
    let Some((first, others)) = profiles.split_first() else {
        return;
    };
    let canon = &first.plugins.queue_sort;
    if canon.enabled.len() > 1 {
        let path = path.index(0).child("plugins").child("queueSort");
        errors.push(path.child("Enabled").invalid(
            canon.enabled.len(),
            "only one queue sort plugin can be enabled",
        ));
    }
    let name = canon.enabled.first().map(|plugin| plugin.name.as_str());
    let args_of = |profile: &Profile| {
        let mut configs = profile.plugin_config.iter();
        configs
            .find(|config| Some(config.name.as_str()) == name)
            .map(|config| config.args.clone())
    };
    let canon_args = args_of(first);
    for (i, profile) in others.iter().enumerate() {
        let path = path.index(i + 1);
        let set = &profile.plugins.queue_sort;
        if set != canon {
            errors.push(
                path.child("plugins")
                    .child("queueSort")
                    .invalid(plugin_set(set), "must be the same for all profiles"),
            );
        }
        let args = args_of(profile);
        if args.is_some() && args != canon_args {
            errors.push(
                path.child("pluginConfig")
                    .child("args")
                    .invalid(name, "queueSort must be the same for all profiles"),
            );
        }
    }
}

fn plugin_set(set: &PluginSet) -> ArgValue {
    let list = |plugins: &[Plugin]| -> Vec<String> {
        plugins.iter().map(|plugin| plugin.name.clone()).collect()
    };
    ArgValue::map([
        ("enabled", list(&set.enabled)),
        ("disabled", list(&set.disabled)),
    ])
}

fn extenders(extenders: &[Extender], errors: &mut Vec<ConfigError>) {
    let path = Path::new("extenders");
    let mut managed = BTreeSet::new();
    for (i, extender) in extenders.iter().enumerate() {
        let path = path.index(i);
        if !extender.prioritize_verb.is_empty() && extender.weight <= 0 {
            errors.push(
                path.child("weight")
                    .invalid(extender.weight, "must have a positive weight applied to it"),
            );
        }
        for (j, resource) in extender.managed_resources.iter().enumerate() {
            let path = path.child("managedResources").index(j).child("name");
            extended_resource(&resource.name, &path, errors);
            if !managed.insert(&resource.name) {
                errors
                    .push(path.invalid(&resource.name, "duplicate extender managed resource name"));
            }
        }
    }
    let binders = extenders.iter().filter(|e| !e.bind_verb.is_empty()).count();
    if binders > 1 {
        errors.push(path.invalid(
            format!("found {binders} extenders implementing bind"),
            "only one extender can implement bind",
        ));
    }
}

fn extended_resource(name: &str, path: &Path, errors: &mut Vec<ConfigError>) {
    let wrong = label_key(name);
    if wrong.is_empty() && !is_extended(name) {
        errors.push(path.invalid(name, "is an invalid extended resource name"));
    }
    errors.extend(wrong.iter().map(|detail| path.invalid(name, detail)));
}

#[cfg(test)]
mod tests;
