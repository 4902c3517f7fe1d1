//! Named formats of texts. Upstream: `library/format.go`.

use super::Opaque;
use super::url::Url;
use crate::eval::{Outcome, overload};
use crate::value::Val;
use stowplan_apimachinery::names;

/// A format.
#[derive(Debug)]
pub struct Format {
    /// How expressions call it.
    word: &'static str,
    pub(super) name: &'static str,
    /// The length of the expression that it would be, or is.
    pub(super) pattern_size: u64,
    faults: fn(&str) -> Vec<String>,
}

impl Format {
    /// What is wrong with a text, if anything is.
    pub(super) fn validate(&self, text: &str) -> Val {
        let faults: Vec<Val> = (self.faults)(text).into_iter().map(Val::from).collect();
        Val::optional(Some(faults).filter(|f| !f.is_empty()).map(Val::from))
    }
}

fn unless(fits: bool, fault: &str) -> Vec<String> {
    match fits {
        true => Vec::new(),
        false => vec![fault.to_owned()],
    }
}

fn uri(text: &str) -> Vec<String> {
    const BEFORE: &str = "URL parse error during conversion from string: ";
    match Url::parse(text) {
        Ok(_) => Vec::new(),
        Err(why) => vec![why.strip_prefix(BEFORE).unwrap_or(&why).to_owned()],
    }
}

/// Names may be generated from a prefix.
fn masked(text: &str) -> String {
    names::mask_trailing_dash(text)
}

static FORMATS: [Format; 13] = [
    format("dns1123Label", "DNS1123Label", 30, names::dns1123_label),
    format(
        "dns1123Subdomain",
        "DNS1123Subdomain",
        60,
        names::dns1123_subdomain,
    ),
    format("dns1035Label", "DNS1035Label", 30, names::dns1035_label),
    format("qualifiedName", "QualifiedName", 60, names::label_key),
    format("dns1123LabelPrefix", "DNS1123LabelPrefix", 30, |t| {
        names::dns1123_label(&masked(t))
    }),
    format(
        "dns1123SubdomainPrefix",
        "DNS1123SubdomainPrefix",
        60,
        |t| names::dns1123_subdomain(&masked(t)),
    ),
    format("dns1035LabelPrefix", "DNS1035LabelPrefix", 30, |t| {
        names::dns1035_label(&masked(t))
    }),
    format("labelValue", "LabelValue", 40, names::label_value),
    format("uri", "URI", 1_108, uri),
    format("uuid", "uuid", 72, |t| {
        unless(
            stowplan_apimachinery::strfmt::fits("uuid", t),
            "does not match the UUID format",
        )
    }),
    format("byte", "byte", 84, |t| {
        unless(
            stowplan_apimachinery::strfmt::fits("byte", t),
            "invalid base64",
        )
    }),
    format("date", "date", 72, |t| {
        unless(
            stowplan_apimachinery::strfmt::fits("date", t),
            "invalid date",
        )
    }),
    format("datetime", "datetime", 72, |t| {
        unless(
            stowplan_apimachinery::strfmt::fits("datetime", t),
            "invalid datetime",
        )
    }),
];

const fn format(
    word: &'static str,
    name: &'static str,
    pattern_size: u64,
    faults: fn(&str) -> Vec<String>,
) -> Format {
    Format {
        word,
        name,
        pattern_size,
        faults,
    }
}

/// `format.dns1123Label()` and `format.named('dns1123Label')`.
pub(crate) fn named(name: &str, with: &[Val]) -> Outcome {
    let find = |word: &str| FORMATS.iter().find(|format| format.word == word);
    match (name, with) {
        ("named", [Val::Text(word)]) => {
            let found = find(word).map(|format| Opaque::Format(format).into());
            Ok(Val::optional(found))
        }
        (word, []) => match find(word) {
            Some(format) => Ok(Opaque::Format(format).into()),
            None => overload(),
        },
        _ => overload(),
    }
}
