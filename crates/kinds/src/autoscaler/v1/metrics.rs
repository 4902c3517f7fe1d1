//! Metrics in the words of both versions.

use super::annotation::{self, Fields};
use serde_json::{Value, json};
use stowplan_apimachinery::quantity::Quantity;
use stowplan_apimachinery::{Edit, View};
use stowplan_schema::type_of;

/// A field of a source in `autoscaling/v1`, and where it is in `autoscaling/v2`.
struct Link {
    old: &'static str,
    new: &'static [&'static str],
    form: Form,
}

/// What Go writes of a field.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    /// Always a text.
    Text,
    /// Always an amount.
    Amount,
    /// What there is.
    Optional,
    /// A label selector, if there is one.
    Selector,
    /// Always an object by its kind and name.
    Reference,
}

const fn link(old: &'static str, new: &'static [&'static str], form: Form) -> Link {
    Link { old, new, form }
}

/// The sources of a metric in the order in which Go writes them.
pub(super) struct Sources {
    schema: &'static str,
    sources: [(&'static str, &'static [Link]); 5],
    /// Whether they say what is wanted, not what is.
    wanted: bool,
}

const NAME: Link = link("name", &["name"], Form::Text);
const CONTAINER: Link = link("container", &["container"], Form::Text);
const METRIC_NAME: Link = link("metricName", &["metric", "name"], Form::Text);
const OBJECT: Link = link("target", &["describedObject"], Form::Reference);
const SELECTOR: Link = link("selector", &["metric", "selector"], Form::Selector);
const METRIC_SELECTOR: Link = link("metricSelector", &["metric", "selector"], Form::Selector);

const TARGET_VALUE: &[&str] = &["target", "value"];
const TARGET_AVERAGE: &[&str] = &["target", "averageValue"];
const TARGET_PERCENT: Link = link(
    "targetAverageUtilization",
    &["target", "averageUtilization"],
    Form::Optional,
);
const CURRENT_VALUE: &[&str] = &["current", "value"];
const CURRENT_AVERAGE: &[&str] = &["current", "averageValue"];
const CURRENT_PERCENT: Link = link(
    "currentAverageUtilization",
    &["current", "averageUtilization"],
    Form::Optional,
);

/// What is wanted.
pub(super) static SPECS: Sources = Sources {
    schema: "io.k8s.api.autoscaling.v2.MetricSpec",
    sources: [
        (
            "object",
            &[
                OBJECT,
                METRIC_NAME,
                link("targetValue", TARGET_VALUE, Form::Amount),
                SELECTOR,
                link("averageValue", TARGET_AVERAGE, Form::Optional),
            ],
        ),
        (
            "pods",
            &[
                METRIC_NAME,
                link("targetAverageValue", TARGET_AVERAGE, Form::Amount),
                SELECTOR,
            ],
        ),
        (
            "resource",
            &[
                NAME,
                TARGET_PERCENT,
                link("targetAverageValue", TARGET_AVERAGE, Form::Optional),
            ],
        ),
        (
            "containerResource",
            &[
                NAME,
                TARGET_PERCENT,
                link("targetAverageValue", TARGET_AVERAGE, Form::Optional),
                CONTAINER,
            ],
        ),
        (
            "external",
            &[
                METRIC_NAME,
                METRIC_SELECTOR,
                link("targetValue", TARGET_VALUE, Form::Optional),
                link("targetAverageValue", TARGET_AVERAGE, Form::Optional),
            ],
        ),
    ],
    wanted: true,
};

/// What is.
pub(super) static STATUSES: Sources = Sources {
    schema: "io.k8s.api.autoscaling.v2.MetricStatus",
    sources: [
        (
            "object",
            &[
                OBJECT,
                METRIC_NAME,
                link("currentValue", CURRENT_VALUE, Form::Amount),
                SELECTOR,
                link("averageValue", CURRENT_AVERAGE, Form::Optional),
            ],
        ),
        (
            "pods",
            &[
                METRIC_NAME,
                link("currentAverageValue", CURRENT_AVERAGE, Form::Amount),
                SELECTOR,
            ],
        ),
        (
            "resource",
            &[
                NAME,
                CURRENT_PERCENT,
                link("currentAverageValue", CURRENT_AVERAGE, Form::Amount),
            ],
        ),
        (
            "containerResource",
            &[
                NAME,
                CURRENT_PERCENT,
                link("currentAverageValue", CURRENT_AVERAGE, Form::Amount),
                CONTAINER,
            ],
        ),
        (
            "external",
            &[
                METRIC_NAME,
                METRIC_SELECTOR,
                link("currentValue", CURRENT_VALUE, Form::Amount),
                link("currentAverageValue", CURRENT_AVERAGE, Form::Optional),
            ],
        ),
    ],
    wanted: false,
};

/// Whether `autoscaling/v1` has a field for the metric.
pub(super) fn is_cpu(metric: &Value) -> bool {
    let resource = metric.at("resource");
    metric.text("type") == "Resource"
        && resource.text("name") == "cpu"
        && resource.at("target").has("averageUtilization")
}

/// How much of the CPU is used, if the metric tells that.
pub(super) fn current_cpu(metric: &Value) -> Option<Value> {
    let resource = metric.at("resource");
    let percent = resource.at("current").at("averageUtilization");
    let cpu = metric.text("type") == "Resource" && resource.text("name") == "cpu";
    (cpu && !percent.is_null()).then(|| percent.clone())
}

impl Sources {
    /// Writes a metric of `autoscaling/v2` as Go would write it in `autoscaling/v1`.
    pub(super) fn writer(&'static self) -> impl Fn(&Value) -> String {
        move |metric| {
            let mut out = Fields::default();
            out.text("type", metric.text("type"));
            for (name, links) in self.sources {
                if metric.has(name) {
                    out.raw(name, write(metric.at(name), links));
                }
            }
            out.end()
        }
    }

    /// Reads a list of metrics into the form of `autoscaling/v2`; nothing if any of it is wrong.
    pub(super) fn read(&self, list: &Value) -> Option<Vec<Value>> {
        let ty = type_of(self.schema)?;
        let list = annotation::items(list)?;
        let read_one = |metric: &Value| {
            let mut out = json!({});
            let all = self.sources.map(|(name, _)| name);
            let metric = annotation::fold(metric, &[&["type"], &all[..]].concat())?;
            annotation::put(&mut out, &["type"], metric.at("type"));
            for (name, links) in self.sources {
                if metric.has(name) {
                    let mut source = read(metric.at(name), links)?;
                    if self.wanted {
                        aim(name, &mut source);
                    }
                    out.set(name, source);
                }
            }
            Some(stowplan_schema::decode(ty, &out).ok()?.object)
        };
        list.iter().map(read_one).collect()
    }
}

fn write(source: &Value, links: &[Link]) -> String {
    let mut out = Fields::default();
    for link in links {
        let value = source.path(link.new);
        match link.form {
            Form::Text => out.text(link.old, value.as_str().unwrap_or_default()),
            Form::Amount => out.text(link.old, value.as_str().unwrap_or("0")),
            Form::Reference => out.raw(link.old, annotation::reference(value)),
            Form::Optional | Form::Selector if value.is_null() => {}
            Form::Optional => out.value(link.old, value),
            Form::Selector => out.raw(link.old, annotation::selector(value)),
        }
    }
    out.end()
}

fn read(source: &Value, links: &[Link]) -> Option<Value> {
    let names: Vec<&str> = links.iter().map(|link| link.old).collect();
    let source = annotation::fold(source, &names)?;
    let mut out = json!({});
    for link in links {
        let value = source.at(link.old);
        match link.form {
            Form::Amount if value.is_null() => annotation::put(&mut out, link.new, &"0".into()),
            Form::Reference => {
                let value = annotation::fold(value, &["kind", "name", "apiVersion"])?;
                annotation::put(&mut out, link.new, &value.into());
            }
            _ => annotation::put(&mut out, link.new, value),
        }
    }
    Some(out)
}

/// Says which of its targets a metric goes by: in `autoscaling/v1` that follows from which are there.
fn aim(source: &str, metric: &mut Value) {
    let target = metric.at_mut("target");
    let (first, kind) = match source {
        "resource" | "containerResource" => ("averageUtilization", "Utilization"),
        "object" => {
            // The old form cannot leave it out.
            if target.has("averageValue") && Quantity::of(target.at("value")).is_zero() {
                target.unset("value");
            }
            let kind = match target.has("averageValue") {
                true => "AverageValue",
                false => "Value",
            };
            target.set("type", kind);
            return;
        }
        _ => ("value", "Value"),
    };
    let kind = match target.has(first) {
        true => kind,
        false => "AverageValue",
    };
    target.set("type", kind);
}
