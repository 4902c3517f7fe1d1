//! Files whose creation was cut short.
//!
//! redb refuses a file that is neither empty nor begins with its magic number, and when it creates
//! one it writes that number last (redb 4.4, `page_manager.rs`). So a crash in between would leave
//! a file that cannot be opened ever again. There is nothing in it yet: it can start anew.

use redb::{BackendError, StorageBackend};
use std::io;
use std::ops::Bound;

/// Up to here redb has put its header by then; everything after it is zero.
const HEADER: usize = 4 << 10;
/// The magic number is missing.
const MAGIC: usize = 9;
/// More than redb begins with.
const LENGTH_MAX: u64 = 8 << 20;

/// Empties a storage that is unfinished. Leaves everything else as it is, also what somebody else
/// is just creating.
pub(super) fn clear(storage: &impl StorageBackend) -> io::Result<()> {
    if !is_unfinished(storage)? {
        return Ok(());
    }
    let (start, end) = (Bound::Unbounded, Bound::Unbounded);
    match storage.try_lock_range(start, end) {
        Ok(true) => {
            let cleared = clear_locked(storage);
            storage.unlock_range(start, end)?;
            cleared
        }
        // Whoever has it will finish it.
        Ok(false) => Ok(()),
        Err(BackendError::Unsupported) => clear_locked(storage),
        Err(error) => Err(error.into()),
    }
}

fn clear_locked(storage: &impl StorageBackend) -> io::Result<()> {
    // Somebody may have finished it before it was locked.
    if is_unfinished(storage)? {
        storage.set_len(0)?;
    }
    Ok(())
}

fn is_unfinished(storage: &impl StorageBackend) -> io::Result<bool> {
    let length = storage.len()?;
    if length == 0 || length > LENGTH_MAX {
        return Ok(false);
    }
    let mut content = vec![0; usize::try_from(length).unwrap_or_default()];
    let magic = content.len().min(MAGIC);
    storage.read(0, &mut content[..magic])?;
    if content.iter().any(|byte| *byte != 0) {
        return Ok(false);
    }
    storage.read(0, &mut content)?;
    let after = content.get(HEADER..).unwrap_or_default();
    Ok(after.iter().all(|byte| *byte == 0))
}
