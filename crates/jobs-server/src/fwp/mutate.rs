//! MUTATE: what is done with many jobs at once.

use super::filter::glob;
use super::verbs::{Answer, Core};
use super::{OK, compose, error};
use serde_json::Value;
use stowplan_base::Time;
use stowplan_jobs::{Filter, State};

impl Core {
    pub(super) fn mutate(&mut self, json: &str, now: Time, reply: &mut Vec<u8>) -> Answer {
        match self.mutation(json, now) {
            Ok(()) => reply.extend_from_slice(OK),
            Err(text) => error(reply, &text),
        }
        Answer::Durable
    }

    fn mutation(&mut self, json: &str, now: Time) -> Result<(), String> {
        let op: Value = serde_json::from_str(json).map_err(|bad| bad.to_string())?;
        let command = op["cmd"].as_str().unwrap_or("");
        if !matches!(command, "clear" | "kill" | "discard" | "requeue") {
            return Err("unknown mutate operation".to_owned());
        }
        let state = match op["target"].as_str() {
            Some("scheduled") => State::Scheduled,
            Some("retries") => State::Retry,
            Some("dead") => State::Dead,
            _ => return Err("invalid target for mutation command".to_owned()),
        };
        let filter = &op["filter"];
        let jids = filter["jids"]
            .as_array()
            .map(Vec::as_slice)
            .unwrap_or_default();
        let jids: Vec<&str> = jids.iter().filter_map(Value::as_str).collect();
        let of = |key: &str| filter[key].as_str().filter(|text| !text.is_empty());
        let (kind, pattern) = match command == "clear" || !jids.is_empty() {
            true => (None, None),
            false => (of("jobtype"), of("regexp")),
        };
        let jids: &[&str] = if command == "clear" { &[] } else { &jids };
        let filter = Filter {
            state: Some(state),
            jids,
            kind,
            ..Filter::default()
        };
        for (slot, id) in self.machine.select(&filter, usize::MAX) {
            if pattern.is_some_and(|pattern| !self.matches(slot, id, pattern, now)) {
                continue;
            }
            match command {
                "kill" => drop(self.machine.kill(&mut self.out, now, slot, id)),
                "requeue" => drop(self.machine.requeue(&mut self.out, now, slot, id)),
                _ => drop(self.machine.discard(&mut self.out, now, slot, id)),
            }
        }
        Ok(())
    }

    /// A job as JSON, if it is still there.
    pub(super) fn json_of(&mut self, slot: u32, id: u64, now: Time) -> Option<Vec<u8>> {
        let view = self.machine.view(slot, id, now)?;
        let (mut record, mut failure) = (Vec::new(), Vec::new());
        self.read(view.place, &mut record).ok()?;
        let last = view.failures.last();
        if let Some(place) = last {
            self.read(*place, &mut failure).ok()?;
        }
        let queued = matches!(view.state, State::Queued).then_some(view.since);
        let mut json = Vec::new();
        compose::job(&mut json, &record, last.map(|_| &*failure), queued, None).ok()?;
        Some(json)
    }

    fn matches(&mut self, slot: u32, id: u64, pattern: &str, now: Time) -> bool {
        self.json_of(slot, id, now)
            .is_some_and(|json| glob(pattern.as_bytes(), &json))
    }
}
