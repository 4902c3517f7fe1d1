//! Many CronJobs that are due in the same minute.

use super::Bench;
use anyhow::{Result, ensure};
use serde_json::{Value, json};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

const CRON_JOBS: usize = 10_000;
/// How long after its time a Job may be made, of 99 in 100.
const SKEW_S: f64 = 1.0;
/// How often it is looked, and for how long at most.
const PAUSE: Duration = Duration::from_millis(20);
const PATIENCE: Duration = Duration::from_secs(300);

/// Makes CronJobs and looks when their Jobs are made.
pub(super) async fn run(bench: &mut Bench) -> Result<()> {
    let count = bench.sized(CRON_JOBS);
    println!("cron: {count} CronJobs that are due every hour, at the same minute");
    let server = bench.server("cron", 1, &[]).await?;
    let due_s = due_s()?;
    let minute = due_s / 60 % 60;
    server
        .create((0..count).map(|i| cron_job(&format!("c{i}"), &format!("{minute} * * * *"))))
        .await?;
    let made = server.since(server.begun, 0.0)?;
    bench.tell("  CronJobs made", &made);
    let left_s = due_s as f64 - now_s()?;
    ensure!(left_s > 0.0, "the CronJobs were not made in time");
    tokio::time::sleep(Duration::from_secs_f64(left_s)).await;
    let (begun, cpu_s) = (Instant::now(), server.cpu_s()?);
    // Creation times are whole seconds: what the server has answered is counted instead, often.
    let skew_s = |share: f64| {
        let server = &server;
        async move {
            let wanted = (count as f64 * share).ceil() as u64;
            while server.created("jobs").await? < wanted {
                ensure!(begun.elapsed() < PATIENCE, "Jobs are missing");
                tokio::time::sleep(PAUSE).await;
            }
            Ok(now_s()? - due_s as f64)
        }
    };
    let (half, most, all) = (skew_s(0.5).await?, skew_s(0.99).await?, skew_s(1.0).await?);
    bench.tell("  Jobs made", &server.since(begun, cpu_s)?);
    println!("  skew p50 {half:.2} s, p99 {most:.2} s, all {all:.2} s");
    let jobs = server.get("/apis/batch/v1/jobs").await?;
    let jobs = jobs["items"].as_array().map_or(0, Vec::len);
    ensure!(jobs == count, "{jobs} Jobs, and not {count}");
    server
        .wait("completed Jobs", || async {
            let jobs = server.get("/apis/batch/v1/jobs").await?;
            let items = jobs["items"].as_array().into_iter().flatten();
            let ended = items.filter(|job| job["status"]["succeeded"] == 1);
            Ok(ended.count() == count)
        })
        .await?;
    bench.tell("  Jobs complete", &server.since(begun, cpu_s)?);
    bench.tell_requests(&server).await?;
    bench.expect("seconds of skew, p99", most, SKEW_S);
    Ok(())
}

/// The next minute that is far enough away for all to be made before.
fn due_s() -> Result<u64> {
    Ok((now_s()? as u64 + 45).div_ceil(60) * 60)
}

fn now_s() -> Result<f64> {
    Ok(SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs_f64())
}

/// Its Job wants a pod, which completes at once.
fn cron_job(name: &str, schedule: &str) -> (String, Value) {
    let container = json!({"name": "c", "image": "busybox", "command": ["true"]});
    let pod = json!({"spec": {"containers": [container], "restartPolicy": "Never"}});
    let object = json!({
        "apiVersion": "batch/v1",
        "kind": "CronJob",
        "metadata": {"name": name},
        "spec": {
            "schedule": schedule,
            "jobTemplate": {"spec": {"template": pod}},
        },
    });
    (
        "/apis/batch/v1/namespaces/default/cronjobs".to_owned(),
        object,
    )
}
