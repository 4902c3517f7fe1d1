//! Expressions, as trees.

use crate::constants::Constant;
use crate::value::{Entries, Val};
use std::sync::Arc;

/// An expression.
#[derive(Clone, Debug)]
pub(crate) enum Expr {
    Literal(Val),
    Name(String),
    List(Vec<Expr>),
    Map(Vec<(Expr, Expr)>),
    /// `a.b`; `optional` for `a.?b`.
    Field {
        of: Box<Expr>,
        name: String,
        optional: bool,
    },
    Index {
        of: Box<Expr>,
        at: Box<Expr>,
        optional: bool,
    },
    /// `f(a)` or `of.f(a)`.
    Call {
        of: Option<Box<Expr>>,
        name: String,
        with: Vec<Expr>,
    },
    Not(Box<Expr>),
    Negative(Box<Expr>),
    Binary(&'static str, Box<Expr>, Box<Expr>),
    /// `a || b || c`, or with `&&`: any term may decide, by being this.
    Logic(bool, Vec<Expr>),
    Choice(Box<Expr>, Box<Expr>, Box<Expr>),
    /// A part that is the same in every run.
    Constant(Box<Constant>),
    /// `a in b`, as it was written, where these are the elements of `b` in every run.
    Member(Box<Expr>, Arc<Entries>),
}

impl Expr {
    /// Calls something for the expression and all in it.
    pub(crate) fn each<'a>(&'a self, visit: &mut dyn FnMut(&'a Expr)) {
        visit(self);
        match self {
            Self::Literal(_) | Self::Name(_) => {}
            Self::List(list) | Self::Logic(_, list) => list.iter().for_each(|e| e.each(visit)),
            Self::Map(entries) => entries.iter().for_each(|(k, v)| {
                k.each(visit);
                v.each(visit);
            }),
            Self::Field { of, .. } => of.each(visit),
            Self::Index { of, at, .. } => {
                of.each(visit);
                at.each(visit);
            }
            Self::Call { of, with, .. } => {
                of.iter().for_each(|e| e.each(visit));
                with.iter().for_each(|e| e.each(visit));
            }
            Self::Not(e) | Self::Negative(e) => e.each(visit),
            Self::Binary(_, a, b) => {
                a.each(visit);
                b.each(visit);
            }
            Self::Choice(a, b, c) => [a, b, c].into_iter().for_each(|e| e.each(visit)),
            Self::Constant(constant) => constant.expr.each(visit),
            Self::Member(whole, _) => whole.each(visit),
        }
    }
}
