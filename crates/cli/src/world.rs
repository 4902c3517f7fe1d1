//! Input → a scheduler that knows the cluster.

use crate::args;
use crate::{WrongInput, output};
use anyhow::{Context, Result};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use stowplan_api::k8s::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use stowplan_api::load::{Input, LoadError, Loaded, Object as ApiObject};
use stowplan_api::prepare::{Prepared, prepare};
use stowplan_base::{Duration, Time};
use stowplan_bridge::config;
use stowplan_bridge::convert::{Door, api_object};
use stowplan_config::{ConfigErrors, KubeSchedulerConfiguration};
use stowplan_engine::Snapshot;
use stowplan_engine::model::{Object, Pod};
use stowplan_engine::queue::Profiles;
use stowplan_engine::scheduler::{Change, Scheduler};

/// What was read: any number of worlds can be made of it.
pub(crate) struct Source {
    prepared: Arc<Prepared>,
    config: KubeSchedulerConfiguration,
    config_file: PathBuf,
}

/// A cluster, read and ready.
pub(crate) struct World {
    /// The objects.
    pub(crate) prepared: Arc<Prepared>,
    /// A scheduler that knows all of them; pending pods are in its queue.
    pub(crate) scheduler: Scheduler,
    /// Pods that are on no node yet, in the order of their arrival.
    pub(crate) pending: Vec<Arc<Pod>>,
    /// The time at which everything has arrived.
    pub(crate) now: Time,
}

/// How far apart pods arrive: enough to tell them apart.
const ARRIVAL: Duration = Duration::from_millis(1);

impl Source {
    /// Reads the input, or says everything that is wrong with it. Warnings are printed.
    pub(crate) fn read(args: &args::Input) -> Result<Self> {
        let config = read_config(args.config.as_deref())?;
        let input = Input::read(&args.filename, &mut std::io::stdin().lock());
        let config_file = args.config.clone().unwrap_or("--config".into());
        Self::prepare(input, config, config_file)
    }

    /// What was read elsewhere, under a configuration or the default one.
    pub(crate) fn of(input: Input, config: Option<&Path>) -> Result<Self> {
        let file = config.unwrap_or("--config".as_ref()).to_owned();
        Self::prepare(input, read_config(config)?, file)
    }

    fn prepare(
        input: Input,
        config: KubeSchedulerConfiguration,
        config_file: PathBuf,
    ) -> Result<Self> {
        let prepared = prepare(input).map_err(wrong_input)?;
        prepared.warnings.iter().for_each(output::warn);
        for left_out in config::left_out(&config) {
            output::warn(left_out);
        }
        if !prepared.objects.iter().any(is_node) {
            output::warn("there are no nodes in the input, so nothing can be placed");
        }
        Ok(Self {
            prepared: Arc::new(prepared),
            config,
            config_file,
        })
    }

    /// The cluster as it was read, under the configuration that was read with it.
    pub(crate) fn into_world(self) -> Result<World> {
        self.world(&self.config)
    }

    /// The objects.
    pub(crate) fn objects(&self) -> &[Loaded] {
        &self.prepared.objects
    }

    /// The scheduler's configuration.
    pub(crate) fn config(&self) -> &KubeSchedulerConfiguration {
        &self.config
    }

    /// The cluster as it was read, under this configuration.
    pub(crate) fn world(&self, config: &KubeSchedulerConfiguration) -> Result<World> {
        let mut cluster = Snapshot::new();
        let frameworks = config::profiles(config, &mut door(&mut cluster))
            .map_err(|errors| wrong_config(&self.config_file, &errors))?;
        let profiles = Profiles::new(frameworks, &mut cluster.names);
        let now = latest_time(self.objects());
        let mut world = World {
            prepared: self.prepared.clone(),
            scheduler: Scheduler::new(cluster, profiles, config::queue_config(config), now),
            pending: Vec::new(),
            now,
        };
        world.fill()?;
        Ok(world)
    }
}

impl World {
    /// Reads the input, or says everything that is wrong with it. Warnings are printed.
    pub(crate) fn open(args: &args::Input) -> Result<Self> {
        Source::read(args)?.into_world()
    }

    /// Hands all objects to the scheduler: pods last, and of those the pending ones by age.
    fn fill(&mut self) -> Result<()> {
        let mut order: Vec<&Loaded> = self.prepared.objects.iter().collect();
        order.sort_by_key(|loaded| loaded.object.kind());
        let mut errors = Vec::new();
        let mut pending: Vec<(Option<Time>, Arc<Pod>)> = Vec::new();
        for loaded in order {
            let converted = api_object(&mut door(self.scheduler.cluster_mut()), &loaded.object);
            match converted {
                Ok(Some(Object::Pod(pod))) if !pod.is_assigned() => {
                    if !pod.finished {
                        pending.push((created(loaded.object.metadata()), pod));
                    }
                }
                Ok(Some(object)) => self.scheduler.apply(Change::Upsert(object), self.now),
                Ok(None) => {}
                Err(error) => {
                    let title = loaded.object.title();
                    errors.push(LoadError::object(
                        &loaded.source,
                        format_args!("{title}: {error}"),
                    ));
                }
            }
        }
        if !errors.is_empty() {
            return Err(wrong_input(errors).into());
        }
        // Pods written by hand have no age: they come after those that have one.
        pending.sort_by_key(|(created, _)| (created.is_none(), *created));
        for (_, pod) in pending {
            self.now = self.now + ARRIVAL;
            self.scheduler
                .apply(Change::Upsert(Object::Pod(pod.clone())), self.now);
            self.pending.push(pod);
        }
        Ok(())
    }
}

/// What converts objects into a cluster.
pub(crate) fn door(cluster: &mut Snapshot) -> Door<'_> {
    Door {
        names: &mut cluster.names,
        resource_names: &mut cluster.resource_names,
    }
}

fn wrong_input(errors: Vec<LoadError>) -> WrongInput {
    WrongInput(errors.iter().map(ToString::to_string).collect())
}

pub(crate) fn read_config(file: Option<&Path>) -> Result<KubeSchedulerConfiguration> {
    let Some(file) = file else {
        return Ok(KubeSchedulerConfiguration::from_profiles(Vec::new())?);
    };
    let text = std::fs::read_to_string(file).with_context(|| file.display().to_string())?;
    KubeSchedulerConfiguration::from_text(&text)
        .map_err(|errors| wrong_config(file, &errors).into())
}

fn wrong_config(file: &Path, errors: &ConfigErrors) -> WrongInput {
    let errors = errors.0.iter();
    WrongInput(
        errors
            .map(|error| format!("{}: {error}", file.display()))
            .collect(),
    )
}

fn is_node(loaded: &Loaded) -> bool {
    matches!(loaded.object, ApiObject::Node(_))
}

fn created(metadata: &ObjectMeta) -> Option<Time> {
    let created = metadata.creation_timestamp.as_ref()?;
    Some(Time::from_secs(created.0.as_second()))
}

/// Just after everything that the input tells of, so that what is placed now is the youngest.
fn latest_time(objects: &[Loaded]) -> Time {
    let times = objects.iter().flat_map(|loaded| {
        let started = match &loaded.object {
            ApiObject::Pod(pod) => pod
                .status
                .as_ref()
                .and_then(|status| status.start_time.as_ref()),
            _ => None,
        };
        let started = started.map(|time| Time::from_secs(time.0.as_second()));
        [created(loaded.object.metadata()), started]
    });
    times.flatten().max().unwrap_or_default() + Duration::from_secs(1)
}
