//! A disk that remembers in which order it was written, to lose power at any point.

use std::hash::{Hash, Hasher};
use std::io;
use std::sync::{Arc, Mutex, MutexGuard};
use stowplan_base::Rng;

/// What is kept or lost at once when power fails.
const SECTOR: usize = 512;

#[derive(Clone, Debug, Hash)]
enum Change {
    Write { at: usize, data: Vec<u8> },
    SetLength(usize),
    Sync,
}

/// A disk in memory. Clones are the same disk.
#[derive(Clone, Debug, Default)]
pub(crate) struct Disk(Arc<Mutex<Inner>>);

#[derive(Debug, Default)]
struct Inner {
    /// What was on it at first.
    start: Vec<u8>,
    /// What a reader gets.
    content: Vec<u8>,
    log: Vec<Change>,
    /// Says that it has synced, but has not.
    lies: bool,
    /// Takes no more changes.
    off: bool,
    /// How many more writes there is room for, if that is bounded.
    room: Option<usize>,
    /// Finds out only when it syncs that there is no room.
    syncs_fail: bool,
}

impl Disk {
    pub(crate) fn with(content: Vec<u8>) -> Self {
        let inner = Inner {
            start: content.clone(),
            content,
            ..Inner::default()
        };
        Self(Arc::new(Mutex::new(inner)))
    }

    /// A disk whose syncs do nothing.
    pub(crate) fn lying() -> Self {
        let disk = Self::default();
        disk.inner().lies = true;
        disk
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap()
    }

    /// What is on it.
    pub(crate) fn content(&self) -> Vec<u8> {
        self.inner().content.clone()
    }

    /// Refuses everything from now on.
    pub(crate) fn turn_off(&self) {
        self.inner().off = true;
    }

    /// Is full after so many writes; never, if nothing is said.
    pub(crate) fn set_room(&self, writes: Option<usize>) {
        self.inner().room = writes;
    }

    /// Finds out only when it syncs that there is no room, or does not any more.
    pub(crate) fn set_syncs_fail(&self, fail: bool) {
        self.inner().syncs_fail = fail;
    }

    /// How many changes there were.
    pub(crate) fn changes(&self) -> usize {
        self.inner().log.len()
    }

    /// A number that differs if anything was written differently.
    pub(crate) fn fingerprint(&self) -> u64 {
        let mut hasher = std::hash::DefaultHasher::new();
        self.inner().log.hash(&mut hasher);
        hasher.finish()
    }

    /// What a process finds that starts after another was killed: everything written, but synced
    /// only as far as it was.
    pub(crate) fn after_kill(&self, changes: usize) -> Self {
        let inner = self.inner();
        let mut content = inner.start.clone();
        for change in &inner.log[..changes] {
            change.apply(&mut content);
        }
        Self(Arc::new(Mutex::new(Inner {
            start: inner.start.clone(),
            content,
            log: inner.log[..changes].to_vec(),
            lies: inner.lies,
            off: false,
            room: None,
            syncs_fail: false,
        })))
    }

    /// What is found when power failed after some changes: all that was synced, and of the rest
    /// whatever chance left.
    pub(crate) fn after_power_loss(&self, changes: usize, rng: &mut Rng) -> Self {
        let inner = self.inner();
        let log = &inner.log[..changes];
        let synced = log.iter().rposition(|c| matches!(c, Change::Sync));
        let synced = synced.map_or(0, |i| i + 1);
        let mut content = inner.start.clone();
        for change in &log[..synced] {
            change.apply(&mut content);
        }
        leave_some(&log[synced..], &mut content, rng);
        Self::with(content)
    }
}

/// Applies some of what was not synced, in one of the ways in which disks do.
fn leave_some(changes: &[Change], content: &mut Vec<u8>, rng: &mut Rng) {
    let way = rng.below(6);
    let few = rng.below(2) == 0;
    let mut chance = move |rng: &mut Rng| rng.below(8) < if few { 2 } else { 6 };
    let first = rng.below(changes.len() + 1);
    for (i, change) in changes.iter().enumerate() {
        match way {
            // Nothing.
            0 => {}
            // Everything.
            1 => change.apply(content),
            // As far as the disk had come, the last one torn.
            2 if i < first => change.apply(content),
            2 if i == first => change.tear(content, rng, &mut chance),
            2 => {}
            // Some, in any order.
            3 | 4 if chance(rng) => change.apply(content),
            3 | 4 => {}
            // Sector by sector.
            _ => change.tear(content, rng, &mut chance),
        }
    }
}

impl Change {
    fn apply(&self, content: &mut Vec<u8>) {
        match self {
            Self::Write { at, data } => put(content, *at, data),
            Self::SetLength(length) => content.resize(*length, 0),
            Self::Sync => {}
        }
    }

    fn tear(
        &self,
        content: &mut Vec<u8>,
        rng: &mut Rng,
        chance: &mut impl FnMut(&mut Rng) -> bool,
    ) {
        match self {
            Self::Write { at, data } => {
                let mut from = 0;
                while from < data.len() {
                    let to = data.len().min(from + SECTOR - (at + from) % SECTOR);
                    if chance(rng) {
                        put(content, at + from, &data[from..to]);
                    }
                    from = to;
                }
            }
            other if chance(rng) => other.apply(content),
            _ => {}
        }
    }
}

fn put(content: &mut Vec<u8>, at: usize, data: &[u8]) {
    let end = at + data.len();
    if content.len() < end {
        content.resize(end, 0);
    }
    content[at..end].copy_from_slice(data);
}

impl redb::StorageBackend for Disk {
    fn len(&self) -> io::Result<u64> {
        Ok(self.inner().content.len() as u64)
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let at = offset as usize;
        let inner = self.inner();
        let data = inner.content.get(at..at + out.len());
        out.copy_from_slice(data.ok_or(io::ErrorKind::UnexpectedEof)?);
        Ok(())
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.inner().change(Change::SetLength(len as usize))
    }

    fn sync_data(&self) -> io::Result<()> {
        let mut inner = self.inner();
        match inner.lies {
            true => Ok(()),
            false => inner.change(Change::Sync),
        }
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.inner().change(Change::Write {
            at: offset as usize,
            data: data.to_vec(),
        })
    }
}

impl Inner {
    fn change(&mut self, change: Change) -> io::Result<()> {
        if self.off {
            return Err(io::Error::other("the disk is off"));
        }
        if self.syncs_fail && matches!(change, Change::Sync) {
            return Err(io::ErrorKind::StorageFull.into());
        }
        // What is there already can be synced.
        if let (Some(room), Change::Write { .. } | Change::SetLength(_)) = (&mut self.room, &change)
        {
            *room = room.checked_sub(1).ok_or(io::ErrorKind::StorageFull)?;
        }
        change.apply(&mut self.content);
        self.log.push(change);
        Ok(())
    }
}
