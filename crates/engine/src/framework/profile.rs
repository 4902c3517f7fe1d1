//! Which plugins a profile runs, where, in what order and with what weight.
//!
//! Follows upstream's `apis/config/v1/default_plugins.go` (defaults and merging) and
//! `framework/runtime/framework.go` (expanding `multiPoint`, weights).

use super::runtime::MAX_NODE_SCORE;
use super::{AnyPlugin, Framework, PluginArgs, Point, Registry};
use std::collections::BTreeMap;
use std::fmt;

/// Stands for every default plugin in a list of disabled plugins.
const ALL: &str = "*";

/// A plugin that a profile enables.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct EnabledPlugin {
    /// The plugin's name.
    pub name: String,
    /// What its score is multiplied by; 0 counts as 1.
    pub weight: i32,
}

/// What a profile enables and disables at one extension point (or at all, for `multiPoint`).
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct PluginSet {
    /// In this order.
    pub enabled: Vec<EnabledPlugin>,
    /// Names, or `*` for all defaults.
    pub disabled: Vec<String>,
}

/// A profile's `plugins`.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Plugins {
    /// `multiPoint`: wherever the plugin has something to do.
    pub multi_point: PluginSet,
    points: [PluginSet; Point::ALL.len()],
}

/// Why a profile cannot run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ProfileError {
    /// No such plugin.
    Unknown {
        /// Where it was enabled; `None` is `multiPoint`.
        point: Option<Point>,
        /// The plugin.
        plugin: String,
    },
    /// The plugin has nothing to do there.
    DoesNotExtend {
        /// Where it was enabled.
        point: Point,
        /// The plugin.
        plugin: String,
    },
    /// The plugin is enabled twice in one list.
    AlreadyRegistered {
        /// Where it was enabled; `None` is `multiPoint`.
        point: Option<Point>,
        /// The plugin.
        plugin: String,
    },
    /// Not exactly one plugin orders the queue.
    QueueSort {
        /// How many do.
        count: usize,
    },
    /// Nobody binds.
    NoBind,
    /// The sum of weighted scores may exceed what a score can be.
    Overflow,
}

impl PluginSet {
    /// Enables each plugin, with its weight (0 where it does not matter).
    pub fn enabling<'a>(plugins: impl IntoIterator<Item = (&'a str, i32)>) -> Self {
        Self {
            enabled: plugins
                .into_iter()
                .map(|(name, weight)| EnabledPlugin {
                    name: name.to_owned(),
                    weight,
                })
                .collect(),
            disabled: Vec::new(),
        }
    }

    fn disables(&self, name: &str) -> bool {
        self.disabled.iter().any(|disabled| disabled == name)
    }

    /// These defaults with `custom` on top: what `custom` disables is gone, what it enables again
    /// takes the default's place, the rest of it follows.
    fn merged(&self, custom: &Self) -> Self {
        let disabled: Vec<_> = custom.disabled.iter().chain(&self.disabled).collect();
        let is_disabled = |name: &str| disabled.iter().any(|disabled| *disabled == name);
        let mut enabled = Vec::new();
        let mut replacing = vec![false; custom.enabled.len()];
        if !is_disabled(ALL) {
            for default in self.enabled.iter().filter(|p| !is_disabled(&p.name)) {
                // Of a plugin that is enabled twice the last counts; the other stays, and is an
                // error later.
                let replacement = custom.enabled.iter().rposition(|p| p.name == default.name);
                enabled.push(match replacement {
                    Some(i) => {
                        replacing[i] = true;
                        custom.enabled[i].clone()
                    }
                    None => default.clone(),
                });
            }
        }
        let rest = custom.enabled.iter().zip(&replacing).filter(|(_, r)| !**r);
        enabled.extend(rest.map(|(plugin, _)| plugin.clone()));
        Self {
            enabled,
            disabled: disabled.into_iter().cloned().collect(),
        }
    }
}

impl Plugins {
    /// The plugins of a profile that configures none, in kube-scheduler v1.36 with its default
    /// feature gates.
    pub fn default_plugins() -> Self {
        Self {
            multi_point: PluginSet::enabling([
                ("SchedulingGates", 0),
                ("PrioritySort", 0),
                ("NodeUnschedulable", 0),
                ("NodeName", 0),
                ("TaintToleration", 3),
                ("NodeAffinity", 2),
                ("NodePorts", 0),
                ("NodeResourcesFit", 1),
                ("VolumeRestrictions", 0),
                ("NodeVolumeLimits", 0),
                ("VolumeBinding", 0),
                ("VolumeZone", 0),
                ("PodTopologySpread", 2),
                ("InterPodAffinity", 2),
                ("DynamicResources", 2),
                ("DefaultPreemption", 0),
                ("NodeResourcesBalancedAllocation", 1),
                ("ImageLocality", 1),
                ("DefaultBinder", 0),
                ("NodeDeclaredFeatures", 0),
            ]),
            points: Default::default(),
        }
    }

    /// What is enabled and disabled at `point`.
    pub fn at(&self, point: Point) -> &PluginSet {
        &self.points[point as usize]
    }

    /// What is enabled and disabled at `point`, to be changed.
    pub fn at_mut(&mut self, point: Point) -> &mut PluginSet {
        &mut self.points[point as usize]
    }

    /// The defaults with these plugins on top, point by point.
    pub fn merged_with_defaults(&self) -> Self {
        let defaults = Self::default_plugins();
        Self {
            multi_point: defaults.multi_point.merged(&self.multi_point),
            points: Point::ALL.map(|point| defaults.at(point).merged(self.at(point))),
        }
    }

    /// The plugins that are enabled somewhere; one may come several times.
    pub fn enabled_names(&self) -> impl Iterator<Item = &str> {
        self.names().map(|(_, name)| name)
    }

    fn names(&self) -> impl Iterator<Item = (Option<Point>, &str)> {
        fn of(
            point: Option<Point>,
            set: &PluginSet,
        ) -> impl Iterator<Item = (Option<Point>, &str)> {
            set.enabled.iter().map(move |p| (point, p.name.as_str()))
        }
        Point::ALL
            .into_iter()
            .flat_map(|point| of(Some(point), self.at(point)))
            .chain(of(None, &self.multi_point))
    }
}

/// The profile that runs `plugins`, which are already merged with the defaults.
pub fn expand(
    profile_name: &str,
    plugins: &Plugins,
    args: &PluginArgs,
    registry: &Registry,
) -> Result<Framework, ProfileError> {
    let (instances, index) = instantiate(plugins, args, registry)?;
    let mut enabled: [Vec<usize>; Point::ALL.len()] = Default::default();
    for point in Point::ALL {
        let extends = |name: &str| instances[index[name]].points().contains(&point);
        let names = expand_point(point, plugins, extends)?;
        enabled[point as usize] = names.into_iter().map(|name| index[name]).collect();
    }
    match enabled[Point::QueueSort as usize].len() {
        1 => {}
        count => return Err(ProfileError::QueueSort { count }),
    }
    if enabled[Point::Bind as usize].is_empty() {
        return Err(ProfileError::NoBind);
    }
    let weights = weights(plugins, &instances, &index)?;
    Ok(Framework::new(
        profile_name.to_owned(),
        instances,
        enabled,
        weights,
    ))
}

type Instances<'a> = (Vec<AnyPlugin>, BTreeMap<&'a str, usize>);

/// One instance of every plugin that is enabled anywhere.
fn instantiate<'a>(
    plugins: &'a Plugins,
    args: &PluginArgs,
    registry: &Registry,
) -> Result<Instances<'a>, ProfileError> {
    let mut instances = Vec::new();
    let mut index = BTreeMap::new();
    for (point, name) in plugins.names() {
        if index.contains_key(name) {
            continue;
        }
        let plugin = registry
            .build(name, args)
            .ok_or_else(|| ProfileError::Unknown {
                point,
                plugin: name.to_owned(),
            })?;
        index.insert(name, instances.len());
        instances.push(plugin);
    }
    Ok((instances, index))
}

/// The plugins that run at `point`, in order: first the plugins of the point's own list that `multiPoint` has
/// too, then the rest of `multiPoint`, then the rest of the point's own list.
fn expand_point(
    point: Point,
    plugins: &Plugins,
    extends: impl Fn(&str) -> bool,
) -> Result<Vec<&str>, ProfileError> {
    let set = plugins.at(point);
    let mut own: Vec<&str> = Vec::new();
    for plugin in &set.enabled {
        if !extends(&plugin.name) {
            return Err(ProfileError::DoesNotExtend {
                point,
                plugin: plugin.name.clone(),
            });
        }
        if own.contains(&plugin.name.as_str()) {
            return Err(ProfileError::AlreadyRegistered {
                point: Some(point),
                plugin: plugin.name.clone(),
            });
        }
        own.push(&plugin.name);
    }
    if set.disables(ALL) {
        return Ok(own);
    }
    let mut multi: Vec<&str> = Vec::new();
    let mut overridden: Vec<&str> = Vec::new();
    for EnabledPlugin { name, .. } in &plugins.multi_point.enabled {
        if !extends(name) || set.disables(name) {
            continue;
        }
        if own.contains(&name.as_str()) {
            overridden.push(name);
        } else if multi.contains(&name.as_str()) {
            return Err(ProfileError::AlreadyRegistered {
                point: None,
                plugin: name.clone(),
            });
        } else {
            multi.push(name);
        }
    }
    let (first, last): (Vec<_>, Vec<_>) =
        own.into_iter().partition(|name| overridden.contains(name));
    Ok([first, multi, last].concat())
}

/// What each plugin's score is multiplied by: as the list of score plugins says, else as
/// `multiPoint` says, else 1. The first mention counts.
fn weights(
    plugins: &Plugins,
    instances: &[AnyPlugin],
    index: &BTreeMap<&str, usize>,
) -> Result<Vec<i64>, ProfileError> {
    let mut weights: Vec<Option<i64>> = vec![None; instances.len()];
    let mut total: i64 = 0;
    let score = &plugins.at(Point::Score).enabled;
    for plugin in score.iter().chain(&plugins.multi_point.enabled) {
        let i = index[plugin.name.as_str()];
        if weights[i].is_some() || !instances[i].points().contains(&Point::Score) {
            continue;
        }
        let weight = match plugin.weight {
            0 => 1,
            weight => i64::from(weight),
        };
        // Wraps as Go does: after a negative weight any further plugin counts as an overflow.
        if weight * MAX_NODE_SCORE > i64::MAX.wrapping_sub(total) {
            return Err(ProfileError::Overflow);
        }
        weights[i] = Some(weight);
        total += weight * MAX_NODE_SCORE;
    }
    Ok(weights.into_iter().map(|w| w.unwrap_or(1)).collect())
}

impl fmt::Display for ProfileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = |point: &Option<Point>| match point {
            Some(point) => format!("{point:?}Plugin"),
            None => "MultiPoint plugin".to_owned(),
        };
        match self {
            Self::Unknown { point, plugin } => {
                write!(f, "{} {plugin:?} does not exist", kind(point))
            }
            Self::DoesNotExtend { point, plugin } => {
                write!(
                    f,
                    "plugin {plugin:?} does not extend {point:?}Plugin plugin"
                )
            }
            Self::AlreadyRegistered { point, plugin } => {
                write!(
                    f,
                    "plugin {plugin:?} already registered as {:?}",
                    kind(point)
                )
            }
            Self::QueueSort { count } => {
                write!(f, "only one queue sort plugin required, but got {count}")
            }
            Self::NoBind => f.write_str("at least one bind plugin is needed"),
            Self::Overflow => f.write_str("total score of Score plugins could overflow"),
        }
    }
}

impl std::error::Error for ProfileError {}

#[cfg(test)]
mod tests;
