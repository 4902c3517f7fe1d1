//! Where implementations are known to differ from ours, which of them is right by the specification of
//! the language (`cel-spec/doc/langdef.md`), and why.

use crate::differential::{Answer, Case};

/// Who is right.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Right {
    /// We are.
    Ours,
    /// The other one is.
    Theirs,
    /// The specification leaves it open; we do what cel-go does.
    Open,
}

/// A difference.
pub(crate) struct Known {
    pub(crate) example: &'static str,
    pub(crate) right: Right,
    pub(crate) why: &'static str,
    /// Whether a case is of this sort; without it, the example is the only one.
    alike: Option<fn(&Case<'_>) -> bool>,
}

impl Known {
    /// Whether a case is of this sort.
    pub(crate) fn is(&self, case: &Case<'_>) -> bool {
        match self.alike {
            Some(alike) => alike(case),
            None => case.text == self.example,
        }
    }
}

const fn one(example: &'static str, right: Right, why: &'static str) -> Known {
    Known {
        example,
        right,
        why,
        alike: None,
    }
}

const fn sort(
    example: &'static str,
    right: Right,
    why: &'static str,
    alike: fn(&Case<'_>) -> bool,
) -> Known {
    Known {
        example,
        right,
        why,
        alike: Some(alike),
    }
}

const DOUBLES: &str = "cel-go prints doubles by Go's %g, with exponents";
const OFFSETS: &str = "an index beyond the end is found nowhere since cel-go 0.17";
const SHOWN: &str =
    "version 2 of cel-go's strings, which Kubernetes uses, quotes what is in lists and maps";
const GO_TIMES: &str = "cel-go reads times by Go's RFC3339: T and Z in capitals, no leap second";
const KEYS: &str = "cel-go takes any value for the key of a map";

/// Differences from the crate `cel`.
pub(crate) const OF_CEL: &[Known] = &[
    sort(
        "type(1)",
        Right::Ours,
        "the crate hands a type to its caller as the text of its name",
        |case| case.ours.types_as_text() == case.theirs,
    ),
    sort("string(1e21)", Right::Open, DOUBLES, |case| {
        let large = ["1e3", "e21", "9007199254740993", "double("];
        case.text.contains("string(") && large.iter().any(|n| case.text.contains(n))
    }),
    one("string(1.0 / 0.0)", Right::Open, DOUBLES),
    one("string(-1.0 / 0.0)", Right::Open, DOUBLES),
    one(
        "double('1e999')",
        Right::Open,
        "cel-go refuses a number that no double holds",
    ),
    one(
        "uint('+5')",
        Right::Open,
        "cel-go takes no sign for a number without one",
    ),
    one("string(1e20)", Right::Open, DOUBLES),
    one("string(0.000001)", Right::Open, DOUBLES),
    one("string(0.0000001)", Right::Open, DOUBLES),
    one("'tacocat'.indexOf('a', 7)", Right::Open, OFFSETS),
    one("'tacocat'.indexOf('a', 9)", Right::Open, OFFSETS),
    one(
        "'%s'.format([[1, 'a', 2.5, null, true]])",
        Right::Open,
        SHOWN,
    ),
    one("'%s'.format([{'b': 1, 'a': 2}])", Right::Open, SHOWN),
    one(
        "lists.range(-1)",
        Right::Open,
        "cel-go's range of less than nothing is empty",
    ),
    sort(
        "duration('1h ')",
        Right::Ours,
        "nothing may follow the last unit",
        |case| case.says("type conversion error from 'string' to 'google.protobuf.Duration'"),
    ),
    one(
        "duration('-9223372036.854775808s')",
        Right::Ours,
        "the least duration is one nanosecond below the negative of the greatest",
    ),
    sort(
        "timestamp('2026-01-02T03:04:05+01:00').getHours()",
        Right::Ours,
        "without a zone, fields of a timestamp are those of UTC",
        |case| case.text.contains("+02:00')") || case.text.contains("+01:00')."),
    ),
    one("timestamp('2026-01-02 03:04:05Z')", Right::Open, GO_TIMES),
    one("timestamp('2026-01-02t03:04:05z')", Right::Open, GO_TIMES),
    one("timestamp('2026-01-02T03:04:60Z')", Right::Open, GO_TIMES),
    one(
        "{1: 2, 1: 3}",
        Right::Theirs,
        "a key may occur once only; cel-go lets the last one win, and so do we, because Kubernetes does",
    ),
    sort("{null: 1}", Right::Theirs, KEYS, |case| {
        case.says("Unable to use value")
    }),
    sort(
        "null in {}",
        Right::Open,
        "cel-go looks for any value among the keys of a map, and does not find it",
        |case| case.says("for '@in' applied to"),
    ),
    sort(
        "int(duration('1s'))",
        Right::Open,
        "cel-go makes a number of a duration: its nanoseconds",
        |case| case.says("for 'int' applied to '(google.protobuf.Duration)'"),
    ),
    sort(
        "-duration('1s')",
        Right::Open,
        "cel-go turns durations around",
        |case| case.says("for '-_' applied to '(google.protobuf.Duration)'"),
    ),
    sort(
        "1 / 0 in []",
        Right::Open,
        "cel-go, set up as in Kubernetes, does not look at what may be among none",
        |case| case.text.contains(" in [])") || case.text.ends_with(" in []"),
    ),
    sort(
        "[1] + {'a': 1}",
        Right::Ours,
        "lists are joined with lists",
        |case| case.text.contains(" + {") && case.says("no such overload"),
    ),
];

/// Differences from cel-go, which runs without its type checker here.
pub(crate) const OF_CEL_GO: &[Known] = &[
    sort(
        "{[1]: 1}",
        Right::Ours,
        "keys are whole numbers, booleans and texts; cel-go's type checker says so, its evaluation does not",
        |case| case.says("unsupported key type"),
    ),
    sort(
        "b'a' in {'a': 1}",
        Right::Ours,
        "cel-go panics, because Go's maps have no such keys",
        |case| case.says("hash of unhashable type"),
    ),
    sort(
        "1 / 0 in []",
        Right::Ours,
        "with its type checker, cel-go does not look at what may be among none",
        |case| case.text.contains(" in [])") || case.text.ends_with(" in []"),
    ),
    sort(
        "type.matches('a')",
        Right::Ours,
        "only texts match; cel-go's type checker says so, its evaluation does not",
        |case| case.text.contains(".matches(") && case.says("no such overload"),
    ),
    sort(
        "[].map(x, [1][null])",
        Right::Open,
        "cel-go refuses an index that is a constant of a wrong type before it runs anything",
        |case| case.says("invalid qualifier type"),
    ),
    sort(
        "has('a'.b)",
        Right::Ours,
        "only maps and messages have fields; cel-go's type checker says so, its evaluation does not",
        |case| {
            case.text.contains("has(") && case.ours == Answer::Fails("no such overload".to_owned())
        },
    ),
    sort(
        "string(timestamp('2026-01-02T03:04:05+01:00'))",
        Right::Theirs,
        "a timestamp is printed with the offset that it was read with; ours forgets it",
        |case| {
            case.text.contains("string(") && case.text.contains(":59+02:00")
                || case.text == "string(timestamp('2026-01-02T03:04:05+01:00'))"
        },
    ),
];

/// The difference of a list that a case shows.
pub(crate) fn of(list: &'static [Known], case: &Case<'_>) -> Option<&'static Known> {
    list.iter().find(|known| known.is(case))
}

impl Case<'_> {
    /// Whether one of the two says something.
    fn says(&self, what: &str) -> bool {
        let told = |answer: &Answer| match answer {
            Answer::Value(told) | Answer::Fails(told) => told.contains(what),
        };
        told(&self.ours) || told(&self.theirs)
    }
}

impl Answer {
    /// The answer with each type as the text of its name.
    fn types_as_text(&self) -> Self {
        let Self::Value(told) = self else {
            return self.clone();
        };
        let mut out = String::new();
        let mut rest = told.as_str();
        while let Some((before, after)) = rest.split_once("type ") {
            let end = after.find([',', ']', '}', ':']).unwrap_or(after.len());
            out.push_str(&format!("{before}string \"{}\"", &after[..end]));
            rest = &after[end..];
        }
        Self::Value(out + rest)
    }
}
