//! What rules may cost at most, judged before they ever run.
//!
//! Upstream: `getExpressionCost` and `CELSchemaContext` in `pkg/apis/apiextensions/validation`, with
//! the estimates of `cel-go/checker/cost.go`.

use super::RULES;
use super::expr::Expr;
use super::parse::{self, Program};
use super::value::Val;
use crate::prune::{additional, items};
use serde_json::Value;
use stowplan_machinery::View;
use stowplan_machinery::field::{Error, ErrorList, Path};

/// What one rule may cost.
const RULE_MAX: u64 = 10_000_000;
/// What all rules of a schema may cost together.
const SCHEMA_MAX: u64 = 100_000_000;
/// The largest object that a request can hold, in bytes.
const OBJECT_MAX: u64 = 3 * 1024 * 1024;

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
            let times = times.saturating_mul(size(schema));
            self.visit(others, &place.child("additionalProperties"), times);
        }
        for (name, property) in schema.entries("properties") {
            self.visit(property, &properties.key(name), times);
        }
        if let Some(below) = items(schema) {
            let times = times.saturating_mul(size(schema));
            self.visit(below, &place.child("items"), times);
        }
        let at = place.child(RULES);
        for (i, rule) in schema.list(RULES).iter().enumerate() {
            let at = at.index(i);
            let at = at.child("rule");
            match parse::parse(rule.text("rule").trim()) {
                Err(why) => {
                    let why = format!("compilation failed: {why}");
                    self.errors.push(Error::invalid(&at, rule, why));
                }
                Ok(parsed) => self.judge(&parsed, schema, &at, times),
            }
        }
    }

    fn judge(&mut self, rule: &Program, schema: &Value, at: &Path<'_>, times: u64) {
        let estimate = rule.walk(|rule| {
            let mut names = vec![("self".to_owned(), schema), ("oldSelf".to_owned(), schema)];
            cost(rule, &mut names)
        });
        let cost = estimate.unwrap_or(u64::MAX).saturating_mul(times);
        if cost > RULE_MAX {
            let why = exceeds("estimated rule cost", cost, RULE_MAX);
            self.errors.push(Error::forbidden(at, why));
        }
        self.total = self.total.saturating_add(cost);
        self.rules.push((at.to_string(), cost));
    }
}

/// The least bytes that a value takes up in JSON, with what separates it from the next.
fn least_bytes(schema: &Value) -> u64 {
    match schema.text("type") {
        "object" => {
            let required = schema.list("required").iter().filter_map(Value::as_str);
            let own = required.filter_map(|name| {
                let property = schema.at("properties").get(name)?;
                Some(name.len() as u64 + least_bytes(property) + 4)
            });
            2 + own.sum::<u64>()
        }
        "string" | "array" => 2,
        "boolean" => 4,
        _ => 1,
    }
}

/// The most elements, entries or bytes that a value can have.
fn size(schema: &Value) -> u64 {
    let limit = |key: &str| schema.int(key).and_then(|n| u64::try_from(n).ok());
    match schema.text("type") {
        "string" => match limit("maxLength") {
            // Characters can take up several bytes.
            Some(length) => length.saturating_mul(4),
            None => match schema.text("format") {
                "duration" => 32,
                "date" => 12,
                "date-time" => 24,
                _ => OBJECT_MAX - 2,
            },
        },
        "array" => limit("maxItems").unwrap_or_else(|| {
            let least = items(schema).map_or(1, least_bytes);
            OBJECT_MAX.saturating_sub(2) / (least + 1)
        }),
        "object" => limit("maxProperties").unwrap_or_else(|| {
            let least = additional(schema).flatten().map_or(1, least_bytes);
            OBJECT_MAX.saturating_sub(2) / (least + 4)
        }),
        _ => 1,
    }
}

type Names<'a> = Vec<(String, &'a Value)>;

/// The schema of what an expression comes to, if it is part of the object.
fn schema_of<'a>(expr: &Expr, names: &Names<'a>) -> Option<&'a Value> {
    match expr {
        Expr::Name(name) => {
            let found = names.iter().rev().find(|(n, _)| n == name);
            found.map(|(_, schema)| *schema)
        }
        Expr::Field { of, name, .. } => {
            let of = schema_of(of, names)?;
            let own = of.at("properties").get(name);
            own.or_else(|| additional(of).flatten())
        }
        Expr::Index { of, .. } => {
            let of = schema_of(of, names)?;
            items(of).or_else(|| additional(of).flatten())
        }
        _ => None,
    }
}

/// The most that a value of an expression can hold.
fn size_of(expr: &Expr, names: &Names<'_>) -> u64 {
    match expr {
        Expr::Literal(Val::Text(text)) => text.len() as u64,
        Expr::Literal(_) => 1,
        Expr::List(list) => list.len() as u64,
        Expr::Map(entries) => entries.len() as u64,
        Expr::Binary("+", a, b) => size_of(a, names).saturating_add(size_of(b, names)),
        Expr::Call {
            of: Some(of), name, ..
        } if matches!(
            name.as_str(),
            "filter" | "map" | "lowerAscii" | "upperAscii" | "trim"
        ) =>
        {
            size_of(of, names)
        }
        expr => schema_of(expr, names).map_or(1, size),
    }
}

/// A tenth of the size: what walking through a text costs.
fn walk(size: u64) -> u64 {
    size.div_ceil(10)
}

fn cost<'a>(expr: &Expr, names: &mut Names<'a>) -> u64 {
    let sum = |parts: &[&Expr], names: &mut Names<'a>| {
        let each = parts.iter().map(|part| cost(part, names));
        each.fold(0u64, u64::saturating_add)
    };
    match expr {
        Expr::Literal(_) => 0,
        Expr::Name(_) => 1,
        Expr::List(list) => {
            let parts: Vec<&Expr> = list.iter().collect();
            sum(&parts, names).saturating_add(10)
        }
        Expr::Map(entries) => {
            let parts: Vec<&Expr> = entries.iter().flat_map(|(k, v)| [k, v]).collect();
            sum(&parts, names).saturating_add(30)
        }
        Expr::Field { of, .. } => cost(of, names).saturating_add(1),
        Expr::Index { of, at, .. } => sum(&[of, at], names).saturating_add(1),
        Expr::Not(e) | Expr::Negative(e) => cost(e, names).saturating_add(1),
        Expr::Choice(a, b, c) => {
            let (which, yes, no) = (cost(a, names), cost(b, names), cost(c, names));
            which.saturating_add(yes.max(no))
        }
        Expr::Logic(_, terms) => {
            let parts: Vec<&Expr> = terms.iter().collect();
            sum(&parts, names)
        }
        Expr::Binary(operator, a, b) => {
            let parts = sum(&[a, b], names);
            let own = match *operator {
                "in" => size_of(b, names),
                "==" | "!=" | "<" | "<=" | ">" | ">=" => {
                    walk(size_of(a, names).min(size_of(b, names))).max(1)
                }
                "+" => walk(size_of(expr, names)).max(1),
                _ => 1,
            };
            parts.saturating_add(own)
        }
        Expr::Call { of, name, with } => call(of.as_deref(), name, with, names),
    }
}

fn call<'a>(of: Option<&Expr>, name: &str, with: &[Expr], names: &mut Names<'a>) -> u64 {
    let own = of.map_or(0, |of| cost(of, names));
    if let (Some(of), [Expr::Name(variable), rest @ ..]) = (of, with)
        && matches!(name, "all" | "exists" | "exists_one" | "map" | "filter")
    {
        let schema = schema_of(of, names);
        let item = schema.and_then(items).unwrap_or(&Value::Null);
        names.push((variable.clone(), item));
        let body = rest
            .iter()
            .map(|e| cost(e, names))
            .fold(0u64, u64::saturating_add);
        names.pop();
        let times = size_of(of, names);
        return own.saturating_add(times.saturating_mul(body.saturating_add(3)));
    }
    let parts = with
        .iter()
        .map(|e| cost(e, names))
        .fold(own, u64::saturating_add);
    let text = of.or(with.first()).map_or(1, |e| size_of(e, names));
    let other = with.last().map_or(1, |e| size_of(e, names));
    let extra = match name {
        "matches" => walk(text.saturating_add(1)).saturating_mul(other.div_ceil(4).max(1)),
        "contains" => walk(text).saturating_mul(walk(other)),
        "startsWith" | "endsWith" => walk(other),
        "split" | "replace" | "lowerAscii" | "upperAscii" | "trim" | "indexOf" | "join" => {
            walk(text)
        }
        _ => 1,
    };
    parts.saturating_add(extra.max(1))
}
