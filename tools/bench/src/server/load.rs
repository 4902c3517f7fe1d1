//! Many clients at once.

use super::child::{Server, cpu};
use super::client::{Protocol, Sender};
use super::figure::{Figure, Goal, rounded};
use anyhow::{Result, bail};
use bytes::Bytes;
use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// As many as the figures are for.
pub(super) const CLIENTS: usize = 64;

/// How often something was done, and how long it took.
pub(super) struct Load {
    name: &'static str,
    count: usize,
    elapsed: Duration,
    times: Vec<Duration>,
    server_cpu: Option<Duration>,
    client_cpu: Duration,
}

impl Load {
    pub(super) fn figure(mut self, goal: Option<Goal>) -> Figure {
        let count = self.count as f64;
        let per_s = count / self.elapsed.as_secs_f64();
        let micros = |time: Duration| rounded(time.as_secs_f64() * 1e6 / count);
        let mut figure = Figure::new(self.name, per_s, "1/s").times(&mut self.times);
        figure.server_cpu_us = self.server_cpu.map(micros);
        // In process nobody can tell the two apart.
        figure.client_cpu_us = self.server_cpu.map(|_| micros(self.client_cpu));
        if self.server_cpu.is_none() {
            figure.server_cpu_us = Some(micros(self.client_cpu));
        }
        match goal {
            Some(goal) => figure.goal(goal),
            None => figure,
        }
    }
}

/// What is asked for the so-manieth time: a path and a body.
pub(super) type Question = fn(usize) -> (String, Bytes);

/// Somebody who asks.
pub(super) trait Client: Send + 'static {
    /// Asks for the so-manieth time.
    fn ask(&mut self, i: usize) -> impl Future<Output = Result<()>> + Send;
}

struct Remote(Sender, Question);

impl Client for Remote {
    async fn ask(&mut self, i: usize) -> Result<()> {
        let (path, body) = self.1(i);
        let (code, body) = self.0.ask("POST", &path, "application/json", body).await?;
        match code.as_u16() {
            201 => Ok(()),
            _ => bail!("{path}: {code}: {}", String::from_utf8_lossy(&body)),
        }
    }
}

/// POSTs over TLS, each client on a connection of its own.
pub(super) async fn posts(
    name: &'static str,
    server: &Server,
    protocol: Protocol,
    count: usize,
    question: Question,
) -> Result<Load> {
    let mut clients = Vec::new();
    for _ in 0..CLIENTS {
        let sender = Sender::connect(&server.place, protocol).await?;
        clients.push(Remote(sender, question));
    }
    let before = server.cpu();
    let mut load = run(name, count, clients).await?;
    load.server_cpu = Some(server.cpu() - before);
    Ok(load)
}

/// Has every client ask one question after the other until all have been asked.
pub(super) async fn run(
    name: &'static str,
    count: usize,
    clients: Vec<impl Client>,
) -> Result<Load> {
    let next = Arc::new(AtomicUsize::new(0));
    let cpu_before = cpu("self");
    let begin = Instant::now();
    let mut tasks = Vec::new();
    for mut client in clients {
        let next = Arc::clone(&next);
        tasks.push(tokio::spawn(async move {
            let mut times = Vec::new();
            loop {
                let i = next.fetch_add(1, Ordering::Relaxed);
                if i >= count {
                    return Ok::<_, anyhow::Error>(times);
                }
                let begin = Instant::now();
                client.ask(i).await?;
                times.push(begin.elapsed());
            }
        }));
    }
    let mut times = Vec::new();
    for task in tasks {
        times.extend(task.await??);
    }
    Ok(Load {
        name,
        count,
        elapsed: begin.elapsed(),
        times,
        server_cpu: None,
        client_cpu: cpu("self") - cpu_before,
    })
}
