//! A storage that can be opened again after it has failed.

use redb::{BackendError, StorageBackend};
use std::io;
use std::ops::Bound;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// What a database stands on. Clones are the same storage.
#[derive(Debug)]
pub(super) struct Medium<S>(Arc<Inner<S>>);

#[derive(Debug)]
struct Inner<S> {
    storage: S,
    sync_failed: AtomicBool,
}

/// Tells whether what is read may be trusted to be on the disk.
pub(super) trait Trust: Send {
    /// Whether a sync failed. From then on the system may show what never reached the disk.
    fn sync_failed(&self) -> bool;
}

impl<S> Medium<S> {
    pub(super) fn new(storage: S) -> Self {
        Self(Arc::new(Inner {
            storage,
            sync_failed: AtomicBool::new(false),
        }))
    }
}

impl<S> Clone for Medium<S> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<S: StorageBackend> Trust for Medium<S> {
    fn sync_failed(&self) -> bool {
        self.0.sync_failed.load(Ordering::Relaxed)
    }
}

impl<S: StorageBackend> StorageBackend for Medium<S> {
    fn len(&self) -> io::Result<u64> {
        self.0.storage.len()
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.0.storage.read(offset, out)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.0.storage.set_len(len)
    }

    fn sync_data(&self) -> io::Result<()> {
        let synced = self.0.storage.sync_data();
        if synced.is_err() {
            self.0.sync_failed.store(true, Ordering::Relaxed);
        }
        synced
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.0.storage.write(offset, data)
    }

    fn close(&self) -> io::Result<()> {
        self.0.storage.close()
    }

    fn try_lock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<bool, BackendError> {
        self.0.storage.try_lock_range(start, end)
    }

    fn try_lock_shared_range(
        &self,
        start: Bound<u64>,
        end: Bound<u64>,
    ) -> Result<bool, BackendError> {
        self.0.storage.try_lock_shared_range(start, end)
    }

    fn lock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<(), BackendError> {
        self.0.storage.lock_range(start, end)
    }

    fn lock_shared_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<(), BackendError> {
        self.0.storage.lock_shared_range(start, end)
    }

    fn unlock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<(), BackendError> {
        self.0.storage.unlock_range(start, end)
    }

    fn query_lock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<bool, BackendError> {
        self.0.storage.query_lock_range(start, end)
    }
}
