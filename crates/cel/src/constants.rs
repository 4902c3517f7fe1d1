//! Parts of an expression that are the same in every run: made once, when it is read, and at no cost.
//! Upstream: `decOptimize` of `cel-go/interpreter/decorators.go`.

use crate::eval::{Outcome, Scope, eval};
use crate::expr::Expr;
use crate::meter::Meter;
use crate::value::{Entries, Val};
use std::sync::Arc;

/// A part that does not change.
#[derive(Clone, Debug)]
pub(crate) struct Constant {
    /// As it was written.
    pub(crate) expr: Expr,
    /// What it comes to.
    pub(crate) value: Outcome,
}

/// What these make of a constant is a constant.
const CONVERSIONS: [&str; 10] = [
    "bool",
    "bytes",
    "double",
    "duration",
    "dyn",
    "int",
    "string",
    "timestamp",
    "type",
    "uint",
];

/// What is wrong with a conversion that can only fail. Upstream: programs with one are not made.
pub(crate) fn hopeless(expr: &Expr) -> Option<String> {
    let mut found = None;
    expr.each(&mut |part| {
        if let Expr::Constant(constant) = part
            && let (Expr::Call { name, with, .. }, Err(why)) = (&constant.expr, &constant.value)
            && with.len() == 1
        {
            found.get_or_insert_with(|| match name.as_str() {
                "duration" | "timestamp" => {
                    format!("compilation failed: ERROR: invalid {name} argument")
                }
                _ => format!("program instantiation failed: {why}"),
            });
        }
    });
    found
}

/// The expression with its constant parts made.
pub(crate) fn folded(expr: Expr) -> Expr {
    let parts = |list: Vec<Expr>| list.into_iter().map(folded).collect::<Vec<_>>();
    let part = |expr: Box<Expr>| Box::new(folded(*expr));
    match expr {
        expr @ (Expr::Literal(_) | Expr::Name(_) | Expr::Constant(_) | Expr::Member(..)) => expr,
        Expr::List(list) => {
            let list = parts(list);
            let constant = list.iter().all(is_constant);
            made_if(constant, Expr::List(list))
        }
        Expr::Map(entries) => {
            let entries = entries.into_iter().map(|(k, v)| (folded(k), folded(v)));
            let entries: Vec<_> = entries.collect();
            let constant = entries
                .iter()
                .all(|(k, v)| is_constant(k) && is_constant(v));
            made_if(constant, Expr::Map(entries))
        }
        Expr::Call {
            of: None,
            name,
            with,
        } if CONVERSIONS.contains(&name.as_str()) => {
            let with = parts(with);
            let constant = with.iter().all(is_constant);
            made_if(
                constant,
                Expr::Call {
                    of: None,
                    name,
                    with,
                },
            )
        }
        Expr::Call { of, name, with } => Expr::Call {
            of: of.map(part),
            name,
            with: parts(with),
        },
        Expr::Field { of, name, optional } => Expr::Field {
            of: part(of),
            name,
            optional,
        },
        Expr::Index { of, at, optional } => Expr::Index {
            of: part(of),
            at: part(at),
            optional,
        },
        Expr::Not(inner) => Expr::Not(part(inner)),
        Expr::Negative(inner) => Expr::Negative(part(inner)),
        Expr::Binary("in", a, b) => member(part(a), part(b)),
        Expr::Binary(operator, a, b) => Expr::Binary(operator, part(a), part(b)),
        Expr::Logic(decides, terms) => Expr::Logic(decides, parts(terms)),
        Expr::Choice(which, yes, no) => Expr::Choice(part(which), part(yes), part(no)),
    }
}

/// Whether it is the same in every run.
pub(crate) fn is_constant(expr: &Expr) -> bool {
    matches!(expr, Expr::Literal(_) | Expr::Constant(_))
}

fn made_if(constant: bool, expr: Expr) -> Expr {
    match constant {
        true => {
            let meter = Meter::default();
            let value = eval(&expr, &Scope::new(Vec::new(), &meter));
            Expr::Constant(Box::new(Constant { expr, value }))
        }
        false => expr,
    }
}

/// `a in b`: elements of a constant list are looked up, not compared one by one. Upstream:
/// `maybeOptimizeSetMembership`.
fn member(a: Box<Expr>, b: Box<Expr>) -> Expr {
    let list = match &*b {
        Expr::Constant(constant) => match (&constant.expr, &constant.value) {
            (Expr::List(_), Ok(Val::List(list))) => Some(Arc::clone(list)),
            _ => None,
        },
        _ => None,
    };
    let whole = Expr::Binary("in", a, b);
    match list.map(|list| (list.is_empty(), members(&list))) {
        // Among none there is nothing, whatever it is.
        Some((true, _)) => Expr::Constant(Box::new(Constant {
            expr: whole,
            value: Ok(Val::Bool(false)),
        })),
        Some((false, Some(members))) => Expr::Member(Box::new(whole), Arc::new(members)),
        _ => whole,
    }
}

/// The elements of a list of plain values.
fn members(list: &[Val]) -> Option<Entries> {
    let mut members = Entries::default();
    for element in list.iter() {
        match element {
            // Nothing is equal to what is no number.
            Val::Double(n) if n.is_nan() => {}
            Val::Bool(_) | Val::Int(_) | Val::Uint(_) | Val::Double(_) | Val::Text(_) => {
                members.insert(element.clone(), Val::Null);
            }
            _ => return None,
        }
    }
    Some(members)
}
