//! The log forgets what is over, a little at each turn.

use super::{ServeError, Server};

/// How many jobs of old segments are written again between two looks at the sockets.
const COMPACTED_AT_ONCE: usize = 200;
const LOOKED_AT_ONCE: u32 = 1_024;

pub(super) struct Compacting {
    before: u64,
    slot: u32,
}

impl Server {
    /// Forgets the oldest part of the log when it is mostly about jobs that are over.
    pub(super) fn compact(&mut self) -> Result<(), ServeError> {
        if self.compacting.is_none() && self.wants_compaction() {
            let before = self.core.log.second();
            self.compacting = before.map(|before| Compacting { before, slot: 0 });
        }
        let Some(Compacting { before, slot }) = self.compacting else {
            return Ok(());
        };
        // What is read below has to be written.
        self.core.write()?;
        let mut found = Vec::new();
        let mut next = Some(slot);
        while let Some(from) = next.filter(|_| found.len() < COMPACTED_AT_ONCE) {
            next = self
                .core
                .machine
                .old_jobs(from, LOOKED_AT_ONCE, before, &mut found);
        }
        self.core.rewrite(&found)?;
        self.compacting = next.map(|slot| Compacting { before, slot });
        if self.compacting.is_none() {
            self.core.rewrite_rest(before);
            self.core.write()?;
            self.syncer.wait()?;
            if let Some(file) = self.core.log.file() {
                file.sync()?;
            }
            self.syncer.skip_to(self.core.log.end());
            self.core.log.forget(before)?;
        }
        Ok(())
    }

    fn wants_compaction(&self) -> bool {
        let live = self.core.live_bytes();
        self.core.log.second().is_some()
            && self.core.log.bytes() > 2 * live + 4 * self.settings.log.segment_bytes
    }
}
