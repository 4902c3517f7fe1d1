//! How many replicas each metric of an autoscaler asks for. Upstream: `computeReplicasForMetrics` and what
//! it calls, in `horizontal.go`.

use super::calculator::{Calculator, Tolerances};
use super::conditions::{ACTIVE, Said};
use super::judge::Judge;
use super::look::{Look, number, pods};
use super::metrics::{Question, custom_version};
use super::{scaling, signed};
use crate::common::{Selector, group_version, served};
use crate::{Answer, Cx, Plan};
use k8s_openapi::api::autoscaling::v2::{
    CrossVersionObjectReference, MetricIdentifier, MetricSpec, MetricStatus,
};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use std::collections::BTreeMap;

/// What is known of the API of custom metrics: its version, and what the server calls kinds.
struct Custom {
    version: Result<String, String>,
    resources: BTreeMap<(String, String), Result<String, String>>,
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
