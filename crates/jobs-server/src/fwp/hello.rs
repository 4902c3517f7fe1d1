//! HI and HELLO: who may talk.

use crate::json::{Scanner, unquote};
use ring::digest::{SHA256, digest};

/// The password that clients must know.
#[derive(Clone)]
pub struct Password(pub String);

/// What a connection was greeted with.
#[derive(Clone, Debug, Default)]
pub(crate) struct Greeting {
    salt: String,
    rounds: u32,
}

/// The line that begins a connection. `random` is nobody's to foresee.
pub(crate) fn greet(password: Option<&Password>, random: u64) -> (Greeting, Vec<u8>) {
    if password.is_none() {
        return (Greeting::default(), b"+HI {\"v\":2}\r\n".to_vec());
    }
    let rounds = 4_000 + (random >> 52) as u32;
    let salt = format!("{random:016x}");
    // No spaces: a client splits the line at these.
    let line = format!("+HI {{\"v\":2,\"i\":{rounds},\"s\":\"{salt}\"}}\r\n");
    (Greeting { salt, rounds }, line.into_bytes())
}

/// Who a client says that it is.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Hello {
    pub(crate) wid: Option<String>,
    pub(crate) about: String,
    pub(crate) tokens: bool,
}

/// Why a client is sent away.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// Without a word.
    Silent,
    WrongPassword,
}

/// What the first line of a client says.
pub(crate) fn hello(
    line: &[u8],
    greeting: &Greeting,
    password: Option<&Password>,
) -> Result<Hello, Refusal> {
    let line = std::str::from_utf8(line).map_err(|_| Refusal::Silent)?;
    let json = line
        .strip_prefix("HELLO ")
        .filter(|json| json.starts_with('{'));
    let json = json.ok_or(Refusal::Silent)?;
    let mut hello = Hello {
        about: json.to_owned(),
        ..Hello::default()
    };
    let (mut version, mut hash, mut bad) = (0_i64, String::new(), false);
    let mut scanner = Scanner::new(json);
    let read = scanner.members(|key, value| match key {
        "v" => {
            version = value.parse().unwrap_or_else(|_| {
                bad |= value != "null";
                0
            })
        }
        "pid" | "rss_kb" => bad |= value != "null" && value.parse::<i64>().is_err(),
        "wid" | "pwdhash" | "hostname" | "username" => match unquote(value) {
            Some(text) if key == "wid" && !text.is_empty() => hello.wid = Some(text.into_owned()),
            Some(text) if key == "pwdhash" => hash = text.into_owned(),
            Some(_) => {}
            None => bad |= value != "null",
        },
        "labels" => bad |= !(value == "null" || value.starts_with('[')),
        "lease_tokens" => hello.tokens = value == "true",
        _ => {}
    });
    if bad || read.and_then(|()| scanner.end()).is_err() {
        return Err(Refusal::Silent);
    }
    if hello.about.len() > 4_096 {
        hello.about.clear();
    }
    let Some(Password(password)) = password else {
        return Ok(hello);
    };
    let rounds = if version < 2 { 1 } else { greeting.rounds };
    match same(
        hash.as_bytes(),
        pwdhash(password, &greeting.salt, rounds).as_bytes(),
    ) {
        true => Ok(hello),
        false => Err(Refusal::WrongPassword),
    }
}

/// Takes as long wherever the difference is.
fn same(a: &[u8], b: &[u8]) -> bool {
    a.len() == b.len() && a.iter().zip(b).fold(0, |all, (a, b)| all | (a ^ b)) == 0
}

/// What a client shows for its password.
pub(crate) fn pwdhash(password: &str, salt: &str, rounds: u32) -> String {
    let mut sum = digest(&SHA256, format!("{password}{salt}").as_bytes());
    for _ in 1..rounds {
        sum = digest(&SHA256, sum.as_ref());
    }
    sum.as_ref()
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}
