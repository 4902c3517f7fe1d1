//! STOWPLAN: what Faktory's protocol has no verb for. One JSON object in, one out.

use super::compose::write_failure;
use super::verbs::{Answer, Core};
use super::{bulk, error};
use crate::clock;
use serde_json::{Map, Value, json};
use stowplan_base::{Duration, Time};
use stowplan_jobs::{Filter, JobView, Limits, Record, State, WorkerState};

/// What a list shows at most.
const LIST_MAX: usize = 10_000;

/// Which jobs are meant, as an object says it.
struct Meant {
    state: Option<State>,
    jids: Vec<String>,
    queue: Option<String>,
    kind: Option<String>,
    tenant: Option<String>,
    fingerprint: Option<u64>,
    limit: usize,
}

impl Meant {
    fn read(op: &Value) -> Result<Self, String> {
        let text = |key: &str| op[key].as_str().map(str::to_owned);
        let state = match op["state"].as_str() {
            None | Some("") => None,
            Some("queued") => Some(State::Queued),
            Some("scheduled") => Some(State::Scheduled),
            Some("working") => Some(State::Reserved),
            Some("retries") => Some(State::Retry),
            Some("dead") => Some(State::Dead),
            Some(other) => return Err(format!("unknown state {other:?}")),
        };
        let jids = op["jids"].as_array().map(Vec::as_slice).unwrap_or_default();
        let fingerprint = text("fingerprint").map(|hex| u64::from_str_radix(&hex, 16));
        Ok(Self {
            state,
            jids: jids
                .iter()
                .filter_map(|jid| jid.as_str().map(str::to_owned))
                .collect(),
            queue: text("queue"),
            kind: text("type"),
            tenant: text("tenant"),
            fingerprint: fingerprint
                .transpose()
                .map_err(|_| "a fingerprint has 16 hexadecimal digits".to_owned())?,
            limit: op["limit"]
                .as_u64()
                .map_or(usize::MAX, |limit| limit as usize),
        })
    }

    fn select(&self, core: &Core) -> Vec<(u32, u64)> {
        let jids: Vec<&str> = self.jids.iter().map(String::as_str).collect();
        let filter = Filter {
            state: self.state,
            jids: &jids,
            queue: self.queue.as_deref(),
            kind: self.kind.as_deref(),
            tenant: self.tenant.as_deref(),
            fingerprint: self.fingerprint,
        };
        core.machine.select(&filter, self.limit)
    }
}

impl Core {
    pub(super) fn admin(&mut self, json: &str, now: Time, reply: &mut Vec<u8>) -> Answer {
        let op = serde_json::from_str(json).map_err(|bad| format!("invalid JSON: {bad}"));
        match op.and_then(|op: Value| self.operate(&op, now)) {
            Ok(value) => bulk(reply, value.to_string().as_bytes()),
            Err(text) => error(reply, &text),
        }
        Answer::Durable
    }

    fn operate(&mut self, op: &Value, now: Time) -> Result<Value, String> {
        let names = op["queues"]
            .as_array()
            .map(Vec::as_slice)
            .unwrap_or_default();
        let names: Vec<&str> = names.iter().filter_map(Value::as_str).collect();
        let number = |key: &str| op[key].as_u64().unwrap_or(0).min(u64::from(u32::MAX)) as u32;
        match op["op"].as_str().unwrap_or("") {
            "list" => self.list(op, now),
            "queues" => Ok(self.queues(now)),
            "workers" => Ok(self.workers()),
            "errors" => Ok(self.errors(now)),
            "show" => self.show(op["jid"].as_str().unwrap_or(""), now),
            "retry" => self.each(
                op,
                &[State::Retry, State::Dead, State::Scheduled],
                |core, slot, id| core.machine.requeue(&mut core.out, now, slot, id),
            ),
            "kill" => self.each(
                op,
                &[State::Retry, State::Queued, State::Scheduled],
                |core, slot, id| core.machine.kill(&mut core.out, now, slot, id),
            ),
            "discard" => self.each(
                op,
                &[State::Retry, State::Queued, State::Scheduled, State::Dead],
                |core, slot, id| core.machine.discard(&mut core.out, now, slot, id),
            ),
            "redrive" => self.redrive(op, now),
            "pause" => Ok(json!({ "queues": self.machine.pause(&mut self.out, &names) })),
            "resume" => Ok(json!({ "queues": self.machine.resume(&mut self.out, now, &names) })),
            "drain" => Ok(json!({ "queues": self.machine.drain(&mut self.out, &names) })),
            "limit" => {
                if let Some(queue) = op["queue"].as_str() {
                    self.machine
                        .limit_queue(&mut self.out, now, queue, number("running_max"));
                } else if let Some(tenant) = op["tenant"].as_str() {
                    let limits = Limits {
                        weight: number("weight").max(1),
                        running_max: number("running_max"),
                        rate: op["rate"].as_f64().unwrap_or(0.0),
                        burst: number("burst").max(1),
                    };
                    self.machine
                        .limit_tenant(&mut self.out, now, tenant, limits);
                } else {
                    return Err("limit what: a queue or a tenant?".to_owned());
                }
                Ok(json!({}))
            }
            "signal" => {
                let state = match op["state"].as_str() {
                    Some("quiet") => WorkerState::Quiet,
                    Some("terminate") => WorkerState::Terminate,
                    _ => return Err("a worker can be told quiet or terminate".to_owned()),
                };
                let told = self
                    .machine
                    .signal(op["wid"].as_str().unwrap_or("*"), state);
                Ok(json!({ "workers": told }))
            }
            other => Err(format!("unknown operation {other:?}")),
        }
    }

    fn list(&mut self, op: &Value, now: Time) -> Result<Value, String> {
        let mut meant = Meant::read(op)?;
        meant.limit = meant.limit.min(LIST_MAX);
        let jobs = meant.select(self);
        Ok(Value::Array(
            jobs.into_iter()
                .filter_map(|(slot, id)| self.told(slot, id, false, now))
                .collect(),
        ))
    }

    fn show(&mut self, jid: &str, now: Time) -> Result<Value, String> {
        let filter = Filter {
            jids: &[jid],
            ..Filter::default()
        };
        let found = self.machine.select(&filter, 100);
        let jobs: Vec<_> = found
            .into_iter()
            .filter_map(|(slot, id)| self.told(slot, id, true, now))
            .collect();
        match jobs.is_empty() {
            true => Err(format!("Job not found {jid}")),
            false => Ok(Value::Array(jobs)),
        }
    }

    /// A job for people; with its whole history.
    fn told(&mut self, slot: u32, id: u64, history: bool, now: Time) -> Option<Value> {
        let view = self.machine.view(slot, id, now)?;
        let json = self.json_of(slot, id, now)?;
        let job: Value = serde_json::from_slice(&json).unwrap_or(Value::Null);
        let mut told = Map::new();
        told.insert("state".to_owned(), view.state.as_str().into());
        told.insert("since".to_owned(), clock::text(view.since).into());
        told.insert("priority".to_owned(), view.priority.into());
        told.insert("runs".to_owned(), view.runs.into());
        if !view.tenant.is_empty() {
            told.insert("tenant".to_owned(), view.tenant.clone().into());
        }
        if view.crashes > 0 {
            told.insert("crashes".to_owned(), view.crashes.into());
        }
        if view.fingerprint != 0 {
            told.insert(
                "fingerprint".to_owned(),
                format!("{:016x}", view.fingerprint).into(),
            );
        }
        if let Some(lease) = &view.lease {
            let typical = lease
                .typical
                .map(|(p50, p99)| json!({ "p50": p50.to_string(), "p99": p99.to_string() }));
            told.insert(
                "lease".to_owned(),
                json!({
                    "token": lease.token.to_string(), "wid": lease.wid, "since": clock::text(lease.since),
                    "until": clock::text(lease.until), "typical": typical, "stuck": lease.stuck,
                }),
            );
        }
        if history {
            told.insert("errors".to_owned(), self.history(&view));
        }
        told.insert("job".to_owned(), job);
        Some(Value::Object(told))
    }

    fn history(&mut self, view: &JobView) -> Value {
        let mut errors = Vec::new();
        for place in &view.failures {
            let mut bytes = Vec::new();
            if self.read(*place, &mut bytes).is_err() {
                continue;
            }
            if let Ok((Record::Failure(failure), _)) = Record::decode(&bytes) {
                let mut json = Vec::new();
                write_failure(&mut json, &failure);
                let mut told: Value = serde_json::from_slice(&json).unwrap_or(Value::Null);
                told["at"] = clock::text(failure.at).into();
                errors.push(told);
            }
        }
        Value::Array(errors)
    }

    fn each(
        &mut self,
        op: &Value,
        states: &[State],
        mut act: impl FnMut(&mut Self, u32, u64) -> bool,
    ) -> Result<Value, String> {
        let meant = Meant::read(op)?;
        if meant.jids.is_empty() && meant.state.is_none() {
            return Err("which jobs: jids, or a state?".to_owned());
        }
        let dry = op["dry_run"].as_bool().unwrap_or(false);
        let mut count = 0;
        for (slot, id) in meant.select(self) {
            let state = self
                .machine
                .view(slot, id, Time::default())
                .map(|view| view.state);
            let fits = state.is_some_and(|state| states.contains(&state));
            count += usize::from(fits && (dry || act(self, slot, id)));
        }
        Ok(json!({ "jobs": count }))
    }

    /// Dead jobs come back, at once or so many per second.
    fn redrive(&mut self, op: &Value, now: Time) -> Result<Value, String> {
        let mut meant = Meant::read(op)?;
        meant.state = Some(State::Dead);
        let rate = op["rate"].as_f64().unwrap_or(0.0);
        let jobs = meant.select(self);
        if op["dry_run"].as_bool().unwrap_or(false) {
            return Ok(json!({ "jobs": jobs.len() }));
        }
        let mut count = 0_u32;
        for (slot, id) in jobs {
            let wait = if rate > 0.0 {
                f64::from(count) / rate
            } else {
                0.0
            };
            let at = now + Duration::from_nanos((wait * 1e9) as i64);
            count += u32::from(self.machine.reschedule(&mut self.out, now, slot, id, at));
        }
        Ok(json!({ "jobs": count }))
    }

    fn queues(&self, now: Time) -> Value {
        let queues = self.machine.queues(now);
        let told = queues.iter().map(|queue| {
            json!({
                "name": queue.name, "size": queue.size, "running": queue.running, "paused": queue.paused,
                "draining": queue.draining, "latency": queue.latency.as_secs_f64(),
            })
        });
        Value::Array(told.collect())
    }

    fn workers(&self) -> Value {
        let workers = self.machine.workers();
        let told = workers.iter().map(|worker| {
            json!({
                "wid": worker.wid, "busy": worker.busy, "state": worker.state.as_str(),
                "since": clock::text(worker.since),
                "about": serde_json::from_str::<Value>(&worker.about).unwrap_or(Value::Null)
                    .as_object().map(|about| about.iter().filter(|(key, _)| *key != "pwdhash")
                    .map(|(key, value)| (key.clone(), value.clone())).collect::<Map<_, _>>()),
            })
        });
        Value::Array(told.collect())
    }

    /// Dead jobs by what went wrong, the most frequent first, each with one as an example.
    fn errors(&mut self, now: Time) -> Value {
        let filter = Filter {
            state: Some(State::Dead),
            ..Filter::default()
        };
        let mut groups: std::collections::BTreeMap<u64, (usize, u32, u64)> =
            std::collections::BTreeMap::new();
        for (slot, id) in self.machine.select(&filter, usize::MAX) {
            let fingerprint = self
                .machine
                .view(slot, id, now)
                .map_or(0, |view| view.fingerprint);
            let group = groups.entry(fingerprint).or_insert((0, slot, id));
            *group = (group.0 + 1, slot, id);
        }
        let mut groups: Vec<_> = groups.into_iter().collect();
        groups.sort_by_key(|(fingerprint, (count, ..))| (std::cmp::Reverse(*count), *fingerprint));
        let told = groups.into_iter().map(|(fingerprint, (count, slot, id))| {
            let example = self.json_of(slot, id, now).unwrap_or_default();
            let example: Value = serde_json::from_slice(&example).unwrap_or(Value::Null);
            json!({
                "fingerprint": format!("{fingerprint:016x}"), "jobs": count,
                "errtype": example["failure"]["errtype"], "message": example["failure"]["message"],
                "jid": example["jid"],
            })
        });
        Value::Array(told.collect())
    }
}
