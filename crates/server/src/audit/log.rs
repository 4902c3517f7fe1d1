//! Where the lines go: a thread that writes them, and a bounded queue before it.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;
use stowplan_base::Env;
use stowplan_env::{stopwatch_ns, timeout};
use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::mpsc::{Receiver, Sender, channel};

/// Lines that wait to be written.
const QUEUE_MAX: usize = 10_000;
/// How long a request waits for room among them before its line is given up.
const PATIENCE: Duration = Duration::from_secs(5);
/// Lines that are written with one call.
const BATCH_MAX: usize = 256;

/// An audit log. What cannot be written is counted and told in the server's own log, and no request
/// waits for it for long. When it is dropped, what waits is written first.
pub struct Log {
    /// There until it is dropped.
    queue: Option<Sender<Vec<u8>>>,
    thread: Option<JoinHandle<()>>,
    counts: Arc<Counts>,
    patience: Duration,
}

#[derive(Debug, Default)]
struct Counts {
    written: AtomicU64,
    lost: AtomicU64,
}

impl Log {
    /// Appends to a file, which is made if it is missing, readable by its owner only; `-` is standard
    /// output.
    pub fn open(path: &Path) -> io::Result<Self> {
        if path.as_os_str() == "-" {
            return Self::to(io::stdout());
        }
        let mut options = OpenOptions::new();
        options.append(true).create(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        Self::to(options.open(path)?)
    }

    /// Writes to anything.
    pub fn to(out: impl Write + Send + 'static) -> io::Result<Self> {
        Self::with(out, QUEUE_MAX, PATIENCE)
    }

    fn with(
        out: impl Write + Send + 'static,
        queue: usize,
        patience: Duration,
    ) -> io::Result<Self> {
        let (send, receive) = channel(queue);
        let counts = Arc::new(Counts::default());
        let writer = Writer {
            out,
            counts: Arc::clone(&counts),
            torn: false,
            told_ns: None,
        };
        let thread = std::thread::Builder::new()
            .name("audit-log".to_owned())
            .spawn(move || writer.run(receive))?;
        Ok(Self {
            queue: Some(send),
            thread: Some(thread),
            counts,
            patience,
        })
    }

    /// Lines that were written.
    pub fn written(&self) -> u64 {
        self.counts.written.load(Ordering::Relaxed)
    }

    /// Lines that could not be written.
    pub fn lost(&self) -> u64 {
        self.counts.lost.load(Ordering::Relaxed)
    }

    /// Queues a line, and waits for room if need be, but not forever.
    pub(crate) async fn write(&self, env: &dyn Env, line: Vec<u8>) {
        let Some(queue) = &self.queue else {
            return;
        };
        match queue.try_send(line) {
            Ok(()) => {}
            Err(TrySendError::Full(line)) => {
                let sent = timeout(env, self.patience, queue.send(line)).await;
                if !matches!(sent, Ok(Ok(()))) {
                    self.give_up();
                }
            }
            Err(TrySendError::Closed(_)) => self.give_up(),
        }
    }

    /// Queues a line if there is room.
    pub(crate) fn write_now(&self, line: Vec<u8>) {
        let sent = self.queue.as_ref().map(|queue| queue.try_send(line));
        if !matches!(sent, Some(Ok(()))) {
            self.give_up();
        }
    }

    fn give_up(&self) {
        self.counts.lost.fetch_add(1, Ordering::Relaxed);
        tracing::error!("the audit log is too slow: a line was lost");
    }
}

impl Drop for Log {
    fn drop(&mut self) {
        drop(self.queue.take());
        if let Some(thread) = self.thread.take() {
            // A thread that broke has said so.
            let _ = thread.join();
        }
    }
}

struct Writer<W> {
    out: W,
    counts: Arc<Counts>,
    /// Whether the last thing written was a part of a line.
    torn: bool,
    /// When the last failure was told, by the stopwatch.
    told_ns: Option<u64>,
}

impl<W: Write> Writer<W> {
    fn run(mut self, mut queue: Receiver<Vec<u8>>) {
        let mut batch = Vec::new();
        while queue.blocking_recv_many(&mut batch, BATCH_MAX) > 0 {
            self.write(&batch);
            batch.clear();
        }
    }

    fn write(&mut self, lines: &[Vec<u8>]) {
        let mut bytes = Vec::new();
        if self.torn {
            bytes.push(b'\n');
        }
        let start = bytes.len();
        bytes.extend(lines.iter().flatten());
        let (done, outcome) = put(&mut self.out, &bytes);
        let Err(error) = outcome else {
            self.torn = false;
            self.count(lines.len(), 0);
            return;
        };
        let mut end = start;
        let mut whole = 0;
        for line in lines {
            if end + line.len() > done {
                break;
            }
            end += line.len();
            whole += 1;
        }
        self.torn = match done {
            0 => self.torn,
            done => done != end,
        };
        self.count(whole, lines.len() - whole);
        self.tell(&error, lines.len() - whole);
    }

    fn count(&self, written: usize, lost: usize) {
        let add = |to: &AtomicU64, count: usize| to.fetch_add(count as u64, Ordering::Relaxed);
        add(&self.counts.written, written);
        add(&self.counts.lost, lost);
    }

    /// At most once in a while: a full disk stays full.
    fn tell(&mut self, error: &io::Error, lines: usize) {
        const EVERY_NS: u64 = 10_000_000_000;
        let now = stopwatch_ns();
        if self.told_ns.is_some_and(|at| now - at < EVERY_NS) {
            return;
        }
        self.told_ns = Some(now);
        let lost = self.counts.lost.load(Ordering::Relaxed);
        tracing::error!(%error, lines, lost, "the audit log cannot be written");
    }
}

/// Writes all, or says how much of it was written and why no more.
fn put(out: &mut impl Write, bytes: &[u8]) -> (usize, io::Result<()>) {
    let mut done = 0;
    while let Some(rest) = bytes.get(done..).filter(|rest| !rest.is_empty()) {
        match out.write(rest) {
            Ok(0) => return (done, Err(io::ErrorKind::WriteZero.into())),
            Ok(count) => done += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return (done, Err(error)),
        }
    }
    (done, out.flush())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::{Mutex, mpsc};
    use stowplan_env::System;

    /// A disk that is full from some byte on, until somebody makes room.
    #[derive(Clone, Default)]
    struct Disk(Arc<Mutex<(Vec<u8>, usize)>>);

    impl Write for Disk {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let (held, room) = &mut *self.0.lock().unwrap();
            let count = bytes.len().min(*room);
            if count == 0 {
                return Err(io::ErrorKind::StorageFull.into());
            }
            *room -= count;
            held.extend_from_slice(&bytes[..count]);
            Ok(count)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn writer(disk: &Disk) -> Writer<Disk> {
        Writer {
            out: disk.clone(),
            counts: Arc::default(),
            torn: false,
            told_ns: None,
        }
    }

    #[test]
    fn lines_that_a_full_disk_does_not_take_are_counted_and_the_next_ones_are_whole() {
        let disk = Disk::default();
        disk.0.lock().unwrap().1 = 6;
        let mut writer = writer(&disk);
        let lines = ["one\n", "two\n", "three\n"].map(|l| l.as_bytes().to_vec());
        writer.write(&lines);
        writer.write(&lines);
        let count = |n: &AtomicU64| n.load(Ordering::Relaxed);
        let counts = Arc::clone(&writer.counts);
        assert_eq!((count(&counts.written), count(&counts.lost)), (1, 5));
        disk.0.lock().unwrap().1 = 100;
        writer.write(&lines);
        assert_eq!((count(&counts.written), count(&counts.lost)), (4, 5));
        let held = String::from_utf8(disk.0.lock().unwrap().0.clone()).unwrap();
        assert_eq!(held, "one\ntw\none\ntwo\nthree\n");
    }

    /// A disk that does not answer until it is told to.
    struct Stuck(mpsc::Receiver<()>);

    impl Write for Stuck {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            // Answers when the other end is gone.
            let _ = self.0.recv();
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[tokio::test]
    async fn a_disk_that_hangs_holds_no_request_up_forever() {
        let (release, stuck) = mpsc::channel();
        let log = Log::with(Stuck(stuck), 1, Duration::from_millis(1)).unwrap();
        // One is being written or waits, one waits; of the others nobody can say more than that.
        for _ in 0..5 {
            log.write(&System::new(), b"x\n".to_vec()).await;
        }
        assert!(log.lost() >= 3, "{}", log.lost());
        let lost = log.lost();
        drop(release);
        let counts = Arc::clone(&log.counts);
        drop(log);
        assert_eq!(counts.written.load(Ordering::Relaxed), 5 - lost);
    }
}
