//! What a container said, read back.

use crate::record::RunFolder;
use jiff::Timestamp;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::os::unix::fs::MetadataExt;
use stowplan_base::Time;

/// How much is read at a time.
const PIECE_BYTES: usize = 32 << 10;

/// Which part of a log is wanted.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct LogWanted {
    /// Only what was said since then.
    pub since: Option<Time>,
    /// Only so many lines of the end.
    pub tail: Option<usize>,
    /// Whether every line begins with its time.
    pub timestamps: bool,
    /// Only so many bytes.
    pub limit: Option<usize>,
    /// Only what is said on this stream.
    pub stream: Option<&'static str>,
}

/// What comes next of a log.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Piece {
    /// More of it.
    Text(Vec<u8>),
    /// Nothing for now.
    Nothing,
    /// As much as was wanted.
    Enough,
}

/// A log that is being read.
#[derive(Debug)]
pub struct LogRead {
    folder: RunFolder,
    wanted: LogWanted,
    /// The file, with its number: another one takes its place when it is large.
    file: Option<(u64, File)>,
    /// Files that come before.
    older: Vec<File>,
    /// What was read and has no end of line yet.
    rest: Vec<u8>,
    /// Lines that have to be passed over: those before the tail.
    skip: usize,
    /// Whether the next entry goes on with a line.
    is_open: bool,
    left: Option<usize>,
}

/// One entry, as container runtimes write it.
struct Entry<'a> {
    at: &'a str,
    stream: &'a str,
    is_whole: bool,
    text: &'a [u8],
}

fn entry(line: &[u8]) -> Option<Entry<'_>> {
    let mut parts = line.splitn(4, |byte| *byte == b' ');
    let at = std::str::from_utf8(parts.next()?).ok()?;
    let stream = std::str::from_utf8(parts.next()?).ok()?;
    let tag = parts.next()?;
    let text = parts.next()?;
    Some(Entry {
        at,
        stream,
        is_whole: tag == b"F",
        text,
    })
}

fn time_of(text: &str) -> Option<Time> {
    let at: Timestamp = text.parse().ok()?;
    i64::try_from(at.as_nanosecond()).ok().map(Time::from_nanos)
}

impl LogRead {
    /// Begins to read.
    pub(crate) fn open(folder: RunFolder, wanted: LogWanted) -> io::Result<Self> {
        let mut older = Vec::new();
        for number in 1.. {
            match File::open(folder.file(&format!("log.{number}"))) {
                Ok(file) => older.push(file),
                Err(_) => break,
            }
        }
        let left = wanted.limit;
        let mut read = Self {
            folder,
            wanted,
            file: None,
            older,
            rest: Vec::new(),
            skip: 0,
            is_open: false,
            left,
        };
        if let Some(tail) = read.wanted.tail {
            let lines = read.count()?;
            read.skip = lines.saturating_sub(tail);
        }
        Ok(read)
    }

    pub(crate) fn folder(&self) -> &RunFolder {
        &self.folder
    }

    /// How many lines there are that are wanted but for the tail.
    fn count(&self) -> io::Result<usize> {
        let mut count = 0;
        for mut file in &self.older {
            count += self.count_in(file)?;
            file.seek(SeekFrom::Start(0))?;
        }
        if let Ok(file) = File::open(self.folder.file("log")) {
            count += self.count_in(&file)?;
        }
        Ok(count)
    }

    /// How many there are in a file, of which no more than a line is kept.
    fn count_in(&self, file: &File) -> io::Result<usize> {
        let mut reader = BufReader::with_capacity(PIECE_BYTES, file);
        let mut line = Vec::new();
        let mut count = 0;
        while reader.read_until(b'\n', &mut line)? > 0 {
            let entry = line.strip_suffix(b"\n").and_then(entry);
            let is_one = entry.is_some_and(|one| self.is_wanted(&one) && one.is_whole);
            count += usize::from(is_one);
            line.clear();
        }
        Ok(count)
    }

    fn is_wanted(&self, entry: &Entry<'_>) -> bool {
        let is_stream = self
            .wanted
            .stream
            .is_none_or(|stream| stream == entry.stream);
        let is_new = |since: Time| time_of(entry.at).is_none_or(|at| at >= since);
        is_stream && self.wanted.since.is_none_or(is_new)
    }

    /// What comes next.
    pub fn next_piece(&mut self) -> io::Result<Piece> {
        if self.left == Some(0) {
            return Ok(Piece::Enough);
        }
        let mut buffer = vec![0; PIECE_BYTES];
        let count = self.read(&mut buffer)?;
        if count == 0 {
            return Ok(Piece::Nothing);
        }
        self.rest
            .extend_from_slice(buffer.get(..count).unwrap_or_default());
        let rest = std::mem::take(&mut self.rest);
        let mut out = Vec::new();
        for line in rest.split_inclusive(|byte| *byte == b'\n') {
            match line.strip_suffix(b"\n") {
                Some(line) => self.take(line, &mut out),
                None => self.rest = line.to_vec(),
            }
        }
        if let Some(left) = &mut self.left {
            out.truncate(*left);
            *left -= out.len();
        }
        Ok(Piece::Text(out))
    }

    fn take(&mut self, line: &[u8], out: &mut Vec<u8>) {
        let Some(entry) = entry(line).filter(|entry| self.is_wanted(entry)) else {
            return;
        };
        if self.skip > 0 {
            self.skip -= usize::from(entry.is_whole);
            return;
        }
        if self.wanted.timestamps && !self.is_open {
            out.extend_from_slice(entry.at.as_bytes());
            out.push(b' ');
        }
        out.extend_from_slice(entry.text);
        self.is_open = !entry.is_whole;
        if entry.is_whole {
            out.push(b'\n');
        }
    }

    /// Reads on, from the oldest file to the newest.
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while let Some(file) = self.older.last_mut() {
            let count = file.read(buffer)?;
            if count > 0 {
                return Ok(count);
            }
            self.older.pop();
        }
        if self.file.is_none() {
            self.file = self.newest();
        }
        let Some((number, file)) = &mut self.file else {
            return Ok(0);
        };
        let count = file.read(buffer)?;
        if count > 0 {
            return Ok(count);
        }
        // Perhaps another one has taken its place; what came to be in between is read from the old one.
        let number = *number;
        match self.newest() {
            Some((other, file)) if other != number => {
                self.file = Some((other, file));
                self.read(buffer)
            }
            _ => Ok(0),
        }
    }

    fn newest(&self) -> Option<(u64, File)> {
        let file = File::open(self.folder.file("log")).ok()?;
        let number = file.metadata().ok()?.ino();
        Some((number, file))
    }
}

/// The end of a log: so many lines and bytes at most.
pub(crate) fn tail(folder: &RunFolder, lines: usize, bytes: usize) -> String {
    let wanted = LogWanted {
        tail: Some(lines),
        ..LogWanted::default()
    };
    let mut all = Vec::new();
    if let Ok(mut read) = LogRead::open(folder.clone(), wanted) {
        while let Ok(Piece::Text(text)) = read.next_piece() {
            all.extend_from_slice(&text);
        }
    }
    let from = all.len().saturating_sub(bytes);
    String::from_utf8_lossy(all.get(from..).unwrap_or_default()).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Folder;
    use std::fs;

    fn all(folder: &RunFolder, wanted: LogWanted) -> String {
        let mut read = LogRead::open(folder.clone(), wanted).unwrap();
        let mut out = Vec::new();
        while let Piece::Text(text) = read.next_piece().unwrap() {
            out.extend_from_slice(&text);
        }
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn lines_are_chosen_by_time_number_stream_and_size() {
        let folder = Folder::new("logs");
        let run = RunFolder(folder.path().to_owned());
        let line = |second: u32, stream: &str, tag: &str, text: &str| {
            format!("2027-01-15T08:00:{second:02}.000000000Z {stream} {tag} {text}\n")
        };
        let old = line(1, "stdout", "F", "one") + &line(2, "stderr", "F", "two");
        let new = line(3, "stdout", "P", "thr")
            + &line(3, "stdout", "F", "ee")
            + &line(4, "stdout", "F", "four");
        fs::write(run.file("log.1"), old).unwrap();
        fs::write(run.file("log"), new).unwrap();
        let none = LogWanted::default();
        assert_eq!(all(&run, none.clone()), "one\ntwo\nthree\nfour\n");
        let tail = |tail| LogWanted {
            tail: Some(tail),
            ..LogWanted::default()
        };
        assert_eq!(all(&run, tail(2)), "three\nfour\n");
        assert_eq!(all(&run, tail(0)), "");
        assert_eq!(all(&run, tail(9)), "one\ntwo\nthree\nfour\n");
        let since = Some(Time::from_secs(1_800_000_004));
        assert_eq!(
            all(
                &run,
                LogWanted {
                    since,
                    ..none.clone()
                }
            ),
            "four\n"
        );
        let limit = Some(6);
        assert_eq!(
            all(
                &run,
                LogWanted {
                    limit,
                    ..none.clone()
                }
            ),
            "one\ntw"
        );
        let stream = Some("stderr");
        assert_eq!(
            all(
                &run,
                LogWanted {
                    stream,
                    ..none.clone()
                }
            ),
            "two\n"
        );
        let timestamps = true;
        let stamped = all(
            &run,
            LogWanted {
                timestamps,
                tail: Some(2),
                ..none
            },
        );
        assert_eq!(
            stamped,
            "2027-01-15T08:00:03.000000000Z three\n2027-01-15T08:00:04.000000000Z four\n"
        );
        assert_eq!(super::tail(&run, 80, 8), "ee\nfour\n");
    }

    #[test]
    fn lines_of_all_files_are_counted_for_the_tail() {
        let folder = Folder::new("count");
        let run = RunFolder(folder.path().to_owned());
        // More than is read at a time, and one that is still being written.
        for (name, files) in [("log.2", 2), ("log.1", 1), ("log", 0)] {
            let line = |number| format!("2027-01-15T08:00:00Z stdout F {files} {number}\n");
            let text: String = (0..2_000).map(line).collect();
            fs::write(run.file(name), text + "2027-01-15T08:00:00Z stdout F").unwrap();
        }
        for name in ["log.2", "log.1"] {
            let text = fs::read_to_string(run.file(name)).unwrap();
            let whole = text.rsplit_once('\n').unwrap().0.to_owned() + "\n";
            fs::write(run.file(name), whole).unwrap();
        }
        let tail = Some(2_001);
        let read = LogRead::open(
            run.clone(),
            LogWanted {
                tail,
                ..LogWanted::default()
            },
        )
        .unwrap();
        assert_eq!((read.count().unwrap(), read.skip), (6_000, 3_999));
        let said = all(
            &run,
            LogWanted {
                tail,
                ..LogWanted::default()
            },
        );
        assert!(said.starts_with("1 1999\n0 0\n"), "{}", &said[..20]);
    }

    #[test]
    fn who_reads_on_finds_what_was_written_after_and_in_the_next_file() {
        let folder = Folder::new("follow");
        let run = RunFolder(folder.path().to_owned());
        let line = |text: &str| format!("2027-01-15T08:00:00.000000000Z stdout F {text}\n");
        fs::write(run.file("log"), line("a")).unwrap();
        let mut read = LogRead::open(run.clone(), LogWanted::default()).unwrap();
        assert_eq!(read.next_piece().unwrap(), Piece::Text(b"a\n".to_vec()));
        assert_eq!(read.next_piece().unwrap(), Piece::Nothing);
        fs::write(run.file("log"), line("a") + &line("b")).unwrap();
        assert_eq!(read.next_piece().unwrap(), Piece::Text(b"b\n".to_vec()));
        fs::rename(run.file("log"), run.file("log.1")).unwrap();
        fs::write(run.file("log"), line("c")).unwrap();
        assert_eq!(read.next_piece().unwrap(), Piece::Text(b"c\n".to_vec()));
        assert_eq!(read.next_piece().unwrap(), Piece::Nothing);
    }
}
