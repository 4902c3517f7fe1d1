//! Label selectors and node selectors.
//!
//! Parsing follows `labels.NewRequirement` and `component-helpers/scheduling/corev1/nodeaffinity`:
//! what the API server lets through but the scheduler cannot parse keeps its error.

use super::Interner;
use std::collections::BTreeMap;
use stowplan_api::k8s::api::core::v1 as core;
use stowplan_api::k8s::apimachinery::pkg::apis::meta::v1 as meta;
use stowplan_engine::model::{
    Labels, NodeAffinity, NodeSelector, NodeSelectorTerm, Op, PreferredNodeTerm, Requirement,
    Selector,
};

/// A map of labels or annotations.
pub fn labels(interner: &mut Interner<'_>, map: Option<&BTreeMap<String, String>>) -> Labels {
    Labels::new(
        map.into_iter()
            .flatten()
            .map(|(key, value)| (interner.sym(key), interner.sym(value))),
    )
}

/// A label selector; an absent one matches nothing.
pub fn selector(
    interner: &mut Interner<'_>,
    selector: Option<&meta::LabelSelector>,
) -> Result<Selector, String> {
    let Some(selector) = selector else {
        return Ok(Selector::Nothing);
    };
    let mut requirements = Vec::new();
    for (key, value) in selector.match_labels.iter().flatten() {
        check_key(key)?;
        check_value(value)?;
        requirements.push(Requirement::equals(interner.sym(key), interner.sym(value)));
    }
    for expression in selector.match_expressions.iter().flatten() {
        let values = expression.values.as_deref().unwrap_or_default();
        if !["In", "NotIn", "Exists", "DoesNotExist"].contains(&expression.operator.as_str()) {
            return Err(format!(
                "{:?} is not a valid label selector operator",
                expression.operator
            ));
        }
        requirements.push(requirement(
            interner,
            &expression.key,
            &expression.operator,
            values,
        )?);
    }
    Ok(Selector::All(requirements.into()))
}

/// The selector of a Service or ReplicationController: a plain map that, when empty, selects
/// nothing.
pub fn map_selector(
    interner: &mut Interner<'_>,
    map: Option<&BTreeMap<String, String>>,
) -> Selector {
    match map {
        Some(map) if !map.is_empty() => Selector::All(
            map.iter()
                .map(|(key, value)| Requirement::equals(interner.sym(key), interner.sym(value)))
                .collect(),
        ),
        _ => Selector::Nothing,
    }
}

/// `nodeAffinity`.
pub fn node_affinity(
    interner: &mut Interner<'_>,
    affinity: Option<&core::NodeAffinity>,
) -> NodeAffinity {
    let Some(affinity) = affinity else {
        return NodeAffinity::default();
    };
    NodeAffinity {
        required: affinity
            .required_during_scheduling_ignored_during_execution
            .as_ref()
            .map(|required| node_selector(interner, required)),
        preferred: affinity
            .preferred_during_scheduling_ignored_during_execution
            .iter()
            .flatten()
            .map(|preferred| PreferredNodeTerm {
                weight: preferred.weight,
                term: node_selector_term(interner, &preferred.preference),
            })
            .collect(),
    }
}

/// A node selector.
pub fn node_selector(interner: &mut Interner<'_>, selector: &core::NodeSelector) -> NodeSelector {
    NodeSelector {
        terms: selector
            .node_selector_terms
            .iter()
            .map(|term| node_selector_term(interner, term))
            .collect(),
    }
}

/// One term of a node selector; what cannot be parsed is kept as the term's error.
pub fn node_selector_term(
    interner: &mut Interner<'_>,
    term: &core::NodeSelectorTerm,
) -> NodeSelectorTerm {
    let mut errors = Vec::new();
    let mut collect = |parsed: Result<Requirement, String>| match parsed {
        Ok(requirement) => Some(requirement),
        Err(error) => {
            errors.push(error);
            None
        }
    };
    let expressions = term
        .match_expressions
        .iter()
        .flatten()
        .filter_map(|r| {
            let values = r.values.as_deref().unwrap_or_default();
            collect(requirement(interner, &r.key, &r.operator, values))
        })
        .collect();
    let fields = term
        .match_fields
        .iter()
        .flatten()
        .filter_map(|r| collect(field(interner, r)))
        .collect();
    let error = (!errors.is_empty()).then(|| errors.join(", ").into());
    NodeSelectorTerm {
        expressions,
        fields,
        error,
    }
}

fn requirement(
    interner: &mut Interner<'_>,
    key: &str,
    operator: &str,
    values: &[String],
) -> Result<Requirement, String> {
    check_key(key)?;
    let bound = || {
        let [value] = values else {
            return Err("for 'Gt', 'Lt' operators, exactly one value is required".to_owned());
        };
        value
            .parse::<i64>()
            .map_err(|_| "for 'Gt', 'Lt' operators, the value must be an integer".to_owned())
    };
    let op = match operator {
        "In" => Op::In,
        "NotIn" => Op::NotIn,
        "Exists" => Op::Exists,
        "DoesNotExist" => Op::DoesNotExist,
        "Gt" => Op::Gt(bound()?),
        "Lt" => Op::Lt(bound()?),
        other => return Err(format!("Unsupported value: {other:?}")),
    };
    match op {
        Op::In | Op::NotIn if values.is_empty() => {
            return Err("for 'in', 'notin' operators, values set can't be empty".to_owned());
        }
        Op::Exists | Op::DoesNotExist if !values.is_empty() => {
            return Err("values set must be empty for exists and does not exist".to_owned());
        }
        _ => {}
    }
    for value in values {
        check_value(value)?;
    }
    let values = match op {
        Op::In | Op::NotIn => values.iter().map(|value| interner.sym(value)).collect(),
        _ => [].into(),
    };
    Ok(Requirement {
        key: interner.sym(key),
        op,
        values,
    })
}

fn field(
    interner: &mut Interner<'_>,
    r: &core::NodeSelectorRequirement,
) -> Result<Requirement, String> {
    let op = match r.operator.as_str() {
        "In" => Op::In,
        "NotIn" => Op::NotIn,
        other => return Err(format!("Unsupported value: {other:?}")),
    };
    let [value] = r.values.as_deref().unwrap_or_default() else {
        return Err("must have one element".to_owned());
    };
    Ok(Requirement {
        key: interner.sym(&r.key),
        op,
        values: [interner.sym(value)].into(),
    })
}

/// Letters, digits, `-`, `_` and `.` inside, a letter or digit at both ends.
fn is_name_part(text: &str) -> bool {
    let edge = |b: &u8| b.is_ascii_alphanumeric();
    let bytes = text.as_bytes();
    bytes.first().is_some_and(edge)
        && bytes.last().is_some_and(edge)
        && bytes
            .iter()
            .all(|b| edge(b) || matches!(b, b'-' | b'_' | b'.'))
}

fn check_value(value: &str) -> Result<(), String> {
    if value.is_empty() || value.len() <= 63 && is_name_part(value) {
        return Ok(());
    }
    Err(format!(
        "Invalid value: {value:?}: a valid label must be an empty string or consist of \
         alphanumeric characters, '-', '_' or '.', at most 63 of them, and must start and end \
         with an alphanumeric character"
    ))
}

fn check_key(key: &str) -> Result<(), String> {
    let (prefix, name) = key
        .split_once('/')
        .map_or((None, key), |(prefix, name)| (Some(prefix), name));
    let subdomain = |prefix: &str| {
        let lower = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit();
        prefix.len() <= 253
            && prefix.split('.').all(|part| {
                let bytes = part.as_bytes();
                bytes.first().copied().is_some_and(lower)
                    && bytes.last().copied().is_some_and(lower)
                    && bytes.iter().all(|b| lower(*b) || *b == b'-')
            })
    };
    if name.len() <= 63 && is_name_part(name) && prefix.is_none_or(subdomain) {
        return Ok(());
    }
    Err(format!(
        "Invalid value: {key:?}: a label key must be a qualified name, for example 'app' or 'example.com/app'"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use stowplan_base::Names;
    use stowplan_engine::model::ResourceNames;

    fn parse(key: &str, operator: &str, values: &[&str]) -> Result<Requirement, String> {
        let values: Vec<String> = values.iter().map(|v| (*v).to_owned()).collect();
        let (mut names, mut resource_names) = (Names::new(), ResourceNames::default());
        let mut interner = Interner {
            names: &mut names,
            resource_names: &mut resource_names,
        };
        requirement(&mut interner, key, operator, &values)
    }

    #[test]
    fn what_the_scheduler_cannot_parse_is_an_error() {
        assert!(parse("a", "Gt", &["5"]).is_ok());
        assert!(parse("a", "Gt", &["five"]).is_err());
        assert!(parse("a", "Gt", &["-5"]).is_err(), "not a label value");
        assert!(parse("a", "Lt", &["1", "2"]).is_err());
        assert!(parse("a", "In", &[]).is_err());
        assert!(parse("a", "In", &[""]).is_ok());
        assert!(parse("a", "In", &["two words"]).is_err());
        assert!(parse("a", "Exists", &["x"]).is_err());
        assert!(parse("a/b/c", "Exists", &[]).is_err());
        assert!(parse("example.com/a", "Exists", &[]).is_ok());
        assert!(parse("a", "Near", &["x"]).is_err());
    }
}
