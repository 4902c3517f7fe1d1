//! Opening a log that somebody left.

use super::{
    Disk, FRAME_HEAD, Log, LogSettings, MAGIC, SEGMENT_HEAD, Segment, WINDOWS, Window, checksum,
    name,
};
use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use stowplan_jobs::BadRecord;

/// The log cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The disk does not do what it is asked.
    #[error("the job log cannot be read")]
    Io(#[from] io::Error),
    /// Something is missing that was there.
    #[error("the job log is damaged at {at} in {file}")]
    Damaged {
        /// Where.
        at: u64,
        /// In which file.
        file: String,
    },
    /// A record is not known.
    #[error("the job log has {source} at {at}")]
    Record {
        /// Where.
        at: u64,
        /// What is wrong with it.
        source: BadRecord,
    },
}

/// What is read at once.
const CHUNK: usize = 1 << 20;

impl Log {
    /// Opens a log; `see` gets the records of each frame, and where they are.
    pub fn open(
        disk: Arc<dyn Disk>,
        settings: LogSettings,
        mut see: impl FnMut(u64, &[u8]) -> Result<(), BadRecord>,
    ) -> Result<Self, OpenError> {
        let names = disk.list()?;
        let starts = names.iter().filter_map(|name| name.strip_suffix(".jobs"));
        let mut starts: Vec<u64> = starts
            .filter_map(|hex| u64::from_str_radix(hex, 16).ok())
            .collect();
        starts.sort_unstable();
        let mut segments = VecDeque::new();
        let mut end = 0;
        for (i, start) in starts.iter().enumerate() {
            let last = i + 1 == starts.len();
            if !segments.is_empty() && *start != end {
                return Err(OpenError::Damaged {
                    at: end,
                    file: name(*start),
                });
            }
            let file = disk.open(&name(*start))?;
            let mut reader = Reader::new(&*file)?;
            let head = reader.take(SEGMENT_HEAD as usize)?;
            let good =
                head.is_some_and(|head| head[..8] == *MAGIC && head[8..] == start.to_le_bytes());
            let empty = head.is_none_or(|head| head.iter().all(|byte| *byte == 0));
            if !good && last && empty {
                // It was being made.
                disk.remove(&name(*start))?;
                end = *start;
                break;
            }
            if !good {
                return Err(OpenError::Damaged {
                    at: *start,
                    file: name(*start),
                });
            }
            let mut at = *start + SEGMENT_HEAD;
            while let Some(len) = reader.frame(at)? {
                let from = at + FRAME_HEAD as u64;
                let records = reader.taken(len);
                see(from, records).map_err(|source| OpenError::Record { at: from, source })?;
                at = from + len as u64;
            }
            let len = at - start;
            let file_len = file.length()?;
            if !last && len != file_len {
                return Err(OpenError::Damaged {
                    at,
                    file: name(*start),
                });
            }
            if len != file_len {
                let torn = not_zero(&*file, len, file_len)?;
                if torn > 0 {
                    let file = name(*start);
                    tracing::warn!(
                        file,
                        bytes = torn,
                        "the job log ends in a torn write, which is cut off"
                    );
                }
                file.set_len(len)?;
                file.sync()?;
            }
            end = at;
            segments.push_back(Segment {
                start: *start,
                len,
                file,
            });
        }
        let windows = (0..WINDOWS).map(|_| Window::default()).collect();
        let mut log = Self {
            disk,
            settings,
            segments,
            windows,
            end,
        };
        log.roll()?;
        Ok(log)
    }
}

/// How many bytes from `from` on there are up to the last that is not zero.
fn not_zero(file: &dyn super::DiskFile, from: u64, end: u64) -> io::Result<u64> {
    let mut bytes = vec![0; CHUNK];
    let (mut at, mut last) = (from, from);
    while at < end {
        let len = (end - at).min(CHUNK as u64) as usize;
        file.read_at(&mut bytes[..len], at)?;
        if let Some(found) = bytes[..len].iter().rposition(|byte| *byte != 0) {
            last = at + found as u64 + 1;
        }
        at += len as u64;
    }
    Ok(last - from)
}

/// Reads a file from front to end, a megabyte at a time.
struct Reader<'a> {
    file: &'a dyn super::DiskFile,
    len: u64,
    read: u64,
    buffer: Vec<u8>,
    from: usize,
}

impl<'a> Reader<'a> {
    fn new(file: &'a dyn super::DiskFile) -> io::Result<Self> {
        Ok(Self {
            file,
            len: file.length()?,
            read: 0,
            buffer: Vec::new(),
            from: 0,
        })
    }

    /// Makes so many bytes available, if there are as many.
    fn need(&mut self, bytes: usize) -> io::Result<bool> {
        let have = self.buffer.len() - self.from;
        if have >= bytes {
            return Ok(true);
        }
        let left = self.len - self.read;
        if ((bytes - have) as u64) > left {
            return Ok(false);
        }
        self.buffer.drain(..self.from);
        self.from = 0;
        let more = left.min((bytes - have).max(CHUNK) as u64) as usize;
        let filled = self.buffer.len();
        self.buffer.resize(filled + more, 0);
        self.file.read_at(&mut self.buffer[filled..], self.read)?;
        self.read += more as u64;
        Ok(true)
    }

    fn take(&mut self, bytes: usize) -> io::Result<Option<&[u8]>> {
        match self.need(bytes)? {
            true => Ok(Some(self.taken(bytes))),
            false => Ok(None),
        }
    }

    fn taken(&mut self, bytes: usize) -> &[u8] {
        self.from += bytes;
        &self.buffer[self.from - bytes..self.from]
    }

    /// The length of the frame at a position, if there is one; its records can be taken then.
    fn frame(&mut self, at: u64) -> io::Result<Option<usize>> {
        if !self.need(FRAME_HEAD)? {
            return Ok(None);
        }
        let word = |from: usize, buffer: &[u8]| {
            let bytes = buffer[from..].first_chunk().copied().unwrap_or_default();
            u64::from_le_bytes(bytes)
        };
        let len = word(self.from, &self.buffer);
        let sum = word(self.from + 8, &self.buffer);
        let Ok(len) = usize::try_from(len) else {
            return Ok(None);
        };
        if sum == 0 || len as u64 > self.len || !self.need(FRAME_HEAD + len)? {
            return Ok(None);
        }
        let records = &self.buffer[self.from + FRAME_HEAD..][..len];
        if checksum(at, records) != sum {
            return Ok(None);
        }
        self.from += FRAME_HEAD;
        Ok(Some(len))
    }
}
