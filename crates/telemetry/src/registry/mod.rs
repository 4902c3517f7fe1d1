//! Metrics, and their text form.
//!
//! Counting is an atomic operation on a value that the caller may hold on to; finding the value of
//! a set of labels takes a shared lock and allocates nothing if it is there.

mod family;
mod float;
mod text;
mod value;

pub use family::{Family, Metric};
pub use float::go_float;
pub use text::{CONTENT_TYPE, Text};
pub use value::{Counter, Gauge, Histogram};

use std::sync::Arc;

/// How far a metric can be relied on. Upstream's `component-base/metrics`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stability {
    /// Name, type and labels stay.
    Stable,
    /// Labels may be added.
    Beta,
    /// May change or go.
    Alpha,
}

impl Stability {
    /// As help texts begin with.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Stable => "STABLE",
            Self::Beta => "BETA",
            Self::Alpha => "ALPHA",
        }
    }
}

/// What a metric is.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Kind {
    /// Only grows.
    Counter,
    /// Goes up and down.
    Gauge,
    /// Counts per bucket; bounds are `start`, and `factor` times the one before, `count` of them.
    Histogram {
        /// The first bound.
        start: f64,
        /// From one bound to the next.
        factor: f64,
        /// How many bounds there are besides infinity.
        count: usize,
    },
}

impl Kind {
    /// As `# TYPE` names it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Counter => "counter",
            Self::Gauge => "gauge",
            Self::Histogram { .. } => "histogram",
        }
    }
}

/// What is known of a metric before anything is counted.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Desc {
    /// The full name.
    pub name: &'static str,
    /// What it is and how it counts.
    pub kind: Kind,
    /// How far it can be relied on.
    pub stability: Stability,
    /// The labels' names, ascending.
    pub labels: &'static [&'static str],
    /// One sentence for people.
    pub help: &'static str,
}

/// Something that can write its metrics down.
pub trait Collect: Send + Sync {
    /// What it is.
    fn desc(&self) -> &Desc;
    /// Writes all series; nothing if there are none.
    fn write(&self, text: &mut Text);
}

/// A set of metrics that are served together.
#[derive(Default)]
pub struct Registry {
    families: Vec<Arc<dyn Collect>>,
}

impl Registry {
    /// A metric with labels.
    pub fn family<M: Metric>(&mut self, desc: Desc) -> Arc<Family<M>> {
        let family = Arc::new(Family::new(desc));
        self.families.push(family.clone());
        family
    }

    /// A metric without labels; it is there from the start.
    pub fn single<M: Metric>(&mut self, desc: Desc) -> Arc<M> {
        self.family::<M>(desc).with(&[])
    }

    /// What each metric is, by name.
    pub fn descs(&self) -> Vec<Desc> {
        let mut descs: Vec<_> = self.families.iter().map(|family| *family.desc()).collect();
        descs.sort_by_key(|desc| desc.name);
        descs
    }

    /// Writes all metrics, by name.
    pub fn write(&self, text: &mut Text) {
        let mut families: Vec<_> = self.families.iter().collect();
        families.sort_by_key(|family| family.desc().name);
        for family in families {
            family.write(text);
        }
    }
}
