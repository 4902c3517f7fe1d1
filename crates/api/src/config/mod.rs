//! `KubeSchedulerConfiguration`, version `kubescheduler.config.k8s.io/v1`: the file that configures
//! kube-scheduler, read as strictly as kube-scheduler v1.36 reads it.
//!
//! Follows upstream's `pkg/scheduler/apis/config` (v1 types, defaults, validation) with the feature
//! gates of v1.36 at their defaults. What it does not do is merge a profile's plugins with the
//! default ones: that is the engine's. What is ours alone is in `packing.rs`.

mod args;
mod decode;
mod defaults;
mod duration;
mod encode;
mod extender;
mod packing;
mod types;
mod validation;

pub use crate::field::{FieldError as ConfigError, FieldErrors as ConfigErrors, Path};
pub use args::{
    DefaultPreemptionArgs, DynamicResourcesArgs, InterPodAffinityArgs, NodeAffinityArgs,
    NodeResourcesBalancedAllocationArgs, NodeResourcesFitArgs, PluginArgs, PodTopologySpreadArgs,
    RequestedToCapacityRatioParam, ResourceSpec, ScoringStrategy, UtilizationShapePoint,
    VolumeBindingArgs,
};
pub use duration::Duration;
pub use extender::{Extender, ExtenderManagedResource, ExtenderTlsConfig};
pub use packing::{BinPackingArgs, LargestFirstArgs};
pub use types::{
    ClientConnection, KubeSchedulerConfiguration, LeaderElection, Plugin, PluginConfig, PluginSet,
    Plugins, Profile,
};

/// The `apiVersion` of the files that are understood.
pub const API_VERSION: &str = "kubescheduler.config.k8s.io/v1";
/// The `kind` of the files that are understood.
pub const KIND: &str = "KubeSchedulerConfiguration";

impl KubeSchedulerConfiguration {
    /// Reads a configuration file (YAML or JSON), sets defaults and validates it.
    pub fn from_text(text: &str) -> Result<Self, ConfigErrors> {
        decode::configuration(decode::value(text)?)?.completed()
    }

    /// Takes a configuration as a JSON value, sets defaults and validates it.
    pub fn from_value(value: serde_json::Value) -> Result<Self, ConfigErrors> {
        decode::configuration(value)?.completed()
    }

    /// Takes the entries of `profiles` alone, the rest of the configuration being absent.
    pub fn from_profiles(profiles: Vec<serde_json::Value>) -> Result<Self, ConfigErrors> {
        let config = serde_json::json!({
            "apiVersion": API_VERSION, "kind": KIND, "profiles": profiles,
        });
        Self::from_value(config)
    }

    fn completed(mut self) -> Result<Self, ConfigErrors> {
        self.set_defaults();
        self.check()?;
        Ok(self)
    }

    /// Validates it again, after something was changed.
    pub fn check(&self) -> Result<(), ConfigErrors> {
        let errors = validation::validate(self);
        match errors.is_empty() {
            true => Ok(()),
            false => Err(ConfigErrors(errors)),
        }
    }
}

#[cfg(test)]
mod tests;
