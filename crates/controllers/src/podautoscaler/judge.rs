//! What one metric asks for. Upstream: `computeReplicasForMetric` and what it calls, in `horizontal.go`.

use super::calculator::Calculator;
use super::metrics::Question;
use crate::Answer;
use crate::common::selector_as_go_prints_it;
use k8s_openapi::api::autoscaling::v2::{
    ContainerResourceMetricStatus, ExternalMetricSource, ExternalMetricStatus, MetricIdentifier,
    MetricSpec, MetricStatus, MetricTarget, MetricValueStatus, ObjectMetricSource,
    ObjectMetricStatus, PodsMetricSource, PodsMetricStatus, ResourceMetricStatus,
};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use stowplan_apimachinery::quantity::Quantity as Amount;

/// What one metric asks for.
pub(super) struct Proposal {
    pub(super) replicas: i32,
    /// What the metric is called in reasons.
    pub(super) metric: String,
    pub(super) status: MetricStatus,
}

/// Why a metric asks for nothing.
pub(super) struct Trouble {
    pub(super) reason: &'static str,
    /// What the condition and the event say.
    pub(super) error: String,
    /// What is told of it further on.
    pub(super) told: String,
}

impl Trouble {
    fn new(reason: &'static str, error: String) -> Self {
        Self {
            reason,
            told: error.clone(),
            error,
        }
    }

    /// Says more to whoever asked, not to the user.
    fn told(self, before: &str) -> Self {
        Self {
            told: format!("{before}: {}", self.told),
            ..self
        }
    }
}

/// A question with its answer, or why it could not be asked.
pub(super) type Asked<'a> = Result<(&'a Question, &'a Answer), String>;

/// Judges metrics.
pub(super) struct Judge<'a> {
    pub(super) calculator: Calculator<'a>,
    pub(super) namespace: &'a str,
    pub(super) current: i32,
    pub(super) status_replicas: i32,
}

impl Judge<'_> {
    /// What a metric asks for.
    pub(super) fn metric(&self, spec: &MetricSpec, asked: Asked<'_>) -> Result<Proposal, Trouble> {
        let MetricSpec {
            resource,
            container_resource,
            pods,
            object,
            external,
            type_,
        } = spec;
        let status = MetricStatus {
            type_: type_.clone(),
            ..MetricStatus::default()
        };
        if let ("Resource", Some(source)) = (type_.as_str(), resource) {
            let found = self.resource(&source.name, None, &source.target, asked);
            let (replicas, metric, current) = found.map_err(|error| {
                Trouble::new("FailedGetResourceMetric", error).told(&format!(
                    "failed to get {} resource metric value",
                    source.name
                ))
            })?;
            let name = source.name.clone();
            let resource = Some(ResourceMetricStatus { name, current });
            return Ok(Proposal {
                replicas,
                metric,
                status: MetricStatus { resource, ..status },
            });
        }
        if let ("ContainerResource", Some(source)) = (type_.as_str(), container_resource) {
            let container = source.container.clone();
            let found = self.resource(&source.name, Some(&container), &source.target, asked);
            let (replicas, metric, current) = found.map_err(|error| {
                Trouble::new("FailedGetContainerResourceMetric", error)
                    .told(&format!("failed to get {container} container metric value"))
            })?;
            let name = source.name.clone();
            let container_resource = Some(ContainerResourceMetricStatus {
                container,
                name,
                current,
            });
            let status = MetricStatus {
                container_resource,
                ..status
            };
            return Ok(Proposal {
                replicas,
                metric,
                status,
            });
        }
        match (type_.as_str(), pods, object, external) {
            ("Pods", Some(source), _, _) => self.pods(source, asked, status),
            ("Object", _, Some(source), _) => self.object(source, asked, status),
            ("External", _, _, Some(source)) => self.external(source, asked, status),
            (other, ..) => {
                let error = format!("unknown metric source type {other:?}");
                Err(Trouble::new("InvalidMetricSourceType", error))
            }
        }
    }

    /// Upstream's `computeStatusForResourceMetricGeneric`.
    fn resource(
        &self,
        resource: &str,
        container: Option<&str>,
        target: &MetricTarget,
        asked: Asked<'_>,
    ) -> Result<(i32, String, MetricValueStatus), String> {
        let samples = asked
            .and_then(|(question, answer)| question.usage(answer, resource, container))
            .map_err(|error| format!("unable to get metrics for resource {resource}: {error}"));
        let quantity = |value| quantity(value, resource == "memory");
        if let Some(average) = &target.average_value {
            let found = samples.and_then(|samples| {
                let target = milli_value(average);
                self.calculator
                    .by_average(samples, self.current, target, resource)
            });
            let (replicas, value) =
                found.map_err(|error| format!("failed to get {resource} usage: {error}"))?;
            let current = MetricValueStatus {
                average_value: Some(quantity(value)),
                ..MetricValueStatus::default()
            };
            return Ok((replicas, format!("{resource} resource"), current));
        }
        let Some(percent) = target.average_utilization else {
            return Err("invalid resource metric source: neither an average utilization target nor an average value (usage) target was set".to_owned());
        };
        let found = samples.and_then(|samples| {
            let calculator = &self.calculator;
            calculator.by_utilization(samples, self.current, percent, resource, container)
        });
        let found =
            found.map_err(|error| format!("failed to get {resource} utilization: {error}"))?;
        let of = if container.is_some() {
            " container"
        } else {
            ""
        };
        let metric = format!("{resource}{of} resource utilization (percentage of request)");
        let current = MetricValueStatus {
            average_utilization: Some(found.percent),
            average_value: Some(quantity(found.value)),
            value: None,
        };
        Ok((found.replicas, metric, current))
    }

    /// Upstream's `computeStatusForPodsMetric`.
    fn pods(
        &self,
        source: &PodsMetricSource,
        asked: Asked<'_>,
        status: MetricStatus,
    ) -> Result<Proposal, Trouble> {
        let name = &source.metric.name;
        let target = source.target.average_value.as_ref().map_or(0, milli_value);
        let samples = asked.and_then(|(question, answer)| question.said_by_pods(answer));
        let found = samples
            .map_err(|error| format!("unable to get metric {name}: {error}"))
            .and_then(|samples| {
                self.calculator
                    .by_average(samples, self.current, target, "")
            });
        let (replicas, usage) = found.map_err(|error| {
            Trouble::new("FailedGetPodsMetric", error).told("failed to get pods metric value")
        })?;
        let pods = Some(PodsMetricStatus {
            current: average(usage),
            metric: source.metric.clone(),
        });
        Ok(Proposal {
            replicas,
            metric: format!("pods metric {name}"),
            status: MetricStatus { pods, ..status },
        })
    }

    /// Upstream's `computeStatusForObjectMetric`.
    fn object(
        &self,
        source: &ObjectMetricSource,
        asked: Asked<'_>,
        status: MetricStatus,
    ) -> Result<Proposal, Trouble> {
        let (name, about) = (&source.metric.name, &source.described_object);
        let outer = "failed to get object metric value";
        let usage = asked.and_then(|(question, answer)| question.said_by_object(answer));
        // Upstream's words, in upstream's order.
        let usage = usage.map_err(|error| {
            let Self { namespace, .. } = self;
            let (kind, object) = (&about.kind, &about.name);
            format!("unable to get metric {name}: {kind} on {namespace} {object}/{error}")
        });
        let trouble = |error| Trouble::new("FailedGetObjectMetric", error);
        let target = &source.target;
        let (replicas, current, metric) = match (
            target.type_.as_str(),
            &target.value,
            &target.average_value,
        ) {
            ("Value", Some(target), _) => {
                let found = usage.and_then(|usage| {
                    let target = milli_value(target);
                    let replicas = self.calculator.by_value(usage, target, self.current)?;
                    Ok((replicas, usage))
                });
                let (replicas, usage) = found.map_err(|error| trouble(error).told(outer))?;
                let metric = format!("{} metric {name}", about.kind);
                (replicas, whole(usage), metric)
            }
            ("AverageValue", _, Some(target)) => {
                let usage = usage.map_err(|error| {
                    let told = format!("failed to get {name} object metric");
                    trouble(error).told(&told).told(outer)
                })?;
                let target = milli_value(target);
                let (replicas, share) =
                    self.calculator
                        .by_share(usage, target, self.status_replicas);
                (replicas, average(share), external_name(&source.metric))
            }
            _ => {
                let error = "invalid object metric source: neither a value target nor an average value target was set";
                return Err(trouble(error.to_owned()).told(outer));
            }
        };
        let object = Some(ObjectMetricStatus {
            current,
            described_object: about.clone(),
            metric: source.metric.clone(),
        });
        Ok(Proposal {
            replicas,
            metric,
            status: MetricStatus { object, ..status },
        })
    }

    /// Upstream's `computeStatusForExternalMetric`.
    fn external(
        &self,
        source: &ExternalMetricSource,
        asked: Asked<'_>,
        status: MetricStatus,
    ) -> Result<Proposal, Trouble> {
        let (name, target) = (&source.metric.name, &source.target);
        let outer = format!("failed to get {name} external metric value");
        let trouble = |error| Trouble::new("FailedGetExternalMetric", error);
        let values = asked.and_then(|(question, answer)| question.said_outside(answer));
        let usage = values
            .map(|values| {
                values
                    .iter()
                    .fold(0_i64, |sum, one| sum.saturating_add(*one))
            })
            .map_err(|error| {
                let labels = selector_as_go_prints_it(source.metric.selector.as_ref());
                let Self { namespace, .. } = self;
                format!("unable to get external metric {namespace}/{name}/{labels}: {error}")
            });
        let (replicas, current) = if let Some(target) = &target.average_value {
            let usage = usage.map_err(|error| {
                let told = format!("failed to get {name} external metric");
                trouble(error).told(&told).told(&outer)
            })?;
            let target = milli_value(target);
            let (replicas, share) = self
                .calculator
                .by_share(usage, target, self.status_replicas);
            (replicas, average(share))
        } else if let Some(target) = &target.value {
            let found = usage.and_then(|usage| {
                let target = milli_value(target);
                Ok((
                    self.calculator.by_value(usage, target, self.current)?,
                    usage,
                ))
            });
            let (replicas, usage) = found.map_err(|error| {
                let told = format!("failed to get external metric {name}");
                trouble(error).told(&told).told(&outer)
            })?;
            (replicas, whole(usage))
        } else {
            let error = "invalid external metric source: neither a value target nor an average value target was set";
            return Err(trouble(error.to_owned()).told(&outer));
        };
        let metric = source.metric.clone();
        let external = Some(ExternalMetricStatus { current, metric });
        Ok(Proposal {
            replicas,
            metric: external_name(&source.metric),
            status: MetricStatus { external, ..status },
        })
    }
}

fn external_name(metric: &MetricIdentifier) -> String {
    let labels = selector_as_go_prints_it(metric.selector.as_ref());
    format!("external metric {}({labels})", metric.name)
}

fn milli_value(quantity: &Quantity) -> i64 {
    let parsed = quantity.0.parse::<stowplan_base::Quantity>();
    parsed.map_or(0, stowplan_base::Quantity::milli_value)
}

fn quantity(millis: i64, is_binary: bool) -> Quantity {
    Quantity(Amount::millis(millis, is_binary).to_string())
}

fn average(millis: i64) -> MetricValueStatus {
    MetricValueStatus {
        average_value: Some(quantity(millis, false)),
        ..MetricValueStatus::default()
    }
}

fn whole(millis: i64) -> MetricValueStatus {
    MetricValueStatus {
        value: Some(quantity(millis, false)),
        ..MetricValueStatus::default()
    }
}
