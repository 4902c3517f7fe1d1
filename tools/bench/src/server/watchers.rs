//! Many watches of the same objects.

use super::child::Server;
use super::client::{Protocol, Sender};
use super::figure::{Figure, Goal, millis, percentile};
use super::measures;
use anyhow::{Context, Result, ensure};
use bytes::Bytes;
use http_body_util::BodyExt;
use hyper::body::Incoming;
use std::time::{Duration, Instant};

/// Watches on one connection: each informer of a client-go client has one, and all of them share
/// the client's connection.
const PER_CONNECTION: usize = 20;

/// From the moment a client begins to ask for a new pod to the moment a watch has read the event.
pub(super) async fn figure(server: &Server, watches: usize, events: usize) -> Result<Figure> {
    const EVERY: Duration = Duration::from_millis(50);
    let mut writer = Sender::connect(&server.place, Protocol::Http2).await?;
    let pods = measures::path("watch", "pods");
    let first = format!("{pods}?limit=1");
    let list = writer.get(&first, "application/json").await?;
    let list: serde_json::Value = serde_json::from_slice(&list)?;
    let now = list["metadata"]["resourceVersion"].as_str();
    let now = now.context("a list has a revision")?;
    let path = format!("{pods}?watch=1&resourceVersion={now}");
    let mut connections = Vec::new();
    let mut tasks = Vec::new();
    for i in 0..watches {
        if i % PER_CONNECTION == 0 {
            connections.push(Sender::connect(&server.place, Protocol::Http2).await?);
        }
        let sender = connections.last_mut().context("a connection")?;
        let answer = sender.open("GET", &path, "application/json", Bytes::new());
        let body = answer.await?.into_body();
        tasks.push(tokio::spawn(seen(body, events)));
    }
    let mut clock = tokio::time::interval(EVERY);
    let mut sent = Vec::new();
    for i in 0..events {
        clock.tick().await;
        let (path, body) = measures::new_pod("watch", i);
        sent.push(Instant::now());
        writer.post(&path, body).await?;
    }
    let mut times = Vec::new();
    for task in tasks {
        let seen = task.await??;
        ensure!(seen.len() >= events, "a watch ended early");
        times.extend(sent.iter().zip(&seen).map(|(sent, seen)| *seen - *sent));
    }
    let p99 = percentile(&mut times, 99).unwrap_or_default();
    let figure = Figure::new("1,000 watches see an event, p99", millis(p99), "ms");
    Ok(figure.goal(Goal::Below(50.0)).times(&mut times))
}

/// When each of the first so many events was read.
async fn seen(mut body: Incoming, events: usize) -> Result<Vec<Instant>> {
    let mut seen = Vec::new();
    while seen.len() < events {
        let Some(frame) = body.frame().await else {
            break;
        };
        let now = Instant::now();
        if let Some(data) = frame?.data_ref() {
            let lines = data.iter().filter(|byte| **byte == b'\n').count();
            seen.extend(std::iter::repeat_n(now, lines));
        }
    }
    Ok(seen)
}
