//! Rules in the Common Expression Language: `x-kubernetes-validations`.
//!
//! Upstream: `pkg/apiserver/schema/cel/validation.go` over `github.com/google/cel-go`. What is here
//! is the part of the language that rules about objects use; an expression outside of it fails with
//! a message of its own.

mod convert;
mod cost;
mod eval;
mod functions;
mod parse;
mod value;

pub(crate) use cost::check;

use crate::check::field_path;
use crate::prune::{additional, items};
use eval::Scope;
use parse::Expr;
use serde_json::Value;
use stowplan_machinery::View;
use stowplan_machinery::field::{Error, ErrorKind, ErrorList, Path};
use value::Val;

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
    }
    .value(&Path::ROOT, (schema, schema, true), object, old, old);
    errors
}

struct Check<'a> {
    errors: &'a mut ErrorList,
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
        let old = old.filter(|old| !old.is_null());
        for rule in rules.list(RULES) {
            self.rule(path, (rule, shape, root), value, old, before);
        }
        for branch in rules.list("allOf") {
            self.value(path, (branch, shape, root), value, old, None);
        }
        match value {
            Value::Array(list) => {
                let (Some(rules), Some(below)) = (items(rules), items(shape)) else {
                    return;
                };
                for (i, element) in list.iter().enumerate() {
                    let old = old.and_then(|old| crate::validate::counterpart(shape, old, element));
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

    fn rule(
        &mut self,
        path: &Path<'_>,
        (rule, shape, root): (&Value, &Value, bool),
        value: &Value,
        old: Option<&Value>,
        before: Option<&Value>,
    ) {
        let kind = shape.text("type");
        let said = said(rule);
        let parsed = match parse::parse(rule.text("rule").trim()) {
            Ok(parsed) => parsed,
            Err(why) => {
                let why = format!("rule compile error: compilation failed: {why}");
                self.errors.push(Error::invalid(path, kind, why));
                return;
            }
        };
        let transition = parsed.uses("oldSelf");
        let optional = rule.flag("optionalOldSelf");
        if transition && old.is_none() && !optional {
            return;
        }
        let own = convert::of(value, shape, root);
        let before_self = old.map(|old| convert::of(old, shape, root));
        let scope = Scope::new(own, before_self, optional);
        match eval::eval(&parsed, &scope) {
            Ok(Val::Bool(true)) => {}
            Ok(_) => {
                if !transition && before == Some(value) {
                    return;
                }
                let error = failure(path, rule, shape, value, &scope);
                self.errors.push(error);
            }
            Err(why) if why.starts_with("no such overload") => {
                let why = format!(
                    "'{why}': call arguments did not match a supported operator, function or macro signature for rule: {said}"
                );
                self.errors.push(Error::invalid(path, kind, why));
            }
            Err(why) => {
                let why = format!("{why} evaluating rule: {said}");
                self.errors.push(Error::invalid(path, kind, why));
            }
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

/// What is said of an object that breaks a rule.
fn failure(
    path: &Path<'_>,
    rule: &Value,
    shape: &Value,
    value: &Value,
    scope: &Scope<'_>,
) -> Error {
    let detail = message(rule, scope).unwrap_or_else(|| match rule.text("message") {
        "" => format!("failed rule: {}", said(rule)),
        message => message.trim().to_owned(),
    });
    let below = rule.text("fieldPath");
    let parts = field_path(below, shape, true).map(|(parts, _)| parts);
    let below = normalised(&parts.unwrap_or_default(), shape);
    let place = match below.is_empty() {
        true => *path,
        false => path.child(&below),
    };
    let shown = match shape.text("type") {
        "object" | "array" => None,
        _ => Some(stowplan_machinery::field::Shown::shown(value)),
    };
    match rule.text("reason") {
        "FieldValueForbidden" => Error::forbidden(&place, detail),
        "FieldValueRequired" => Error::required(&place, detail),
        "FieldValueDuplicate" => Error::other(ErrorKind::Duplicate, &place, shown, ""),
        _ => Error::other(ErrorKind::Invalid, &place, shown, detail),
    }
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

/// The message that an expression makes, if it makes one that can be shown.
fn message(rule: &Value, scope: &Scope<'_>) -> Option<String> {
    let expression = rule.text("messageExpression");
    if expression.is_empty() {
        return None;
    }
    let parsed: Expr = parse::parse(expression.trim()).ok()?;
    let Ok(Val::Text(text)) = eval::eval(&parsed, scope) else {
        return None;
    };
    let text = text.trim();
    let shows = !text.is_empty() && text.len() <= MESSAGE_BYTES_MAX && !text.contains(['\n', '\r']);
    shows.then(|| text.to_owned())
}

#[cfg(test)]
mod tests;
