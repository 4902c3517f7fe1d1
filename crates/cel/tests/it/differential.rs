//! Every expression, made by chance or written by hand, is run here and by the crate `cel`.
//!
//! Both must come to the same value, or both to none: why there is none is said in different words.
//! An expression that one of the two does not read is not compared, and what is known to differ is in
//! [`crate::known`]. `STOWPLAN_SEED` takes another seed, `STOWPLAN_COMPARISONS` says how many.

use crate::grammar::Grammar;
use crate::known::{self, OF_CEL};
use crate::table::TABLE;
use cel::objects::Key;
use cel::{Context, Env, ExecutionError, Value, extensions};
use serde_json::Value as Json;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, LazyLock};
use stowplan_base::Rng;
use stowplan_cel::{Program, Val};

/// What an expression comes to, in words that both have.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Answer {
    /// A value, with its type.
    Value(String),
    /// None, and why.
    Fails(String),
}

impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Value(value) => write!(f, "{value}"),
            Self::Fails(why) => write!(f, "fails: {why}"),
        }
    }
}

/// An expression, and what both say.
pub(crate) struct Case<'a> {
    pub(crate) text: &'a str,
    pub(crate) ours: Answer,
    pub(crate) theirs: Answer,
}

impl Case<'_> {
    pub(crate) fn agrees(&self) -> bool {
        match (&self.ours, &self.theirs) {
            (Answer::Fails(_), Answer::Fails(_)) => true,
            (ours, theirs) => ours == theirs,
        }
    }
}

impl fmt::Display for Case<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { text, ours, theirs } = self;
        write!(f, "{text}\n    ours:   {ours}\n    theirs: {theirs}")
    }
}

/// The variables of all expressions: names, and expressions that both take for their values.
const VARIABLES: [(&str, &str); 12] = [
    ("yes", "true"),
    ("i", "42"),
    ("four", "4"),
    ("u", "42u"),
    ("d", "0.1"),
    ("s", "'some text'"),
    ("b", "b'\\x00\\xfe'"),
    ("ints", "[5, -2, 5, 9]"),
    ("texts", "['x', 'yy', '']"),
    ("m", "{'a': 5, 'c': 6}"),
    ("wait", "duration('90m')"),
    ("at", "timestamp('2026-08-01T12:30:45.250Z')"),
];

static THEIRS: LazyLock<Arc<Env>> = LazyLock::new(|| {
    let mut env = Env::stdlib();
    env.add_extension(extensions::strings).expect("strings");
    env.add_extension(extensions::lists).expect("lists");
    Arc::new(env)
});

static OURS: LazyLock<Vec<(&str, Val)>> = LazyLock::new(|| {
    let value = |text: &str| {
        Program::parse(text)
            .expect(text)
            .run(&[])
            .outcome
            .expect(text)
    };
    VARIABLES
        .iter()
        .map(|(name, text)| (*name, value(text)))
        .collect()
});

/// What both say, unless one of them does not read the expression.
fn asked(text: &str) -> Option<Case<'_>> {
    let ours = Program::parse(text).ok()?;
    let theirs = THEIRS.compile(text).ok()?;
    let theirs = match theirs.execute(&context()) {
        Ok(value) => Answer::Value(their_value(&value)?),
        Err(ExecutionError::UndeclaredReference(_)) => return None,
        Err(why) => Answer::Fails(why.to_string()),
    };
    let ours = our_answer(&ours);
    Some(Case { text, ours, theirs })
}

/// What we say.
pub(crate) fn our_answer(program: &Program) -> Answer {
    match program.run(&OURS).outcome {
        Ok(value) => Answer::Value(our_value(&value)),
        Err(why) => Answer::Fails(why.to_string()),
    }
}

fn context() -> Context<'static, 'static> {
    let mut context = Context::with_env(Arc::clone(&THEIRS));
    for (name, text) in VARIABLES {
        let value = THEIRS
            .compile(text)
            .expect(text)
            .execute(&Context::with_env(Arc::clone(&THEIRS)));
        context.add_variable_from_value(name, value.expect(text));
    }
    context
}

fn double(n: f64) -> String {
    format!("double {n:.16e}")
}

fn string(text: &str) -> String {
    format!("string {}", Json::from(text))
}

fn timestamp(nanos: i128) -> String {
    let (seconds, rest) = (
        nanos.div_euclid(1_000_000_000),
        nanos.rem_euclid(1_000_000_000),
    );
    format!("timestamp {seconds}.{rest:09}")
}

fn in_order(entries: BTreeMap<String, String>) -> String {
    let entries: Vec<String> = entries.iter().map(|(k, v)| format!("{k}: {v}")).collect();
    format!("{{{}}}", entries.join(", "))
}

fn our_value(value: &Val) -> String {
    match value {
        Val::Null => "null".to_owned(),
        Val::Bool(b) => format!("bool {b}"),
        Val::Int(n) => format!("int {n}"),
        Val::Uint(n) => format!("uint {n}"),
        Val::Double(n) => double(*n),
        Val::Text(text) => string(text),
        Val::Bytes(bytes) => format!("bytes {bytes:?}"),
        Val::List(list) => {
            let list: Vec<String> = list.iter().map(our_value).collect();
            format!("[{}]", list.join(", "))
        }
        Val::Map(entries) => {
            let entry = |(k, v): &(Val, Val)| (our_value(k), our_value(v));
            in_order(entries.iter().map(entry).collect())
        }
        Val::Duration(nanos) => format!("duration {nanos}"),
        Val::Time(nanos) => timestamp(*nanos),
        Val::Type(name) => format!("type {name}"),
        Val::Optional(None) => "optional.none()".to_owned(),
        Val::Optional(Some(inner)) => format!("optional.of({})", our_value(inner)),
        Val::Opaque(value) => format!("{value:?}"),
    }
}

/// Their value in the same words; `None` for what has no counterpart, as types have none.
fn their_value(value: &Value) -> Option<String> {
    Some(match value {
        Value::Null => "null".to_owned(),
        Value::Bool(b) => format!("bool {b}"),
        Value::Int(n) => format!("int {n}"),
        Value::UInt(n) => format!("uint {n}"),
        Value::Float(n) => double(*n),
        Value::String(text) => string(text),
        Value::Bytes(bytes) => format!("bytes {bytes:?}"),
        Value::List(list) => {
            let list: Option<Vec<String>> = list.iter().map(their_value).collect();
            format!("[{}]", list?.join(", "))
        }
        Value::Map(map) => {
            let key = |key: &Key| match key {
                Key::Int(n) => format!("int {n}"),
                Key::Uint(n) => format!("uint {n}"),
                Key::Bool(b) => format!("bool {b}"),
                Key::String(text) => string(text),
            };
            let entries = map.map.iter();
            let entries = entries.map(|(k, v)| Some((key(k), their_value(v)?)));
            in_order(entries.collect::<Option<_>>()?)
        }
        Value::Duration(duration) => {
            let nanos = i128::from(duration.num_seconds()) * 1_000_000_000
                + i128::from(duration.subsec_nanos());
            format!("duration {nanos}")
        }
        Value::Timestamp(time) => {
            let nanos = i128::from(time.timestamp()) * 1_000_000_000
                + i128::from(time.timestamp_subsec_nanos());
            timestamp(nanos)
        }
        Value::Function(..) | Value::Opaque(_) | Value::Struct(_) => return None,
    })
}

pub(crate) fn variable(name: &str, otherwise: u64) -> u64 {
    let value = std::env::var(name).ok();
    value
        .and_then(|value| value.parse().ok())
        .unwrap_or(otherwise)
}

#[test]
fn expressions_by_chance_come_to_the_same() {
    let mut rng = Rng::new(variable("STOWPLAN_SEED", 1));
    let count = variable("STOWPLAN_COMPARISONS", 5_000);
    let (mut compared, mut values, mut known) = (0, 0, 0);
    let mut wrong = Vec::new();
    while compared < count {
        let depth = 1 + rng.below(4);
        let text = Grammar::new(&mut rng).any(depth);
        let Some(case) = asked(&text) else { continue };
        compared += 1;
        values += u64::from(matches!(case.ours, Answer::Value(_)));
        match (case.agrees(), known::of(OF_CEL, &case)) {
            (true, _) => {}
            (false, Some(_)) => known += 1,
            (false, None) => wrong.push((text.len(), case.to_string())),
        }
    }
    wrong.sort();
    let total = wrong.len();
    let shortest: Vec<&str> = wrong
        .iter()
        .take(40)
        .map(|(_, told)| told.as_str())
        .collect();
    assert!(
        wrong.is_empty(),
        "{total} of {compared}:\n{}",
        shortest.join("\n")
    );
    assert!(
        values > compared / 3,
        "{values} of {compared} come to a value"
    );
    assert!(
        known < compared / 10,
        "{known} of {compared} are known to differ"
    );
}

#[test]
fn expressions_of_the_table_come_to_the_same() {
    let mut wrong = Vec::new();
    for text in TABLE {
        match asked(text) {
            None => wrong.push(format!("{text}\n    is not read by both")),
            Some(case) if !case.agrees() && known::of(OF_CEL, &case).is_none() => {
                wrong.push(case.to_string())
            }
            Some(_) => {}
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Nothing stays on the list of differences that is none.
#[test]
fn what_is_known_to_differ_does() {
    for known in OF_CEL {
        let case = asked(known.example).expect(known.example);
        let (right, why) = (known.right, known.why);
        assert!(
            !case.agrees() && known.is(&case),
            "{right:?}, {why}:\n{case}"
        );
    }
}
