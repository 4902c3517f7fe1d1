//! Errors that name the field they are about, worded as the API server words them.
//!
//! Upstream: `k8s.io/apimachinery/pkg/util/validation/field`.

use crate::go;
use crate::limits::{ERRORS_TOLD_BYTES_MAX, ERRORS_TOLD_MAX};
use serde_json::Value;
use std::collections::HashSet;
use std::fmt;

/// The place of a field. Building one allocates nothing; only an error writes it out.
#[derive(Clone, Copy, Debug)]
pub struct Path<'a> {
    parent: Option<&'a Path<'a>>,
    step: Step<'a>,
}

#[derive(Clone, Copy, Debug)]
enum Step<'a> {
    /// The object itself, which prints as nothing: its children stand without a dot.
    Root,
    Field(&'a str),
    Index(usize),
    Key(&'a str),
}

impl<'a> Path<'a> {
    /// The object itself. As the place of an error it prints `<nil>`, as in Go.
    pub const ROOT: Path<'static> = Path {
        parent: None,
        step: Step::Root,
    };

    /// A field of the object itself.
    pub const fn new(name: &'a str) -> Self {
        Self {
            parent: None,
            step: Step::Field(name),
        }
    }

    /// A field of what is here.
    pub const fn child(&'a self, name: &'a str) -> Self {
        Self {
            parent: Some(self),
            step: Step::Field(name),
        }
    }

    /// An element of the list that is here.
    pub const fn index(&'a self, index: usize) -> Self {
        Self {
            parent: Some(self),
            step: Step::Index(index),
        }
    }

    /// An entry of the map that is here.
    pub const fn key(&'a self, key: &'a str) -> Self {
        Self {
            parent: Some(self),
            step: Step::Key(key),
        }
    }

    fn write(&self, out: &mut String) {
        use fmt::Write;
        if let Some(parent) = self.parent {
            parent.write(out);
        }
        match self.step {
            Step::Root => {}
            Step::Field(name) => {
                if !out.is_empty() {
                    out.push('.');
                }
                out.push_str(name);
            }
            Step::Index(index) => {
                let _ = write!(out, "[{index}]");
            }
            Step::Key(key) => {
                let _ = write!(out, "[{key}]");
            }
        }
    }
}

impl fmt::Display for Path<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = String::new();
        self.write(&mut out);
        f.write_str(if out.is_empty() { "<nil>" } else { &out })
    }
}

/// What kind of fault it is: decides the first words of the message and the cause's reason.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs)] // upstream's names, explained by `words`
pub enum ErrorKind {
    NotFound,
    Required,
    Duplicate,
    Invalid,
    NotSupported,
    Forbidden,
    TooLong,
    TooShort,
    TooMany,
    TooFew,
    Internal,
    TypeInvalid,
}

impl ErrorKind {
    /// The reason of the cause in a `Status`.
    pub fn reason(self) -> &'static str {
        match self {
            Self::NotFound => "FieldValueNotFound",
            Self::Required => "FieldValueRequired",
            Self::Duplicate => "FieldValueDuplicate",
            Self::Invalid => "FieldValueInvalid",
            Self::NotSupported => "FieldValueNotSupported",
            Self::Forbidden => "FieldValueForbidden",
            Self::TooLong => "FieldValueTooLong",
            Self::TooShort => "FieldValueTooShort",
            Self::TooMany => "FieldValueTooMany",
            Self::TooFew => "FieldValueTooFew",
            Self::Internal => "InternalError",
            Self::TypeInvalid => "FieldValueTypeInvalid",
        }
    }

    fn words(self) -> &'static str {
        match self {
            Self::NotFound => "Not found",
            Self::Required => "Required value",
            Self::Duplicate => "Duplicate value",
            Self::Invalid | Self::TypeInvalid => "Invalid value",
            Self::NotSupported => "Unsupported value",
            Self::Forbidden => "Forbidden",
            Self::TooLong => "Too long",
            Self::TooShort => "Too short",
            Self::TooMany => "Too many",
            Self::TooFew => "Too few",
            Self::Internal => "Internal error",
        }
    }
}

/// Something wrong with one field.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Error {
    /// What kind of fault.
    pub kind: ErrorKind,
    /// The field.
    pub field: String,
    /// The value as it is printed, where the kind prints one.
    pub value: Option<String>,
    /// What was expected.
    pub detail: String,
}

/// Everything wrong with an object, in the order of the checks.
pub type ErrorList = Vec<Error>;

/// How a bad value is printed: texts quoted, the rest as JSON.
pub trait Shown {
    /// The printed value.
    fn shown(&self) -> String;
}

impl Shown for str {
    fn shown(&self) -> String {
        go::quote(self)
    }
}

impl Shown for String {
    fn shown(&self) -> String {
        go::quote(self)
    }
}

impl Shown for Value {
    fn shown(&self) -> String {
        match self {
            Value::String(text) => go::quote(text),
            other => other.to_string(),
        }
    }
}

macro_rules! shown_plainly {
    ($($t:ty),*) => {$(
        impl Shown for $t {
            fn shown(&self) -> String {
                self.to_string()
            }
        }
    )*};
}
shown_plainly!(i64, i32, usize, u64, f64, bool);

/// A value that is printed just as given: Go's own text of something that is no JSON.
pub struct Raw<'a>(pub &'a str);

impl Shown for Raw<'_> {
    fn shown(&self) -> String {
        self.0.to_owned()
    }
}

impl<T: Shown + ?Sized> Shown for &T {
    fn shown(&self) -> String {
        (**self).shown()
    }
}

impl Error {
    fn new(
        kind: ErrorKind,
        path: &Path<'_>,
        value: Option<String>,
        detail: impl Into<String>,
    ) -> Self {
        Self {
            kind,
            field: path.to_string(),
            value,
            detail: detail.into(),
        }
    }

    /// A value that is malformed or out of bounds.
    pub fn invalid(path: &Path<'_>, value: impl Shown, detail: impl Into<String>) -> Self {
        Self::new(ErrorKind::Invalid, path, Some(value.shown()), detail)
    }

    /// A value of the wrong type for its schema.
    pub fn type_invalid(path: &Path<'_>, value: impl Shown, detail: impl Into<String>) -> Self {
        Self::new(ErrorKind::TypeInvalid, path, Some(value.shown()), detail)
    }

    /// A value that has to be there and is not.
    pub fn required(path: &Path<'_>, detail: impl Into<String>) -> Self {
        Self::new(ErrorKind::Required, path, None, detail)
    }

    /// A second one of what must be unique.
    pub fn duplicate(path: &Path<'_>, value: impl Shown) -> Self {
        Self::new(ErrorKind::Duplicate, path, Some(value.shown()), "")
    }

    /// Something that is referred to and does not exist.
    pub fn not_found(path: &Path<'_>, value: impl Shown) -> Self {
        Self::new(ErrorKind::NotFound, path, Some(value.shown()), "")
    }

    /// A well-formed value that is not allowed here.
    pub fn forbidden(path: &Path<'_>, detail: impl Into<String>) -> Self {
        Self::new(ErrorKind::Forbidden, path, None, detail)
    }

    /// A word that is none of the known ones, which are listed in the order given.
    pub fn not_supported(path: &Path<'_>, value: impl Shown, known: &[&str]) -> Self {
        let known: Vec<String> = known.iter().map(|k| go::quote(k)).collect();
        let detail = match known.is_empty() {
            true => String::new(),
            false => format!("supported values: {}", known.join(", ")),
        };
        Self::new(ErrorKind::NotSupported, path, Some(value.shown()), detail)
    }

    /// A text of more than so many bytes.
    pub fn too_long(path: &Path<'_>, max_bytes: usize) -> Self {
        let unit = if max_bytes == 1 { "byte" } else { "bytes" };
        let detail = format!("may not be more than {max_bytes} {unit}");
        Self::new(ErrorKind::TooLong, path, None, detail)
    }

    /// A list of more than so many items.
    pub fn too_many(path: &Path<'_>, actual: usize, max_items: usize) -> Self {
        let unit = if max_items == 1 { "item" } else { "items" };
        let detail = format!("must have at most {max_items} {unit}");
        Self::new(ErrorKind::TooMany, path, Some(actual.to_string()), detail)
    }

    /// An error of another kind, or with a value printed in a way of its own.
    pub fn other(
        kind: ErrorKind,
        path: &Path<'_>,
        value: Option<String>,
        detail: impl Into<String>,
    ) -> Self {
        Self::new(kind, path, value, detail)
    }

    /// The message without the field: what a `Status` cause carries.
    pub fn body(&self) -> String {
        let mut out = self.kind.words().to_owned();
        if let Some(value) = &self.value {
            out.push_str(": ");
            out.push_str(value);
        }
        if !self.detail.is_empty() {
            out.push_str(": ");
            out.push_str(&self.detail);
        }
        out
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.field, self.body())
    }
}

/// As many of the first errors as are told to the client, at least one.
pub(crate) fn told(errors: &[Error]) -> &[Error] {
    let length =
        |e: &Error| e.field.len() + e.value.as_ref().map_or(0, String::len) + e.detail.len();
    let mut bytes = 0;
    let fits = |error: &&Error| {
        let before = bytes;
        bytes += length(error);
        before <= ERRORS_TOLD_BYTES_MAX
    };
    let count = errors.iter().take(ERRORS_TOLD_MAX).take_while(fits).count();
    errors.get(..count).unwrap_or(errors)
}

/// All errors as one text: `a` alone, else `[a, b]`. Texts that occur twice are said once.
pub fn aggregate<'a>(errors: impl IntoIterator<Item = &'a Error>) -> String {
    let mut said: HashSet<String> = HashSet::new();
    let mut all = String::new();
    for error in errors {
        let text = error.to_string();
        if said.contains(&text) {
            continue;
        }
        if !said.is_empty() {
            all.push_str(", ");
        }
        all.push_str(&text);
        said.insert(text);
    }
    match said.len() {
        1 => all,
        _ => format!("[{all}]"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn errors_read_as_upstreams() {
        let spec = Path::new("spec");
        let containers = spec.child("containers");
        let first = containers.index(0);
        let resources = first.child("requests");
        let cpu = resources.key("cpu");
        assert_eq!(
            Error::invalid(&cpu, "x", "must be a number").to_string(),
            r#"spec.containers[0].requests[cpu]: Invalid value: "x": must be a number"#
        );
        assert_eq!(
            Error::required(&spec, "").to_string(),
            "spec: Required value"
        );
        assert_eq!(
            Error::not_supported(&spec, json!("a"), &["b", "c"]).to_string(),
            r#"spec: Unsupported value: "a": supported values: "b", "c""#
        );
        assert_eq!(
            Error::too_many(&Path::ROOT, 3, 1).to_string(),
            "<nil>: Too many: 3: must have at most 1 item"
        );
        let under_root = Path::ROOT;
        assert_eq!(under_root.child("spec").to_string(), "spec");
    }

    #[test]
    fn many_errors_are_told_in_one_go() {
        let at = Path::new("list");
        let errors: ErrorList = (0..200_000)
            .map(|i| Error::required(&at.index(i), ""))
            .collect();
        let all = aggregate(errors.iter().chain(&errors));
        assert!(all.ends_with("list[199999]: Required value]"));
        assert_eq!(all.matches("list[7]").count(), 1);
    }

    #[test]
    fn one_error_stands_alone_and_repeats_are_said_once() {
        let a = Error::required(&Path::new("a"), "");
        let b = Error::required(&Path::new("b"), "");
        assert_eq!(aggregate([&a]), "a: Required value");
        assert_eq!(
            aggregate([&a, &b, &a]),
            "[a: Required value, b: Required value]"
        );
    }
}
