//! The selectors that an access review mentions. RBAC does not look at them; what cannot be read of
//! them is told.
//!
//! Upstream: `pkg/registry/authorization/util/helpers.go`.

use serde_json::Value;
use stowplan_apimachinery::field::Path;
use stowplan_apimachinery::labels::{self, Operator, Requirement};
use stowplan_apimachinery::{View, fields};

/// What could be read of a selector.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Read {
    All,
    Some,
    Nothing,
}

/// What to say about the selectors of `resourceAttributes`.
pub(super) fn problems(resource: &Value) -> Vec<String> {
    let selectors = [
        ("fieldSelector", read_fields(resource.at("fieldSelector"))),
        ("labelSelector", read_labels(resource.at("labelSelector"))),
    ];
    let ignored = selectors.iter().filter_map(|(field, read)| {
        let how = match read {
            Read::All => return None,
            Read::Some => "partially ignored",
            Read::Nothing => "ignored",
        };
        Some(format!(
            "spec.resourceAttributes.{field} {how} due to parse error"
        ))
    });
    ignored.collect()
}

fn read_labels(selector: &Value) -> Read {
    let place = Path::ROOT;
    let requirements = selector.list("requirements");
    match selector.text("rawSelector") {
        _ if !requirements.is_empty() => judged(requirements, |r| reads_label(r, &place)),
        raw if labels::parse(raw, &place).is_err() => Read::Nothing,
        _ => Read::All,
    }
}

fn reads_label(requirement: &Value, place: &Path<'_>) -> bool {
    let operator = match requirement.text("operator") {
        "In" => Operator::In,
        "NotIn" => Operator::NotIn,
        "Exists" => Operator::Exists,
        "DoesNotExist" => Operator::DoesNotExist,
        _ => return false,
    };
    let values = requirement.list("values").iter();
    let values = values.map(|v| v.as_str().unwrap_or_default().to_owned());
    Requirement::new(requirement.text("key"), operator, values.collect(), place).is_ok()
}

fn read_fields(selector: &Value) -> Read {
    let requirements = selector.list("requirements");
    let reads = |requirement: &Value| {
        let compares = matches!(requirement.text("operator"), "In" | "NotIn");
        compares && requirement.list("values").len() == 1
    };
    match selector.text("rawSelector") {
        _ if !requirements.is_empty() => judged(requirements, reads),
        raw if fields::parse(raw).is_err() => Read::Nothing,
        _ => Read::All,
    }
}

fn judged(requirements: &[Value], reads: impl Fn(&Value) -> bool) -> Read {
    match requirements.iter().filter(|r| reads(r)).count() {
        all if all == requirements.len() => Read::All,
        0 => Read::Nothing,
        _ => Read::Some,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn unread_selectors_are_told_fields_first() {
        let told = problems(&json!({
            "labelSelector": {"requirements": [
                {"key": "a", "operator": "Exists"}, {"key": "b", "operator": "Exists", "values": ["x"]}]},
            "fieldSelector": {"requirements": [{"key": "a", "operator": "Exists"}]},
        }));
        let told: Vec<&str> = told.iter().map(String::as_str).collect();
        let place = "spec.resourceAttributes";
        assert_eq!(
            told,
            [
                format!("{place}.fieldSelector ignored due to parse error"),
                format!("{place}.labelSelector partially ignored due to parse error"),
            ]
        );
        let fine = json!({"labelSelector": {"rawSelector": "a in (b)"},
            "fieldSelector": {"rawSelector": "a=b"}});
        assert!(problems(&fine).is_empty());
    }
}
