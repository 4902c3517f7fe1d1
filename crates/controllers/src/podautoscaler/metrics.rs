//! What is asked of the three APIs of metrics, and what their answers say. Upstream: `metrics/client.go`.

use crate::common::{Selector, query_escape, unread};
use crate::{Answer, Failure};
use jiff::{SignedDuration, Timestamp};
use serde_json::Value;
use std::collections::BTreeMap;

/// The window of a sample that does not tell its own. Upstream's `metricServerDefaultMetricWindow`.
const WINDOW: SignedDuration = SignedDuration::from_secs(60);

/// Versions of the API of custom metrics that are understood.
const CUSTOM_VERSIONS: [&str; 2] = ["v1beta1", "v1beta2"];

const CUSTOM: &str = "custom.metrics.k8s.io";
const EXTERNAL: &str = "external.metrics.k8s.io";

/// What a pod uses, or says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Sample {
    /// When it was taken; never, for one that is assumed.
    pub(super) at: Timestamp,
    /// How long it took.
    pub(super) window: SignedDuration,
    /// In thousandths.
    pub(super) value: i64,
}

impl Sample {
    /// One that nobody took.
    pub(super) fn assumed(value: i64) -> Self {
        Self {
            at: Timestamp::MIN,
            window: SignedDuration::ZERO,
            value,
        }
    }
}

/// Samples by the names of pods. Upstream's `PodMetricsInfo`.
pub(super) type Samples = BTreeMap<String, Sample>;

/// One question to an API of metrics.
#[derive(Clone, Debug)]
pub(super) struct Question {
    pub(super) path: String,
    /// What is asked for, in client-go's words.
    what: String,
}

impl Question {
    /// What pods use of resources.
    pub(super) fn resources(namespace: &str, selector: &Selector) -> Self {
        let query = query_escape(&selector.text());
        Self {
            path: format!(
                "/apis/metrics.k8s.io/v1beta1/namespaces/{namespace}/pods?labelSelector={query}"
            ),
            what: "pods.metrics.k8s.io".to_owned(),
        }
    }

    /// What all selected pods say of a metric.
    pub(super) fn pods(
        version: &str,
        namespace: &str,
        pods: &Selector,
        metric: &str,
        labels: &Selector,
    ) -> Self {
        let (pods, labels) = (query_escape(&pods.text()), query_escape(&labels.text()));
        Self {
            path: format!(
                "/apis/{CUSTOM}/{version}/namespaces/{namespace}/pods/*/{metric}?labelSelector={pods}&metricLabelSelector={labels}"
            ),
            what: format!("pods.{CUSTOM} *"),
        }
    }

    /// What an object says of a metric; a namespace, if it has no name.
    pub(super) fn object(
        version: &str,
        namespace: &str,
        object: Option<(&str, &str)>,
        metric: &str,
        labels: &Selector,
    ) -> Self {
        let labels = query_escape(&labels.text());
        let (place, what) = match object {
            Some((resource, name)) => (
                format!("{resource}/{name}/{metric}"),
                format!("{resource}.{CUSTOM} {name}"),
            ),
            None => (
                format!("metrics/{metric}"),
                format!("metrics.{CUSTOM} {metric}"),
            ),
        };
        Self {
            path: format!(
                "/apis/{CUSTOM}/{version}/namespaces/{namespace}/{place}?metricLabelSelector={labels}"
            ),
            what,
        }
    }

    /// What something outside the cluster says.
    pub(super) fn external(namespace: &str, metric: &str, labels: &Selector) -> Self {
        let labels = query_escape(&labels.text());
        Self {
            path: format!(
                "/apis/{EXTERNAL}/v1beta1/namespaces/{namespace}/{metric}?labelSelector={labels}"
            ),
            what: format!("{metric}.{EXTERNAL}"),
        }
    }

    fn items<'a>(&self, answer: &'a Answer, api: &str) -> Result<&'a [Value], String> {
        let list = answer.as_ref().map_err(|failure: &Failure| {
            let why = unread(failure, &self.what);
            format!("unable to fetch metrics from {api} metrics API: {why}")
        })?;
        Ok(list["items"].as_array().map_or(&[], Vec::as_slice))
    }

    /// What pods use of a resource, or a container of each. Upstream's `GetResourceMetric`.
    pub(super) fn usage(
        &self,
        answer: &Answer,
        resource: &str,
        container: Option<&str>,
    ) -> Result<Samples, String> {
        let items = self.items(answer, "resource")?;
        if items.is_empty() {
            return Err("no metrics returned from resource metrics API".to_owned());
        }
        let sample = |item: &Value| {
            let value = used(item, resource, container)?;
            let window = item["window"].as_str().and_then(|text| text.parse().ok());
            Some((name(&item["metadata"]), sample_of(item, window, value)))
        };
        Ok(items.iter().filter_map(sample).collect())
    }

    /// What pods say of a custom metric. Upstream's `GetRawMetric`.
    pub(super) fn said_by_pods(&self, answer: &Answer) -> Result<Samples, String> {
        let items = self.items(answer, "custom")?;
        if items.is_empty() {
            return Err("no metrics returned from custom metrics API".to_owned());
        }
        let sample = |item: &Value| {
            let window = item["windowSeconds"].as_i64().or(item["window"].as_i64());
            let window = window.map_or(WINDOW, SignedDuration::from_secs);
            let sample = sample_of(item, Some(window), milli_value(&item["value"]));
            (name(&item["describedObject"]), sample)
        };
        Ok(items.iter().map(sample).collect())
    }

    /// What one object says of a custom metric. Upstream's `GetObjectMetric`.
    pub(super) fn said_by_object(&self, answer: &Answer) -> Result<i64, String> {
        match self.items(answer, "custom")? {
            [one] => Ok(milli_value(&one["value"])),
            items => Err(format!(
                "unable to fetch metrics from custom metrics API: the custom metrics API server returned {} results when we asked for exactly one",
                items.len()
            )),
        }
    }

    /// All values of an external metric. Upstream's `GetExternalMetric`.
    pub(super) fn said_outside(&self, answer: &Answer) -> Result<Vec<i64>, String> {
        match self.items(answer, "external")? {
            [] => Err("no metrics returned from external metrics API".to_owned()),
            items => Ok(items
                .iter()
                .map(|item| milli_value(&item["value"]))
                .collect()),
        }
    }
}

fn name(value: &Value) -> String {
    value["name"].as_str().unwrap_or_default().to_owned()
}

fn sample_of(item: &Value, window: Option<SignedDuration>, value: i64) -> Sample {
    let at = item["timestamp"].as_str().and_then(|at| at.parse().ok());
    Sample {
        at: at.unwrap_or(Timestamp::MIN),
        window: window.unwrap_or(SignedDuration::ZERO),
        value,
    }
}

/// What a pod uses of a resource: all containers together, or one of them; `None` if one does not say.
fn used(item: &Value, resource: &str, container: Option<&str>) -> Option<i64> {
    let containers = item["containers"].as_array()?;
    let of = |one: &Value| {
        let amount = &one["usage"][resource];
        (!amount.is_null()).then(|| milli_value(amount))
    };
    match container {
        Some(wanted) => of(containers.iter().find(|one| one["name"] == *wanted)?),
        None if containers.is_empty() => None,
        None => containers
            .iter()
            .try_fold(0_i64, |sum, one| Some(sum.saturating_add(of(one)?))),
    }
}

/// An amount in thousandths; nothing if it makes no sense.
fn milli_value(value: &Value) -> i64 {
    let parsed = match value {
        Value::String(text) => text.parse::<stowplan_base::Quantity>().ok(),
        Value::Number(number) => number.to_string().parse().ok(),
        _ => None,
    };
    parsed.map_or(0, stowplan_base::Quantity::milli_value)
}

/// Which version of custom metrics a server serves, by its list of groups. Upstream's
/// `custom_metrics/discovery.go`.
pub(super) fn custom_version(groups: &Answer) -> Result<String, String> {
    let groups = groups.as_ref().map_err(|failure| failure.message.clone())?;
    let mut all = groups["groups"].as_array().into_iter().flatten();
    let Some(group) = all.find(|group| group["name"] == CUSTOM) else {
        return Err(format!("no custom metrics API ({CUSTOM}) registered"));
    };
    let others = group["versions"].as_array().into_iter().flatten();
    let mut versions = std::iter::once(&group["preferredVersion"])
        .chain(others)
        .filter_map(|version| version["version"].as_str());
    let found = versions.find(|version| CUSTOM_VERSIONS.contains(version));
    found
        .map(str::to_owned)
        .ok_or_else(|| "no known available metric versions found".to_owned())
}
