//! Working with a server.

use super::args::{Load, Output, Queues, Server, State, What, Which};
use crate::output;
use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use stowplan_env::{Env, System};
use stowplan_jobs_server::{Client, bench};

pub(super) fn run(what: &What) -> Result<()> {
    match what {
        What::Push { server, .. } => push(what, server),
        What::List {
            which,
            limit,
            server,
        } => list(which, *limit, server),
        What::Show { jid, server } => {
            let told = ask(server, &json!({ "op": "show", "jid": jid }))?;
            output::print(&format!("{}\n", serde_json::to_string_pretty(&told)?))
        }
        What::Errors { server } => {
            let told = ask(server, &json!({ "op": "errors" }))?;
            table(
                server,
                &told,
                &["fingerprint", "jobs", "errtype", "message", "jid"],
            )
        }
        What::Workers { server } => {
            let told = ask(server, &json!({ "op": "workers" }))?;
            table(server, &told, &["wid", "busy", "state", "since"])
        }
        What::Retry { which, server } => each(server, "retry", which, None),
        What::Kill { which, server } => each(server, "kill", which, None),
        What::Redrive {
            which,
            rate,
            server,
        } => each(server, "redrive", which, Some(*rate)),
        What::Pause(queues) => tell(queues, "pause"),
        What::Resume(queues) => tell(queues, "resume"),
        What::Drain(queues) => tell(queues, "drain"),
        What::Bench { .. } => load(what),
    }
}

fn connect(server: &Server) -> Result<Client> {
    let password = server
        .password_file
        .as_deref()
        .map(super::password)
        .transpose()?;
    let client = Client::connect(&server.server, password.as_deref(), None);
    client.with_context(|| format!("cannot reach the job server at {}", server.server))
}

fn ask(server: &Server, op: &Value) -> Result<Value> {
    Ok(connect(server)?.ask(&format!("STOWPLAN {op}"))?)
}

fn push(what: &What, server: &Server) -> Result<()> {
    let What::Push {
        jobtype,
        args,
        queue,
        at,
        retry,
        priority,
        tenant,
        ..
    } = what
    else {
        return Ok(());
    };
    let args: Vec<Value> = args
        .iter()
        .map(|text| serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.clone())))
        .collect();
    let jid = System::new().uid();
    let mut job =
        json!({ "jid": jid, "jobtype": jobtype, "queue": queue, "args": args, "retry": retry });
    if let Some(at) = at {
        job["at"] = json!(at);
    }
    let mut custom = serde_json::Map::new();
    if let Some(priority) = priority {
        custom.insert("priority".to_owned(), json!(priority));
    }
    if let Some(tenant) = tenant {
        custom.insert("tenant".to_owned(), json!(tenant));
    }
    if !custom.is_empty() {
        job["custom"] = Value::Object(custom);
    }
    connect(server)?.ask(&format!("PUSH {job}"))?;
    match server.output {
        Output::Table => output::print(&format!("{jid}\n")),
        Output::Json => output::print(&format!("{job}\n")),
    }
}

fn meant(op: &str, which: &Which) -> Value {
    let state = which.state.map(|state| match state {
        State::Queued => "queued",
        State::Scheduled => "scheduled",
        State::Working => "working",
        State::Retries => "retries",
        State::Dead => "dead",
    });
    json!({
        "op": op, "jids": which.jids, "state": state, "queue": which.queue, "type": which.kind,
        "tenant": which.tenant, "fingerprint": which.fingerprint, "dry_run": which.dry_run,
    })
}

fn each(server: &Server, op: &str, which: &Which, rate: Option<f64>) -> Result<()> {
    let mut op = meant(op, which);
    if let Some(rate) = rate {
        op["rate"] = json!(rate);
    }
    let told = ask(server, &op)?;
    match server.output {
        Output::Table => output::print(&format!("{} jobs\n", told["jobs"])),
        Output::Json => output::print(&format!("{told}\n")),
    }
}

fn tell(queues: &Queues, op: &str) -> Result<()> {
    let told = ask(
        &queues.server,
        &json!({ "op": op, "queues": queues.queues }),
    )?;
    match queues.server.output {
        Output::Table => output::print(&format!("{} queues\n", told["queues"])),
        Output::Json => output::print(&format!("{told}\n")),
    }
}

fn list(which: &Which, limit: u64, server: &Server) -> Result<()> {
    if which.jids.is_empty()
        && which.state.is_none()
        && which.queue.is_none()
        && which.kind.is_none()
    {
        let told = ask(server, &json!({ "op": "queues" }))?;
        return table(
            server,
            &told,
            &["name", "size", "running", "latency", "paused", "draining"],
        );
    }
    let mut op = meant("list", which);
    op["limit"] = json!(limit);
    let mut told = ask(server, &op)?;
    if server.output == Output::Table {
        for job in told.as_array_mut().into_iter().flatten() {
            for key in ["jid", "jobtype", "queue"] {
                job[key] = job["job"][key].clone();
            }
            job["error"] = job["job"]["failure"]["message"].clone();
        }
    }
    table(
        server,
        &told,
        &["jid", "jobtype", "queue", "state", "since", "runs", "error"],
    )
}

/// One row per object.
fn table(server: &Server, told: &Value, columns: &[&str]) -> Result<()> {
    if server.output == Output::Json {
        return output::print(&format!("{}\n", serde_json::to_string_pretty(told)?));
    }
    let heads: Vec<String> = columns.iter().map(|column| column.to_uppercase()).collect();
    let mut rows = vec![heads];
    for row in told.as_array().map(Vec::as_slice).unwrap_or_default() {
        let cells = columns.iter().map(|column| match &row[*column] {
            Value::Null => String::new(),
            Value::String(text) => output::printable(text),
            Value::Number(number) if *column == "latency" => {
                format!("{:.1}s", number.as_f64().unwrap_or_default())
            }
            other => output::printable(&other.to_string()),
        });
        rows.push(cells.collect());
    }
    let widths: Vec<usize> = (0..columns.len())
        .map(|at| {
            rows.iter()
                .map(|row| row[at].chars().count())
                .max()
                .unwrap_or(0)
        })
        .collect();
    let mut text = String::new();
    for row in rows {
        let cells = row
            .iter()
            .zip(&widths)
            .map(|(cell, width)| format!("{cell:width$}"));
        text.push_str(cells.collect::<Vec<_>>().join("  ").trim_end());
        text.push('\n');
    }
    output::print(&text)
}

fn load(what: &What) -> Result<()> {
    let What::Bench {
        load,
        connections,
        jobs,
        batch,
        pipeline,
        server,
    } = what
    else {
        return Ok(());
    };
    ensure!(
        *batch > 0 && *pipeline > 0 && *connections > 0,
        "there has to be one of each"
    );
    let settings = bench::LoadSettings {
        load: match load {
            Load::Push => bench::Load::Push,
            Load::Work => bench::Load::Work,
            Load::Both => bench::Load::Both,
        },
        connections: *connections,
        jobs: *jobs,
        batch: *batch,
        pipeline: *pipeline,
        bytes: 10,
        queue: "bench".to_owned(),
        password: server
            .password_file
            .as_deref()
            .map(super::password)
            .transpose()?,
    };
    let address = server
        .server
        .parse()
        .context("--server: an address and a port are needed")?;
    let result = bench::run(address, &settings).context("the load could not be run")?;
    let rate = result.pushed.max(result.worked) as f64 / result.took.as_secs_f64();
    let [half, most, longest] = result.latency_us;
    let told = json!({
        "pushed": result.pushed, "worked": result.worked, "seconds": result.took.as_secs_f64(),
        "jobs_per_second": rate.round(), "p50_us": half, "p99_us": most, "max_us": longest,
    });
    match server.output {
        Output::Json => output::print(&format!("{told}\n")),
        Output::Table => output::print(&format!(
            "{rate:.0} jobs/s ({} pushed, {} done in {:.2} s); a command took {half} µs, 1 of 100 more than {most} µs\n",
            result.pushed,
            result.worked,
            result.took.as_secs_f64()
        )),
    }
}
