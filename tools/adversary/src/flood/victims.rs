//! Those who want little, and how long they wait for it.

use super::Users;
use super::client::{Client, Place};
use anyhow::{Result, bail};
use bytes::Bytes;
use serde_json::json;
use std::time::{Duration, Instant};

/// How long somebody waited each time.
#[derive(Default)]
pub(super) struct Waits(Vec<Duration>);

impl Waits {
    pub(super) fn p99(&self) -> Duration {
        let mut sorted = self.0.clone();
        sorted.sort_unstable();
        let at = sorted.len() * 99 / 100;
        sorted.get(at).copied().unwrap_or(Duration::MAX)
    }
}

/// Pause between two requests.
const PAUSE: Duration = Duration::from_millis(10);
/// Who has to wait this long is no more waited for.
const PATIENCE: Duration = Duration::from_secs(5);

/// Another user's, the same user's when he asks for much, the admin's and a probe's.
pub(super) async fn measure(users: &Users, time: Duration) -> Result<[Waits; 4]> {
    let other = writes(&users.other, time);
    let heavy = large_writes(&users.other, time);
    let admin = reads(&users.admin, time);
    let probe = probes(&users.other, time);
    let (other, heavy, admin, probe) = tokio::join!(other, heavy, admin, probe);
    Ok([other?, heavy?, admin?, probe?])
}

/// Writes of many bytes, one at a time.
async fn large_writes(place: &Place, time: Duration) -> Result<Waits> {
    let mut client = Client::connect(place).await?;
    let url = "/api/v1/namespaces/other/configmaps?dryRun=All";
    let object = json!({"metadata": {"name": "large"}, "data": {"k": "x".repeat(200_000)}});
    let body = Bytes::from(object.to_string());
    repeat(time, PAUSE * 10, async || {
        let answer = client.send("POST", url, "application/json", body.clone());
        answer.await.map(|(code, _)| code)
    })
    .await
}

/// Writes of another user, each of which must succeed.
async fn writes(place: &Place, time: Duration) -> Result<Waits> {
    let mut client = Client::connect(place).await?;
    let url = "/api/v1/namespaces/other/configmaps";
    let mut i = 0;
    repeat(time, PAUSE, async || {
        i += 1;
        let object = json!({"metadata": {"name": format!("c{i}")}, "data": {"k": "v"}});
        let body = Bytes::from(object.to_string());
        client
            .send("POST", url, "application/json", body)
            .await
            .map(|(code, _)| code)
    })
    .await
}

async fn reads(place: &Place, time: Duration) -> Result<Waits> {
    let mut client = Client::connect(place).await?;
    repeat(time, PAUSE, async || {
        client.get("/api/v1/nodes").await.map(|(code, _)| code)
    })
    .await
}

/// Each on a connection of its own, as a kubelet does it.
async fn probes(place: &Place, time: Duration) -> Result<Waits> {
    repeat(time, PAUSE, async || {
        let mut client = Client::connect(place).await?;
        client.get("/livez").await.map(|(code, _)| code)
    })
    .await
}

async fn repeat(
    time: Duration,
    pause: Duration,
    mut ask: impl AsyncFnMut() -> Result<u16>,
) -> Result<Waits> {
    // The flood has to rise first.
    tokio::time::sleep(Duration::from_millis(300)).await;
    let end = Instant::now() + time;
    let mut waits = Waits::default();
    while Instant::now() < end {
        let start = Instant::now();
        match tokio::time::timeout(PATIENCE, ask()).await {
            Ok(Ok(200..300)) => {}
            Ok(Ok(code)) => bail!("somebody else was answered with {code}"),
            Ok(Err(error)) => return Err(error.context("somebody else was not answered")),
            Err(_) => {}
        }
        waits.0.push(start.elapsed());
        tokio::time::sleep(pause).await;
    }
    Ok(waits)
}
