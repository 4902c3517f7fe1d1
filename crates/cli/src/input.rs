//! Files → what a simulation is made of.

use crate::args;
use crate::output;
use anyhow::{Context, Result};
use std::path::Path;
use stowplan_config::KubeSchedulerConfiguration;
use stowplan_manifest::Input;
use stowplan_sim::{InputErrors, Source};

/// Reads the input, or says everything that is wrong with it. Warnings are printed.
pub(crate) fn read(args: &args::Input) -> Result<Source> {
    let config = read_config(args.config.as_deref())?;
    let input = Input::read(&args.filename, &mut std::io::stdin().lock());
    prepare(input, config, args.config.as_deref())
}

/// What was read elsewhere, under a configuration or the default one.
pub(crate) fn of(input: Input, config: Option<&Path>) -> Result<Source> {
    prepare(input, read_config(config)?, config)
}

fn prepare(
    input: Input,
    config: KubeSchedulerConfiguration,
    config_file: Option<&Path>,
) -> Result<Source> {
    let config_file = config_file.unwrap_or("--config".as_ref()).to_owned();
    let (source, warnings) = Source::new(input, config, config_file)?;
    warnings.iter().for_each(output::warn);
    Ok(source)
}

pub(crate) fn read_config(file: Option<&Path>) -> Result<KubeSchedulerConfiguration> {
    let Some(file) = file else {
        return Ok(KubeSchedulerConfiguration::from_profiles(Vec::new())?);
    };
    let text = std::fs::read_to_string(file).with_context(|| file.display().to_string())?;
    KubeSchedulerConfiguration::from_text(&text)
        .map_err(|errors| InputErrors::of_config(file, &errors).into())
}
