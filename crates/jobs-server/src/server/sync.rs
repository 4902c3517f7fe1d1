//! The thread that makes the log durable: one sync acknowledges all that was written before it began.

use crate::log::DiskFile;
use mio::Waker;
use std::io;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, mpsc};

type Order = (Arc<dyn DiskFile>, u64);
type Done = (io::Result<()>, u64);

pub(super) struct Syncer {
    orders: Sender<Order>,
    done: Receiver<Done>,
    durable: u64,
    busy: bool,
}

impl Syncer {
    pub(super) fn start(waker: Arc<Waker>, durable: u64) -> io::Result<Self> {
        let (orders, todo) = channel::<Order>();
        let (tell, done) = mpsc::channel();
        std::thread::Builder::new()
            .name("jobs-sync".to_owned())
            .spawn(move || {
                while let Ok((file, end)) = todo.recv() {
                    if tell.send((file.sync(), end)).is_err() || waker.wake().is_err() {
                        return;
                    }
                }
            })?;
        Ok(Self {
            orders,
            done,
            durable,
            busy: false,
        })
    }

    /// Up to where the log is durable.
    pub(super) fn durable(&self) -> u64 {
        self.durable
    }

    pub(super) fn is_busy(&self) -> bool {
        self.busy
    }

    /// Begins to sync what was written up to there.
    pub(super) fn begin(&mut self, file: Arc<dyn DiskFile>, end: u64) {
        self.busy = self.orders.send((file, end)).is_ok();
    }

    fn heard(&mut self, (result, end): Done) -> io::Result<()> {
        self.busy = false;
        // What a failed sync left undone is not known: nobody may be told anything any more.
        result?;
        self.durable = self.durable.max(end);
        Ok(())
    }

    /// Hears what was synced meanwhile.
    pub(super) fn look(&mut self) -> io::Result<()> {
        while let Ok(done) = self.done.try_recv() {
            self.heard(done)?;
        }
        Ok(())
    }

    /// Waits until it is not at anything.
    pub(super) fn wait(&mut self) -> io::Result<()> {
        while self.busy {
            let done = self.done.recv();
            self.heard(done.map_err(io::Error::other)?)?;
        }
        Ok(())
    }

    /// Somebody else synced.
    pub(super) fn skip_to(&mut self, end: u64) {
        self.durable = self.durable.max(end);
    }
}
