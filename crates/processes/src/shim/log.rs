//! A container's log, as container runtimes write it: time, stream, whether the line is whole, text.

use crate::record::RunFolder;
use jiff::Timestamp;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use stowplan_env::wall_clock;

/// Lines are cut into parts of this size, as containerd does.
const LINE_BYTES: usize = 16 << 10;

/// The log that is written to.
pub(super) struct LogFile {
    folder: RunFolder,
    file: File,
    bytes: u64,
    bytes_max: u64,
    files: u32,
    /// What was said without an end of line, by stream.
    open: [(&'static str, Vec<u8>); 2],
}

impl LogFile {
    pub(super) fn open(folder: &RunFolder, bytes_max: u64, files: u32) -> io::Result<Self> {
        let file = OpenOptions::new()
            .append(true)
            .create(true)
            .open(folder.file("log"))?;
        let bytes = file.metadata()?.len();
        Ok(Self {
            folder: folder.clone(),
            file,
            bytes,
            bytes_max,
            files,
            open: [("stdout", Vec::new()), ("stderr", Vec::new())],
        })
    }

    /// Takes in what the container said. A log that cannot be written must not stop the container.
    pub(super) fn write(&mut self, stream: &str, said: &[u8]) {
        let Some((name, mut line)) = self.take(stream) else {
            return;
        };
        let mut out = Vec::with_capacity(said.len() + 128);
        for piece in said.split_inclusive(|byte| *byte == b'\n') {
            for part in piece.chunks(LINE_BYTES) {
                line.extend_from_slice(part);
                if line.last() == Some(&b'\n') {
                    line.pop();
                    entry(&mut out, name, "F", &line);
                    line.clear();
                } else if line.len() >= LINE_BYTES {
                    entry(&mut out, name, "P", &line);
                    line.clear();
                }
            }
        }
        self.put_back(name, line);
        self.append(&out);
    }

    /// Nothing more will be said.
    pub(super) fn finish(&mut self) {
        let mut out = Vec::new();
        for (name, line) in &mut self.open {
            if !line.is_empty() {
                entry(&mut out, name, "F", line);
                line.clear();
            }
        }
        self.append(&out);
    }

    fn take(&mut self, stream: &str) -> Option<(&'static str, Vec<u8>)> {
        let (name, line) = self.open.iter_mut().find(|(name, _)| *name == stream)?;
        Some((*name, std::mem::take(line)))
    }

    fn put_back(&mut self, stream: &str, rest: Vec<u8>) {
        if let Some((_, line)) = self.open.iter_mut().find(|(name, _)| *name == stream) {
            *line = rest;
        }
    }

    fn append(&mut self, out: &[u8]) {
        if out.is_empty() {
            return;
        }
        if self.bytes > 0 && self.bytes + out.len() as u64 > self.bytes_max {
            let _ = self.rotate();
        }
        if self.file.write_all(out).is_ok() {
            self.bytes += out.len() as u64;
        }
    }

    /// `log` becomes `log.1`, and so on; the last one goes.
    fn rotate(&mut self) -> io::Result<()> {
        let name = |number: u32| self.folder.file(&format!("log.{number}"));
        for number in (1..self.files.saturating_sub(1)).rev() {
            let _ = fs::rename(name(number), name(number + 1));
        }
        match self.files {
            0 | 1 => fs::remove_file(self.folder.file("log"))?,
            _ => fs::rename(self.folder.file("log"), name(1))?,
        }
        self.file = OpenOptions::new()
            .append(true)
            .create(true)
            .open(self.folder.file("log"))?;
        self.bytes = 0;
        Ok(())
    }
}

fn entry(out: &mut Vec<u8>, stream: &str, tag: &str, line: &[u8]) {
    let at = Timestamp::from_nanosecond(wall_clock().as_nanos().into()).unwrap_or_default();
    out.extend_from_slice(format!("{at:.9} {stream} {tag} ").as_bytes());
    out.extend_from_slice(line);
    out.push(b'\n');
}
