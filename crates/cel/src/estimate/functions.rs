//! The most that functions can cost. Upstream: `EstimateCallCost` of `apiserver/pkg/cel/library/cost.go`.

use super::Cost;
use super::shape::{Kind, Shape, Size, walk};
use crate::expr::Expr;
use crate::meter::LIST;
use crate::value::Val;

/// Upstream: `estimateListSortCost` and `estimateListDistinct` in `cel-go/ext/lists.go`.
pub(super) fn self_compare(squared: u64, texts: bool) -> u64 {
    let more = if texts { squared.div_ceil(10) } else { 0 };
    let own = squared.saturating_mul(2).saturating_add(more);
    own.saturating_add(LIST + 1)
}

/// What a function costs besides its arguments, of which the first one may be what it is a method of, and
/// what it makes.
pub(super) fn function<'a>(
    name: &str,
    with: &[Shape<'a>],
    is_method: bool,
    args: &[Expr],
) -> Cost<'a> {
    let unknown = Shape::new(Kind::Unknown, Size::exactly(1));
    let own = with.first().unwrap_or(&unknown);
    let other = with.get(1).unwrap_or(&unknown);
    let text = |size: Size| Shape::new(Kind::Text, size);
    match name {
        "isSorted" | "sum" | "max" | "min" | "indexOf" | "lastIndexOf" => {
            let item = own.below(None);
            let cost = match (&item, own.kind) {
                (_, Kind::Text) => own.walk(),
                (Some(item), _) if item.kind == Kind::Text => {
                    own.size.most.saturating_mul(item.walk().saturating_add(1))
                }
                _ => own.size.most,
            };
            let made = match name {
                "max" | "min" => item.map(|item| Shape {
                    size: made_size(item.kind),
                    ..item
                }),
                _ => None,
            };
            (cost, made.unwrap_or_else(Shape::scalar))
        }
        "url" | "cidr" | "isIP" | "isCIDR" | "quantity" | "isQuantity" | "semver" | "isSemver" => {
            (own.walk(), Shape::scalar())
        }
        "ip" if !is_method => (own.walk(), Shape::scalar()),
        "ip.isCanonical" => (double_walk(own), Shape::scalar()),
        "containsIP" | "containsCIDR" => {
            // Addresses have at most 16 bytes.
            let masked = if name == "containsCIDR" { 3 } else { 0 };
            let read = if other.kind == Kind::Text {
                other.walk()
            } else {
                0
            };
            (read.saturating_add(4 + masked), Shape::scalar())
        }
        "validate" => {
            /// A quarter of the longest expression that a format stands for.
            const REGEX: u64 = 32;
            (other.walk().saturating_mul(REGEX), Shape::scalar())
        }
        "string" => (1, text(Size::UNKNOWN)),
        "charAt" => (1, text(Size::UNKNOWN)),
        "dyn" => (1, own.clone()),
        "orValue" | "or" | "value" | "optional.of" | "optional.ofNonZeroValue" => (1, own.clone()),
        _ => match of_texts(name, with, is_method, args) {
            Some(cost) => cost,
            None => of_lists(name, own, other, args),
        },
    }
}

/// What a function of texts costs, and what it makes.
fn of_texts<'a>(
    name: &str,
    with: &[Shape<'a>],
    is_method: bool,
    args: &[Expr],
) -> Option<Cost<'a>> {
    let unknown = Shape::new(Kind::Unknown, Size::exactly(1));
    let own = with.first().unwrap_or(&unknown);
    let other = with.get(1).unwrap_or(&unknown);
    let text = |size: Size| Shape::new(Kind::Text, size);
    let regex = || {
        let walked = walk(own.size.most.saturating_add(1));
        walked.saturating_mul(other.size.most.div_ceil(4))
    };
    Some(match name {
        "lowerAscii" | "upperAscii" | "substring" | "trim" => (own.walk(), text(own.size)),
        "replace" => {
            let to = with.get(2).unwrap_or(&unknown);
            (
                double_walk(own),
                text(replaced(own.size, other.size, to.size)),
            )
        }
        "split" => {
            let most = match args.get(1) {
                Some(Expr::Literal(Val::Int(n))) => u64::try_from(*n).unwrap_or(u64::MAX),
                _ => own.size.most,
            };
            (
                double_walk(own),
                Shape::list(Size::up_to(most), made_item()),
            )
        }
        "findAll" => (
            regex(),
            Shape::list(Size::up_to(own.size.most), made_item()),
        ),
        "find" => (regex(), text(Size::up_to(own.size.most))),
        "matches" => (regex(), Shape::scalar()),
        "contains" => (own.walk().saturating_mul(other.walk()), Shape::scalar()),
        "startsWith" | "endsWith" => (other.walk(), Shape::scalar()),
        "join" => {
            let item = own.schema.and(own.below(None));
            let each = item.map_or(u64::MAX, |item| item.size.most);
            let between = match is_method && with.len() > 1 {
                true => other
                    .size
                    .most
                    .saturating_mul(own.size.most.saturating_sub(1)),
                false => 0,
            };
            let size = own.size.most.saturating_mul(each).saturating_add(between);
            (walk(size), text(Size::up_to(size)))
        }
        "format" => (own.walk(), text(Size::UNKNOWN)),
        "strings.quote" => {
            let size = Size {
                least: own.size.least.saturating_add(2),
                most: own.size.most.saturating_mul(2).saturating_add(2),
            };
            (own.walk(), text(size))
        }
        "bytes" => {
            let size = Size {
                most: own.size.most.saturating_mul(4),
                ..own.size
            };
            (own.walk(), text(size))
        }
        _ => return None,
    })
}

/// What a function of lists costs, and what it makes. Upstream: `cel-go/ext/lists.go` and `sets.go`.
fn of_lists<'a>(name: &str, own: &Shape<'a>, other: &Shape<'a>, args: &[Expr]) -> Cost<'a> {
    let number = |i: usize, otherwise: u64| match args.get(i) {
        Some(Expr::Literal(Val::Int(n))) => u64::try_from(*n).unwrap_or_default(),
        _ => otherwise,
    };
    let item = || own.below(None).unwrap_or_else(made_item);
    let most = own.size.most;
    let squared = most.saturating_mul(most);
    let made = |cost: u64, size: u64| {
        let cost = cost.saturating_add(LIST + 1);
        (cost, Shape::list(Size::up_to(size), item()))
    };
    match name {
        "sort" | "distinct" => {
            let texts = name == "sort" && item().kind == Kind::Text;
            let made = Shape::list(Size::up_to(squared), item());
            (self_compare(squared, texts), made)
        }
        "reverse" => made(most, most),
        "slice" => {
            let size = number(1, most).saturating_sub(number(0, 0));
            made(size, size)
        }
        "flatten" => {
            let depth = match args {
                [] => 1,
                _ => number(0, u64::MAX),
            };
            made(depth.saturating_mul(most), most)
        }
        "lists.range" => {
            let size = number(0, u64::MAX);
            let cost = size.saturating_add(LIST + 1);
            (cost, Shape::list(Size::up_to(size), Shape::scalar()))
        }
        "sets.contains" | "sets.intersects" | "sets.equivalent" => {
            let factor = if name == "sets.equivalent" { 2 } else { 1 };
            let cost = most.saturating_mul(other.size.most).saturating_mul(factor);
            (cost.saturating_add(1), Shape::scalar())
        }
        _ => (1, Shape::scalar()),
    }
}

fn double_walk(shape: &Shape<'_>) -> u64 {
    walk(shape.size.most.saturating_mul(2))
}

/// The size of a value that a function took out of another.
fn made_size(kind: Kind) -> Size {
    match kind {
        Kind::Scalar | Kind::Unknown => Size::exactly(1),
        _ => Size::UNKNOWN,
    }
}

/// A text in a list that a function made: upstream takes it for nothing.
fn made_item<'a>() -> Shape<'a> {
    Shape::new(Kind::Text, Size::exactly(0))
}

/// The size of a text in which parts are replaced.
fn replaced(own: Size, from: Size, to: Size) -> Size {
    let (count, kept) = if from.least == 0 {
        (own.most.saturating_add(1), own.most)
    } else if to.most <= from.least {
        (0, own.most)
    } else {
        (own.most.div_ceil(from.least), 0)
    };
    Size::up_to(count.saturating_mul(to.most).saturating_add(kept))
}
