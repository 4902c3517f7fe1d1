//! Where something was read, and what is wrong with it.

use std::fmt;
use std::sync::Arc;

/// Where an object was read.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Source {
    /// The file's path as it was given or found; `stdin` for standard input.
    pub file: Arc<str>,
    /// Which document of the file, from 1.
    pub document: usize,
    /// Which item of a list, from 0; the last of them if lists hold lists.
    pub item: Option<usize>,
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: document {}", self.file, self.document)?;
        match self.item {
            Some(item) => write!(f, ": items[{item}]"),
            None => Ok(()),
        }
    }
}

/// What is wrong with one field or document, without saying where.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Problem {
    field: String,
    message: String,
}

impl Problem {
    pub(crate) fn at(field: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            field: field.into(),
            message: message.into(),
        }
    }

    pub(crate) fn whole(message: impl Into<String>) -> Self {
        Self::at("", message)
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.field.as_str() {
            "" | "." => f.write_str(&self.message),
            field => write!(f, "{field}: {}", self.message),
        }
    }
}

/// Why an input cannot be used.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum LoadError {
    /// A file or folder cannot be read.
    #[error("{file}: {message}")]
    File {
        /// Its path.
        file: String,
        /// What the system says.
        message: String,
    },
    /// A document is broken, or an object in it is wrong.
    #[error("{at}: {message}")]
    Object {
        /// Where it is.
        at: Source,
        /// The object, the field and what was expected.
        message: String,
    },
    /// There is nothing to read.
    #[error("no Kubernetes objects in {0}")]
    Empty(String),
}

impl LoadError {
    /// Where it is, for putting errors in the order of reading; whole files come first.
    pub fn place(&self) -> Option<&Source> {
        match self {
            Self::Object { at, .. } => Some(at),
            Self::File { .. } | Self::Empty(_) => None,
        }
    }

    /// An error of the object at this place.
    pub fn object(at: &Source, message: impl fmt::Display) -> Self {
        Self::Object {
            at: at.clone(),
            message: message.to_string(),
        }
    }
}
