//! The rules of a schema, in the Common Expression Language: `x-kubernetes-validations`.
//!
//! Upstream: `pkg/apiserver/schema/cel/validation.go`. The language itself is the crate `cel`.

mod check;

pub(crate) use check::check;

use crate::check::field_path;
use crate::counterparts::Counterparts;
use crate::prune::{additional, items};
use serde_json::Value;
use stowplan_apimachinery::View;
use stowplan_apimachinery::field::{Error, ErrorKind, ErrorList, Path};
use stowplan_cel::{EvalError, Program, Run, Val, schema};

/// What all rules together may cost for one object. Upstream: `RuntimeCELCostBudget`.
const OBJECT_MAX: u64 = 10_000_000;

const RULES: &str = "x-kubernetes-validations";
/// The longest message that an expression may make.
const MESSAGE_BYTES_MAX: usize = 5 * 1024;

/// Whether a schema has rules anywhere.
pub(crate) fn has_rules(schema: &Value) -> bool {
    let mut found = false;
    crate::check::each_schema(schema, &mut |s| found |= !s.list(RULES).is_empty());
    found
}

/// What the rules of a schema say of an object. `old` is what it was before, if it was.
pub(crate) fn validate(schema: &Value, object: &Value, old: Option<&Value>) -> ErrorList {
    let mut errors = ErrorList::new();
    Check {
        errors: &mut errors,
        left: Some(OBJECT_MAX),
    }
    .value(&Path::ROOT, (schema, schema, true), object, old, old);
    errors
}

struct Check<'a> {
    errors: &'a mut ErrorList,
    /// What rules may still cost; nothing once they have cost too much, and no further one is run.
    left: Option<u64>,
}

const OUT_OF_BUDGET: &str =
    "validation failed due to running out of cost budget, no further validation rules will be run";

/// A value and the schema whose rules judge it.
#[derive(Clone, Copy)]
struct Judged<'a> {
    path: &'a Path<'a>,
    shape: &'a Value,
    value: &'a Value,
    /// What decides whether old faults are forgiven.
    before: Option<&'a Value>,
}

impl Check<'_> {
    /// `rules` is the schema whose rules are run, `shape` the one that describes the value. `old` is
    /// the value that rules see as `oldSelf`, `before` the one that decides whether old faults are
    /// forgiven.
    fn value(
        &mut self,
        path: &Path<'_>,
        (rules, shape, root): (&Value, &Value, bool),
        value: &Value,
        old: Option<&Value>,
        before: Option<&Value>,
    ) {
        if value.is_null() {
            return;
        }
        if self.left.is_none() {
            return;
        }
        let old = old.filter(|old| !old.is_null());
        let judged = Judged {
            path,
            shape,
            value,
            before,
        };
        self.rules(rules.list(RULES), judged, old, root);
        for branch in rules.list("allOf") {
            self.value(path, (branch, shape, root), value, old, None);
        }
        match value {
            Value::Array(list) => {
                let (Some(rules), Some(below)) = (items(rules), items(shape)) else {
                    return;
                };
                let before = old.map(|old| Counterparts::of(shape, old));
                for (i, element) in list.iter().enumerate() {
                    let old = before
                        .as_ref()
                        .and_then(|before| before.of_element(element));
                    let root = below.flag(EMBEDDED);
                    self.value(&path.index(i), (rules, below, root), element, old, old);
                }
            }
            Value::Object(map) => {
                let atomic = shape.text("x-kubernetes-map-type") == "atomic";
                for (name, value) in map {
                    let (old, before) = (
                        old.filter(|_| !atomic).and_then(|old| old.get(name)),
                        before.and_then(|before| before.get(name)),
                    );
                    let others = (additional(rules).flatten(), additional(shape).flatten());
                    if let (Some(rules), Some(below)) = others {
                        let root = below.flag(EMBEDDED);
                        self.value(&path.key(name), (rules, below, root), value, old, before);
                    }
                    let own = (
                        rules.at("properties").get(name),
                        shape.at("properties").get(name),
                    );
                    if let (Some(rules), Some(below)) = own {
                        let root = below.flag(EMBEDDED);
                        self.value(&path.child(name), (rules, below, root), value, old, before);
                    }
                }
            }
            _ => {}
        }
    }

    fn rules(&mut self, rules: &[Value], judged: Judged<'_>, old: Option<&Value>, root: bool) {
        if rules.is_empty() {
            return;
        }
        let value = |value: &Value| match root {
            true => schema::object(value, judged.shape),
            false => schema::value(value, judged.shape),
        };
        let (own, old) = (value(judged.value), old.map(value));
        for rule in rules {
            let Some(left) = self.left else {
                return;
            };
            match left {
                0 => self.stop(judged, OUT_OF_BUDGET.to_owned()),
                left => self.rule(rule, judged, (&own, old.as_ref()), left),
            }
        }
    }

    /// Runs no further rule, and says why.
    fn stop(&mut self, judged: Judged<'_>, why: String) {
        self.left = None;
        self.fault(judged, why);
    }

    fn fault(&mut self, judged: Judged<'_>, why: String) {
        let kind = judged.shape.text("type");
        self.errors.push(Error::invalid(judged.path, kind, why));
    }

    fn rule(
        &mut self,
        rule: &Value,
        judged: Judged<'_>,
        (own, old): (&Val, Option<&Val>),
        left: u64,
    ) {
        let said = said(rule);
        let parsed = match Program::shared(rule.text("rule").trim()) {
            Ok(parsed) => parsed,
            Err(why) => {
                let why = format!("rule compile error: compilation failed: {why}");
                return self.fault(judged, why);
            }
        };
        let transition = parsed.uses("oldSelf");
        let optional = rule.flag("optionalOldSelf");
        if transition && old.is_none() && !optional {
            return;
        }
        let Run { outcome, cost } = run(&parsed, (own, old, optional));
        let Some(left) = left.checked_sub(cost) else {
            return self.stop(judged, OUT_OF_BUDGET.to_owned());
        };
        self.left = Some(left);
        match outcome {
            Ok(Val::Bool(true)) => {}
            Ok(_) if !transition && judged.before == Some(judged.value) => {}
            Ok(_) => {
                let names = (own, old, optional);
                match message(rule, names, left) {
                    Message::Text(text, spent) => {
                        self.left = Some(left.saturating_sub(spent));
                        self.errors.push(failure(rule, judged, text));
                    }
                    Message::TooDear(why) => {
                        self.left = None;
                        let kind = judged.shape.text("type");
                        let below = below(rule, judged.shape);
                        let place = match below.is_empty() {
                            true => *judged.path,
                            false => judged.path.child(&below),
                        };
                        self.errors.push(Error::invalid(&place, kind, why));
                    }
                }
            }
            Err(why @ EvalError::CostLimit) => self.stop(
                judged,
                format!(
                    "'{why}': no further validation rules will be run due to call cost exceeds limit for rule: {said}"
                ),
            ),
            Err(why @ EvalError::NoSuchOverload) => self.fault(
                judged,
                format!(
                    "'{why}': call arguments did not match a supported operator, function or macro signature for rule: {said}"
                ),
            ),
            Err(why) => self.fault(judged, format!("{why} evaluating rule: {said}")),
        }
    }
}

const EMBEDDED: &str = "x-kubernetes-embedded-resource";

/// How a rule is named in messages.
fn said(rule: &Value) -> &str {
    match rule.text("message") {
        "" => rule.text("rule").trim(),
        message => message.trim(),
    }
}

/// What is said of an object that breaks a rule. `text` is what an expression made of it.
fn failure(rule: &Value, judged: Judged<'_>, text: Option<String>) -> Error {
    let Judged {
        path, shape, value, ..
    } = judged;
    let detail = text.unwrap_or_else(|| match rule.text("message") {
        "" => format!("failed rule: {}", said(rule)),
        message => message.trim().to_owned(),
    });
    let below = below(rule, shape);
    let place = match below.is_empty() {
        true => *path,
        false => path.child(&below),
    };
    let shown = match shape.text("type") {
        "object" | "array" => None,
        _ => Some(stowplan_apimachinery::field::Shown::shown(value)),
    };
    match rule.text("reason") {
        "FieldValueForbidden" => Error::forbidden(&place, detail),
        "FieldValueRequired" => Error::required(&place, detail),
        "FieldValueDuplicate" => Error::other(ErrorKind::Duplicate, &place, shown, ""),
        _ => Error::other(ErrorKind::Invalid, &place, shown, detail),
    }
}

/// The place below its own that a rule names.
fn below(rule: &Value, shape: &Value) -> String {
    let parts = field_path(rule.text("fieldPath"), shape, true).map(|(parts, _)| parts);
    normalised(&parts.unwrap_or_default(), shape)
}

/// The parts of a path, as errors show them: keys of maps stand in brackets.
fn normalised(parts: &[String], shape: &Value) -> String {
    let (mut out, mut here) = (String::new(), shape);
    for part in parts {
        match here.at("properties").get(part) {
            Some(below) => {
                if !out.is_empty() {
                    out.push('.');
                }
                out.push_str(part);
                here = below;
            }
            None => {
                out.push_str(&format!("[{part}]"));
                here = here.at("additionalProperties");
            }
        }
    }
    out
}

/// What came of the expression for a message.
enum Message {
    /// The message, if it makes one that can be shown, and what that cost.
    Text(Option<String>, u64),
    /// It cost too much.
    TooDear(String),
}

/// What an expression comes to, and what that cost.
fn run(program: &Program, (own, old, optional): Names<'_>) -> Run {
    let mut variables = vec![("self", own.clone())];
    match (old.cloned(), optional) {
        (old, true) => variables.push(("oldSelf", Val::optional(old))),
        (Some(old), false) => variables.push(("oldSelf", old)),
        (None, false) => {}
    }
    program.run(&variables)
}

/// `self`, `oldSelf` and whether that may be missing.
type Names<'a> = (&'a Val, Option<&'a Val>, bool);

fn message(rule: &Value, names: Names<'_>, left: u64) -> Message {
    let expression = rule.text("messageExpression");
    let parsed = match expression {
        "" => None,
        expression => Program::shared(expression.trim()).ok(),
    };
    let Some(parsed) = parsed else {
        return Message::Text(None, 0);
    };
    let Run { outcome, cost } = run(&parsed, names);
    if cost > left {
        let why = "messageExpression evaluation failed due to running out of cost budget, no further validation rules will be run";
        return Message::TooDear(why.to_owned());
    }
    let text = match outcome {
        Ok(Val::Text(text)) => text,
        Err(EvalError::CostLimit) => {
            let shown = stowplan_apimachinery::go::quote(expression);
            return Message::TooDear(format!(
                "no further validation rules will be run due to call cost exceeds limit for messageExpression: {shown}"
            ));
        }
        _ => return Message::Text(None, cost),
    };
    let text = text.trim();
    let shows = !text.is_empty() && text.len() <= MESSAGE_BYTES_MAX && !text.contains(['\n', '\r']);
    Message::Text(shows.then(|| text.to_owned()), cost)
}

#[cfg(test)]
mod tests;
