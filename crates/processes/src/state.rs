//! The folder in which everything is kept that has to outlive this process.

use crate::record::{RunFolder, hold};
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};
use stowplan_nodes::RunId;

/// The state folder. Whoever has it holds its lock.
#[derive(Debug)]
pub(crate) struct StateFolder {
    root: PathBuf,
    _lock: File,
}

impl StateFolder {
    /// Opens it; makes it if it is missing. Nobody else may have it.
    pub(crate) fn open(root: &Path) -> Result<Self, String> {
        let cannot =
            |error: io::Error| format!("cannot use the state folder {}: {error}", root.display());
        let mut builder = fs::DirBuilder::new();
        builder
            .recursive(true)
            .mode(0o700)
            .create(root)
            .map_err(cannot)?;
        fs::set_permissions(root, fs::Permissions::from_mode(0o700)).map_err(cannot)?;
        // Shims have it as an argument, and containers know no other.
        let root = root.canonicalize().map_err(cannot)?;
        let lock = hold(&root.join("lock")).map_err(cannot)?;
        let Some(lock) = lock else {
            let root = root.display();
            return Err(format!(
                "the state folder {root} is in use by another process: wait for its end, or name another one with --state-dir"
            ));
        };
        for name in ["pods", "claims"] {
            fs::create_dir_all(root.join(name)).map_err(cannot)?;
        }
        Ok(Self { root, _lock: lock })
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    pub(crate) fn socket(&self) -> PathBuf {
        self.root.join("node.sock")
    }

    pub(crate) fn claims(&self) -> PathBuf {
        self.root.join("claims")
    }

    pub(crate) fn pod(&self, uid: &str) -> PathBuf {
        // A uid never has any of these, but it comes from others.
        let uid: String = uid
            .chars()
            .filter(|one| one.is_ascii_alphanumeric() || *one == '-')
            .collect();
        self.root.join("pods").join(uid)
    }

    pub(crate) fn volumes(&self, uid: &str) -> PathBuf {
        self.pod(uid).join("volumes")
    }

    pub(crate) fn run(&self, uid: &str, run: &RunId) -> RunFolder {
        let containers = self.pod(uid).join("containers");
        RunFolder(
            containers
                .join(&*run.container)
                .join(run.attempt.to_string()),
        )
    }

    /// The uids of all pods of which anything is there.
    pub(crate) fn pods(&self) -> BTreeSet<String> {
        let entries = fs::read_dir(self.root.join("pods"))
            .into_iter()
            .flatten()
            .flatten();
        entries
            .filter_map(|entry| entry.file_name().into_string().ok())
            .collect()
    }

    /// All runs of a pod's containers of which anything is there.
    pub(crate) fn runs(&self, uid: &str) -> Vec<(RunId, RunFolder)> {
        let mut all = Vec::new();
        let containers = self.pod(uid).join("containers");
        for container in fs::read_dir(containers).into_iter().flatten().flatten() {
            let name = container.file_name().to_string_lossy().into_owned();
            for run in fs::read_dir(container.path())
                .into_iter()
                .flatten()
                .flatten()
            {
                let attempt = run.file_name().to_str().and_then(|text| text.parse().ok());
                if let Some(attempt) = attempt {
                    let container = name.as_str().into();
                    all.push((RunId { container, attempt }, RunFolder(run.path())));
                }
            }
        }
        all
    }
}
