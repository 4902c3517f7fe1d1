//! Manifests → objects: YAML or JSON, many documents, lists, folders, standard input.
//!
//! Every object remembers where it was read, and every error says file, document, object and field.
//! Kinds of Kubernetes that scheduling does not read are counted and passed over, so that the dump of
//! a whole cluster is valid input; a kind that does not exist is an error.

mod document;
mod error;
mod files;
mod kinds;
mod object;
#[cfg(test)]
mod tests;

pub use error::{LoadError, Source};
pub use object::{Kind, Object};

use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;

/// An object and where it was read.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// Where it was read.
    pub source: Source,
    /// The object as it was written: not defaulted, not validated.
    pub object: Object,
}

/// What was read.
#[derive(Clone, Debug, Default)]
pub struct Input {
    /// The objects, in the order of reading.
    pub objects: Vec<Loaded>,
    /// How many objects of which kinds were passed over.
    pub passed_over: BTreeMap<String, usize>,
    /// Fields that do not exist: where, which, and in how many objects of the same kind.
    pub unknown_fields: BTreeMap<(Kind, String), (Source, usize)>,
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
    pub fn read_text(&mut self, name: &str, bytes: &[u8]) {
        document::read(self, &Arc::from(name), bytes);
    }

    fn is_empty(&self) -> bool {
        self.objects.is_empty() && self.passed_over.is_empty() && self.errors.is_empty()
    }

    fn read_path(&mut self, path: &Path, stdin: &mut dyn Read) {
        if path == Path::new("-") {
            let mut bytes = Vec::new();
            match stdin.read_to_end(&mut bytes) {
                Ok(_) => self.read_text(&shown(path), &bytes),
                Err(error) => self.fail_file(path, &error),
            }
            return;
        }
        match files::manifests(path) {
            Ok(files) => {
                for file in files {
                    match std::fs::read(&file) {
                        Ok(bytes) => self.read_text(&shown(&file), &bytes),
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
