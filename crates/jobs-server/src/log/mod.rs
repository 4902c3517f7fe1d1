//! The log: records in segments, appended in frames that are there as a whole or not at all.
//!
//! A position counts bytes from the beginning of time. A segment is a file named by the position of its first
//! byte. A frame is its length, a checksum that also covers its position, and records. Only the last segment
//! may end in something that is no frame: power failed while it was written, and nobody was told that it was.
//! It is cut off there, and the log goes on in a new segment.

mod disk;
mod recovery;

pub use disk::{Disk, DiskFile, Folder};
pub use recovery::OpenError;

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use stowplan_jobs::Place;

/// What a segment begins with.
const MAGIC: &[u8; 8] = b"STOWJOB1";
/// The length of that, and of the position that comes after.
const SEGMENT_HEAD: u64 = 16;
/// The length of what comes before the records of a frame.
pub const FRAME_HEAD: usize = 16;
/// What is read at once when a job is not in memory any more.
const WINDOW: usize = 64 * 1024;
const WINDOWS: usize = 16;

/// How the log is kept.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LogSettings {
    /// A segment that is longer is followed by another one.
    pub segment_bytes: u64,
    /// Segments are filled with zeros first: overwriting is synced faster than appending.
    pub prefill: bool,
}

impl Default for LogSettings {
    fn default() -> Self {
        Self {
            segment_bytes: 64 << 20,
            prefill: true,
        }
    }
}

struct Segment {
    start: u64,
    /// Written bytes, its head included.
    len: u64,
    file: Arc<dyn DiskFile>,
}

/// See the module.
pub struct Log {
    disk: Arc<dyn Disk>,
    settings: LogSettings,
    segments: VecDeque<Segment>,
    windows: Vec<Window>,
    end: u64,
}

#[derive(Default)]
struct Window {
    start: u64,
    bytes: Vec<u8>,
}

/// A checksum of a frame: also of where it is, so that what an earlier use of the disk left is not taken for one.
fn checksum(at: u64, bytes: &[u8]) -> u64 {
    let fold = |a: u64, b: u64| {
        let product = u128::from(a) * u128::from(b);
        (product as u64) ^ ((product >> 64) as u64)
    };
    let mut lanes = [at ^ 0x9e37_79b9_7f4a_7c15, 0xe703_7ed1_a0b4_28db];
    let (words, rest) = bytes.as_chunks::<16>();
    for word in words {
        let word = u128::from_le_bytes(*word);
        lanes[0] = fold(lanes[0] ^ word as u64, 0x8ebc_6af0_9c88_c6e3) ^ lanes[1];
        lanes[1] = fold(lanes[1] ^ (word >> 64) as u64, 0xa076_1d64_78bd_642f).rotate_left(23);
    }
    let mut last = [0; 16];
    last[..rest.len()].copy_from_slice(rest);
    let last = u128::from_le_bytes(last);
    let mixed = fold(
        lanes[0] ^ last as u64,
        lanes[1] ^ (last >> 64) as u64 ^ 0x589f_cd4a_1ec8_8e4b,
    );
    // Never 0, which is what an empty disk says.
    fold(mixed ^ bytes.len() as u64, 0xd6e8_feb8_6659_fd93) | 1
}

fn name(start: u64) -> String {
    format!("{start:016x}.jobs")
}

impl Log {
    /// Where the records of the next frame will begin.
    pub fn next(&self) -> u64 {
        self.end + FRAME_HEAD as u64
    }

    /// Where the log ends.
    pub fn end(&self) -> u64 {
        self.end
    }

    /// Where it begins.
    pub fn start(&self) -> u64 {
        self.segments.front().map_or(0, |segment| segment.start)
    }

    /// Where its second segment begins, if it has several.
    pub fn second(&self) -> Option<u64> {
        self.segments.get(1).map(|segment| segment.start)
    }

    /// Writes a frame: `frame` begins with [`FRAME_HEAD`] bytes that are filled in here. It is not durable yet.
    pub fn write(&mut self, frame: &mut [u8]) -> io::Result<()> {
        let (head, records) = frame.split_at_mut(FRAME_HEAD);
        let sum = checksum(self.end, records);
        head[..8].copy_from_slice(&(records.len() as u64).to_le_bytes());
        head[8..].copy_from_slice(&sum.to_le_bytes());
        let Some(segment) = self.segments.back_mut() else {
            return Err(io::Error::other("the log has no segment"));
        };
        segment.file.write_at(frame, segment.len)?;
        segment.len += frame.len() as u64;
        self.end += frame.len() as u64;
        Ok(())
    }

    /// What has to be synced to make all that was written durable.
    pub fn file(&self) -> Option<Arc<dyn DiskFile>> {
        Some(self.segments.back()?.file.clone())
    }

    /// Whether the segment is full.
    pub fn is_full(&self) -> bool {
        let last = self.segments.back();
        last.is_none_or(|segment| segment.len >= self.settings.segment_bytes)
    }

    /// Begins another segment; what was written is durable then.
    pub fn roll(&mut self) -> io::Result<()> {
        if let Some(last) = self.segments.back() {
            last.file.set_len(last.len)?;
            last.file.sync()?;
        }
        let start = self.end;
        let file = self.disk.create(&name(start))?;
        let mut head = MAGIC.to_vec();
        head.extend_from_slice(&start.to_le_bytes());
        if self.settings.prefill {
            let zeros = vec![0; 1 << 20];
            let mut at = 0;
            while at < self.settings.segment_bytes {
                file.write_at(&zeros, at)?;
                at += zeros.len() as u64;
            }
        }
        file.write_at(&head, 0)?;
        file.sync()?;
        self.disk.sync_names()?;
        self.segments.push_back(Segment {
            start,
            len: SEGMENT_HEAD,
            file,
        });
        self.end = start + SEGMENT_HEAD;
        Ok(())
    }

    /// Forgets segments that end before `before`.
    pub fn forget(&mut self, before: u64) -> io::Result<()> {
        while self.segments.len() > 1
            && self
                .segments
                .get(1)
                .is_some_and(|next| next.start <= before)
        {
            if let Some(first) = self.segments.pop_front() {
                self.disk.remove(&name(first.start))?;
            }
        }
        self.disk.sync_names()
    }

    /// How many bytes it has.
    pub fn bytes(&self) -> u64 {
        self.segments.iter().map(|segment| segment.len).sum()
    }

    /// What is at a place.
    pub fn read(&mut self, place: Place, to: &mut Vec<u8>) -> io::Result<()> {
        let (at, len) = (place.at, place.len as usize);
        let index = ((at / WINDOW as u64) % WINDOWS as u64) as usize;
        if let Some(bytes) = self.windows[index].get(at, len) {
            to.extend_from_slice(bytes);
            return Ok(());
        }
        let after = self.segments.partition_point(|segment| segment.start <= at);
        let segment = after
            .checked_sub(1)
            .and_then(|before| self.segments.get(before));
        let segment = segment.filter(|segment| at + len as u64 <= segment.start + segment.len);
        let Some(segment) = segment else {
            return Err(io::Error::other(format!("the log has nothing at {at}")));
        };
        let offset = at - segment.start;
        let span = (segment.len - offset).min(WINDOW as u64).max(len as u64);
        if len > WINDOW / 4 {
            let from = to.len();
            to.resize(from + len, 0);
            return segment.file.read_at(&mut to[from..], offset);
        }
        let window = &mut self.windows[index];
        // If this fails nothing is taken for what it was to be.
        let mut bytes = std::mem::take(&mut window.bytes);
        bytes.resize(span as usize, 0);
        segment.file.read_at(&mut bytes, offset)?;
        (window.start, window.bytes) = (at, bytes);
        to.extend_from_slice(&window.bytes[..len]);
        Ok(())
    }
}

impl Window {
    fn get(&self, at: u64, len: usize) -> Option<&[u8]> {
        let from = usize::try_from(at.checked_sub(self.start)?).ok()?;
        self.bytes.get(from..from.checked_add(len)?)
    }
}
