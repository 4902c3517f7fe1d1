//! The operations of a script, carried out.

use super::observe::{Answers, Observer, Step, recorded_hints};
use anyhow::{Context, Result, anyhow, bail};
use serde_json::Value;
use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;
use stowplan_base::{Duration, Sym, Time};
use stowplan_bridge::config::profiles_from_json;
use stowplan_bridge::convert::{Interner, object};
use stowplan_engine::Snapshot;
use stowplan_engine::fast::Path;
use stowplan_engine::framework::{ClusterEvent, Hint, Nomination};
use stowplan_engine::model::{Kind, Object};
use stowplan_engine::plugins::registry::in_tree;
use stowplan_engine::queue::{AskedHint, PluginIds, Profiles, QueueConfig};
use stowplan_engine::scheduler::{Change, Failure, Scheduler};

/// Where the answers to hints come from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Hints {
    /// From the plugins.
    Computed,
    /// From the recording: what differs then is the queue's doing.
    Recorded,
}

/// What a step observed.
pub(super) struct Observed {
    pub(super) state: Value,
    pub(super) hints: Vec<AskedHint>,
}

/// A world and a clock.
pub(super) struct Script {
    scheduler: Scheduler,
    observer: Observer,
    /// The recorded answers of the present step.
    answers: Rc<RefCell<Answers>>,
}

impl Script {
    pub(super) fn load(case: &Value, hints: Hints, path: Path) -> Result<Self> {
        let observer = Observer {
            epoch: epoch(text(case, "epoch")?)?,
        };
        let start = observer.epoch + Duration::from_millis(number(case, "start")?);
        let mut cluster = Snapshot::new();
        let entries = case["profiles"].as_array().map_or(&[][..], Vec::as_slice);
        let frameworks =
            profiles_from_json(entries, &mut interner(&mut cluster)).context("profiles")?;
        let mut profiles = Profiles::new(frameworks, &mut cluster.names);
        let answers = Rc::new(RefCell::new(Answers::new()));
        if hints == Hints::Recorded {
            let answers = answers.clone();
            profiles.replay_hints(Box::new(move |event, pod, plugin| {
                let key = [event.label(), pod.key.to_string(), plugin.to_owned()];
                let mut answers = answers.borrow_mut();
                match answers
                    .get_mut(&key)
                    .and_then(VecDeque::pop_front)
                    .as_deref()
                {
                    Some("Queue") => Hint::Queue,
                    Some("Skip") => Hint::Skip,
                    other => Hint::Error(format!("{other:?}")),
                }
            }));
        }
        let config = queue_config(&case["config"])?;
        let mut scheduler = Scheduler::new(cluster, profiles, config, start);
        scheduler.set_path(path);
        let mut script = Self {
            scheduler,
            observer,
            answers,
        };
        for entry in case["objects"].as_array().into_iter().flatten() {
            script.upsert(entry, start)?;
        }
        Ok(script)
    }

    /// Carries out one step.
    pub(super) fn run(&mut self, step: &Value) -> Result<Observed> {
        let now = self.observer.epoch + Duration::from_millis(number(step, "at")?);
        *self.answers.borrow_mut() = recorded_hints(&step["expect"]["hints"]);
        let incoming = self.scheduler.queue().incoming().clone();
        self.scheduler.queue_mut().start_trace();
        let mut seen = Step::default();
        self.scheduler.tick(now);
        self.operate(step, now, &mut seen)?;
        seen.trace = self.scheduler.queue_mut().take_trace().unwrap_or_default();
        Ok(Observed {
            state: self.observer.state(&self.scheduler, &incoming, &seen),
            hints: seen.trace.hints,
        })
    }

    fn operate(&mut self, step: &Value, now: Time, seen: &mut Step) -> Result<()> {
        match text(step, "op")? {
            "advance" => {}
            "create" | "update" => self.upsert(step, now)?,
            "delete" => self.delete(step, now)?,
            "pop" => {
                seen.popped = self.scheduler.pop(now).map(|pod| pod.key.clone());
                seen.blocked = seen.popped.is_none();
            }
            "fail" => {
                let nomination = self.nomination(&step["nominate"])?;
                let uid = text(step, "uid")?;
                let failure = self.failure(step)?;
                self.scheduler.fail(uid, failure, nomination, now);
            }
            "assume" => {
                let node = self.sym(text(step, "node")?);
                let assumed = self.scheduler.assume(text(step, "uid")?, node);
                assumed.context("the pod cannot be assumed")?;
            }
            "done" => self.scheduler.done(text(step, "uid")?),
            "bind_fail" => {
                let uid = text(step, "uid")?;
                let failure = self.failure(step)?;
                self.scheduler.bind_failed(uid, failure, now);
            }
            "nominate" => {
                let (namespace, name) = self.key(text(step, "key")?);
                let nomination = self.nomination(&step["nominate"])?;
                self.scheduler.nominate(namespace, name, nomination);
            }
            "activate" => {
                let keys = self.keys(step)?;
                self.scheduler.activate(&keys, now);
            }
            "move_all" => self
                .scheduler
                .move_all(wildcard(text(step, "event")?)?, now),
            op => self.preemption(op, step, now)?,
        }
        Ok(())
    }

    fn preemption(&mut self, op: &str, step: &Value, now: Time) -> Result<()> {
        let (namespace, name) = self.key(text(step, "key")?);
        let pod = self.scheduler.cluster().listed_pod(namespace, name);
        let uid = pod.context("no such pod")?.uid.clone();
        match op {
            "preemption_start" => self.scheduler.preemption_started(&uid),
            "preemption_last_victim" => {
                let keys = self.keys(step)?;
                let (namespace, name) = *keys.first().context("no victim")?;
                self.scheduler
                    .preemption_at_last_victim(&uid, namespace, name);
            }
            "preemption_end" => {
                let failed = step["error"].is_string();
                self.scheduler
                    .preemption_ended(&uid, (namespace, name), failed, now);
            }
            _ => bail!("unknown operation {op}"),
        }
        Ok(())
    }

    fn upsert(&mut self, entry: &Value, now: Time) -> Result<()> {
        let kind = kind(text(entry, "kind")?)?;
        let mut interner = interner(self.scheduler.cluster_mut());
        let object = object(&mut interner, kind, &entry["object"])?;
        let bound = match &object {
            Object::Pod(pod) if pod.is_assigned() => Some(pod.uid.clone()),
            _ => None,
        };
        self.scheduler.apply(Change::Upsert(object), now);
        // The binding is confirmed; one that is not past Permit can still be rejected.
        if let Some(uid) = bound.filter(|uid| !self.scheduler.queue().is_in_flight(uid)) {
            self.scheduler.bound(&uid);
        }
        Ok(())
    }

    fn delete(&mut self, step: &Value, now: Time) -> Result<()> {
        let kind = kind(text(step, "kind")?)?;
        let (namespace, name) = self.key(text(step, "key")?);
        let change = Change::Delete {
            kind,
            namespace,
            name,
        };
        self.scheduler.apply(change, now);
        Ok(())
    }

    fn failure(&mut self, step: &Value) -> Result<Failure> {
        let mut plugins = |field: &str| -> Result<PluginIds> {
            let names = step[field].as_array().into_iter().flatten();
            let names = names.filter_map(Value::as_str).map(plugin);
            let names: Vec<_> = names.collect::<Result<_>>()?;
            Ok(self.scheduler.plugin_ids(&names))
        };
        Ok(match step["error"].as_str() {
            Some("no nodes") => Failure::NoNodes,
            Some(error) => Failure::Error(error.to_owned()),
            None => Failure::Rejected {
                unschedulable: plugins("unschedulable")?,
                pending: plugins("pending")?,
                message: "".into(),
            },
        })
    }

    fn nomination(&mut self, nominate: &Value) -> Result<Nomination> {
        if nominate.is_null() || text(nominate, "mode")? == "noop" {
            return Ok(Nomination::Keep);
        }
        let node = self.sym(text(nominate, "node")?);
        Ok(Nomination::Set(Some(node).filter(|node| !node.is_empty())))
    }

    fn keys(&mut self, step: &Value) -> Result<Vec<(Sym, Sym)>> {
        let keys = step["keys"].as_array().context("keys: not a list")?;
        let keys = keys.iter().filter_map(Value::as_str);
        Ok(keys.map(|key| self.key(key)).collect())
    }

    /// `namespace/name`, or only a name.
    fn key(&mut self, key: &str) -> (Sym, Sym) {
        let (namespace, name) = key.split_once('/').unwrap_or(("", key));
        (self.sym(namespace), self.sym(name))
    }

    fn sym(&mut self, text: &str) -> Sym {
        self.scheduler.cluster_mut().names.intern(text)
    }
}

fn interner(cluster: &mut Snapshot) -> Interner<'_> {
    Interner {
        names: &mut cluster.names,
        resource_names: &mut cluster.resource_names,
    }
}

fn text<'a>(value: &'a Value, field: &str) -> Result<&'a str> {
    let text = value[field].as_str();
    text.with_context(|| format!("{field}: not a text"))
}

fn number(value: &Value, field: &str) -> Result<i64> {
    let number = value[field].as_i64();
    number.with_context(|| format!("{field}: not a whole number"))
}

fn kind(name: &str) -> Result<Kind> {
    let kind = Kind::ALL.into_iter().find(|kind| kind.as_str() == name);
    kind.with_context(|| format!("unknown kind {name}"))
}

/// A whole second, as RFC 3339 writes it.
fn epoch(text: &str) -> Result<Time> {
    let time: jiff::Timestamp = text.parse()?;
    Ok(Time::from_secs(time.as_second()))
}

fn queue_config(config: &Value) -> Result<QueueConfig> {
    let seconds = |field| Ok::<_, anyhow::Error>(Duration::from_secs(number(config, field)?));
    Ok(QueueConfig {
        initial_backoff: seconds("podInitialBackoffSeconds")?,
        max_backoff: seconds("podMaxBackoffSeconds")?,
        max_in_unschedulable_pods: seconds("podMaxInUnschedulablePodsSeconds")?,
    })
}

fn wildcard(label: &str) -> Result<ClusterEvent> {
    [
        ClusterEvent::UNSCHEDULABLE_TIMEOUT,
        ClusterEvent::FORCE_ACTIVATE,
    ]
    .into_iter()
    .find(|event| event.label() == label)
    .ok_or_else(|| anyhow!("unknown event {label}"))
}

fn plugin(name: &str) -> Result<&'static str> {
    let known = in_tree().names().find(|known| *known == name);
    known.with_context(|| format!("unknown plugin {name}"))
}
