//! What an expression comes to.

use crate::constants::is_constant;
use crate::expr::Expr;
use crate::meter::{self, Meter};
use crate::value::{Entries, Val};
use crate::{fold, functions, kubernetes, times};

/// The names that an expression may use, and what its run has cost so far.
pub(crate) struct Scope<'a> {
    parent: Option<&'a Scope<'a>>,
    names: Vec<(&'a str, Val)>,
    pub(crate) meter: &'a Meter,
}

pub(crate) type Outcome = Result<Val, String>;

impl<'a> Scope<'a> {
    /// The variables that an expression is given.
    pub(crate) fn new(names: Vec<(&'a str, Val)>, meter: &'a Meter) -> Self {
        Self {
            parent: None,
            names,
            meter,
        }
    }

    /// The scope with more names in it.
    pub(crate) fn with<'b>(&'b self, names: Vec<(&'b str, Val)>) -> Scope<'b> {
        Scope {
            parent: Some(self),
            names,
            meter: self.meter,
        }
    }

    pub(crate) fn get(&self, name: &str) -> Option<&Val> {
        let own = self.names.iter().find(|(n, _)| *n == name);
        own.map(|(_, v)| v).or_else(|| self.parent?.get(name))
    }
}

/// What is said of a call that nothing answers.
pub(crate) const NO_OVERLOAD: &str = "no such overload";

/// An operation that the values do not know.
pub(crate) fn overload<T>() -> Result<T, String> {
    Err(NO_OVERLOAD.to_owned())
}

/// Evaluates an expression.
pub(crate) fn eval(expr: &Expr, scope: &Scope<'_>) -> Outcome {
    match expr {
        Expr::Literal(value) => Ok(value.clone()),
        Expr::Constant(constant) => constant.value.clone(),
        Expr::Member(whole, members) => member(whole, members, scope),
        Expr::Name(name) => named(name, scope),
        Expr::List(list) => {
            scope.meter.spend(meter::LIST)?;
            shallow(values(list, scope)?.into())
        }
        Expr::Map(entries) => {
            let entry = |(k, v): &(Expr, Expr)| {
                let key = eval(k, scope)?;
                match key.is_key() {
                    true => Ok((key, eval(v, scope)?)),
                    false => Err(no_key(&key)),
                }
            };
            let made: Result<Val, String> = entries.iter().map(entry).collect();
            scope.meter.spend(meter::MAP)?;
            shallow(made?)
        }
        Expr::Field { of, name, optional } => {
            let cost = select(of);
            let of = eval(of, scope)?;
            scope.meter.spend(cost)?;
            field(&of, name, *optional)
        }
        Expr::Index { of, at, optional } => {
            let cost = select(of);
            let (of, at) = (eval(of, scope)?, eval(at, scope)?);
            scope.meter.spend(cost + meter::long(&at))?;
            index(&of, &at, *optional)
        }
        Expr::Call { of, name, with } => shallow(call(of.as_deref(), name, with, scope)?),
        Expr::Not(inner) => {
            let inner = eval(inner, scope)?;
            scope.meter.spend(1)?;
            match inner {
                Val::Bool(b) => Ok(Val::Bool(!b)),
                _ => overload(),
            }
        }
        Expr::Negative(inner) => {
            let inner = eval(inner, scope)?;
            scope.meter.spend(1)?;
            negative(&inner)
        }
        Expr::Logic(decides, terms) => logic(terms, *decides, scope),
        Expr::Binary(operator, a, b) => {
            let (a, b) = (eval(a, scope)?, eval(b, scope)?);
            scope.meter.spend(meter::operator(operator, &a, &b))?;
            binary(operator, a, b)
        }
        Expr::Choice(which, yes, no) => match eval(which, scope)? {
            Val::Bool(true) => eval(yes, scope),
            Val::Bool(false) => eval(no, scope),
            _ => overload(),
        },
    }
}

/// Whether something is among constants.
fn member(whole: &Expr, members: &Entries, scope: &Scope<'_>) -> Outcome {
    match whole {
        Expr::Binary(_, own, _) => Ok(Val::Bool(members.has(&eval(own, scope)?))),
        _ => overload(),
    }
}

/// What a field or an element costs: what is no name has to be made one first.
fn select(of: &Expr) -> u64 {
    match of {
        Expr::Name(_) | Expr::Field { .. } | Expr::Index { .. } => 1,
        _ => 2,
    }
}

/// The value, if it does not nest too deep: what walks through one calls itself for every level.
fn shallow(value: Val) -> Outcome {
    const DEPTH_MAX: u32 = 500;
    match value.bulk().depth > DEPTH_MAX {
        true => Err("value nests too deep".to_owned()),
        false => Ok(value),
    }
}

/// What is said of a value that cannot be the key of a map.
pub(crate) fn no_key(value: &Val) -> String {
    format!("unsupported key type: {}", value.type_name())
}

fn named(name: &str, scope: &Scope<'_>) -> Outcome {
    if let Some(value) = scope.get(name) {
        scope.meter.spend(1)?;
        return Ok(value.clone());
    }
    match functions::type_of_name(name) {
        // The names of types are constants.
        Some(name) => Ok(Val::Type(name)),
        None => Err(format!(
            "undeclared reference to '{name}' (in container '')"
        )),
    }
}

fn negative(value: &Val) -> Outcome {
    match value {
        Val::Int(n) => n.checked_neg().map(Val::Int).ok_or_else(overflow),
        Val::Double(n) => Ok(Val::Double(-n)),
        Val::Duration(n) => times::duration(-n),
        _ => overload(),
    }
}

/// What is said of a number that has become too large.
pub(crate) fn overflow() -> String {
    "integer overflow".to_owned()
}

/// Any term can decide, whatever is wrong with the others.
fn logic(terms: &[Expr], decides: bool, scope: &Scope<'_>) -> Outcome {
    let mut fault = None;
    for term in terms {
        match eval(term, scope) {
            Ok(Val::Bool(b)) if b == decides => return Ok(Val::Bool(decides)),
            Ok(Val::Bool(_)) => {}
            Ok(_) => fault = fault.or_else(|| Some(NO_OVERLOAD.to_owned())),
            // Nothing is decided by a run that was ended.
            Err(why) if why == meter::CANCELLED => return Err(why),
            Err(why) => fault = fault.or(Some(why)),
        }
    }
    fault.map_or(Ok(Val::Bool(!decides)), Err)
}

fn field(of: &Val, name: &str, optional: bool) -> Outcome {
    match of {
        Val::Optional(inner) => {
            let found = inner.as_ref().and_then(|inner| inner.field(name));
            Ok(Val::optional(found.cloned()))
        }
        of if optional => Ok(Val::optional(of.field(name).cloned())),
        Val::Map(_) => {
            let missing = || format!("no such key: {name}");
            of.field(name).cloned().ok_or_else(missing)
        }
        _ => overload(),
    }
}

fn index(of: &Val, at: &Val, optional: bool) -> Outcome {
    let found = match (of, at) {
        (Val::Optional(None), _) => return Ok(Val::Optional(None)),
        (Val::Optional(Some(inner)), at) => return index(inner, at, true),
        (Val::List(list), Val::Int(_) | Val::Uint(_) | Val::Double(_)) => {
            let place = place(at).ok_or_else(|| {
                let at = functions::shown(at);
                format!("unsupported index value {at} in list")
            });
            place.and_then(|i| {
                let found = usize::try_from(i).ok().and_then(|i| list.get(i)).cloned();
                found.ok_or_else(|| format!("index out of bounds: {i}"))
            })
        }
        (Val::Map(_), at) => {
            let missing = || format!("no such key: {}", functions::shown(at));
            of.get(at).cloned().ok_or_else(missing)
        }
        _ => overload(),
    };
    match optional {
        true => Ok(Val::optional(found.ok())),
        false => found,
    }
}

/// The whole number that an index is.
fn place(at: &Val) -> Option<i128> {
    match at {
        Val::Int(n) => Some(i128::from(*n)),
        Val::Uint(n) => Some(i128::from(*n)),
        Val::Double(n) if n.fract() == 0.0 => Some(*n as i128),
        _ => None,
    }
}

fn binary(operator: &str, a: Val, b: Val) -> Outcome {
    use std::cmp::Ordering;
    let compare = |fits: fn(Ordering) -> bool| match a.order(&b) {
        Some(order) => Ok(Val::Bool(fits(order))),
        None => overload(),
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
            _ => overload(),
        },
        _ => arithmetic(operator, a, b),
    }
}

/// The whole number that an operator makes of two, or why there is none.
macro_rules! whole {
    ($operator:expr, $a:expr, $b:expr, $make:expr, $overflow:expr) => {{
        if $b == 0 && matches!($operator, "/" | "%") {
            return Err(match $operator {
                "%" => "modulus by zero".to_owned(),
                _ => "division by zero".to_owned(),
            });
        }
        let done = match $operator {
            "+" => $a.checked_add($b),
            "-" => $a.checked_sub($b),
            "*" => $a.checked_mul($b),
            "/" => $a.checked_div($b),
            _ => $a.checked_rem($b),
        };
        done.map($make).ok_or_else($overflow)
    }};
}

fn arithmetic(operator: &str, a: Val, b: Val) -> Outcome {
    match (operator, a, b) {
        (operator, Val::Int(a), Val::Int(b)) => whole!(operator, a, b, Val::Int, overflow),
        (operator, Val::Uint(a), Val::Uint(b)) => {
            let why = || "unsigned integer overflow".to_owned();
            whole!(operator, a, b, Val::Uint, why)
        }
        ("+", Val::Double(a), Val::Double(b)) => Ok(Val::Double(a + b)),
        ("-", Val::Double(a), Val::Double(b)) => Ok(Val::Double(a - b)),
        ("*", Val::Double(a), Val::Double(b)) => Ok(Val::Double(a * b)),
        ("/", Val::Double(a), Val::Double(b)) => Ok(Val::Double(a / b)),
        ("+", Val::Text(a), Val::Text(b)) => Ok([&*a, &*b].concat().into()),
        ("+", Val::Bytes(a), Val::Bytes(b)) => Ok(Val::Bytes([&*a, &*b].concat().into())),
        ("+", Val::List(a), Val::List(b)) => {
            let both: Vec<Val> = a.iter().chain(b.iter()).cloned().collect();
            Ok(both.into())
        }
        ("+", Val::Duration(a), Val::Duration(b)) => times::duration(a + b),
        ("-", Val::Duration(a), Val::Duration(b)) => times::duration(a - b),
        ("+", Val::Time(a), Val::Duration(b)) | ("+", Val::Duration(b), Val::Time(a)) => {
            times::time(a + b)
        }
        ("-", Val::Time(a), Val::Duration(b)) => times::time(a - b),
        ("-", Val::Time(a), Val::Time(b)) => times::duration(a - b),
        _ => overload(),
    }
}

/// Words before functions that are no values.
const LIBRARIES: [&str; 6] = ["sets", "optional", "format", "ip", "lists", "strings"];

fn call(of: Option<&Expr>, name: &str, with: &[Expr], scope: &Scope<'_>) -> Outcome {
    if let (None, "has", [Expr::Field { of, name, .. }]) = (of, name, with) {
        return match eval(of, scope)? {
            Val::Optional(inner) => {
                let found = inner.is_some_and(|inner| inner.field(name).is_some());
                Ok(Val::Bool(found))
            }
            of @ Val::Map(_) => Ok(Val::Bool(of.field(name).is_some())),
            _ => overload(),
        };
    }
    if let Some(of) = of
        && let Some(outcome) = fold::run(of, name, with, scope)
    {
        return outcome;
    }
    // Functions of a library are written as methods of its name.
    if let Some(Expr::Name(library)) = of
        && LIBRARIES.contains(&library.as_str())
        && scope.get(library).is_none()
    {
        let with = values(with, scope)?;
        let full = format!("{library}.{name}");
        let refs: Vec<&Val> = with.iter().collect();
        scope.meter.spend(meter::call(&full, &refs))?;
        return functions::of_library(library, name, &with);
    }
    let own = of.map(|of| eval(of, scope)).transpose()?;
    // What stands in for a value that is there is not looked at.
    if let (Some(Val::Optional(Some(inner))), "or" | "orValue", [_]) = (&own, name, with) {
        return Ok(match name {
            "or" => Val::Optional(Some(inner.clone())),
            _ => Val::clone(inner),
        });
    }
    let pattern = with.get(usize::from(own.is_none()));
    let constant = pattern.is_some_and(is_constant);
    let with = values(with, scope)?;
    let all: Vec<&Val> = own.iter().chain(&with).collect();
    scope.meter.spend(meter::call(name, &all))?;
    // What a rule holds is compiled once; what data holds, as often as there is data.
    if let ("matches" | "find" | "findAll", [Val::Text(_), Val::Text(pattern), ..], false) =
        (name, all.as_slice(), constant)
    {
        scope.meter.compiles(pattern)?;
    }
    match &own {
        Some(own) => functions::method(own, name, &with, scope.meter),
        None => match kubernetes::plain(name, &with) {
            Some(outcome) => outcome,
            None => functions::plain(name, &with, scope.meter),
        },
    }
}

fn values(list: &[Expr], scope: &Scope<'_>) -> Result<Vec<Val>, String> {
    list.iter().map(|e| eval(e, scope)).collect()
}
