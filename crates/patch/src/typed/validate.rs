//! What is wrong with an object in the eyes of its type.
//!
//! Upstream: `structured-merge-diff/v6/typed/validate.go`.

use super::{NO_SHAPE, Shape, element, type_under};
use crate::fields::Element;
use serde_json::Value;
use std::collections::BTreeSet;
use stowplan_apimachinery::go;
use stowplan_schema::{List, ListKind, Object, Scalar, Type};

/// A fault and where it is.
struct Fault {
    path: String,
    message: String,
}

/// Checks a value. Elements that share a key may be allowed: objects that were written before may
/// have them, what is applied may not.
pub(crate) fn validate(ty: &Type, value: &Value, allow_duplicates: bool) -> Result<(), String> {
    let mut check = Check {
        allow_duplicates,
        faults: Vec::new(),
    };
    check.visit(ty, value);
    let texts: Vec<String> = check.faults.iter().map(Fault::text).collect();
    match texts.as_slice() {
        [] => Ok(()),
        [one] => Err(one.clone()),
        many => Err(format!("errors:\n  {}", many.join("\n  "))),
    }
}

impl Fault {
    fn text(&self) -> String {
        match self.path.is_empty() {
            true => self.message.clone(),
            false => format!("{}: {}", self.path, self.message),
        }
    }
}

struct Check {
    allow_duplicates: bool,
    faults: Vec<Fault>,
}

impl Check {
    fn fault(&mut self, message: impl Into<String>) {
        self.faults.push(Fault {
            path: String::new(),
            message: message.into(),
        });
    }

    /// Faults since then lie one step deeper.
    fn under(&mut self, since: usize, element: &Element<'_>) {
        if self.faults.len() > since {
            let mut prefix = String::new();
            element.print(&mut prefix);
            for fault in self.faults.iter_mut().skip(since) {
                fault.path.insert_str(0, &prefix);
            }
        }
    }

    fn visit(&mut self, ty: &Type, value: &Value) {
        match (Shape::of(ty, Some(value)), value) {
            (Shape::Nothing, _) => self.fault(NO_SHAPE),
            (_, Value::Null) => {}
            (Shape::Scalar(scalar), value) => self.visit_scalar(scalar, value),
            (Shape::List(list), Value::Array(items)) => self.visit_list(list, items),
            (Shape::List(_), other) => {
                self.fault(format!("expected list, got &{{{}}}", go::plain(other)));
            }
            (Shape::Map(object), Value::Object(map)) => self.visit_map(object, map),
            (Shape::Map(_), other) => {
                self.fault(format!("expected map, got &{{{}}}", go::plain(other)));
            }
        }
    }

    fn visit_scalar(&mut self, scalar: Scalar, value: &Value) {
        match (scalar, value) {
            (Scalar::Number, Value::Number(_))
            | (Scalar::String, Value::String(_))
            | (Scalar::Boolean, Value::Bool(_))
            | (Scalar::Untyped, Value::Number(_) | Value::String(_) | Value::Bool(_)) => {}
            (Scalar::Number, other) => self.fault(format!(
                "expected numeric (int or float), got {}",
                go::type_name(other)
            )),
            (Scalar::String, other) => self.fault(format!(
                "expected string, got &value.valueUnstructured{{Value:{}}}",
                go::syntax(other)
            )),
            (Scalar::Boolean, other) => {
                self.fault(format!("expected boolean, got &{{{}}}", go::plain(other)));
            }
            (Scalar::Untyped, other) => {
                self.fault(format!(
                    "expected any scalar, got &{{{}}}",
                    go::plain(other)
                ));
            }
        }
    }

    fn visit_list(&mut self, list: &List, items: &[Value]) {
        let keyed = list.kind != ListKind::Atomic;
        let mut seen = BTreeSet::new();
        for (i, item) in items.iter().enumerate() {
            let element = if keyed {
                match element(list, item) {
                    Ok(element) => element,
                    // The rest of the list cannot be talked about.
                    Err(why) => return self.fault(format!("element {i}: {why}")),
                }
            } else {
                Element::Index(i64::try_from(i).unwrap_or(i64::MAX))
            };
            if keyed && !self.allow_duplicates && !seen.insert(element.clone()) {
                let mut key = String::new();
                element.print(&mut key);
                self.fault(format!("duplicate entries for key {key}"));
            }
            let since = self.faults.len();
            self.visit(&list.item, item);
            self.under(since, &element);
        }
    }

    fn visit_map(&mut self, object: &Object, map: &serde_json::Map<String, Value>) {
        for (key, value) in map {
            let since = self.faults.len();
            let ty = type_under(object, key);
            match ty {
                Some((ty, _)) => self.visit(ty, value),
                None => self.fault("field not declared in schema"),
            }
            self.under(since, &Element::Field(key));
            if ty.is_none() {
                return; // upstream looks no further either
            }
        }
    }
}
