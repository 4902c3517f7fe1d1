//! Files that change all at once: `..data` points to the folder that holds. Upstream's `AtomicWriter`.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Component, Path};

/// A file of a volume.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct File {
    /// Within the volume.
    pub(crate) path: String,
    pub(crate) mode: i32,
    pub(crate) data: Vec<u8>,
}

const DATA: &str = "..data";

/// Lets a folder have these files and no others.
pub(crate) fn render(folder: &Path, files: &[File]) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    if is_current(folder, files) {
        return Ok(());
    }
    let before = fs::read_link(folder.join(DATA)).ok();
    let number = before
        .as_ref()
        .and_then(|name| name.to_str()?.strip_prefix("..")?.parse::<u64>().ok());
    let name = format!("..{}", number.unwrap_or(0) + 1);
    let new = folder.join(&name);
    let _ = fs::remove_dir_all(&new);
    fs::create_dir(&new)?;
    let mut tops = BTreeSet::new();
    for file in files {
        let path = Path::new(&file.path);
        let is_inside = path
            .components()
            .all(|one| matches!(one, Component::Normal(_)));
        let Some(top) = path.components().next().filter(|_| is_inside) else {
            return Err(io::Error::other(format!(
                "{:?} is not a path within the volume",
                file.path
            )));
        };
        tops.insert(top.as_os_str().to_owned());
        let place = new.join(path);
        fs::create_dir_all(place.parent().unwrap_or(&new))?;
        fs::write(&place, &file.data)?;
        let mode = u32::try_from(file.mode).unwrap_or(0o644) & 0o777;
        fs::set_permissions(&place, fs::Permissions::from_mode(mode))?;
    }
    let link = folder.join("..data_tmp");
    let _ = fs::remove_file(&link);
    symlink(&name, &link)?;
    fs::rename(&link, folder.join(DATA))?;
    for top in &tops {
        let place = folder.join(top);
        if fs::symlink_metadata(&place).is_err() {
            symlink(Path::new(DATA).join(top), &place)?;
        }
    }
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name();
        let is_ours = name.to_string_lossy().starts_with("..");
        if !is_ours && !tops.contains(&name) {
            fs::remove_file(entry.path())?;
        }
    }
    if let Some(before) = before {
        let _ = fs::remove_dir_all(folder.join(before));
    }
    Ok(())
}

/// Whether the folder has these files already.
fn is_current(folder: &Path, files: &[File]) -> bool {
    let data = folder.join(DATA);
    let Ok(count) = count(&data) else {
        return false;
    };
    count == files.len()
        && files
            .iter()
            .all(|file| fs::read(data.join(&file.path)).is_ok_and(|data| data == file.data))
}

fn count(folder: &Path) -> io::Result<usize> {
    let mut sum = 0;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        sum += match entry.file_type()?.is_dir() {
            true => count(&entry.path())?,
            false => 1,
        };
    }
    Ok(sum)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Folder;

    fn file(path: &str, data: &str) -> File {
        File {
            path: path.to_owned(),
            mode: 0o640,
            data: data.as_bytes().to_vec(),
        }
    }

    #[test]
    fn files_come_change_and_go_all_at_once() {
        let folder = Folder::new("render");
        let root = folder.path().join("v");
        render(&root, &[file("a", "1"), file("b/c", "2")]).unwrap();
        let read = |path: &str| fs::read_to_string(root.join(path)).ok();
        assert_eq!(read("a").as_deref(), Some("1"));
        assert_eq!(read("b/c").as_deref(), Some("2"));
        let mode = fs::metadata(root.join("a")).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o640);
        let first = fs::read_link(root.join("..data")).unwrap();
        render(&root, &[file("a", "1"), file("b/c", "2")]).unwrap();
        assert_eq!(fs::read_link(root.join("..data")).unwrap(), first);
        render(&root, &[file("a", "3")]).unwrap();
        assert_eq!(read("a").as_deref(), Some("3"));
        assert!(!root.join("b").exists() && fs::symlink_metadata(root.join("b")).is_err());
        for wrong in ["../out", "/etc/passwd", ""] {
            assert!(render(&root, &[file(wrong, "x")]).is_err(), "{wrong}");
        }
    }
}
