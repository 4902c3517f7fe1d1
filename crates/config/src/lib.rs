//! `KubeSchedulerConfiguration`, version `kubescheduler.config.k8s.io/v1`: the file that configures
//! kube-scheduler, read as strictly as kube-scheduler v1.36 reads it.
//!
//! Follows upstream's `pkg/scheduler/apis/config` (v1 types, defaults, validation) with the feature
//! gates of v1.36 at their defaults. What it does not do is merge a profile's plugins with the
//! default ones: that is the engine's. The arguments of plugins are read by the plugins themselves.
//! What is ours alone is in `packing.rs`.

mod args;
mod decode;
mod defaults;
mod duration;
mod encode;
mod extender;
mod packing;
mod types;
mod validation;

pub use args::{default_args, to_arg};
pub use duration::Duration;
pub use extender::{Extender, ExtenderManagedResource, ExtenderTlsConfig};
pub use stowplan_engine::framework::args::{
    FieldError as ConfigError, FieldErrors as ConfigErrors, FieldPath as Path,
};
pub use types::{
    ClientConnection, KubeSchedulerConfiguration, LeaderElection, Plugin, PluginConfig, PluginSet,
    Plugins, Profile,
};

use stowplan_engine::framework::Registry;
use stowplan_engine::plugins::registry::in_tree;

/// The `apiVersion` of the files that are understood.
pub const API_VERSION: &str = "kubescheduler.config.k8s.io/v1";
/// The `kind` of the files that are understood.
pub const KIND: &str = "KubeSchedulerConfiguration";

impl KubeSchedulerConfiguration {
    /// Reads a configuration file (YAML or JSON), sets defaults and validates it.
    pub fn from_text(text: &str) -> Result<Self, ConfigErrors> {
        Self::from_value(decode::value(text)?)
    }

    /// Takes a configuration as a JSON value, sets defaults and validates it.
    pub fn from_value(value: serde_json::Value) -> Result<Self, ConfigErrors> {
        Self::from_value_with(value, &in_tree())
    }

    /// The same with plugins of one's own, which read their arguments.
    pub fn from_value_with(
        value: serde_json::Value,
        registry: &Registry,
    ) -> Result<Self, ConfigErrors> {
        let mut config = decode::configuration(value, registry)?;
        config.set_defaults();
        config.check_with(registry)?;
        Ok(config)
    }

    /// Takes the entries of `profiles` alone, the rest of the configuration being absent.
    pub fn from_profiles(profiles: Vec<serde_json::Value>) -> Result<Self, ConfigErrors> {
        let config = serde_json::json!({
            "apiVersion": API_VERSION, "kind": KIND, "profiles": profiles,
        });
        Self::from_value(config)
    }

    /// Validates it again, after something was changed.
    pub fn check(&self) -> Result<(), ConfigErrors> {
        self.check_with(&in_tree())
    }

    fn check_with(&self, registry: &Registry) -> Result<(), ConfigErrors> {
        let errors = validation::validate(self, registry);
        match errors.is_empty() {
            true => Ok(()),
            false => Err(ConfigErrors(errors)),
        }
    }
}

#[cfg(test)]
mod tests;
