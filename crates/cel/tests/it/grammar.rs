//! Expressions by chance. Most are well typed, so that they come to a value; some are not.

use stowplan_base::Rng;

/// The types of expressions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    Bool,
    Int,
    Uint,
    Double,
    Text,
    Bytes,
    Ints,
    Texts,
    Map,
    Duration,
    Time,
    Null,
    Type,
}

const KINDS: [Kind; 13] = [
    Kind::Bool,
    Kind::Int,
    Kind::Uint,
    Kind::Double,
    Kind::Text,
    Kind::Bytes,
    Kind::Ints,
    Kind::Texts,
    Kind::Map,
    Kind::Duration,
    Kind::Time,
    Kind::Null,
    Kind::Type,
];

/// One expression in so many has an operand of another type than is asked for.
const ILL_TYPED: usize = 40;

/// Makes expressions over the variables of [`crate::differential`].
pub(crate) struct Grammar<'a> {
    rng: &'a mut Rng,
    /// The variables of macros around the place.
    bound: Vec<(String, Kind)>,
}

impl<'a> Grammar<'a> {
    pub(crate) fn new(rng: &'a mut Rng) -> Self {
        Self {
            rng,
            bound: Vec::new(),
        }
    }

    /// An expression of any type.
    pub(crate) fn any(&mut self, depth: usize) -> String {
        let kind = self.kind();
        self.of(kind, depth)
    }

    fn kind(&mut self) -> Kind {
        KINDS[self.rng.below(KINDS.len())]
    }

    fn pick<'s>(&mut self, list: &[&'s str]) -> &'s str {
        list[self.rng.below(list.len())]
    }

    fn one_in(&mut self, n: usize) -> bool {
        self.rng.below(n) == 0
    }

    /// An expression of a type, most of the time.
    fn of(&mut self, kind: Kind, depth: usize) -> String {
        if self.one_in(ILL_TYPED) {
            // Maps have no order, which a list of their keys would show.
            let other = match self.kind() {
                Kind::Map => Kind::Null,
                other => other,
            };
            return self.made(other, depth);
        }
        self.made(kind, depth)
    }

    fn made(&mut self, kind: Kind, depth: usize) -> String {
        let bound: Vec<String> = self
            .bound
            .iter()
            .filter(|(_, k)| *k == kind)
            .map(|(n, _)| n.clone())
            .collect();
        if !bound.is_empty() && self.one_in(3) {
            return bound[self.rng.below(bound.len())].clone();
        }
        if depth == 0 || self.one_in(6) {
            return self.leaf(kind);
        }
        if self.one_in(12) {
            let (which, yes, no) = (
                self.of(Kind::Bool, depth - 1),
                self.of(kind, depth - 1),
                self.of(kind, depth - 1),
            );
            return format!("({which} ? {yes} : {no})");
        }
        match kind {
            Kind::Bool => self.bool(depth - 1),
            Kind::Int => self.int(depth - 1),
            Kind::Uint => self.uint(depth - 1),
            Kind::Double => self.double(depth - 1),
            Kind::Text => self.text(depth - 1),
            Kind::Bytes => self.bytes(depth - 1),
            Kind::Ints => self.ints(depth - 1),
            Kind::Texts => self.texts(depth - 1),
            Kind::Map => self.map(depth - 1),
            Kind::Duration => self.duration(depth - 1),
            Kind::Time => self.time(depth - 1),
            Kind::Null => "null".to_owned(),
            Kind::Type => {
                let of = self.any(depth - 1);
                format!("type({of})")
            }
        }
    }

    fn leaf(&mut self, kind: Kind) -> String {
        self.pick(match kind {
            Kind::Bool => &["true", "false", "yes"],
            Kind::Int => &[
                "0",
                "1",
                "-1",
                "2",
                "7",
                "-7",
                "9223372036854775807",
                "-9223372036854775808",
                "0x1F",
                "i",
                "four",
            ],
            Kind::Uint => &[
                "0u",
                "1u",
                "2u",
                "7u",
                "18446744073709551615u",
                "0xFFu",
                "u",
            ],
            Kind::Double => &[
                "0.0",
                "1.0",
                "-1.5",
                "2.5",
                "1e3",
                ".5",
                "-0.0",
                "1e300",
                "9007199254740993.0",
                "d",
            ],
            Kind::Text => &[
                "''",
                "'a'",
                "'abc'",
                "\"b\\n\"",
                "'äö'",
                "r'\\d'",
                "'12'",
                "'-7'",
                "'1.5'",
                "'true'",
                "'1h'",
                "'''a'b'''",
                "'\\x41\\u00e4\\101'",
                "s",
            ],
            Kind::Bytes => &[
                "b''",
                "b'a'",
                "b'abc'",
                "b'\\xff'",
                "b'\\303\\244'",
                "b'ä'",
                "b",
            ],
            Kind::Ints => &["[]", "[1]", "[1, 2, 3]", "[3, 1, 2, 1]", "ints"],
            Kind::Texts => &["[]", "['a']", "['b', 'a', 'abc']", "texts"],
            Kind::Map => &["{}", "{'a': 1}", "{'a': 1, 'b': 2}", "m"],
            Kind::Duration => &[
                "duration('1h')",
                "duration('-90s')",
                "duration('1.5s')",
                "duration('0')",
                "duration('250ms')",
                "wait",
            ],
            Kind::Time => &[
                "timestamp('2026-01-02T03:04:05Z')",
                "timestamp('2024-02-29T23:59:59.5Z')",
                "timestamp('1969-12-31T23:59:59+02:00')",
                "at",
            ],
            Kind::Null => &["null"],
            Kind::Type => &[
                "int",
                "string",
                "bool",
                "list",
                "map",
                "type",
                "null_type",
                "double",
                "uint",
                "bytes",
            ],
        })
        .to_owned()
    }

    fn bool(&mut self, depth: usize) -> String {
        match self.rng.below(16) {
            0 => format!(
                "({} && {})",
                self.of(Kind::Bool, depth),
                self.of(Kind::Bool, depth)
            ),
            1 => format!(
                "({} || {})",
                self.of(Kind::Bool, depth),
                self.of(Kind::Bool, depth)
            ),
            2 => format!("!{}", self.of(Kind::Bool, depth)),
            3 | 4 => {
                let kind = self.kind();
                let operator = self.pick(&["==", "!="]);
                format!(
                    "({} {operator} {})",
                    self.of(kind, depth),
                    self.of(kind, depth)
                )
            }
            5 => {
                let operator = self.pick(&["==", "!="]);
                format!("({} {operator} {})", self.any(depth), self.any(depth))
            }
            6 => {
                let kinds = [
                    Kind::Bool,
                    Kind::Int,
                    Kind::Uint,
                    Kind::Double,
                    Kind::Text,
                    Kind::Bytes,
                    Kind::Duration,
                    Kind::Time,
                ];
                let kind = kinds[self.rng.below(kinds.len())];
                let operator = self.pick(&["<", "<=", ">", ">="]);
                format!(
                    "({} {operator} {})",
                    self.of(kind, depth),
                    self.of(kind, depth)
                )
            }
            7 => {
                let kinds = [Kind::Int, Kind::Uint, Kind::Double];
                let (a, b) = (kinds[self.rng.below(3)], kinds[self.rng.below(3)]);
                let operator = self.pick(&["<", "<=", ">", ">=", "=="]);
                format!("({} {operator} {})", self.of(a, depth), self.of(b, depth))
            }
            8 => format!(
                "({} in {})",
                self.of(Kind::Int, depth),
                self.of(Kind::Ints, depth)
            ),
            9 => format!(
                "({} in {})",
                self.of(Kind::Text, depth),
                self.of(Kind::Map, depth)
            ),
            10 => {
                let method = self.pick(&["startsWith", "endsWith", "contains"]);
                format!(
                    "{}.{method}({})",
                    self.of(Kind::Text, depth),
                    self.of(Kind::Text, depth)
                )
            }
            11 => {
                let pattern = self.pick(&["'^a'", "'[a-c]+$'", "r'\\d+'", "''", "'(a|b)*'"]);
                format!("{}.matches({pattern})", self.of(Kind::Text, depth))
            }
            12 => self.quantified(Kind::Ints, Kind::Int, depth),
            13 => self.quantified(Kind::Texts, Kind::Text, depth),
            14 => {
                let field = self.pick(&["a", "b", "zz"]);
                format!("has({}.{field})", self.of(Kind::Map, depth))
            }
            _ => {
                let of = [Kind::Text, Kind::Bool][self.rng.below(2)];
                format!("bool({})", self.of(of, depth))
            }
        }
    }

    fn quantified(&mut self, list: Kind, item: Kind, depth: usize) -> String {
        let name = self.pick(&["all", "exists", "exists_one"]);
        self.folded(list, item, name, Kind::Bool, depth)
    }

    /// A macro over a list.
    fn folded(&mut self, list: Kind, item: Kind, name: &str, body: Kind, depth: usize) -> String {
        let of = self.of(list, depth);
        let variable = format!("x{}", self.bound.len());
        self.bound.push((variable.clone(), item));
        let body = self.of(body, depth);
        self.bound.pop();
        format!("{of}.{name}({variable}, {body})")
    }

    fn int(&mut self, depth: usize) -> String {
        match self.rng.below(9) {
            0..3 => {
                let operator = self.pick(&["+", "-", "*", "/", "%"]);
                format!(
                    "({} {operator} {})",
                    self.of(Kind::Int, depth),
                    self.of(Kind::Int, depth)
                )
            }
            3 => format!("-({})", self.of(Kind::Int, depth)),
            4 => {
                let kinds = [Kind::Text, Kind::Bytes, Kind::Ints, Kind::Texts, Kind::Map];
                let of = kinds[self.rng.below(kinds.len())];
                match self.one_in(2) {
                    true => format!("size({})", self.of(of, depth)),
                    false => format!("{}.size()", self.of(of, depth)),
                }
            }
            5 => {
                let kinds = [Kind::Int, Kind::Uint, Kind::Double, Kind::Text, Kind::Time];
                let of = kinds[self.rng.below(kinds.len())];
                format!("int({})", self.of(of, depth))
            }
            6 => format!(
                "{}[{}]",
                self.of(Kind::Ints, depth),
                self.of(Kind::Int, depth)
            ),
            7 => format!(
                "{}[{}]",
                self.of(Kind::Map, depth),
                self.of(Kind::Text, depth)
            ),
            _ => {
                let (kind, methods): (_, &[&str]) = match self.one_in(2) {
                    true => (
                        Kind::Duration,
                        &["getHours", "getMinutes", "getSeconds", "getMilliseconds"],
                    ),
                    false => (
                        Kind::Time,
                        &[
                            "getFullYear",
                            "getMonth",
                            "getDate",
                            "getDayOfMonth",
                            "getDayOfWeek",
                            "getDayOfYear",
                            "getHours",
                            "getMinutes",
                            "getSeconds",
                            "getMilliseconds",
                        ],
                    ),
                };
                let method = self.pick(methods);
                format!("{}.{method}()", self.of(kind, depth))
            }
        }
    }

    fn uint(&mut self, depth: usize) -> String {
        match self.rng.below(4) {
            0 => {
                let kinds = [Kind::Int, Kind::Uint, Kind::Double, Kind::Text];
                let of = kinds[self.rng.below(kinds.len())];
                format!("uint({})", self.of(of, depth))
            }
            _ => {
                let operator = self.pick(&["+", "-", "*", "/", "%"]);
                format!(
                    "({} {operator} {})",
                    self.of(Kind::Uint, depth),
                    self.of(Kind::Uint, depth)
                )
            }
        }
    }

    fn double(&mut self, depth: usize) -> String {
        match self.rng.below(4) {
            0 => {
                let kinds = [Kind::Int, Kind::Uint, Kind::Double, Kind::Text];
                let of = kinds[self.rng.below(kinds.len())];
                format!("double({})", self.of(of, depth))
            }
            1 => format!("-({})", self.of(Kind::Double, depth)),
            _ => {
                let operator = self.pick(&["+", "-", "*", "/"]);
                format!(
                    "({} {operator} {})",
                    self.of(Kind::Double, depth),
                    self.of(Kind::Double, depth)
                )
            }
        }
    }

    fn text(&mut self, depth: usize) -> String {
        match self.rng.below(9) {
            0 | 1 => format!(
                "({} + {})",
                self.of(Kind::Text, depth),
                self.of(Kind::Text, depth)
            ),
            2 => {
                let kinds = [
                    Kind::Bool,
                    Kind::Int,
                    Kind::Uint,
                    Kind::Double,
                    Kind::Text,
                    Kind::Bytes,
                    Kind::Duration,
                    Kind::Time,
                ];
                let of = kinds[self.rng.below(kinds.len())];
                format!("string({})", self.of(of, depth))
            }
            3 => format!(
                "{}[{}]",
                self.of(Kind::Texts, depth),
                self.of(Kind::Int, depth)
            ),
            4 => {
                let method = self.pick(&["lowerAscii", "upperAscii", "trim"]);
                format!("{}.{method}()", self.of(Kind::Text, depth))
            }
            5 => format!(
                "{}.substring({})",
                self.of(Kind::Text, depth),
                self.of(Kind::Int, depth)
            ),
            6 => format!(
                "{}.charAt({})",
                self.of(Kind::Text, depth),
                self.of(Kind::Int, depth)
            ),
            7 => format!(
                "{}.replace({}, {})",
                self.of(Kind::Text, depth),
                self.of(Kind::Text, depth),
                self.of(Kind::Text, depth)
            ),
            _ => format!(
                "{}.join({})",
                self.of(Kind::Texts, depth),
                self.of(Kind::Text, depth)
            ),
        }
    }

    fn bytes(&mut self, depth: usize) -> String {
        match self.one_in(2) {
            true => format!(
                "({} + {})",
                self.of(Kind::Bytes, depth),
                self.of(Kind::Bytes, depth)
            ),
            false => format!("bytes({})", self.of(Kind::Text, depth)),
        }
    }

    fn ints(&mut self, depth: usize) -> String {
        match self.rng.below(7) {
            0 => format!(
                "[{}, {}]",
                self.of(Kind::Int, depth),
                self.of(Kind::Int, depth)
            ),
            1 => format!(
                "({} + {})",
                self.of(Kind::Ints, depth),
                self.of(Kind::Ints, depth)
            ),
            2 => self.folded(Kind::Ints, Kind::Int, "map", Kind::Int, depth),
            3 => self.folded(Kind::Ints, Kind::Int, "filter", Kind::Bool, depth),
            4 => self.folded(Kind::Texts, Kind::Text, "map", Kind::Int, depth),
            5 => format!(
                "{}.slice({}, {})",
                self.of(Kind::Ints, depth),
                self.of(Kind::Int, depth),
                self.of(Kind::Int, depth)
            ),
            _ => {
                let method = self.pick(&["distinct", "sort", "reverse"]);
                format!("{}.{method}()", self.of(Kind::Ints, depth))
            }
        }
    }

    fn texts(&mut self, depth: usize) -> String {
        match self.rng.below(5) {
            0 => format!(
                "[{}, {}]",
                self.of(Kind::Text, depth),
                self.of(Kind::Text, depth)
            ),
            1 => self.folded(Kind::Texts, Kind::Text, "filter", Kind::Bool, depth),
            2 => self.folded(Kind::Ints, Kind::Int, "map", Kind::Text, depth),
            3 => format!(
                "{}.split({})",
                self.of(Kind::Text, depth),
                self.of(Kind::Text, depth)
            ),
            _ => {
                let keys = self.folded(Kind::Map, Kind::Text, "filter", Kind::Bool, depth);
                format!("{keys}.sort()")
            }
        }
    }

    fn map(&mut self, depth: usize) -> String {
        let (a, b) = (self.of(Kind::Int, depth), self.of(Kind::Int, depth));
        match self.one_in(4) {
            true => format!("{{{}: {a}, 'k': {b}}}", self.of(Kind::Text, depth)),
            false => format!("{{'a': {a}, 'b': {b}}}"),
        }
    }

    fn duration(&mut self, depth: usize) -> String {
        match self.rng.below(3) {
            0 => format!(
                "({} - {})",
                self.of(Kind::Time, depth),
                self.of(Kind::Time, depth)
            ),
            1 => {
                let operator = self.pick(&["+", "-"]);
                format!(
                    "({} {operator} {})",
                    self.of(Kind::Duration, depth),
                    self.of(Kind::Duration, depth)
                )
            }
            _ => format!("duration({})", self.of(Kind::Text, depth)),
        }
    }

    fn time(&mut self, depth: usize) -> String {
        let operator = self.pick(&["+", "-"]);
        format!(
            "({} {operator} {})",
            self.of(Kind::Time, depth),
            self.of(Kind::Duration, depth)
        )
    }
}
