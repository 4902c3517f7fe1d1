//! What the log stands on: a folder of files, or what a test puts in its place.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Files by name.
pub trait Disk: Send + Sync {
    /// All names.
    fn list(&self) -> io::Result<Vec<String>>;
    /// A new, empty file.
    fn create(&self, name: &str) -> io::Result<Arc<dyn DiskFile>>;
    /// A file that is there.
    fn open(&self, name: &str) -> io::Result<Arc<dyn DiskFile>>;
    /// Removes a file.
    fn remove(&self, name: &str) -> io::Result<()>;
    /// Makes durable which names there are.
    fn sync_names(&self) -> io::Result<()>;
}

/// One file.
pub trait DiskFile: Send + Sync {
    /// Writes all of it; it is not durable yet.
    fn write_at(&self, bytes: &[u8], at: u64) -> io::Result<()>;
    /// Reads all of it.
    fn read_at(&self, to: &mut [u8], at: u64) -> io::Result<()>;
    /// How long it is.
    fn length(&self) -> io::Result<u64>;
    /// Cuts it off.
    fn set_len(&self, len: u64) -> io::Result<()>;
    /// Makes durable what was written.
    fn sync(&self) -> io::Result<()>;
}

/// A folder of the machine. Only one process at a time has it.
pub struct Folder {
    path: PathBuf,
    _lock: File,
}

impl Folder {
    /// Makes it if it is missing; fails if another process has it.
    pub fn open(path: &Path) -> io::Result<Self> {
        let whole = std::path::absolute(path)?;
        let missing = whole.ancestors().take_while(|folder| !folder.exists());
        let made: Vec<&Path> = missing.collect();
        std::fs::create_dir_all(&whole)?;
        // A folder that was made is there after a power failure once its parent is synced.
        for parent in made.iter().filter_map(|folder| folder.parent()) {
            File::open(parent)?.sync_all()?;
        }
        let lock = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .open(path.join("lock"))?;
        if lock.try_lock().is_err() {
            let text = format!("{} is used by another process", path.display());
            return Err(io::Error::other(text));
        }
        Ok(Self {
            path: path.to_owned(),
            _lock: lock,
        })
    }
}

impl Disk for Folder {
    fn list(&self) -> io::Result<Vec<String>> {
        let entries = std::fs::read_dir(&self.path)?;
        let names = entries.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()));
        names.collect()
    }

    fn create(&self, name: &str) -> io::Result<Arc<dyn DiskFile>> {
        let path = self.path.join(name);
        let file = OpenOptions::new()
            .create(true)
            .truncate(true)
            .read(true)
            .write(true)
            .open(path)?;
        Ok(Arc::new(file))
    }

    fn open(&self, name: &str) -> io::Result<Arc<dyn DiskFile>> {
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .open(self.path.join(name))?;
        Ok(Arc::new(file))
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        std::fs::remove_file(self.path.join(name))
    }

    fn sync_names(&self) -> io::Result<()> {
        File::open(&self.path)?.sync_all()
    }
}

impl DiskFile for File {
    fn write_at(&self, bytes: &[u8], at: u64) -> io::Result<()> {
        self.write_all_at(bytes, at)
    }

    fn read_at(&self, to: &mut [u8], at: u64) -> io::Result<()> {
        self.read_exact_at(to, at)
    }

    fn length(&self) -> io::Result<u64> {
        Ok(self.metadata()?.len())
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        Self::set_len(self, len)
    }

    fn sync(&self) -> io::Result<()> {
        self.sync_data()
    }
}
