//! The arguments of NodeAffinity. What of an affinity the scheduler can parse follows upstream's
//! `component-helpers/scheduling/corev1/nodeaffinity` and `labels.NewRequirement`.

use super::NodeAffinityArgs;
use crate::framework::args::{Args, FieldError, Fields};
use crate::model::{
    NodeAffinity, NodeSelector, NodeSelectorTerm, Op, PreferredNodeTerm, Requirement,
};
use stowplan_base::{label_key, label_value};

const REQUIRED: &str = "requiredDuringSchedulingIgnoredDuringExecution";
const PREFERRED: &str = "preferredDuringSchedulingIgnoredDuringExecution";

impl Args for NodeAffinityArgs {
    fn decode(fields: &mut Fields<'_>) -> Result<Self, FieldError> {
        let added = fields.object("addedAffinity", |affinity| {
            let required = affinity.object(REQUIRED, |required| {
                let terms = required.list("nodeSelectorTerms", |term| decode_term(term, true))?;
                Ok(NodeSelector {
                    terms: terms.into(),
                })
            })?;
            let preferred = affinity.list(PREFERRED, |preferred| {
                let weight = preferred.get("weight", 0)?;
                // Upstream leaves `preference` out of the path, and terms that are worth nothing alone.
                let term =
                    preferred.object_here("preference", |term| decode_term(term, weight != 0))?;
                let term = term.unwrap_or_default();
                Ok(PreferredNodeTerm { weight, term })
            })?;
            Ok(NodeAffinity {
                required,
                preferred: preferred.into(),
            })
        })?;
        Ok(Self {
            added_affinity: added.unwrap_or_default(),
        })
    }
}

/// A requirement as it is written.
struct Written {
    key: String,
    operator: String,
    values: Vec<String>,
}

impl Written {
    fn decode(fields: &mut Fields<'_>) -> Result<Self, FieldError> {
        Ok(Self {
            key: fields.get("key", String::new())?,
            operator: fields.get("operator", String::new())?,
            values: fields.optional("values")?.unwrap_or_default(),
        })
    }

    /// The requirement, if there is such an operator.
    fn requirement(&self, fields: &mut Fields<'_>) -> Option<Requirement> {
        let bound = || self.values.first()?.parse().ok();
        let op = match self.operator.as_str() {
            "In" => Op::In,
            "NotIn" => Op::NotIn,
            "Exists" => Op::Exists,
            "DoesNotExist" => Op::DoesNotExist,
            "Gt" => Op::Gt(bound()?),
            "Lt" => Op::Lt(bound()?),
            _ => return None,
        };
        let values = match op {
            Op::In | Op::NotIn => self.values.iter().map(|v| fields.sym(v)).collect(),
            _ => [].into(),
        };
        let key = fields.sym(&self.key);
        Some(Requirement { key, op, values })
    }
}

fn decode_term(fields: &mut Fields<'_>, counts: bool) -> Result<NodeSelectorTerm, FieldError> {
    let expressions = fields.list("matchExpressions", |fields| {
        let written = Written::decode(fields)?;
        if counts {
            check_expression(fields, &written);
        }
        Ok(written.requirement(fields))
    })?;
    let on_fields = fields.list("matchFields", |fields| {
        let written = Written::decode(fields)?;
        if counts {
            check_field(fields, &written);
        }
        Ok(written.requirement(fields))
    })?;
    Ok(NodeSelectorTerm {
        expressions: expressions.into_iter().flatten().collect(),
        fields: on_fields.into_iter().flatten().collect(),
        error: None,
    })
}

fn check_expression(fields: &mut Fields<'_>, written: &Written) {
    let Written {
        key,
        operator,
        values,
    } = written;
    let path = fields.path("values");
    let wrong_values = match operator.as_str() {
        "In" | "NotIn" if values.is_empty() => {
            Some("for 'in', 'notin' operators, values set can't be empty")
        }
        "Exists" | "DoesNotExist" if !values.is_empty() => {
            Some("values set must be empty for exists and does not exist")
        }
        "Gt" | "Lt" if values.len() != 1 => {
            Some("for 'Gt', 'Lt' operators, exactly one value is required")
        }
        "In" | "NotIn" | "Exists" | "DoesNotExist" | "Gt" | "Lt" => None,
        other => {
            let supported = ["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"];
            fields.reject(fields.path("operator").not_supported(other, &supported));
            return;
        }
    };
    let wrong_key = label_key(key);
    if !wrong_key.is_empty() {
        fields.reject(fields.path("key").invalid(key, wrong_key.join("; ")));
    }
    if let Some(detail) = wrong_values {
        fields.reject(path.invalid(&values[..], detail));
    }
    if matches!(operator.as_str(), "Gt" | "Lt") {
        for (i, value) in values.iter().enumerate() {
            if value.parse::<i64>().is_err() {
                let detail = "for 'Gt', 'Lt' operators, the value must be an integer";
                fields.reject(path.index(i).invalid(value, detail));
            }
        }
    }
    for (i, value) in values.iter().enumerate() {
        let wrong = label_value(value);
        if !wrong.is_empty() {
            fields.reject(path.index(i).key(key).invalid(value, wrong.join("; ")));
        }
    }
}

fn check_field(fields: &mut Fields<'_>, written: &Written) {
    let values = &written.values;
    match written.operator.as_str() {
        "In" | "NotIn" if values.len() == 1 => {}
        "In" | "NotIn" => {
            let error = fields
                .path("values")
                .invalid(&values[..], "must have one element");
            fields.reject(error);
        }
        other => {
            let error = fields
                .path("operator")
                .not_supported(other, &["In", "NotIn"]);
            fields.reject(error);
        }
    }
}
