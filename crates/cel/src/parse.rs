//! From text to expressions. Upstream: `cel-go/parser/parser.go`, whose bounds on depth are kept.

use crate::constants::folded;
use crate::expr::Expr;
use crate::program::Program;
use crate::room::roomy;
use crate::value::Val;
use std::collections::BTreeSet;

mod literals;

/// The longest expression, in code points. Upstream: `expressionSizeCodePointLimit`.
const CODE_POINTS_MAX: usize = 100_000;
/// How deep expressions may nest. Upstream: `maxRecursionDepth`.
const DEPTH_MAX: usize = 250;
/// What nests deeper than this is read, and what is higher than this is run, with a larger stack.
const NEST_SHALLOW: usize = 24;
const HEIGHT_SHALLOW: usize = 48;

/// Reads an expression.
pub(crate) fn parse(text: &str) -> Result<Program, String> {
    let count = text.chars().count();
    if count > CODE_POINTS_MAX {
        return Err(nowhere(&format!(
            "expression code point size exceeds limit: size: {count}, limit {CODE_POINTS_MAX}"
        )));
    }
    match read(text, NEST_SHALLOW) {
        Err(Fault::Nests) => roomy(|| read(text, DEPTH_MAX))?.map_err(Fault::said),
        read => read.map_err(Fault::said),
    }
}

/// What is wrong with an expression as a whole, as cel-go shows it.
fn nowhere(why: &str) -> String {
    format!("ERROR: <input>:-1:0: {why}")
}

fn read(text: &str, nest_max: usize) -> Result<Program, Fault> {
    let mut parser = Parser {
        rest: text,
        nest_max,
        nested: [0; 3],
        too_deep: false,
    };
    let node = parser.choice()?;
    parser.space();
    if !parser.rest.is_empty() {
        return Err(parser.wrong());
    }
    if parser.too_deep {
        let why = nowhere("max recursion depth exceeded");
        return Err(Fault::Other(why));
    }
    let mut names = BTreeSet::new();
    node.expr.each(&mut |part| {
        if let Expr::Name(name) = part {
            names.insert(name.clone());
        }
    });
    Ok(Program {
        names,
        deep: node.height > HEIGHT_SHALLOW,
        expr: folded(node.expr),
    })
}

/// Why a text is no expression.
#[derive(Clone)]
enum Fault {
    /// It nests deeper than the parser was told to read.
    Nests,
    Other(String),
}

impl Fault {
    fn said(self) -> String {
        match self {
            Self::Nests => nowhere(&format!("expression recursion limit exceeded: {DEPTH_MAX}")),
            Self::Other(why) => why,
        }
    }
}

/// Rules of the grammar that go into themselves.
#[derive(Clone, Copy)]
enum Rule {
    Expr,
    Relation,
    Calc,
}

struct Parser<'a> {
    rest: &'a str,
    nest_max: usize,
    /// How deep the parser is in each rule.
    nested: [usize; 3],
    /// Whether something was left out because it was too high.
    too_deep: bool,
}

/// A part of the expression.
struct Node {
    expr: Expr,
    /// The most levels on a way down, and those among them that upstream counts.
    height: usize,
    counted: usize,
}

impl Node {
    fn leaf(expr: Expr) -> Self {
        Self {
            expr,
            height: 1,
            counted: 0,
        }
    }
}

/// How high nodes are that are to be part of one.
#[derive(Clone, Copy, Default)]
struct Heights(usize, usize);

impl Heights {
    fn and(self, node: &Node) -> Self {
        Self(self.0.max(node.height), self.1.max(node.counted))
    }

    fn of(node: &Node) -> Self {
        Self::default().and(node)
    }
}

type Parsed = Result<Node, Fault>;

impl<'a> Parser<'a> {
    fn wrong(&self) -> Fault {
        let near: String = self.rest.chars().take(20).collect();
        Fault::Other(format!("ERROR: <input>: Syntax error near '{near}'"))
    }

    /// Reads what is one level deeper in a rule.
    fn nest(&mut self, rule: Rule, read: impl FnOnce(&mut Self) -> Parsed) -> Parsed {
        let depth = self.nested.get_mut(rule as usize);
        let depth = depth.map_or(usize::MAX, |depth| {
            *depth += 1;
            *depth
        });
        if depth > self.nest_max {
            return Err(Fault::Nests);
        }
        let node = read(self)?;
        if let Some(depth) = self.nested.get_mut(rule as usize) {
            *depth -= 1;
        }
        Ok(node)
    }

    /// A node made of others. What is too high is left out: the parser still looks for other faults.
    fn node(&mut self, expr: Expr, parts: Heights, counts: bool) -> Node {
        let counted = parts.1 + usize::from(counts);
        if counted > DEPTH_MAX {
            self.too_deep = true;
            return Node::leaf(Expr::Literal(Val::Null));
        }
        Node {
            expr,
            height: parts.0 + 1,
            counted,
        }
    }

    fn space(&mut self) {
        loop {
            self.rest = self.rest.trim_start();
            match self.rest.strip_prefix("//") {
                Some(comment) => {
                    let end = comment.find('\n').unwrap_or(comment.len());
                    self.rest = &comment[end..];
                }
                None => return,
            }
        }
    }

    fn take(&mut self, token: &str) -> bool {
        self.space();
        match self.rest.strip_prefix(token) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn expect(&mut self, token: &str) -> Result<(), Fault> {
        match self.take(token) {
            true => Ok(()),
            false => Err(self.wrong()),
        }
    }

    fn choice(&mut self) -> Parsed {
        self.nest(Rule::Expr, |parser| {
            let which = parser.logic(true)?;
            if !parser.take("?") {
                return Ok(which);
            }
            let yes = parser.logic(true)?;
            parser.expect(":")?;
            let no = parser.choice()?;
            let parts = Heights::of(&which).and(&yes).and(&no);
            let [which, yes, no] = [which, yes, no].map(|node| Box::new(node.expr));
            Ok(parser.node(Expr::Choice(which, yes, no), parts, true))
        })
    }

    /// `a || b`, if true decides, or else `a && b`.
    fn logic(&mut self, decides: bool) -> Parsed {
        let part = |parser: &mut Self| match decides {
            true => parser.logic(false),
            false => parser.relation(),
        };
        let operators: &[&'static str] = if decides { &["||"] } else { &["&&"] };
        let first = part(self)?;
        if self.operator(operators).is_none() {
            return Ok(first);
        }
        let mut parts = Heights::of(&first);
        let mut terms = vec![first.expr];
        loop {
            let term = part(self)?;
            parts = parts.and(&term);
            terms.push(term.expr);
            if self.operator(operators).is_none() {
                return Ok(self.node(Expr::Logic(decides, terms), parts, false));
            }
        }
    }

    fn relation(&mut self) -> Parsed {
        const RELATIONS: [&str; 7] = ["==", "!=", "<=", ">=", "<", ">", "in"];
        self.nest(Rule::Relation, |parser| {
            parser.chain(&RELATIONS, Rule::Relation, &|parser| {
                parser.nest(Rule::Calc, Self::sum)
            })
        })
    }

    fn sum(&mut self) -> Parsed {
        self.chain(&["+", "-"], Rule::Calc, &Self::product)
    }

    fn product(&mut self) -> Parsed {
        self.chain(&["*", "/", "%"], Rule::Calc, &Self::unary)
    }

    /// Operands with operators between them, the left ones first.
    fn chain(
        &mut self,
        operators: &[&'static str],
        rule: Rule,
        operand: &dyn Fn(&mut Self) -> Parsed,
    ) -> Parsed {
        let mut left = operand(self)?;
        while let Some(operator) = self.operator(operators) {
            let right = self.nest(rule, operand)?;
            let parts = Heights::of(&left).and(&right);
            let expr = Expr::Binary(operator, Box::new(left.expr), Box::new(right.expr));
            left = self.node(expr, parts, true);
        }
        Ok(left)
    }

    fn operator(&mut self, operators: &[&'static str]) -> Option<&'static str> {
        self.space();
        let here = self.rest;
        let found = operators.iter().find(|operator| {
            let Some(after) = here.strip_prefix(**operator) else {
                return false;
            };
            let word = after.starts_with(|c: char| c.is_alphanumeric() || c == '_');
            !(**operator == "in" && word)
        })?;
        self.rest = &here[found.len()..];
        Some(*found)
    }

    /// Two of the same sign cancel out.
    fn unary(&mut self) -> Parsed {
        let nots = self.count('!');
        if nots > 0 {
            let of = self.member()?;
            return Ok(match nots % 2 {
                0 => of,
                _ => {
                    let parts = Heights::of(&of);
                    self.node(Expr::Not(Box::new(of.expr)), parts, false)
                }
            });
        }
        let here = self.rest;
        let signs = self.count('-');
        // The sign of a number is part of it.
        if signs == 1
            && self
                .rest
                .starts_with(|c: char| c.is_ascii_digit() || c == '.')
        {
            self.rest = here;
            return self.member();
        }
        let of = self.member()?;
        Ok(match signs % 2 {
            0 => of,
            _ => {
                let parts = Heights::of(&of);
                self.node(Expr::Negative(Box::new(of.expr)), parts, false)
            }
        })
    }

    /// Takes all of a sign that follow each other.
    fn count(&mut self, sign: char) -> usize {
        let mut count = 0;
        self.space();
        while let Some(rest) = self.rest.strip_prefix(sign) {
            self.rest = rest;
            count += 1;
            self.space();
        }
        count
    }

    fn member(&mut self) -> Parsed {
        let mut node = self.primary()?;
        loop {
            let mut parts = Heights::of(&node);
            let expr = if self.take(".") {
                let optional = self.take("?");
                let name = self.name().ok_or_else(|| self.wrong())?;
                let of = Box::new(node.expr);
                match !optional && self.take("(") {
                    true => Expr::Call {
                        of: Some(of),
                        name,
                        with: self.until(")", &mut parts)?,
                    },
                    false => Expr::Field { of, name, optional },
                }
            } else if self.take("[") {
                let optional = self.take("?");
                let at = self.choice()?;
                self.expect("]")?;
                parts = parts.and(&at);
                Expr::Index {
                    of: Box::new(node.expr),
                    at: Box::new(at.expr),
                    optional,
                }
            } else {
                return Ok(node);
            };
            node = self.node(expr, parts, true);
        }
    }

    fn until(&mut self, end: &str, parts: &mut Heights) -> Result<Vec<Expr>, Fault> {
        let mut list = Vec::new();
        while !self.take(end) {
            let node = self.choice()?;
            *parts = parts.and(&node);
            list.push(node.expr);
            if !self.take(",") {
                self.expect(end)?;
                break;
            }
        }
        Ok(list)
    }

    fn name(&mut self) -> Option<String> {
        self.space();
        let fits = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let end = self.rest.find(|c| !fits(c)).unwrap_or(self.rest.len());
        let (name, rest) = self.rest.split_at(end);
        let first = name.chars().next()?;
        if first.is_ascii_digit() {
            return None;
        }
        self.rest = rest;
        Some(name.to_owned())
    }

    fn primary(&mut self) -> Parsed {
        self.space();
        let first = self.rest.chars().next().ok_or_else(|| self.wrong())?;
        match first {
            '(' => {
                self.rest = &self.rest[1..];
                let inner = self.choice()?;
                self.expect(")")?;
                Ok(inner)
            }
            '[' => {
                self.rest = &self.rest[1..];
                let mut parts = Heights::default();
                let list = self.until("]", &mut parts)?;
                Ok(self.node(Expr::List(list), parts, false))
            }
            '{' => {
                self.rest = &self.rest[1..];
                self.map()
            }
            '\'' | '"' => Ok(Node::leaf(Expr::Literal(self.text(false)?.into()))),
            '0'..='9' => self.number(""),
            '-' => {
                self.rest = &self.rest[1..];
                self.space();
                self.number("-")
            }
            '.' if self.rest[1..].starts_with(|c: char| c.is_ascii_digit()) => self.number(""),
            _ => self.word(),
        }
    }

    fn map(&mut self) -> Parsed {
        let mut entries = Vec::new();
        let mut parts = Heights::default();
        while !self.take("}") {
            let key = self.choice()?;
            self.expect(":")?;
            let value = self.choice()?;
            parts = parts.and(&key).and(&value);
            entries.push((key.expr, value.expr));
            if !self.take(",") {
                self.expect("}")?;
                break;
            }
        }
        Ok(self.node(Expr::Map(entries), parts, false))
    }
}
