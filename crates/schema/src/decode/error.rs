//! What can be wrong with an object on its way in.

use std::fmt;

/// Why an object cannot be decoded, in Go's words.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DecodeError(Reason);

#[derive(Clone, PartialEq, Eq, Debug)]
enum Reason {
    /// Said already.
    Text(String),
    /// A JSON value that a Go type has no room for: `json.UnmarshalTypeError`.
    Type {
        /// `string`, `number 1.5`, …
        value: String,
        /// `v1.Container`
        ty: String,
        /// The Go struct that holds the field, and the path to it. Both empty outside of structs.
        holder: String,
        path: String,
    },
}

impl DecodeError {
    /// An error in words that are said already.
    pub fn text(text: impl Into<String>) -> Self {
        Self(Reason::Text(text.into()))
    }

    pub(crate) fn of_type(value: impl Into<String>, ty: impl Into<String>) -> Self {
        Self(Reason::Type {
            value: value.into(),
            ty: ty.into(),
            holder: String::new(),
            path: String::new(),
        })
    }

    /// Puts the error below a field. The outermost struct that says so is the one that is named.
    pub(crate) fn within(self, outer: &str, outer_path: &str) -> Self {
        match self.0 {
            Reason::Type {
                value, ty, path, ..
            } if !(outer.is_empty() && outer_path.is_empty()) => Self(Reason::Type {
                value,
                ty,
                holder: outer.to_owned(),
                path: match path.is_empty() {
                    true => outer_path.to_owned(),
                    false => format!("{outer_path}.{path}"),
                },
            }),
            other => Self(other),
        }
    }
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Reason::Text(text) => f.write_str(text),
            Reason::Type {
                value,
                ty,
                holder,
                path,
            } if holder.is_empty() && path.is_empty() => {
                write!(
                    f,
                    "json: cannot unmarshal {value} into Go value of type {ty}"
                )
            }
            Reason::Type {
                value,
                ty,
                holder,
                path,
            } => write!(
                f,
                "json: cannot unmarshal {value} into Go struct field {holder}.{path} of type {ty}"
            ),
        }
    }
}

impl std::error::Error for DecodeError {}
