//! What is counted.

use super::{Kind, Metric, Text};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// A number that only grows.
#[derive(Debug, Default)]
pub struct Counter(AtomicU64);

impl Counter {
    /// One more.
    pub fn inc(&self) {
        self.add(1);
    }

    /// Some more.
    pub fn add(&self, n: u64) {
        self.0.fetch_add(n, Relaxed);
    }

    /// What somebody else counted so far.
    pub fn raise_to(&self, n: u64) {
        self.0.fetch_max(n, Relaxed);
    }

    /// The number.
    pub fn get(&self) -> u64 {
        self.0.load(Relaxed)
    }
}

impl Metric for Counter {
    fn new(_: Kind) -> Self {
        Self::default()
    }

    fn write(&self, name: &str, labels: &[(&str, &str)], text: &mut Text) {
        text.sample(name, labels, self.get() as f64);
    }
}

/// A number that goes up and down.
#[derive(Debug, Default)]
pub struct Gauge(AtomicU64);

impl Gauge {
    /// The number is this now.
    pub fn set(&self, value: f64) {
        self.0.store(value.to_bits(), Relaxed);
    }

    /// The number is more by this, or less.
    pub fn add(&self, delta: f64) {
        add(&self.0, delta);
    }

    /// The number.
    pub fn get(&self) -> f64 {
        f64::from_bits(self.0.load(Relaxed))
    }
}

impl Metric for Gauge {
    fn new(_: Kind) -> Self {
        Self::default()
    }

    fn write(&self, name: &str, labels: &[(&str, &str)], text: &mut Text) {
        text.sample(name, labels, self.get());
    }
}

/// How many values were at most each of the bounds, and their sum.
#[derive(Debug)]
pub struct Histogram {
    bounds: Box<[f64]>,
    /// Not cumulative; one more than there are bounds.
    counts: Box<[AtomicU64]>,
    sum: AtomicU64,
}

impl Histogram {
    /// One more value.
    pub fn observe(&self, value: f64) {
        let at = self.bounds.partition_point(|bound| *bound < value);
        if let Some(count) = self.counts.get(at) {
            count.fetch_add(1, Relaxed);
            add(&self.sum, value);
        }
    }

    /// How many values there were.
    pub fn count(&self) -> u64 {
        self.counts.iter().map(|count| count.load(Relaxed)).sum()
    }

    /// The sum of all values.
    pub fn sum(&self) -> f64 {
        f64::from_bits(self.sum.load(Relaxed))
    }
}

impl Metric for Histogram {
    fn new(kind: Kind) -> Self {
        let bounds: Box<[f64]> = match kind {
            Kind::Histogram {
                start,
                factor,
                count,
            } => std::iter::successors(Some(start), |bound| Some(bound * factor))
                .take(count)
                .collect(),
            Kind::Counter | Kind::Gauge => Box::default(),
        };
        let counts = (0..=bounds.len()).map(|_| AtomicU64::new(0)).collect();
        Self {
            bounds,
            counts,
            sum: AtomicU64::new(0),
        }
    }

    fn write(&self, name: &str, labels: &[(&str, &str)], text: &mut Text) {
        let mut cumulative = 0;
        let bounds = self.bounds.iter().copied().chain([f64::INFINITY]);
        for (bound, count) in bounds.zip(&self.counts) {
            cumulative += count.load(Relaxed);
            text.bucket(name, labels, bound, cumulative);
        }
        text.sample(&format!("{name}_sum"), labels, self.sum());
        text.sample(&format!("{name}_count"), labels, cumulative as f64);
    }
}

/// Adds to a number that is kept as its bits.
fn add(bits: &AtomicU64, delta: f64) {
    let add = |bits: u64| Some((f64::from_bits(bits) + delta).to_bits());
    let _ = bits.fetch_update(Relaxed, Relaxed, add);
}
