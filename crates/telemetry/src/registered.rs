//! What the metrics say of themselves. Upstream's `component-base/metrics/{registry,options}.go`.

use crate::registry::{Desc, Kind, Stability, Text};

/// The metrics of this file: none can be switched off, and none is hidden.
const DESCS: [Desc; 3] = [
    desc(
        "disabled_metrics_total",
        &[],
        "The count of disabled metrics.",
    ),
    desc("hidden_metrics_total", &[], "The count of hidden metrics."),
    desc(
        "registered_metrics_total",
        &["deprecated_version", "stability_level"],
        "The count of registered metrics broken by stability level and deprecation version.",
    ),
];

const fn desc(name: &'static str, labels: &'static [&'static str], help: &'static str) -> Desc {
    Desc {
        name,
        kind: Kind::Counter,
        stability: Stability::Beta,
        labels,
        help,
    }
}

/// Their names.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    DESCS.into_iter().map(|desc| desc.name)
}

/// Writes them, about these metrics and themselves.
pub(crate) fn write(text: &mut Text, others: &[Desc]) {
    let [disabled, hidden, registered] = &DESCS;
    for desc in [disabled, hidden] {
        text.header(desc);
        text.sample(desc.name, &[], 0.0);
    }
    text.header(registered);
    for stability in [Stability::Alpha, Stability::Beta, Stability::Stable] {
        let all = others.iter().chain(&DESCS);
        let count = all.filter(|desc| desc.stability == stability).count();
        let labels = [
            ("deprecated_version", ""),
            ("stability_level", stability.as_str()),
        ];
        text.sample(registered.name, &labels, count as f64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metrics_are_counted_by_what_is_promised_of_them() {
        let mut text = Text::default();
        write(&mut text, &[]);
        let text = text.into_string();
        for line in [
            "# HELP registered_metrics_total [BETA] The count",
            "# TYPE registered_metrics_total counter\n",
            "registered_metrics_total{deprecated_version=\"\",stability_level=\"BETA\"} 3\n",
            "registered_metrics_total{deprecated_version=\"\",stability_level=\"STABLE\"} 0\n",
            "hidden_metrics_total 0\n",
            "disabled_metrics_total 0\n",
        ] {
            assert!(text.contains(line), "{line} is not in\n{text}");
        }
    }
}
