//! How many replicas each metric of an autoscaler asks for. Upstream: `computeReplicasForMetrics` and what
//! it calls, in `horizontal.go`.

use super::calculator::{Calculator, Tolerances};
use super::conditions::{ACTIVE, Said};
use super::look::{Look, number, pods};
use super::metrics::{Question, custom_version};
use super::{scaling, signed};
use crate::common::{Selector, group_version, selector_as_go_prints_it, served};
use crate::{Answer, Cx, Plan};
use k8s_openapi::api::autoscaling::v2::{
    ContainerResourceMetricStatus, CrossVersionObjectReference, ExternalMetricSource,
    ExternalMetricStatus, MetricIdentifier, MetricSpec, MetricStatus, MetricTarget,
    MetricValueStatus, ObjectMetricSource, ObjectMetricStatus, PodsMetricSource, PodsMetricStatus,
    ResourceMetricStatus,
};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use std::collections::BTreeMap;
use stowplan_apimachinery::quantity::Quantity as Amount;

/// What is known of the API of custom metrics: its version, and what the server calls kinds.
struct Custom {
    version: Result<String, String>,
    resources: BTreeMap<(String, String), Result<String, String>>,
}

/// What one metric asks for.
struct Proposal {
    replicas: i32,
    /// What the metric is called in reasons.
    metric: String,
    status: MetricStatus,
}

/// Why a metric asks for nothing.
struct Trouble {
    reason: &'static str,
    /// What the condition and the event say.
    error: String,
    /// What is told of it further on.
    told: String,
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

impl Look {
    /// Asks for what metrics say.
    pub(super) fn ask_for_metrics(self, selector: Selector) -> Plan {
        let metrics = self.spec.metrics.as_deref().unwrap_or_default();
        if !metrics
            .iter()
            .any(|spec| matches!(&*spec.type_, "Pods" | "Object"))
        {
            let custom = Custom {
                version: Err(String::new()),
                resources: BTreeMap::new(),
            };
            return self.ask(selector, &custom);
        }
        let kinds: Vec<(String, String)> = metrics.iter().filter_map(kind_of).collect();
        Plan::read(vec!["/apis".to_owned()], move |_, answers| {
            let none = || Err("the server did not answer".to_owned());
            let version = answers.first().map_or_else(none, custom_version);
            // Without the API it does not matter what anything is called.
            let kinds = if version.is_ok() { kinds } else { Vec::new() };
            let resources = BTreeMap::new();
            self.name_kinds(selector, kinds, Custom { version, resources })
        })
    }

    /// Finds out what the server calls kinds, one after the other.
    fn name_kinds(
        self,
        selector: Selector,
        mut kinds: Vec<(String, String)>,
        mut custom: Custom,
    ) -> Plan {
        let Some((group, kind)) = kinds.pop() else {
            return self.ask(selector, &custom);
        };
        let key = (group.clone(), kind.clone());
        served(&group, None, &kind, move |_, found| {
            let name = match key.0.as_str() {
                "" => key.1.clone(),
                group => format!("{}.{group}", key.1),
            };
            let found = found
                .map(|found| found.group_resource())
                .map_err(|error| format!("unable to map kind {name} to resource: {error}"));
            custom.resources.insert(key, found);
            self.name_kinds(selector, kinds, custom)
        })
    }

    fn ask(self, selector: Selector, custom: &Custom) -> Plan {
        let metrics = self.spec.metrics.as_deref().unwrap_or_default();
        let namespace = &self.key.namespace;
        let questions: Vec<Result<Question, String>> = metrics
            .iter()
            .map(|spec| question(spec, namespace, &selector, custom))
            .collect();
        let paths = questions.iter().flatten();
        let paths = paths.map(|question| question.path.clone()).collect();
        Plan::read(paths, move |cx, answers| {
            self.compute(cx, &selector, &questions, answers)
        })
    }

    /// Takes the highest number that a metric asks for. If some say nothing, the others may only add
    /// replicas.
    fn compute(
        mut self,
        cx: &Cx<'_>,
        selector: &Selector,
        questions: &[Result<Question, String>],
        answers: &[Answer],
    ) -> Plan {
        let specs = self.spec.metrics.clone().unwrap_or_default();
        let pods = pods(cx, &self.key.namespace, selector);
        let judge = Judge {
            calculator: self.calculator(cx, &pods),
            namespace: &self.key.namespace,
            current: self.current(),
            status_replicas: number(&self.scale["status"]["replicas"]),
        };
        let (mut statuses, mut best) = (Vec::new(), None::<(i32, String)>);
        let mut troubles = Vec::new();
        let mut answers = answers.iter();
        for (spec, question) in specs.iter().zip(questions) {
            let asked = question
                .as_ref()
                .map_err(Clone::clone)
                .and_then(|question| Ok((question, answers.next().ok_or("")?)));
            match judge.metric(spec, asked) {
                Ok(found) => {
                    statuses.push(found.status);
                    let is_more = |(replicas, _): &(i32, String)| {
                        *replicas == 0 || found.replicas > *replicas
                    };
                    if best.as_ref().is_none_or(is_more) {
                        best = Some((found.replicas, found.metric));
                    }
                }
                Err(trouble) => {
                    statuses.push(MetricStatus::default());
                    troubles.push(trouble);
                }
            }
        }
        self.metrics = Some(statuses);
        for trouble in &troubles {
            self.warn(trouble.reason, trouble.error.clone());
        }
        let (wanted, metric) = best.unwrap_or_default();
        let all_failed = troubles.len() >= specs.len();
        if let Some(first) = troubles.first()
            && (all_failed || wanted < self.current())
        {
            let message = format!(
                "the HPA was unable to compute the replica count: {}",
                first.error
            );
            self.set(cx, ACTIVE, Said::no(first.reason, message));
            let error = format!(
                "invalid metrics ({} invalid out of {}), first error is: {}",
                troubles.len(),
                specs.len(),
                first.told
            );
            return self.without_metrics(cx, &error);
        }
        let message =
            format!("the HPA was able to successfully calculate a replica count from {metric}");
        self.set(cx, ACTIVE, Said::yes("ValidMetricFound", message));
        scaling::by_metrics(self, cx, wanted, &metric)
    }

    fn calculator<'a>(
        &self,
        cx: &Cx<'_>,
        pods: &'a [std::sync::Arc<k8s_openapi::api::core::v1::Pod>],
    ) -> Calculator<'a> {
        let options = &self.shared.options;
        Calculator {
            pods,
            now: cx.now,
            tolerances: self.tolerances(),
            cpu_initialization: signed(options.cpu_initialization_period),
            readiness_delay: signed(options.initial_readiness_delay),
        }
    }

    /// Upstream's `tolerancesForHpa`.
    fn tolerances(&self) -> Tolerances {
        let usual = self.shared.options.tolerance;
        let behavior = self.spec.behavior.as_ref();
        let of = |quantity: Option<&Quantity>| {
            let parsed = quantity.and_then(|text| text.0.parse::<stowplan_base::Quantity>().ok());
            parsed.map_or(usual, stowplan_base::Quantity::as_f64)
        };
        let (up, down) = (
            behavior.and_then(|behavior| behavior.scale_up.as_ref()),
            behavior.and_then(|behavior| behavior.scale_down.as_ref()),
        );
        Tolerances {
            scale_up: of(up.and_then(|rules| rules.tolerance.as_ref())),
            scale_down: of(down.and_then(|rules| rules.tolerance.as_ref())),
        }
    }
}

/// Group and kind of the object that a metric is about; `None` for a namespace.
fn kind_of(spec: &MetricSpec) -> Option<(String, String)> {
    let about = &spec.object.as_ref()?.described_object;
    let key = group_kind(about);
    (key != (String::new(), "Namespace".to_owned())).then_some(key)
}

fn group_kind(about: &CrossVersionObjectReference) -> (String, String) {
    let version = about.api_version.as_deref().unwrap_or_default();
    let group = group_version(version).map_or("", |(group, _)| group);
    (group.to_owned(), about.kind.clone())
}

/// What has to be asked for a metric, or why it cannot be.
fn question(
    spec: &MetricSpec,
    namespace: &str,
    pods: &Selector,
    custom: &Custom,
) -> Result<Question, String> {
    let unfetched =
        |error: &String| format!("unable to fetch metrics from custom metrics API: {error}");
    let labels = |metric: &MetricIdentifier| Selector::new(metric.selector.as_ref());
    match spec.type_.as_str() {
        "Resource" | "ContainerResource" => Ok(Question::resources(namespace, pods)),
        "Pods" => {
            let metric = &spec.pods.as_ref().ok_or("")?.metric;
            let version = custom.version.as_ref().map_err(unfetched)?;
            let labels = labels(metric);
            Ok(Question::pods(
                version,
                namespace,
                pods,
                &metric.name,
                &labels,
            ))
        }
        "Object" => {
            let source = spec.object.as_ref().ok_or("")?;
            let version = custom.version.as_ref().map_err(unfetched)?;
            let (name, labels) = (&source.metric.name, labels(&source.metric));
            let about = match custom.resources.get(&group_kind(&source.described_object)) {
                None => None,
                Some(found) => Some((
                    found.as_ref().map_err(unfetched)?.as_str(),
                    source.described_object.name.as_str(),
                )),
            };
            Ok(Question::object(version, namespace, about, name, &labels))
        }
        "External" => {
            let metric = &spec.external.as_ref().ok_or("")?.metric;
            Ok(Question::external(namespace, &metric.name, &labels(metric)))
        }
        other => Err(format!("unknown metric source type {other:?}")),
    }
}

/// A question with its answer, or why it could not be asked.
type Asked<'a> = Result<(&'a Question, &'a Answer), String>;

/// Judges metrics.
struct Judge<'a> {
    calculator: Calculator<'a>,
    namespace: &'a str,
    current: i32,
    status_replicas: i32,
}

impl Judge<'_> {
    fn metric(&self, spec: &MetricSpec, asked: Asked<'_>) -> Result<Proposal, Trouble> {
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
