//! A metric with its labels.

use super::{Collect, Desc, Kind, Text};
use std::cmp::Ordering;
use std::sync::{Arc, PoisonError, RwLock};

/// What a family is made of.
pub trait Metric: Send + Sync + 'static {
    /// One that has counted nothing.
    fn new(kind: Kind) -> Self;
    /// Writes its samples.
    fn write(&self, name: &str, labels: &[(&str, &str)], text: &mut Text);
}

/// One metric for each set of label values, sorted by these.
pub struct Family<M> {
    desc: Desc,
    children: RwLock<Vec<Child<M>>>,
}

struct Child<M> {
    values: Box<[Box<str>]>,
    metric: Arc<M>,
}

impl<M> Child<M> {
    fn compare(&self, values: &[&str]) -> Ordering {
        self.values.iter().map(|v| &**v).cmp(values.iter().copied())
    }
}

impl<M: Metric> Family<M> {
    pub(super) fn new(desc: Desc) -> Self {
        Self {
            desc,
            children: RwLock::new(Vec::new()),
        }
    }

    /// The metric of these label values, in the order of the labels' names. Missing values are
    /// empty; values for which there is no label are left out.
    pub fn with(&self, values: &[&str]) -> Arc<M> {
        if let Some(metric) = self.find(values) {
            return metric;
        }
        let labels = self.desc.labels.len();
        let padded = values.iter().copied().chain(std::iter::repeat(""));
        let values: Vec<&str> = padded.take(labels).collect();
        let mut children = self.write();
        match children.binary_search_by(|child| child.compare(&values)) {
            Ok(at) => children[at].metric.clone(),
            Err(at) => {
                let metric = Arc::new(M::new(self.desc.kind));
                let child = Child {
                    values: values.iter().map(|v| Box::from(*v)).collect(),
                    metric: metric.clone(),
                };
                children.insert(at, child);
                metric
            }
        }
    }

    /// The metric of these label values, if something was counted there.
    pub fn find(&self, values: &[&str]) -> Option<Arc<M>> {
        let children = self.children.read().unwrap_or_else(PoisonError::into_inner);
        let at = children.binary_search_by(|child| child.compare(values));
        Some(children.get(at.ok()?)?.metric.clone())
    }

    /// Does something to each metric.
    pub fn each(&self, act: impl Fn(&M)) {
        let children = self.children.read().unwrap_or_else(PoisonError::into_inner);
        for child in children.iter() {
            act(&child.metric);
        }
    }

    /// How many sets of label values there are.
    pub fn len(&self) -> usize {
        let children = self.children.read();
        children.unwrap_or_else(PoisonError::into_inner).len()
    }

    /// Whether nothing was counted.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Forgets all sets of label values.
    pub fn clear(&self) {
        self.write().clear();
    }

    fn write(&self) -> std::sync::RwLockWriteGuard<'_, Vec<Child<M>>> {
        self.children
            .write()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

impl<M: Metric> Collect for Family<M> {
    fn desc(&self) -> &Desc {
        &self.desc
    }

    fn write(&self, text: &mut Text) {
        let children = self.children.read().unwrap_or_else(PoisonError::into_inner);
        if children.is_empty() {
            return;
        }
        text.header(&self.desc);
        for child in children.iter() {
            let values = child.values.iter().map(|value| &**value);
            let labels: Vec<_> = self.desc.labels.iter().copied().zip(values).collect();
            child.metric.write(self.desc.name, &labels, text);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Counter, Desc, Histogram, Kind, Registry, Stability, Text};

    const DESC: Desc = Desc {
        name: "things_total",
        kind: Kind::Counter,
        stability: Stability::Beta,
        labels: &["a", "b"],
        help: "Things \\ counted.\nTwice.",
    };

    #[test]
    fn text_is_what_prometheus_reads() {
        let mut registry = Registry::default();
        let things = registry.family::<Counter>(DESC);
        let kind = Kind::Histogram {
            start: 0.5,
            factor: 2.0,
            count: 2,
        };
        let spans = registry.family::<Histogram>(Desc {
            name: "spans_seconds",
            kind,
            labels: &["x"],
            help: "Spans.",
            ..DESC
        });
        let mut text = Text::default();
        registry.write(&mut text);
        assert_eq!(text.into_string(), "", "a family without series is silent");
        things.with(&["2", "\"quoted\"\n\\"]).add(3);
        things.with(&["1", "z"]).inc();
        things.with(&["1", "z"]).inc();
        for value in [0.5, 0.6, 7.0] {
            spans.with(&["y"]).observe(value);
        }
        let mut text = Text::default();
        registry.write(&mut text);
        assert_eq!(
            text.into_string(),
            r#"# HELP spans_seconds [BETA] Spans.
# TYPE spans_seconds histogram
spans_seconds_bucket{x="y",le="0.5"} 1
spans_seconds_bucket{x="y",le="1"} 2
spans_seconds_bucket{x="y",le="+Inf"} 3
spans_seconds_sum{x="y"} 8.1
spans_seconds_count{x="y"} 3
# HELP things_total [BETA] Things \\ counted.\nTwice.
# TYPE things_total counter
things_total{a="1",b="z"} 2
things_total{a="2",b="\"quoted\"\n\\"} 3
"#
        );
    }

    #[test]
    fn labels_that_do_not_fit_do_no_harm() {
        let mut registry = Registry::default();
        let things = registry.family::<Counter>(DESC);
        things.with(&["1"]).inc();
        things.with(&["1", "", "more"]).inc();
        assert_eq!(things.with(&["1", ""]).get(), 2);
        things.clear();
        assert!(things.is_empty());
    }
}
