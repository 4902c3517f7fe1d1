//! Servers and clients for tests.

use crate::disk::Memory;
use std::net::SocketAddr;
use std::sync::Arc;
use std::thread::JoinHandle;
use stowplan_env::System;
use stowplan_jobs_server::log::{Disk, LogSettings};
use stowplan_jobs_server::{Client, Password, ServeSettings, Server, Stop};

/// A server of its own, on a disk in memory.
pub(crate) struct Served {
    pub(crate) address: SocketAddr,
    stop: Stop,
    thread: Option<JoinHandle<()>>,
}

pub(crate) fn settings() -> ServeSettings {
    ServeSettings {
        log: LogSettings {
            segment_bytes: 1 << 20,
            prefill: false,
        },
        ..ServeSettings::default()
    }
}

impl Served {
    pub(crate) fn new(password: Option<&str>) -> Self {
        let password = password.map(|text| Password(text.to_owned()));
        Self::on(
            Arc::new(Memory::default()),
            ServeSettings {
                password,
                ..settings()
            },
        )
    }

    pub(crate) fn on(disk: Arc<dyn Disk>, settings: ServeSettings) -> Self {
        let local = SocketAddr::from(([127, 0, 0, 1], 0));
        let server = Server::bind(local, disk, settings, Arc::new(System::new())).unwrap();
        let (address, stop) = (server.address().unwrap(), server.stop());
        let thread = std::thread::spawn(move || server.serve().unwrap());
        Self {
            address,
            stop,
            thread: Some(thread),
        }
    }

    pub(crate) fn client(&self, wid: Option<&str>) -> Client {
        Client::connect(&self.address.to_string(), None, wid).unwrap()
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        self.stop.stop();
        let ended = self.thread.take().map(JoinHandle::join);
        assert!(
            std::thread::panicking() || ended.is_some_and(|ended| ended.is_ok()),
            "the server has fallen"
        );
    }
}
