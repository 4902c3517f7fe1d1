//! What an expression comes to.

use super::functions;
use super::parse::Expr;
use super::value::Val;

/// The names that an expression may use.
pub(super) struct Scope<'a> {
    parent: Option<&'a Scope<'a>>,
    names: Vec<(&'a str, Val)>,
}

pub(super) type Outcome = Result<Val, String>;

impl<'a> Scope<'a> {
    /// `self` and, if there is one, `oldSelf`.
    pub(super) fn new(own: Val, old: Option<Val>, optional: bool) -> Self {
        let mut names = vec![("self", own)];
        match (old, optional) {
            (old, true) => names.push(("oldSelf", Val::Optional(old.map(Box::new)))),
            (Some(old), false) => names.push(("oldSelf", old)),
            (None, false) => {}
        }
        Self {
            parent: None,
            names,
        }
    }

    fn with(&'a self, name: &'a str, value: Val) -> Self {
        Self {
            parent: Some(self),
            names: vec![(name, value)],
        }
    }

    fn get(&self, name: &str) -> Option<&Val> {
        let own = self.names.iter().find(|(n, _)| *n == name);
        own.map(|(_, v)| v).or_else(|| self.parent?.get(name))
    }
}

/// What is said of a call that nothing answers.
pub(super) const NO_OVERLOAD: &str = "no such overload";

/// Evaluates an expression.
pub(super) fn eval(expr: &Expr, scope: &Scope<'_>) -> Outcome {
    match expr {
        Expr::Literal(value) => Ok(value.clone()),
        Expr::Name(name) => match scope.get(name) {
            Some(value) => Ok(value.clone()),
            None => match functions::type_of_name(name) {
                Some(name) => Ok(Val::Type(name)),
                None => Err(format!(
                    "undeclared reference to '{name}' (in container '')"
                )),
            },
        },
        Expr::List(list) => {
            let list: Result<Vec<Val>, String> = list.iter().map(|e| eval(e, scope)).collect();
            Ok(Val::List(list?))
        }
        Expr::Map(entries) => {
            let entry = |(k, v): &(Expr, Expr)| Ok((eval(k, scope)?, eval(v, scope)?));
            let entries: Result<Vec<(Val, Val)>, String> = entries.iter().map(entry).collect();
            Ok(Val::Map(entries?))
        }
        Expr::Field { of, name, optional } => {
            let of = eval(of, scope)?;
            field(of, name, *optional)
        }
        Expr::Index { of, at, optional } => index(&eval(of, scope)?, &eval(at, scope)?, *optional),
        Expr::Call { of, name, with } => call(of.as_deref(), name, with, scope),
        Expr::Not(inner) => match eval(inner, scope)? {
            Val::Bool(b) => Ok(Val::Bool(!b)),
            _ => Err(NO_OVERLOAD.to_owned()),
        },
        Expr::Negative(inner) => match eval(inner, scope)? {
            Val::Int(n) => n.checked_neg().map(Val::Int).ok_or_else(overflow),
            Val::Double(n) => Ok(Val::Double(-n)),
            Val::Duration(n) => Ok(Val::Duration(-n)),
            _ => Err(NO_OVERLOAD.to_owned()),
        },
        Expr::Binary("||", a, b) => logic(a, b, true, scope),
        Expr::Binary("&&", a, b) => logic(a, b, false, scope),
        Expr::Binary(operator, a, b) => binary(operator, eval(a, scope)?, eval(b, scope)?),
        Expr::Choice(which, yes, no) => match eval(which, scope)? {
            Val::Bool(true) => eval(yes, scope),
            Val::Bool(false) => eval(no, scope),
            _ => Err(NO_OVERLOAD.to_owned()),
        },
    }
}

fn overflow() -> String {
    "integer overflow".to_owned()
}

/// Either side can decide, whatever is wrong with the other.
fn logic(a: &Expr, b: &Expr, decides: bool, scope: &Scope<'_>) -> Outcome {
    let left = eval(a, scope);
    if matches!(left, Ok(Val::Bool(v)) if v == decides) {
        return left;
    }
    let right = eval(b, scope);
    match (left, right) {
        (_, Ok(Val::Bool(v))) if v == decides => Ok(Val::Bool(v)),
        (Err(why), _) | (Ok(Val::Bool(_)), Err(why)) => Err(why),
        (Ok(Val::Bool(_)), Ok(Val::Bool(_))) => Ok(Val::Bool(!decides)),
        _ => Err(NO_OVERLOAD.to_owned()),
    }
}

fn field(of: Val, name: &str, optional: bool) -> Outcome {
    match of {
        Val::Optional(None) => Ok(Val::Optional(None)),
        Val::Optional(Some(inner)) => {
            let found = inner.field(name).cloned();
            Ok(Val::Optional(found.map(Box::new)))
        }
        of if optional => Ok(Val::Optional(of.field(name).cloned().map(Box::new))),
        Val::Map(_) => {
            let missing = || format!("no such key: {name}");
            of.field(name).cloned().ok_or_else(missing)
        }
        _ => Err(NO_OVERLOAD.to_owned()),
    }
}

fn index(of: &Val, at: &Val, optional: bool) -> Outcome {
    let found = match (of, at) {
        (Val::Optional(None), _) => return Ok(Val::Optional(None)),
        (Val::Optional(Some(inner)), at) => return index(inner, at, true),
        (Val::List(list), Val::Int(i)) => {
            let found = usize::try_from(*i).ok().and_then(|i| list.get(i)).cloned();
            found.ok_or_else(|| format!("index out of bounds: {i}"))
        }
        (Val::Map(_), at) => {
            let missing = || format!("no such key: {}", functions::shown(at));
            of.get(at).cloned().ok_or_else(missing)
        }
        _ => Err(NO_OVERLOAD.to_owned()),
    };
    match optional {
        true => Ok(Val::Optional(found.ok().map(Box::new))),
        false => found,
    }
}

fn binary(operator: &str, a: Val, b: Val) -> Outcome {
    use std::cmp::Ordering;
    let compare = |fits: fn(Ordering) -> bool| match a.order(&b) {
        Some(order) => Ok(Val::Bool(fits(order))),
        None => Err(NO_OVERLOAD.to_owned()),
    };
    match operator {
        "==" => Ok(Val::Bool(a == b)),
        "!=" => Ok(Val::Bool(a != b)),
        "<" => compare(Ordering::is_lt),
        "<=" => compare(Ordering::is_le),
        ">" => compare(Ordering::is_gt),
        ">=" => compare(Ordering::is_ge),
        "in" => match &b {
            Val::List(list) => Ok(Val::Bool(list.contains(&a))),
            Val::Map(_) => Ok(Val::Bool(b.get(&a).is_some())),
            _ => Err(NO_OVERLOAD.to_owned()),
        },
        _ => arithmetic(operator, a, b),
    }
}

fn arithmetic(operator: &str, a: Val, b: Val) -> Outcome {
    let zero = || match operator {
        "%" => "modulus by zero".to_owned(),
        _ => "division by zero".to_owned(),
    };
    match (a, b) {
        (Val::Int(a), Val::Int(b)) => {
            if b == 0 && matches!(operator, "/" | "%") {
                return Err(zero());
            }
            let done = match operator {
                "+" => a.checked_add(b),
                "-" => a.checked_sub(b),
                "*" => a.checked_mul(b),
                "/" => a.checked_div(b),
                _ => a.checked_rem(b),
            };
            done.map(Val::Int).ok_or_else(overflow)
        }
        (Val::Uint(a), Val::Uint(b)) => {
            if b == 0 && matches!(operator, "/" | "%") {
                return Err(zero());
            }
            let done = match operator {
                "+" => a.checked_add(b),
                "-" => a.checked_sub(b),
                "*" => a.checked_mul(b),
                "/" => a.checked_div(b),
                _ => a.checked_rem(b),
            };
            let why = "unsigned integer overflow";
            done.map(Val::Uint).ok_or_else(|| why.to_owned())
        }
        (Val::Double(a), Val::Double(b)) => match operator {
            "+" => Ok(Val::Double(a + b)),
            "-" => Ok(Val::Double(a - b)),
            "*" => Ok(Val::Double(a * b)),
            "/" => Ok(Val::Double(a / b)),
            _ => Err(NO_OVERLOAD.to_owned()),
        },
        (Val::Text(a), Val::Text(b)) if operator == "+" => Ok(Val::Text(a + &b)),
        (Val::List(mut a), Val::List(b)) if operator == "+" => {
            a.extend(b);
            Ok(Val::List(a))
        }
        (Val::Duration(a), Val::Duration(b)) if operator == "+" => Ok(Val::Duration(a + b)),
        (Val::Duration(a), Val::Duration(b)) if operator == "-" => Ok(Val::Duration(a - b)),
        (Val::Time(a), Val::Duration(b)) if operator == "+" => Ok(Val::Time(a + b)),
        (Val::Duration(a), Val::Time(b)) if operator == "+" => Ok(Val::Time(a + b)),
        (Val::Time(a), Val::Duration(b)) if operator == "-" => Ok(Val::Time(a - b)),
        (Val::Time(a), Val::Time(b)) if operator == "-" => Ok(Val::Duration(a - b)),
        _ => Err(NO_OVERLOAD.to_owned()),
    }
}

fn call(of: Option<&Expr>, name: &str, with: &[Expr], scope: &Scope<'_>) -> Outcome {
    if let (None, "has", [Expr::Field { of, name, .. }]) = (of, name, with) {
        return match eval(of, scope)? {
            Val::Optional(inner) => {
                let found = inner.is_some_and(|inner| inner.field(name).is_some());
                Ok(Val::Bool(found))
            }
            of @ Val::Map(_) => Ok(Val::Bool(of.field(name).is_some())),
            _ => Err(NO_OVERLOAD.to_owned()),
        };
    }
    if let (Some(of), [Expr::Name(variable), rest @ ..]) = (of, with)
        && let Some(outcome) = macros(of, name, variable, rest, scope)
    {
        return outcome;
    }
    // Functions of a library are written as methods of its name.
    if let Some(Expr::Name(library)) = of
        && scope.get(library).is_none()
        && matches!(library.as_str(), "math" | "sets" | "optional")
    {
        let with = values(with, scope)?;
        return functions::of_library(library, name, &with);
    }
    let own = of.map(|of| eval(of, scope)).transpose()?;
    let with = values(with, scope)?;
    match own {
        Some(own) => functions::method(&own, name, &with),
        None => functions::plain(name, &with),
    }
}

fn values(list: &[Expr], scope: &Scope<'_>) -> Result<Vec<Val>, String> {
    list.iter().map(|e| eval(e, scope)).collect()
}

/// `all`, `exists`, `map` and their kin; `None` if the call is none of them.
fn macros(
    of: &Expr,
    name: &str,
    variable: &str,
    rest: &[Expr],
    scope: &Scope<'_>,
) -> Option<Outcome> {
    let known = match name {
        "all" | "exists" | "exists_one" | "existsOne" | "filter" => rest.len() == 1,
        "map" => matches!(rest.len(), 1 | 2),
        "optMap" | "optFlatMap" => rest.len() == 1,
        _ => false,
    };
    known.then(|| run_macro(eval(of, scope)?, name, variable, rest, scope))
}

fn run_macro(of: Val, name: &str, variable: &str, rest: &[Expr], scope: &Scope<'_>) -> Outcome {
    let (Some(first), Some(last)) = (rest.first(), rest.last()) else {
        return Err(NO_OVERLOAD.to_owned());
    };
    let elements = match of {
        Val::List(list) => list,
        Val::Map(entries) => entries.into_iter().map(|(k, _)| k).collect(),
        Val::Optional(inner) if name.starts_with("opt") => {
            let Some(inner) = inner else {
                return Ok(Val::Optional(None));
            };
            let made = eval(first, &scope.with(variable, *inner))?;
            return Ok(match name {
                "optMap" => Val::Optional(Some(Box::new(made))),
                _ => made,
            });
        }
        _ => return Err(NO_OVERLOAD.to_owned()),
    };
    let test = |element: &Val| match eval(first, &scope.with(variable, element.clone()))? {
        Val::Bool(b) => Ok(b),
        _ => Err(NO_OVERLOAD.to_owned()),
    };
    match name {
        "all" | "exists" => {
            let decides = name == "exists";
            let mut fault = None;
            for element in &elements {
                match test(element) {
                    Ok(b) if b == decides => return Ok(Val::Bool(decides)),
                    Ok(_) => {}
                    Err(why) => fault = fault.or(Some(why)),
                }
            }
            match fault {
                Some(why) => Err(why),
                None => Ok(Val::Bool(!decides)),
            }
        }
        "exists_one" | "existsOne" => {
            let mut count = 0usize;
            for element in &elements {
                count += usize::from(test(element)?);
            }
            Ok(Val::Bool(count == 1))
        }
        "filter" => {
            let mut kept = Vec::new();
            for element in elements {
                if test(&element)? {
                    kept.push(element);
                }
            }
            Ok(Val::List(kept))
        }
        _ => {
            let mut made = Vec::new();
            for element in elements {
                if rest.len() == 1 || test(&element)? {
                    made.push(eval(last, &scope.with(variable, element))?);
                }
            }
            Ok(Val::List(made))
        }
    }
}
