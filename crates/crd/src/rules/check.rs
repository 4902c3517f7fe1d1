//! What rules may cost at most, judged before they ever run.
//!
//! Upstream: `getExpressionCost` and `CELSchemaContext` in `pkg/apis/apiextensions/validation`, with
//! the estimates of `cel-go/checker/cost.go`.

use super::RULES;
use crate::prune::{additional, items};
use serde_json::Value;
use stowplan_apimachinery::View;
use stowplan_apimachinery::field::{Error, ErrorList, Path};
use stowplan_cel::{Program, size_max};

/// What one rule may cost.
const RULE_MAX: u64 = 10_000_000;
/// What all rules of a schema may cost together.
const SCHEMA_MAX: u64 = 100_000_000;

const HINT: &str = "(try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are declared)";

struct Costs {
    errors: ErrorList,
    total: u64,
    /// Places of rules and their costs.
    rules: Vec<(String, u64)>,
}

/// Faults of the rules of a schema.
pub(crate) fn check(schema: &Value, place: &Path<'_>) -> ErrorList {
    let mut costs = Costs {
        errors: ErrorList::new(),
        total: 0,
        rules: Vec::new(),
    };
    costs.visit(schema, place, 1);
    let mut errors = costs.errors;
    if costs.total > SCHEMA_MAX {
        costs
            .rules
            .sort_by_key(|(_, cost)| std::cmp::Reverse(*cost));
        for (at, _) in costs.rules.iter().take(4) {
            let why = "contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema";
            errors.push(Error::forbidden(&Path::new(at), why));
        }
        let what = "x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema";
        errors.push(Error::forbidden(
            place,
            exceeds(what, costs.total, SCHEMA_MAX),
        ));
    }
    errors
}

fn exceeds(what: &str, cost: u64, limit: u64) -> String {
    let factor = cost as f64 / limit as f64;
    let factor = match factor {
        f if f > 100.0 => "more than 100x".to_owned(),
        f if f < 1.5 => format!("{f:.6}x"),
        f => format!("{f:.1}x"),
    };
    format!("{what} exceeds budget by factor of {factor} {HINT}")
}

impl Costs {
    fn visit(&mut self, schema: &Value, place: &Path<'_>, times: u64) {
        let properties = place.child("properties");
        if let Some(Some(others)) = additional(schema) {
            let times = times.saturating_mul(size_max(schema));
            self.visit(others, &place.child("additionalProperties"), times);
        }
        for (name, property) in schema.entries("properties") {
            self.visit(property, &properties.key(name), times);
        }
        if let Some(below) = items(schema) {
            let times = times.saturating_mul(size_max(schema));
            self.visit(below, &place.child("items"), times);
        }
        let at = place.child(RULES);
        for (i, rule) in schema.list(RULES).iter().enumerate() {
            let at = at.index(i);
            let at = at.child("rule");
            match Program::parse(rule.text("rule").trim()) {
                Err(why) => {
                    let why = format!("compilation failed: {why}");
                    self.errors.push(Error::invalid(&at, rule, why));
                }
                Ok(parsed) => match parsed.fault() {
                    Some(why) => self.errors.push(Error::invalid(&at, rule, why)),
                    None => self.judge(&parsed, schema, &at, times),
                },
            }
        }
    }

    fn judge(&mut self, rule: &Program, schema: &Value, at: &Path<'_>, times: u64) {
        let declared = [("self", schema), ("oldSelf", schema)];
        let cost = rule.cost_max(&declared).saturating_mul(times);
        if cost > RULE_MAX {
            let why = exceeds("estimated rule cost", cost, RULE_MAX);
            self.errors.push(Error::forbidden(at, why));
        }
        self.total = self.total.saturating_add(cost);
        self.rules.push((at.to_string(), cost));
    }
}
