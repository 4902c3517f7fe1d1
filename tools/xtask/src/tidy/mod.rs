//! What the compiler does not check: who may use whom, what pure crates must not touch, licences,
//! duplicate versions, and leftovers in sources.

mod map;
mod metadata;
mod sources;

use anyhow::Result;
use std::path::{Path, PathBuf};

/// The folder of the workspace.
pub fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .ancestors()
        .nth(2)
        .expect("tools/xtask lies in the workspace")
        .to_owned()
}

/// Everything that is not tidy, one line each.
pub fn problems() -> Result<Vec<String>> {
    let root = workspace();
    let metadata = metadata::Metadata::load(&root)?;
    let map = map::Map::read(&root)?;
    let mut problems = metadata.boundary_problems(&map);
    problems.extend(metadata.licence_problems());
    problems.extend(metadata.duplicate_problems());
    problems.extend(sources::problems(&root, &map)?);
    Ok(problems)
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_repository_is_tidy() {
        let problems = super::problems().expect("tidy can look");
        assert!(problems.is_empty(), "\n{}", problems.join("\n"));
    }
}
