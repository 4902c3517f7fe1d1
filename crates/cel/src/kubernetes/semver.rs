//! Semantic versions. Upstream: `library/semverlib.go` over `github.com/blang/semver/v4`.

use crate::eval::{Outcome, overload};
use crate::value::Val;
use std::cmp::Ordering;

/// A version. What is behind `+` does not count.
#[derive(Debug)]
pub struct Version {
    numbers: [u64; 3],
    before: Vec<String>,
    pub(super) text: String,
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit())
}

fn is_identifier(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-')
}

fn number(name: &str, text: &str) -> Result<u64, String> {
    let shown = stowplan_apimachinery::go::quote(text);
    if !is_number(text) {
        let name = name.to_ascii_lowercase();
        return Err(format!(
            "Invalid character(s) found in {name} number {shown}"
        ));
    }
    if text.len() > 1 && text.starts_with('0') {
        return Err(format!(
            "{name} number must not contain leading zeroes {shown}"
        ));
    }
    text.parse()
        .map_err(|_| format!("strconv.ParseUint: parsing {shown}: value out of range"))
}

impl Version {
    /// Reads `1.2.3-pre+build`.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        if text.is_empty() {
            return Err("Version string empty".to_owned());
        }
        let parts: Vec<&str> = text.splitn(3, '.').collect();
        let [major, minor, rest] = parts[..] else {
            return Err("No Major.Minor.Patch elements found".to_owned());
        };
        let numbers = (number("Major", major)?, number("Minor", minor)?);
        let (rest, build) = match rest.split_once('+') {
            Some((rest, build)) => (rest, Some(build)),
            None => (rest, None),
        };
        let (patch, before) = match rest.split_once('-') {
            Some((patch, before)) => (patch, Some(before)),
            None => (rest, None),
        };
        let patch = number("Patch", patch)?;
        let mut kept = Vec::new();
        for part in before.into_iter().flat_map(|before| before.split('.')) {
            if part.is_empty() {
                return Err("Prerelease is empty".to_owned());
            }
            if is_number(part) && part.len() > 1 && part.starts_with('0') {
                return Err(format!(
                    "Numeric PreRelease version must not contain leading zeroes \"{part}\""
                ));
            }
            if !is_identifier(part) {
                let shown = stowplan_apimachinery::go::quote(part);
                return Err(format!("Invalid character(s) found in prerelease {shown}"));
            }
            kept.push(part.to_owned());
        }
        for part in build.into_iter().flat_map(|build| build.split('.')) {
            if part.is_empty() {
                return Err("Build meta data is empty".to_owned());
            }
            if !is_identifier(part) {
                let shown = stowplan_apimachinery::go::quote(part);
                return Err(format!(
                    "Invalid character(s) found in build meta data {shown}"
                ));
            }
        }
        Ok(Self {
            numbers: [numbers.0, numbers.1, patch],
            before: kept,
            text: text.to_owned(),
        })
    }

    /// Reads what people write: `v1`, `01.2`.
    pub(super) fn normalized(text: &str) -> Result<Self, String> {
        let text = text.strip_prefix('v').unwrap_or(text);
        let mut parts: Vec<String> = text.splitn(3, '.').map(without_zeros).collect();
        if parts.len() < 3 {
            if parts.last().is_some_and(|last| last.contains(['+', '-'])) {
                return Err("short version cannot contain PreRelease/Build meta data".to_owned());
            }
            parts.resize(3, "0".to_owned());
        }
        Self::parse(&parts.join("."))
    }

    /// Which of two is later.
    pub(super) fn order(&self, other: &Self) -> Ordering {
        let numbers = self.numbers.cmp(&other.numbers);
        numbers.then_with(|| match (self.before.is_empty(), other.before.is_empty()) {
            (true, true) => Ordering::Equal,
            (true, false) => Ordering::Greater,
            (false, true) => Ordering::Less,
            (false, false) => {
                let pairs = self.before.iter().zip(&other.before);
                let first = pairs.map(|(a, b)| identifiers(a, b)).find(|o| o.is_ne());
                first.unwrap_or_else(|| self.before.len().cmp(&other.before.len()))
            }
        })
    }

    /// Methods of a version.
    pub(super) fn part(&self, name: &str, with: &[Val]) -> Outcome {
        let [major, minor, patch] = self.numbers;
        let number = match (name, with) {
            ("major", []) => major,
            ("minor", []) => minor,
            ("patch", []) => patch,
            _ => return overload(),
        };
        Ok(Val::Int(i64::try_from(number).unwrap_or(i64::MAX)))
    }
}

fn without_zeros(part: &str) -> String {
    if part.len() < 2 {
        return part.to_owned();
    }
    let rest = part.trim_start_matches('0');
    match rest.starts_with(|c: char| c.is_ascii_digit()) {
        true => rest.to_owned(),
        false => format!("0{rest}"),
    }
}

fn identifiers(a: &str, b: &str) -> Ordering {
    match (is_number(a), is_number(b)) {
        (true, true) => a.len().cmp(&b.len()).then_with(|| a.cmp(b)),
        (true, false) => Ordering::Less,
        (false, true) => Ordering::Greater,
        (false, false) => a.cmp(b),
    }
}
