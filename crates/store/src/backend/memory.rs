//! Nothing outlives the process.

use super::{Backend, Batch, Loaded, WriteError};
use crate::{OpenError, Revision};

/// Keeps no log: the store's own memory is all there is.
#[derive(Clone, Copy, Debug, Default)]
pub struct Memory;

impl Backend for Memory {
    fn name(&self) -> String {
        "memory".to_owned()
    }

    fn load(&mut self) -> Result<Loaded, OpenError> {
        Ok(Loaded {
            compacted: Revision::FIRST,
            records: Vec::new(),
        })
    }

    fn write(&mut self, _batch: &Batch<'_>) -> Result<(), WriteError> {
        Ok(())
    }
}
