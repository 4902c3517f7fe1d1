//! Paths → files.

use super::LoadError;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// The manifests at a path: the file itself, or every `.yaml`, `.yml` and `.json` file below the
/// folder, in the order of their paths. Hidden files and folders are left out.
pub(super) fn manifests(path: &Path) -> Result<Vec<PathBuf>, LoadError> {
    let failed = |path: &Path, error: &std::io::Error| LoadError::File {
        file: path.display().to_string(),
        message: error.to_string(),
    };
    if !std::fs::metadata(path)
        .map_err(|error| failed(path, &error))?
        .is_dir()
    {
        return Ok(vec![path.to_owned()]);
    }
    let mut found = Vec::new();
    let mut seen = BTreeSet::new();
    let mut folders = vec![path.to_owned()];
    while let Some(folder) = folders.pop() {
        // Links may lead in circles.
        let real = folder
            .canonicalize()
            .map_err(|error| failed(&folder, &error))?;
        if !seen.insert(real) {
            continue;
        }
        for entry in std::fs::read_dir(&folder).map_err(|error| failed(&folder, &error))? {
            let path = entry.map_err(|error| failed(&folder, &error))?.path();
            let hidden = path
                .file_name()
                .is_none_or(|name| name.as_encoded_bytes().starts_with(b"."));
            if hidden {
                continue;
            }
            if path.is_dir() {
                folders.push(path);
            } else if is_manifest(&path) {
                // To read from a pipe is to wait for somebody who writes.
                if std::fs::metadata(&path).is_ok_and(|metadata| !metadata.is_file()) {
                    return Err(LoadError::File {
                        file: path.display().to_string(),
                        message: "not a regular file; if it is to be read, name it itself"
                            .to_owned(),
                    });
                }
                found.push(path);
            }
        }
    }
    found.sort();
    Ok(found)
}

fn is_manifest(path: &Path) -> bool {
    path.extension()
        .and_then(|extension| extension.to_str())
        .is_some_and(|extension| ["yaml", "yml", "json"].contains(&extension))
}
