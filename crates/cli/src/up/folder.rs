//! The data folder: what is in it is opened, or the start is refused.

use super::identity::{self, Identity};
use crate::output;
use anyhow::{Context, Result, bail};
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use stowplan_store::{Options, Redb, Store};

const STORE: &str = "store.redb";

/// The store and the secrets of a data folder.
pub(super) fn open(folder: &Path) -> Result<(Store, Identity)> {
    make(Some(folder))?;
    let file = folder.join(STORE);
    refuse_loss(folder, &file)?;
    let backend = Redb::open(&file)?;
    let store = Store::open(backend, Options::default())?;
    tighten(&file)?;
    Ok((store, Identity::open(folder)?))
}

pub(super) fn make(folder: Option<&Path>) -> Result<()> {
    let Some(folder) = folder.filter(|f| !f.as_os_str().is_empty()) else {
        return Ok(());
    };
    fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))
}

/// A store is made before the secrets are. If these are there and nothing of it is, it was lost, and
/// an empty cluster is not what anybody wants to find in its place.
fn refuse_loss(folder: &Path, file: &Path) -> Result<()> {
    let home = identity::home(folder);
    if !home.exists() {
        return Ok(());
    }
    let lost = match begins(file) {
        Ok(true) => return Ok(()),
        Ok(false) => "there is nothing in it",
        Err(error) if error.kind() == io::ErrorKind::NotFound => "there is no such file",
        // Whoever opens it will tell.
        Err(_) => return Ok(()),
    };
    bail!(
        "{}: {lost}, but {} says that there was a cluster: put the file back, or remove that folder \
         to start a new cluster",
        file.display(),
        home.display()
    )
}

/// Whether a file begins with anything but zeros.
fn begins(file: &Path) -> io::Result<bool> {
    let mut beginning = Vec::new();
    File::open(file)?.take(16).read_to_end(&mut beginning)?;
    Ok(beginning.iter().any(|byte| *byte != 0))
}

/// Takes the right to read a file from everybody but its owner, and says so.
pub(super) fn tighten(file: &Path) -> Result<()> {
    let told = || format!("cannot look at {}", file.display());
    let mode = fs::metadata(file).with_context(told)?.permissions().mode();
    if mode & 0o077 == 0 {
        return Ok(());
    }
    let (name, mode) = (file.display(), mode & 0o777);
    let tight = fs::set_permissions(file, fs::Permissions::from_mode(0o600));
    output::warn(match tight {
        Ok(()) => format!("{name} could be read by others ({mode:o}): now by its owner only (600)"),
        Err(error) => format!("{name} can be read by others ({mode:o}), which stays so: {error}"),
    });
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(name: &str) -> std::path::PathBuf {
        let name = format!("stowplan-folder-{name}-{}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        let _ = fs::remove_dir_all(&folder);
        folder
    }

    #[test]
    fn a_store_that_was_lost_is_not_replaced_by_an_empty_one() {
        let folder = folder("lost");
        let file = folder.join(STORE);
        drop(open(&folder).unwrap());
        drop(open(&folder).unwrap());
        let whole = fs::read(&file).unwrap();
        let refused = |why: &str| {
            let error = open(&folder).err().expect(why).to_string();
            assert!(error.contains(why) && error.contains("put the file back"));
        };
        for rest in [&[][..], &[0; 4096]] {
            fs::write(&file, rest).unwrap();
            refused("there is nothing in it");
        }
        fs::remove_file(&file).unwrap();
        refused("there is no such file");
        std::os::unix::fs::symlink(folder.join("nowhere"), &file).unwrap();
        refused("there is no such file");
        assert!(!folder.join("nowhere").exists());
        fs::remove_file(&file).unwrap();
        fs::write(&file, whole).unwrap();
        drop(open(&folder).unwrap());
        // Who wants a new cluster says so.
        fs::write(&file, "").unwrap();
        fs::remove_dir_all(identity::home(&folder)).unwrap();
        drop(open(&folder).unwrap());
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn what_others_could_read_is_tightened() {
        let folder = folder("tight");
        drop(open(&folder).unwrap());
        let mut files = identity::secrets(&folder);
        files.push(folder.join(STORE));
        for file in &files {
            fs::set_permissions(file, fs::Permissions::from_mode(0o644)).unwrap();
        }
        drop(open(&folder).unwrap());
        for file in &files {
            let mode = fs::metadata(file).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o600, "{}", file.display());
        }
        fs::remove_dir_all(&folder).unwrap();
    }
}
