//! How much memory a value takes while it is being read.

use crate::decode::DecodeError;
use stowplan_apimachinery::limits::{SMALL_TEXT_BYTES, VALUE_BYTES_MAX, VALUE_BYTES_PER_BYTE};

/// What is left of the memory that one value may take. What values take is guessed, not too low.
#[derive(Debug)]
pub(crate) struct MemoryBudget {
    left: usize,
}

/// A value in a list, which may have grown to twice its length, and what will be said of it if it is
/// wrong: lists are what has the most parts for the fewest bytes.
const ITEM: usize = 256;
/// A text besides its bytes.
const TEXT: usize = 32;
/// The first node of a map's tree.
const MAP: usize = 640;
/// An entry of a map besides its key: nodes of the tree may be half empty.
const ENTRY: usize = 128;

impl Default for MemoryBudget {
    fn default() -> Self {
        Self {
            left: VALUE_BYTES_MAX,
        }
    }
}

/// There is not enough left.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Full;

impl From<Full> for DecodeError {
    fn from(_: Full) -> Self {
        Self::text(format!("exceeded max memory of {VALUE_BYTES_MAX} bytes"))
    }
}

impl MemoryBudget {
    /// Room for what a text of so many bytes can become without repeating itself.
    pub(crate) fn of_text(bytes: usize) -> Self {
        Self {
            left: VALUE_BYTES_MAX.min(SMALL_TEXT_BYTES + VALUE_BYTES_PER_BYTE * bytes),
        }
    }

    /// Room for what a file of so many bytes can become: a file may be as large as it likes, but aliases
    /// may not make much of little.
    pub(crate) fn of_file(bytes: usize) -> Self {
        Self {
            left: VALUE_BYTES_MAX.saturating_add(VALUE_BYTES_PER_BYTE.saturating_mul(bytes)),
        }
    }

    fn take(&mut self, bytes: usize) -> Result<(), Full> {
        self.left = self.left.checked_sub(bytes).ok_or(Full)?;
        Ok(())
    }

    /// One more element of a list.
    pub(crate) fn item(&mut self) -> Result<(), Full> {
        self.take(ITEM)
    }

    /// A text of so many bytes.
    pub(crate) fn text(&mut self, length: usize) -> Result<(), Full> {
        self.take(TEXT + length)
    }

    /// One more entry of a map of so many entries, with a key of so many bytes.
    pub(crate) fn entry(&mut self, entries: usize, key_length: usize) -> Result<(), Full> {
        let node = if entries == 0 { MAP } else { ENTRY };
        self.take(node + TEXT + key_length)
    }

    /// A struct of so many fields. Their names are short.
    pub(crate) fn fields(&mut self, count: usize) -> Result<(), Full> {
        match count {
            0 => Ok(()),
            count => self.take(MAP + count * (ENTRY / 2 + TEXT)),
        }
    }
}
