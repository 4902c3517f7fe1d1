//! Serving.

use super::args::Serve;
use crate::{output, up};
use anyhow::{Context, Result, anyhow, ensure};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use stowplan_env::System;
use stowplan_jobs_server::log::Folder;
use stowplan_jobs_server::{Metrics, Password, ServeSettings, Server, Settings, span};
use stowplan_transport::{Certificates, raise_open_files};

pub(super) fn run(args: &Serve) -> Result<()> {
    ensure!(
        args.password_file.is_some() || args.listen.ip().is_loopback(),
        "--listen {}: others can reach this address, and without a password anyone who does can read, add and \
         delete jobs: give one with --password-file",
        args.listen
    );
    let folder = match &args.data_dir {
        Some(folder) => folder.clone(),
        None => usual_folder()?,
    };
    let disk = Folder::open(&folder).with_context(|| format!("cannot use {}", folder.display()))?;
    // Each connection is a file; some are left for the log.
    let files = raise_open_files();
    let reclaim = span(&args.reclaim_after).map_err(|text| anyhow!("--reclaim-after: {text}"))?;
    let settings = ServeSettings {
        queue: Settings {
            reclaim,
            retry_rate: args.retry_rate,
            ..Settings::default()
        },
        password: args
            .password_file
            .as_deref()
            .map(super::password)
            .transpose()?
            .map(Password),
        tls: tls(args)?,
        connections_max: files.saturating_sub(64).clamp(16, 100_000),
        durable_leases: args.durable_leases,
        ..ServeSettings::default()
    };
    let server = Server::bind(
        args.listen,
        Arc::new(disk),
        settings,
        Arc::new(System::new()),
    )
    .context("cannot start the job server")?;
    if let Some(address) = args.metrics_listen {
        tell_metrics(address, server.metrics())?;
    }
    stop_when_told(server.stop())?;
    output::print(&format!("listening on {}\n", server.address()?))?;
    server.serve().context("the job server has ended")
}

fn usual_folder() -> Result<PathBuf> {
    let set = |name| {
        std::env::var_os(name)
            .filter(|value| !value.is_empty())
            .map(PathBuf::from)
    };
    let share = set("XDG_DATA_HOME").or_else(|| set("HOME").map(|home| home.join(".local/share")));
    Ok(share
        .context("--data-dir: there is no home folder to choose one in")?
        .join("stowplan/jobs"))
}

fn tls(args: &Serve) -> Result<Option<Arc<rustls::ServerConfig>>> {
    let (Some(chain), Some(key)) = (&args.tls_cert_file, &args.tls_private_key_file) else {
        return Ok(None);
    };
    let read = |file: &PathBuf| {
        std::fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))
    };
    let certificates = Certificates::given(read(chain)?, read(key)?)?;
    Ok(Some(Arc::new(certificates.without_http(args.listen.ip())?)))
}

/// Signals end it, without loss.
fn stop_when_told(stop: stowplan_jobs_server::Stop) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let signal = runtime.block_on(async { up::stop_signal() })?;
    std::thread::spawn(move || {
        runtime.block_on(signal);
        stop.stop();
    });
    Ok(())
}

/// Answers GET /metrics and /healthz, one after the other: there is one who asks, now and then.
fn tell_metrics(address: SocketAddr, metrics: Arc<Metrics>) -> Result<()> {
    let listener =
        TcpListener::bind(address).with_context(|| format!("cannot listen on {address}"))?;
    output::print(&format!("metrics on {}\n", listener.local_addr()?))?;
    std::thread::spawn(move || {
        for mut socket in listener.incoming().flatten() {
            let patience = Some(Duration::from_secs(2));
            let mut request = [0; 2_048];
            let ready = socket
                .set_read_timeout(patience)
                .and_then(|()| socket.set_write_timeout(patience));
            let Ok(read) = ready.and_then(|()| socket.read(&mut request)) else {
                continue;
            };
            let (status, body) = match request[..read].split(|byte| *byte == b' ').nth(1) {
                Some(b"/metrics") => ("200 OK", metrics.text()),
                Some(b"/healthz") => ("200 OK", "ok".to_owned()),
                _ => ("404 Not Found", String::new()),
            };
            let length = body.len();
            let head = format!(
                "HTTP/1.1 {status}\r\nContent-Type: text/plain; version=0.0.4\r\nContent-Length: {length}\r\n\
                 Connection: close\r\n\r\n"
            );
            let _ = socket
                .write_all(head.as_bytes())
                .and_then(|()| socket.write_all(body.as_bytes()));
        }
    });
    Ok(())
}
