//! BATCH and CRON: jobs that belong together, and jobs that come again.

use super::job::ParsedJob;
use super::verbs::{Answer, Core};
use super::{OK, bulk, error};
use crate::clock;
use crate::json::{Scanner, quote, unquote};
use std::borrow::Cow;
use stowplan_base::Time;
use stowplan_jobs::{BatchSpec, CallbackState, PeriodicSpec};

impl Core {
    pub(super) fn batch(&mut self, rest: &str, now: Time, reply: &mut Vec<u8>) -> Answer {
        let (verb, rest) = rest.split_once(' ').unwrap_or((rest, ""));
        let bid = rest.trim();
        let done = match verb {
            "NEW" => match self.batch_new(rest, now) {
                Ok(bid) => {
                    bulk(reply, bid.as_bytes());
                    return Answer::Durable;
                }
                Err(text) => Err(text),
            },
            "OPEN" => match self.machine.batch_open(&mut self.out, bid) {
                Ok(()) => {
                    bulk(reply, bid.as_bytes());
                    return Answer::Durable;
                }
                Err(why) => Err(why.to_string()),
            },
            "COMMIT" => self
                .machine
                .batch_commit(&mut self.out, now, bid)
                .map_err(|why| why.to_string()),
            "STATUS" => match self.machine.batch(bid) {
                Some(batch) => {
                    let mut json = b"{\"bid\":".to_vec();
                    quote(&mut json, &batch.bid);
                    let state = |state| match state {
                        CallbackState::Pending => "",
                        CallbackState::Enqueued => "1",
                        CallbackState::Done => "2",
                    };
                    let counts = format!(
                        ",\"total\":{},\"pending\":{},\"failed\":{},\"created_at\":\"{}\",\
                         \"complete_st\":\"{}\",\"success_st\":\"{}\",\"description\":",
                        batch.total,
                        batch.pending,
                        batch.failed,
                        clock::text(batch.created),
                        state(batch.complete),
                        state(batch.success)
                    );
                    json.extend_from_slice(counts.as_bytes());
                    quote(&mut json, &String::from_utf8_lossy(&batch.description));
                    if !batch.parent.is_empty() {
                        json.extend_from_slice(b",\"parent_bid\":");
                        quote(&mut json, &batch.parent);
                    }
                    json.push(b'}');
                    bulk(reply, &json);
                    return Answer::Now;
                }
                None => Err("No such batch".to_owned()),
            },
            _ => Err(format!("invalid BATCH command {verb}")),
        };
        match done {
            Ok(()) => reply.extend_from_slice(OK),
            Err(text) => error(reply, &text),
        }
        Answer::Durable
    }

    fn batch_new(&mut self, json: &str, now: Time) -> Result<String, String> {
        let mut scanner = Scanner::new(json);
        if scanner.looks_like() != Some(b'{') {
            return Err(format!("invalid BATCH NEW {json}"));
        }
        let (mut description, mut parent) = (Cow::Borrowed(""), Cow::Borrowed(""));
        let mut callbacks = [None; 3];
        let read = scanner.members(|key, value| match key {
            "description" => description = unquote(value).unwrap_or_default(),
            "parent_bid" => parent = unquote(value).unwrap_or_default(),
            "success" if value != "null" => callbacks[0] = Some(value),
            "complete" if value != "null" => callbacks[1] = Some(value),
            "death" if value != "null" => callbacks[2] = Some(value),
            _ => {}
        });
        read.and_then(|()| scanner.end())
            .map_err(|bad| format!("invalid JSON: {bad}"))?;
        if callbacks[0].is_none() && callbacks[1].is_none() {
            return Err("BATCH NEW requires a success or complete callback".to_owned());
        }
        let mut prepared = [Vec::new(), Vec::new(), Vec::new()];
        for (callback, prepared) in callbacks.iter().zip(&mut prepared) {
            if let Some(json) = callback {
                let mut job = ParsedJob::read(&mut Scanner::new(json))
                    .map_err(|bad| format!("invalid JSON: {bad}"))?;
                *prepared = job.complete(now)?.prepare();
            }
        }
        let bid = format!("b-{:016x}", self.env.random());
        let spec = BatchSpec {
            bid: &bid,
            parent: &parent,
            description: description.as_bytes(),
            success: &prepared[0],
            complete: &prepared[1],
            death: &prepared[2],
        };
        self.machine
            .batch_new(&mut self.out, now, &spec)
            .map_err(|why| why.to_string())?;
        Ok(bid)
    }

    pub(super) fn cron(&mut self, rest: &str, now: Time, reply: &mut Vec<u8>) -> Answer {
        let (verb, rest) = rest.split_once(' ').unwrap_or((rest, ""));
        let done = match verb {
            "SET" => self.cron_set(rest, now),
            "REMOVE" => match self.machine.periodic_remove(&mut self.out, rest.trim()) {
                true => Ok(()),
                false => Err(format!("no such entry: {}", rest.trim())),
            },
            "LIST" => {
                let mut json = b"[".to_vec();
                for (i, entry) in self.machine.periodic().iter().enumerate() {
                    if i > 0 {
                        json.push(b',');
                    }
                    json.extend_from_slice(b"{\"name\":");
                    quote(&mut json, &entry.name);
                    json.extend_from_slice(b",\"schedule\":");
                    quote(&mut json, &entry.schedule);
                    json.extend_from_slice(b",\"zone\":");
                    quote(&mut json, &entry.zone);
                    if let Some(next) = entry.next {
                        json.extend_from_slice(
                            format!(",\"next\":\"{}\"", clock::text(next)).as_bytes(),
                        );
                    }
                    json.push(b'}');
                }
                json.push(b']');
                bulk(reply, &json);
                return Answer::Now;
            }
            _ => Err(format!("no such CRON subcommand: {verb}")),
        };
        match done {
            Ok(()) => reply.extend_from_slice(OK),
            Err(text) => error(reply, &text),
        }
        Answer::Durable
    }

    fn cron_set(&mut self, json: &str, now: Time) -> Result<(), String> {
        let mut scanner = Scanner::new(json);
        if scanner.looks_like() != Some(b'{') {
            return Err(format!("invalid CRON SET {json}"));
        }
        let mut texts = [const { Cow::Borrowed("") }; 6];
        let mut job = None;
        let read = scanner.members(|key, value| {
            let names = ["name", "schedule", "zone", "catch_up", "dst", "overlap"];
            match names.iter().position(|name| *name == key) {
                Some(at) => texts[at] = unquote(value).unwrap_or_default(),
                None if key == "job" => job = Some(value),
                None => {}
            }
        });
        read.and_then(|()| scanner.end())
            .map_err(|bad| format!("invalid JSON: {bad}"))?;
        let [name, schedule, zone, catch_up, dst, overlap] = &texts;
        if !super::job::is_queue_name(name) {
            return Err(r"names of entries must match \A[a-zA-Z0-9._-]+\z".to_owned());
        }
        let job = job.ok_or("there is no job in it")?;
        let mut parsed = ParsedJob::read(&mut Scanner::new(job))
            .map_err(|bad| format!("invalid JSON: {bad}"))?;
        parsed.as_template();
        let mut new = parsed.complete(now)?;
        let body = String::from_utf8_lossy(new.body).replacen("\"jid\":\"........\"", "", 1);
        let body = format!(
            "\"jid\":\"{}\",\"created_at\":\"{}\"{body}",
            PeriodicSpec::JID,
            PeriodicSpec::TIME
        );
        new.body = body.as_bytes();
        let prepared = new.prepare();
        let spec = PeriodicSpec {
            name,
            schedule,
            zone,
            catch_up,
            dst,
            forbid_overlap: match &**overlap {
                "" | "allow" => false,
                "forbid" => true,
                other => return Err(format!("unknown overlap policy {other:?}")),
            },
            job: &prepared,
        };
        self.machine.periodic_set(&mut self.out, now, &spec)
    }
}
