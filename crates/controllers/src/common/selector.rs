//! Label selectors.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use std::collections::BTreeMap;
use stowplan_apimachinery::field::Path;
use stowplan_apimachinery::labels::{self, Operator, Requirement, Selector as Requirements};

/// Which objects are meant, by their labels.
#[derive(Clone, Debug)]
pub struct Selector(Option<Requirements>);

impl Selector {
    /// Those that a `LabelSelector` selects; none if there is none or it makes no sense. Upstream's
    /// `LabelSelectorAsSelector`.
    pub fn new(selector: Option<&LabelSelector>) -> Self {
        Self(selector.and_then(requirements))
    }

    /// Those that have these labels; all if there are none.
    pub fn of_labels(labels: Option<&BTreeMap<String, String>>) -> Self {
        let labels = labels.into_iter().flatten();
        Self(Some(Requirements(
            labels.map(|(key, value)| equals(key, value)).collect(),
        )))
    }

    /// Those that a text such as `app=web,tier in (a,b)` selects; all if it is empty.
    pub fn parse(text: &str) -> Result<Self, String> {
        let parsed = labels::parse(text, &Path::new(""))?;
        Ok(Self(Some(parsed)))
    }

    /// Whether it selects an object with these labels.
    pub fn matches(&self, labels: &BTreeMap<String, String>) -> bool {
        let Some(requirements) = &self.0 else {
            return false;
        };
        requirements.holds(|key| labels.get(key).map(String::as_str))
    }

    /// Whether it selects everything.
    pub fn is_everything(&self) -> bool {
        self.0.as_ref().is_some_and(Requirements::is_everything)
    }

    /// Whether it selects nothing.
    pub fn is_nothing(&self) -> bool {
        self.0.is_none()
    }

    /// As text, such as `app=web,tier in (a,b)`; empty if it selects everything or nothing.
    pub fn text(&self) -> String {
        self.0.as_ref().map(ToString::to_string).unwrap_or_default()
    }
}

/// A selector as Go prints it with `%+v`.
pub fn selector_as_go_prints_it(selector: Option<&LabelSelector>) -> String {
    let Some(selector) = selector else {
        return "nil".to_owned();
    };
    let labels = selector.match_labels.iter().flatten();
    let labels: String = labels
        .map(|(key, value)| format!("{key}: {value},"))
        .collect();
    let expressions = selector.match_expressions.iter().flatten();
    let expressions: String = expressions
        .map(|one| {
            let values = one.values.as_deref().unwrap_or_default().join(" ");
            let (key, operator) = (&one.key, &one.operator);
            format!("LabelSelectorRequirement{{Key:{key},Operator:{operator},Values:[{values}],}},")
        })
        .collect();
    format!(
        "&LabelSelector{{MatchLabels:map[string]string{{{labels}}},MatchExpressions:[]LabelSelectorRequirement{{{expressions}}},}}"
    )
}

fn equals(key: &str, value: &str) -> Requirement {
    Requirement {
        key: key.to_owned(),
        operator: Operator::Equals,
        values: vec![value.to_owned()],
    }
}

fn requirements(selector: &LabelSelector) -> Option<Requirements> {
    let labels = selector.match_labels.iter().flatten();
    let mut all: Vec<Requirement> = labels.map(|(key, value)| equals(key, value)).collect();
    for expression in selector.match_expressions.iter().flatten() {
        let operator = match expression.operator.as_str() {
            "In" => Operator::In,
            "NotIn" => Operator::NotIn,
            "Exists" => Operator::Exists,
            "DoesNotExist" => Operator::DoesNotExist,
            _ => return None,
        };
        all.push(Requirement {
            key: expression.key.clone(),
            operator,
            values: expression.values.clone().unwrap_or_default(),
        });
    }
    all.sort_by(|a, b| a.key.cmp(&b.key));
    Some(Requirements(all))
}
