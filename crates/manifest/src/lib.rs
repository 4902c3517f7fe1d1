//! Manifests → a cluster that could exist: YAML or JSON, many documents, lists, folders, standard input.
//!
//! [`Input::read`] finds documents and their kinds. [`prepare`] sends each object down the road of the API
//! server (`stowplan-registry`): decoded, defaulted, admitted and validated, over a `Lookup` of the input
//! itself; then it plays the controllers that nobody runs here. Every object remembers where it was read,
//! and errors are what the server would say, with file and document before them.
//!
//! Kinds of Kubernetes that scheduling does not read are counted and passed over, so that the dump of a
//! whole cluster is valid input; a kind that does not exist is an error.

mod cluster;
mod error;
mod files;
mod kinds;
mod lookup;
mod road;
#[cfg(test)]
mod tests;
mod text;

pub use cluster::{Loaded, Prepared, prepare};
pub use error::{LoadError, Source};
pub use lookup::Objects;
pub use road::{Accepted, accept};

use bytes::Bytes;
use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;
use stowplan_registry::Resource;

/// One object as it was written.
#[derive(Clone)]
pub struct Manifest {
    /// Where it was read.
    pub source: Source,
    /// What it says it is.
    pub resource: Resource,
    /// Its text, as JSON.
    pub json: Bytes,
}

/// What was read.
#[derive(Clone, Default)]
pub struct Input {
    /// The objects, in the order of reading.
    pub manifests: Vec<Manifest>,
    /// How many objects of which kinds were passed over.
    pub passed_over: BTreeMap<String, usize>,
    /// Everything that is wrong.
    pub errors: Vec<LoadError>,
}

impl Input {
    /// Reads what is at the paths; `-` stands for standard input.
    pub fn read<P: AsRef<Path>>(paths: &[P], stdin: &mut dyn Read) -> Self {
        let mut input = Self::default();
        for path in paths {
            input.read_path(path.as_ref(), stdin);
        }
        if input.is_empty() {
            let paths: Vec<String> = paths
                .iter()
                .map(|path| shown(path.as_ref()).to_string())
                .collect();
            input.errors.push(LoadError::Empty(paths.join(", ")));
        }
        input
    }

    /// Reads one text; `name` is what errors call it.
    pub fn read_text(&mut self, name: &str, text: impl Into<Bytes>) {
        text::read(self, &Arc::from(name), text.into());
    }

    fn is_empty(&self) -> bool {
        self.manifests.is_empty() && self.passed_over.is_empty() && self.errors.is_empty()
    }

    fn read_path(&mut self, path: &Path, stdin: &mut dyn Read) {
        if path == Path::new("-") {
            let mut bytes = Vec::new();
            match stdin.read_to_end(&mut bytes) {
                Ok(_) => self.read_text(&shown(path), bytes),
                Err(error) => self.fail_file(path, &error),
            }
            return;
        }
        match files::manifests(path) {
            Ok(files) => {
                for file in files {
                    match std::fs::read(&file) {
                        Ok(bytes) => self.read_text(&shown(&file), bytes),
                        Err(error) => self.fail_file(&file, &error),
                    }
                }
            }
            Err(error) => self.errors.push(error),
        }
    }

    fn fail_file(&mut self, file: &Path, error: &std::io::Error) {
        self.errors.push(LoadError::File {
            file: shown(file).into_owned(),
            message: error.to_string(),
        });
    }
}

fn shown(path: &Path) -> std::borrow::Cow<'_, str> {
    if path == Path::new("-") {
        "stdin".into()
    } else {
        path.to_string_lossy()
    }
}
