//! The most that an expression can cost. Upstream: `cel-go/checker/cost.go`, and `EstimateCallCost` of
//! `apiserver/pkg/cel/library/cost.go`.
//!
//! Upstream knows the type of every expression. Here types are known of what a schema describes, of
//! literals and of what most functions make; what is not known counts for little.

mod functions;
mod shape;
mod size;
#[cfg(test)]
mod tests;

use crate::expr::Expr;
use crate::meter::{LIST, MAP};
use crate::value::Val;
use functions::{function, self_compare};
use serde_json::Value;
use shape::{Kind, Shape, Size, joined, walk};
use std::rc::Rc;

pub use size::size_max;

/// The names that an expression may use.
pub(crate) struct Names<'a> {
    /// The schema of the first variable.
    root: Option<&'a Value>,
    known: Vec<(String, Shape<'a>)>,
}

/// What an expression costs at the most, and what comes of it.
type Cost<'a> = (u64, Shape<'a>);

impl<'a> Names<'a> {
    /// Variables, and the schemas that describe them.
    pub(crate) fn new(declared: &[(&str, &'a Value)]) -> Self {
        let known = declared.iter();
        Self {
            root: declared.first().map(|(_, schema)| *schema),
            known: known
                .map(|(name, schema)| ((*name).to_owned(), Shape::of(schema)))
                .collect(),
        }
    }

    /// The most that running an expression can cost.
    pub(crate) fn cost(&mut self, expr: &Expr) -> u64 {
        self.estimate(expr).0
    }

    /// A value of which nothing is known that a path could lead to: upstream takes it to be as large as
    /// the object as a whole.
    fn pathless(&self, kind: Kind) -> Shape<'a> {
        match self.root {
            Some(root) => Shape {
                kind,
                ..Shape::of(root)
            },
            None => Shape::new(kind, Size::exactly(0)),
        }
    }

    fn all(&mut self, list: &[Expr]) -> (u64, Vec<Shape<'a>>) {
        let mut cost = 0u64;
        let mut shapes = Vec::new();
        for expr in list {
            let (own, shape) = self.estimate(expr);
            cost = cost.saturating_add(own);
            shapes.push(shape);
        }
        (cost, shapes)
    }

    fn estimate(&mut self, expr: &Expr) -> Cost<'a> {
        match expr {
            Expr::Literal(value) => {
                let kind = match value {
                    Val::Text(_) | Val::Bytes(_) => Kind::Text,
                    _ => Kind::Scalar,
                };
                (0, Shape::new(kind, Size::exactly(value.size())))
            }
            Expr::Name(name) => {
                let known = self.known.iter().rev().find(|(known, _)| known == name);
                let shape = known.map(|(_, shape)| shape.clone());
                (1, shape.unwrap_or_else(|| self.pathless(Kind::Unknown)))
            }
            Expr::List(list) => {
                let (cost, shapes) = self.all(list);
                let item = shapes.into_iter().reduce(joined);
                let item = item.unwrap_or_else(|| Shape::new(Kind::Unknown, Size::exactly(0)));
                let shape = Shape::list(Size::exactly(list.len() as u64), item);
                (cost.saturating_add(LIST), shape)
            }
            Expr::Map(entries) => self.map(entries),
            Expr::Field { of, name, .. } => {
                let (cost, of) = self.estimate(of);
                let unknown = Shape::new(Kind::Unknown, Size::exactly(1));
                let shape = match of.schema {
                    Some(_) => of.below(Some(name)).unwrap_or(unknown),
                    None => self.pathless(Kind::Unknown),
                };
                (cost.saturating_add(1), shape)
            }
            Expr::Index { of, at, .. } => {
                let (cost, of) = self.estimate(of);
                let cost = cost.saturating_add(self.cost(at)).saturating_add(1);
                let unknown = Shape::new(Kind::Unknown, Size::exactly(1));
                let shape = of.below(None).unwrap_or(unknown);
                let schema = shape.schema.or(self.root);
                (cost, Shape { schema, ..shape })
            }
            Expr::Not(of) | Expr::Negative(of) => {
                (self.cost(of).saturating_add(1), Shape::scalar())
            }
            Expr::Logic(_, terms) => (self.all(terms).0, Shape::scalar()),
            Expr::Choice(which, yes, no) => {
                let which = self.cost(which);
                let ((yes, a), (no, b)) = (self.estimate(yes), self.estimate(no));
                (which.saturating_add(yes.max(no)), joined(a, b))
            }
            Expr::Binary(operator, a, b) => {
                let ((left, a), (right, b)) = (self.estimate(a), self.estimate(b));
                let (own, shape) = binary(operator, a, b);
                (left.saturating_add(right).saturating_add(own), shape)
            }
            Expr::Call { of, name, with } => self.call(of.as_deref(), name, with),
            Expr::Constant(constant) => self.estimate(&constant.expr),
            Expr::Member(whole, _) => self.estimate(whole),
        }
    }

    fn map(&mut self, entries: &[(Expr, Expr)]) -> Cost<'a> {
        let mut cost = MAP;
        let mut item: Option<Shape<'a>> = None;
        for (key, value) in entries {
            let (value_cost, shape) = self.estimate(value);
            let entry = self.cost(key).saturating_add(value_cost);
            cost = cost.saturating_add(entry);
            item = Some(match item {
                Some(item) => joined(item, shape),
                None => shape,
            });
        }
        let size = Size::exactly(entries.len() as u64);
        let item = item.map(Rc::new);
        let shape = Shape::new(Kind::Map, size);
        (cost, Shape { item, ..shape })
    }

    fn call(&mut self, of: Option<&Expr>, name: &str, with: &[Expr]) -> Cost<'a> {
        if let (None, "has", [Expr::Field { of, .. }]) = (of, name, with) {
            return (self.cost(of), Shape::scalar());
        }
        if let Some(of) = of
            && let Some((variables, bodies)) = crate::fold::signature(name, with)
        {
            return self.fold(of, name, &variables, bodies);
        }
        let library = match of {
            Some(Expr::Name(library)) => self.known.iter().all(|(known, _)| known != library),
            _ => false,
        };
        let (cost, shapes) = match (of, library) {
            (Some(of), false) => {
                let (own, shape) = self.estimate(of);
                let (cost, mut shapes) = self.all(with);
                shapes.insert(0, shape);
                (cost.saturating_add(own), shapes)
            }
            _ => self.all(with),
        };
        let full = match (of, library) {
            (Some(Expr::Name(library)), true) => format!("{library}.{name}"),
            _ => name.to_owned(),
        };
        let (own, shape) = function(&full, &shapes, of.is_some() && !library, with);
        (cost.saturating_add(own), shape)
    }

    /// What cel-go makes of a macro: looking at the accumulator, and changing it, for every element.
    fn fold(&mut self, of: &Expr, name: &str, names: &[&str], bodies: &[Expr]) -> Cost<'a> {
        let (range, shape) = self.estimate(of);
        let item = shape.below(None);
        let is_list = shape.kind != Kind::Map;
        if name.starts_with("opt") {
            let kind = shape.kind;
            let inner = Shape::new(
                kind,
                match kind {
                    Kind::Text | Kind::List | Kind::Map => Size::UNKNOWN,
                    _ => Size::exactly(1),
                },
            );
            let (body, _) = self.bodies(names, vec![inner.clone()], bodies);
            let own = LIST + 1 + u64::from(name == "optMap");
            let bound = range.saturating_add(own).saturating_add(body);
            let cost = range.saturating_add(1).saturating_add(bound);
            return (cost, inner);
        }
        let item = item.unwrap_or_else(|| self.pathless(Kind::Unknown));
        let key = Shape::new(Kind::Unknown, Size::exactly(0));
        let variables = match (names.len(), is_list) {
            (2, _) => vec![key, item.clone()],
            (_, true) => vec![item.clone()],
            (_, false) => vec![key],
        };
        let (body, made) = self.bodies(names, variables, bodies);
        let times = shape.size.most;
        let made_list = |item: Shape<'a>| Shape::list(shape.size, item);
        let (once, each, made) = match name {
            "all" => (1, 3, Shape::scalar()),
            "exists" => (1, 4, Shape::scalar()),
            "exists_one" | "existsOne" => (2, 2, Shape::scalar()),
            "filter" => (LIST + 1, LIST + 3, made_list(item)),
            "transformMap" | "transformMapEntry" => {
                let each = 2 + u64::from(name == "transformMap");
                let made = Shape {
                    item: Some(Rc::new(made)),
                    ..Shape::new(Kind::Map, shape.size)
                };
                (MAP + 1, each, made)
            }
            "sortBy" => {
                let squared = times.saturating_mul(times);
                let own = self_compare(squared, made.kind == Kind::Text);
                let once = own.saturating_add(LIST + LIST + 3);
                let sorted = Shape::list(Size::up_to(squared), item);
                (once, LIST + 2, sorted)
            }
            _ => (LIST + 1, LIST + 2, made_list(made)),
        };
        let rounds = times.saturating_mul(body.saturating_add(each));
        let cost = range.saturating_add(once).saturating_add(rounds);
        (cost, made)
    }

    /// What the expressions of a macro cost in a round, and what the last one makes.
    fn bodies(
        &mut self,
        names: &[&str],
        variables: Vec<Shape<'a>>,
        bodies: &[Expr],
    ) -> (u64, Shape<'a>) {
        let before = self.known.len();
        let names = names.iter().map(|name| (*name).to_owned());
        self.known.extend(names.zip(variables));
        let (cost, mut shapes) = self.all(bodies);
        self.known.truncate(before);
        (cost, shapes.pop().unwrap_or_else(Shape::scalar))
    }
}

fn binary<'a>(operator: &str, a: Shape<'a>, b: Shape<'a>) -> Cost<'a> {
    let least = walk(a.size.most.min(b.size.most));
    let cost = match operator {
        "==" | "!=" => least,
        "<" | "<=" | ">" | ">=" if a.kind == Kind::Text || b.kind == Kind::Text => least,
        "in" if b.kind != Kind::Map => b.size.most,
        "+" => {
            let size = a.size.and(b.size);
            return match (a.kind, b.kind) {
                (Kind::Text, _) | (_, Kind::Text) => {
                    (walk(size.most), Shape::new(Kind::Text, size))
                }
                (Kind::List, _) => (
                    1,
                    Shape {
                        size,
                        ..joined(a, b)
                    },
                ),
                _ => (1, Shape::scalar()),
            };
        }
        _ => 1,
    };
    (cost, Shape::scalar())
}
