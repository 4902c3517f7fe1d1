//! Label selectors, as text (`a=b,c in (d)`) and as objects (`matchLabels`, `matchExpressions`).
//!
//! Upstream: `k8s.io/apimachinery/pkg/labels/selector.go`.

mod parse;

use crate::View;
use crate::field::{Error, ErrorList, Path};
use crate::names;
use serde_json::{Map, Value};
use std::fmt;

pub use parse::parse;

/// How a label is compared.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs)] // upstream's words
pub enum Operator {
    In,
    NotIn,
    Equals,
    DoubleEquals,
    NotEquals,
    Exists,
    DoesNotExist,
    GreaterThan,
    LessThan,
}

/// One condition of a selector.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Requirement {
    /// The label.
    pub key: String,
    /// How it is compared.
    pub operator: Operator,
    /// With what, in sorted order.
    pub values: Vec<String>,
}

/// Conditions that all have to hold, in the order of their keys.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Selector(pub Vec<Requirement>);

impl Requirement {
    /// A checked requirement; `path` is where the selector stands.
    pub fn new(
        key: &str,
        operator: Operator,
        values: Vec<String>,
        path: &Path<'_>,
    ) -> Result<Self, ErrorList> {
        let mut errors = ErrorList::new();
        errors.extend(check_key(key, &path.child("key")));
        let place = path.child("values");
        let wrong = |sentence: &str| Error::invalid(&place, Value::from(values.clone()), sentence);
        match operator {
            Operator::In | Operator::NotIn if values.is_empty() => {
                errors.push(wrong(
                    "for 'in', 'notin' operators, values set can't be empty",
                ));
            }
            Operator::Equals | Operator::DoubleEquals | Operator::NotEquals
                if values.len() != 1 =>
            {
                errors.push(wrong("exact-match compatibility requires one single value"));
            }
            Operator::Exists | Operator::DoesNotExist if !values.is_empty() => {
                errors.push(wrong(
                    "values set must be empty for exists and does not exist",
                ));
            }
            Operator::GreaterThan | Operator::LessThan => {
                if values.len() != 1 {
                    errors.push(wrong(
                        "for 'Gt', 'Lt' operators, exactly one value is required",
                    ));
                }
                for (i, value) in values.iter().enumerate() {
                    if value.parse::<i64>().is_err() {
                        let sentence = "for 'Gt', 'Lt' operators, the value must be an integer";
                        errors.push(Error::invalid(&place.index(i), value, sentence));
                    }
                }
            }
            _ => {}
        }
        for (i, value) in values.iter().enumerate() {
            let sentences = names::label_value(value);
            if !sentences.is_empty() {
                let at = place.index(i);
                errors.push(Error::invalid(&at.key(key), value, sentences.join("; ")));
            }
        }
        match errors.is_empty() {
            true => Ok(Self {
                key: key.to_owned(),
                operator,
                values,
            }),
            false => Err(errors),
        }
    }

    /// Whether it holds for an object with these labels.
    pub fn matches(&self, labels: &Map<String, Value>) -> bool {
        self.holds(labels.get(&self.key).and_then(Value::as_str))
    }

    /// Whether it holds for the value that the label has, if any.
    pub fn holds(&self, value: Option<&str>) -> bool {
        let listed = |v: &str| self.values.iter().any(|known| known == v);
        match self.operator {
            Operator::In | Operator::Equals | Operator::DoubleEquals => value.is_some_and(listed),
            Operator::NotIn | Operator::NotEquals => !value.is_some_and(listed),
            Operator::Exists => value.is_some(),
            Operator::DoesNotExist => value.is_none(),
            Operator::GreaterThan | Operator::LessThan => {
                let number = value.and_then(|v| v.parse::<i64>().ok());
                let bound = self.values.first().and_then(|v| v.parse::<i64>().ok());
                match (number, bound) {
                    (Some(n), Some(b)) if self.operator == Operator::GreaterThan => n > b,
                    (Some(n), Some(b)) => n < b,
                    _ => false,
                }
            }
        }
    }
}

fn check_key(key: &str, path: &Path<'_>) -> Option<Error> {
    let sentences = names::label_key(key);
    (!sentences.is_empty()).then(|| Error::invalid(path, key, sentences.join("; ")))
}

impl Selector {
    /// Whether it holds for an object with these labels.
    pub fn matches(&self, labels: &Map<String, Value>) -> bool {
        self.0.iter().all(|r| r.matches(labels))
    }

    /// The same, for labels that are kept otherwise.
    pub fn holds<'l>(&self, label: impl Fn(&str) -> Option<&'l str>) -> bool {
        self.0.iter().all(|r| r.holds(label(&r.key)))
    }

    /// Whether it holds for everything.
    pub fn is_everything(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether it holds for the labels of an object.
    pub fn selects(&self, object: &Value) -> bool {
        match object.path(&["metadata", "labels"]) {
            Value::Object(labels) => self.matches(labels),
            _ => self.matches(&Map::new()),
        }
    }

    /// A selector in an object (`metav1.LabelSelector`), which has been validated. An absent one
    /// selects nothing and is `None`; an empty one selects everything.
    pub fn from_object(selector: &Value) -> Option<Self> {
        let map = selector.as_object()?;
        let exact = map.entries("matchLabels").map(|(key, value)| Requirement {
            key: key.to_owned(),
            operator: Operator::Equals,
            values: vec![value.as_str().unwrap_or_default().to_owned()],
        });
        let mut all: Vec<Requirement> = exact.collect();
        for expression in map.list("matchExpressions") {
            let operator = match expression.text("operator") {
                "In" => Operator::In,
                "NotIn" => Operator::NotIn,
                "Exists" => Operator::Exists,
                "DoesNotExist" => Operator::DoesNotExist,
                _ => return None,
            };
            let values = expression.list("values").iter();
            let mut values: Vec<String> = values
                .filter_map(|v| v.as_str().map(str::to_owned))
                .collect();
            values.sort_unstable();
            values.dedup();
            all.push(Requirement {
                key: expression.text("key").to_owned(),
                operator,
                values,
            });
        }
        all.sort_by(|a, b| a.key.cmp(&b.key));
        Some(Self(all))
    }

    /// Labels that all have to be there (`spec.selector` of a Service).
    pub fn from_map(labels: &Value) -> Self {
        let labels = labels.as_object().into_iter().flatten();
        Self(
            labels
                .map(|(key, value)| Requirement {
                    key: key.clone(),
                    operator: Operator::Equals,
                    values: vec![value.as_str().unwrap_or_default().to_owned()],
                })
                .collect(),
        )
    }
}

impl fmt::Display for Requirement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let values = || {
            let mut sorted = self.values.clone();
            sorted.sort_unstable();
            sorted.join(",")
        };
        let key = &self.key;
        match self.operator {
            Operator::DoesNotExist => write!(f, "!{key}"),
            Operator::Exists => f.write_str(key),
            Operator::Equals => write!(f, "{key}={}", values()),
            Operator::DoubleEquals => write!(f, "{key}=={}", values()),
            Operator::NotEquals => write!(f, "{key}!={}", values()),
            Operator::GreaterThan => write!(f, "{key}>{}", values()),
            Operator::LessThan => write!(f, "{key}<{}", values()),
            Operator::In => write!(f, "{key} in ({})", values()),
            Operator::NotIn => write!(f, "{key} notin ({})", values()),
        }
    }
}

impl fmt::Display for Selector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, requirement) in self.0.iter().enumerate() {
            if i > 0 {
                f.write_str(",")?;
            }
            write!(f, "{requirement}")?;
        }
        Ok(())
    }
}
