//! What was read: any number of simulations can be made of it.

use crate::Simulation;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use stowplan_api::load::Object as ApiObject;
use stowplan_bridge::config;
use stowplan_config::{ConfigErrors, KubeSchedulerConfiguration};
use stowplan_engine::framework::Registry;
use stowplan_engine::plugins::registry::in_tree;
use stowplan_manifest::{Input, LoadError, Loaded, Prepared, prepare};

/// What was read: any number of simulations can be made of it.
pub struct Source {
    pub(crate) prepared: Arc<Prepared>,
    config: KubeSchedulerConfiguration,
    config_file: PathBuf,
}

/// All that is wrong with an input.
#[derive(Debug)]
pub struct InputErrors(pub Vec<String>);

impl fmt::Display for InputErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.join("\n"))
    }
}

impl std::error::Error for InputErrors {}

impl InputErrors {
    /// What is wrong with a configuration file.
    pub fn of_config(file: &Path, errors: &ConfigErrors) -> Self {
        let errors = errors.0.iter();
        Self(
            errors
                .map(|error| format!("{}: {error}", file.display()))
                .collect(),
        )
    }
}

impl From<Vec<LoadError>> for InputErrors {
    fn from(errors: Vec<LoadError>) -> Self {
        Self(errors.iter().map(ToString::to_string).collect())
    }
}

impl Source {
    /// Objects and a configuration that were read, and what is to be said of them. `config_file` is
    /// how errors call the configuration.
    pub fn new(
        input: Input,
        config: KubeSchedulerConfiguration,
        config_file: PathBuf,
    ) -> Result<(Self, Vec<String>), InputErrors> {
        let prepared = prepare(input)?;
        let warnings = prepared.warnings.iter().map(ToString::to_string);
        let mut warnings: Vec<String> = warnings.collect();
        warnings.extend(config::left_out(&config).into_iter().map(|w| w.to_string()));
        if !prepared.objects.iter().any(is_node) {
            let no_nodes = "there are no nodes in the input, so nothing can be placed";
            warnings.push(no_nodes.to_owned());
        }
        let source = Self {
            prepared: Arc::new(prepared),
            config,
            config_file,
        };
        Ok((source, warnings))
    }

    /// The cluster as it was read, under the configuration that was read with it.
    pub fn into_simulation(self) -> Result<Simulation, InputErrors> {
        self.simulation(&self.config)
    }

    /// The cluster as it was read, under this configuration.
    pub fn simulation(
        &self,
        config: &KubeSchedulerConfiguration,
    ) -> Result<Simulation, InputErrors> {
        self.simulation_of(config, &in_tree())
    }

    /// As [`simulation`](Self::simulation), with the plugins of this registry.
    pub fn simulation_of(
        &self,
        config: &KubeSchedulerConfiguration,
        registry: &Registry,
    ) -> Result<Simulation, InputErrors> {
        Simulation::new(self, config, registry)
    }

    /// The objects.
    pub fn objects(&self) -> &[Loaded] {
        &self.prepared.objects
    }

    /// The scheduler's configuration.
    pub fn config(&self) -> &KubeSchedulerConfiguration {
        &self.config
    }

    pub(crate) fn wrong_config(&self, errors: &ConfigErrors) -> InputErrors {
        InputErrors::of_config(&self.config_file, errors)
    }
}

fn is_node(loaded: &Loaded) -> bool {
    matches!(loaded.object, ApiObject::Node(_))
}
