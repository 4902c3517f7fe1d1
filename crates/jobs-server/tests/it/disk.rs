//! A disk in memory that remembers every change, and can lose what was not synced.

use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex};
use stowplan_base::Rng;
use stowplan_jobs_server::log::{Disk, DiskFile};

/// One change.
#[derive(Clone, Debug)]
enum Change {
    Create(String),
    Remove(String),
    Write(String, u64, Vec<u8>),
    Cut(String, u64),
    Sync(String),
    SyncNames,
}

#[derive(Default)]
struct State {
    /// What was there at first.
    base: BTreeMap<String, Vec<u8>>,
    files: BTreeMap<String, Vec<u8>>,
    changes: Vec<Change>,
    lies: bool,
}

/// See the module. Clones are the same disk.
#[derive(Clone, Default)]
pub(crate) struct Memory(Arc<Mutex<State>>);

struct MemoryFile(Memory, String);

impl Memory {
    /// It says that it synced, and did not.
    pub(crate) fn lying() -> Self {
        let disk = Self::default();
        disk.0.lock().unwrap().lies = true;
        disk
    }

    pub(crate) fn changes(&self) -> usize {
        self.0.lock().unwrap().changes.len()
    }

    /// Whether nothing was written since the last sync.
    pub(crate) fn is_synced(&self) -> bool {
        let state = self.0.lock().unwrap();
        matches!(state.changes.last(), Some(Change::Sync(_)))
    }

    fn with(files: BTreeMap<String, Vec<u8>>) -> Self {
        let base = files.clone();
        Self(Arc::new(Mutex::new(State {
            base,
            files,
            ..State::default()
        })))
    }

    fn change(&self, change: Change) {
        let mut state = self.0.lock().unwrap();
        apply(&mut state.files, &change);
        state.changes.push(change);
    }

    /// What is there if power fails after so many changes: what was synced, and of the rest any part.
    pub(crate) fn after_power_loss(&self, changes: usize, rng: &mut Rng) -> Self {
        let state = self.0.lock().unwrap();
        let changes = &state.changes[..changes];
        let mut files = state.base.clone();
        for (at, change) in changes.iter().enumerate() {
            let later = &changes[at + 1..];
            let kept = match change {
                Change::Create(_) | Change::Remove(_) => {
                    later.iter().any(|later| matches!(later, Change::SyncNames)) && !state.lies
                }
                Change::Write(name, ..) | Change::Cut(name, _) => {
                    later
                        .iter()
                        .any(|later| matches!(later, Change::Sync(synced) if synced == name))
                        && !state.lies
                }
                Change::Sync(_) | Change::SyncNames => continue,
            };
            match change {
                _ if kept => apply(&mut files, change),
                // A file that was made may be there although nobody waited for it; a removed one may be back.
                Change::Create(_) | Change::Remove(_) | Change::Cut(..) if rng.below(2) == 0 => {
                    apply(&mut files, change);
                }
                // Sectors arrive in any order, or not at all.
                Change::Write(name, from, bytes) if files.contains_key(name) => {
                    for (i, sector) in bytes.chunks(512).enumerate() {
                        if rng.below(2) == 0 {
                            let at = from + 512 * i as u64;
                            apply(
                                &mut files,
                                &Change::Write(name.clone(), at, sector.to_vec()),
                            );
                        }
                    }
                }
                _ => {}
            }
        }
        Self::with(files)
    }

    /// What is there if only the process ends after so many changes.
    pub(crate) fn after_kill(&self, changes: usize) -> Self {
        let state = self.0.lock().unwrap();
        let mut files = state.base.clone();
        state.changes[..changes]
            .iter()
            .for_each(|change| apply(&mut files, change));
        Self::with(files)
    }
}

fn apply(files: &mut BTreeMap<String, Vec<u8>>, change: &Change) {
    match change {
        Change::Create(name) => drop(files.insert(name.clone(), Vec::new())),
        Change::Remove(name) => drop(files.remove(name)),
        Change::Write(name, at, bytes) => {
            if let Some(file) = files.get_mut(name) {
                let end = *at as usize + bytes.len();
                file.resize(file.len().max(end), 0);
                file[*at as usize..end].copy_from_slice(bytes);
            }
        }
        Change::Cut(name, len) => {
            if let Some(file) = files.get_mut(name) {
                file.resize(*len as usize, 0);
            }
        }
        Change::Sync(_) | Change::SyncNames => {}
    }
}

impl Disk for Memory {
    fn list(&self) -> io::Result<Vec<String>> {
        Ok(self.0.lock().unwrap().files.keys().cloned().collect())
    }

    fn create(&self, name: &str) -> io::Result<Arc<dyn DiskFile>> {
        self.change(Change::Create(name.to_owned()));
        self.open(name)
    }

    fn open(&self, name: &str) -> io::Result<Arc<dyn DiskFile>> {
        Ok(Arc::new(MemoryFile(self.clone(), name.to_owned())))
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        self.change(Change::Remove(name.to_owned()));
        Ok(())
    }

    fn sync_names(&self) -> io::Result<()> {
        self.change(Change::SyncNames);
        Ok(())
    }
}

impl DiskFile for MemoryFile {
    fn write_at(&self, bytes: &[u8], at: u64) -> io::Result<()> {
        self.0
            .change(Change::Write(self.1.clone(), at, bytes.to_vec()));
        Ok(())
    }

    fn read_at(&self, to: &mut [u8], at: u64) -> io::Result<()> {
        let state = self.0.0.lock().unwrap();
        let file = state.files.get(&self.1).ok_or(io::ErrorKind::NotFound)?;
        let from = at as usize;
        let bytes = file
            .get(from..from + to.len())
            .ok_or(io::ErrorKind::UnexpectedEof)?;
        to.copy_from_slice(bytes);
        Ok(())
    }

    fn length(&self) -> io::Result<u64> {
        let state = self.0.0.lock().unwrap();
        Ok(state
            .files
            .get(&self.1)
            .ok_or(io::ErrorKind::NotFound)?
            .len() as u64)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.0.change(Change::Cut(self.1.clone(), len));
        Ok(())
    }

    fn sync(&self) -> io::Result<()> {
        self.0.change(Change::Sync(self.1.clone()));
        Ok(())
    }
}
