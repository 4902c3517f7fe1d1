//! A small world for tests of controllers: objects, a clock, and writes carried out at once.
//!
//! It does what every API server does with metadata (uids, versions, generations, finalizers, grace) and
//! nothing else: no defaults, no validation. Tests with a real server are in `controller-manager`.

use crate::{
    Controller, Cx, Event, Failure, Key, Keys, Method, Order, Outcome, Plan, Watches, Write,
};
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::apps::v1::{Deployment, ReplicaSet, StatefulSet};
use k8s_openapi::api::core::v1::ReplicationController;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use stowplan_cache::{Cluster, Kind, Object};

#[cfg(test)]
mod faults;
#[cfg_attr(not(test), allow(dead_code))]
mod trouble;

/// Decides which writes fail, and how.
type Refuse = Box<dyn FnMut(&Write) -> Option<Failure>>;

/// Objects, a clock, and what controllers did.
pub struct World {
    /// What controllers see.
    pub cluster: Arc<Cluster>,
    /// The time.
    pub now: Timestamp,
    /// What was written: method, path and body.
    pub writes: Vec<(Method, String, Value)>,
    /// What was told.
    pub events: Vec<Event>,
    /// What went wrong, in the words of plans and of the server.
    pub errors: Vec<String>,
    objects: BTreeMap<String, Value>,
    /// What was read.
    pub reads: Vec<String>,
    served: BTreeMap<String, Result<Value, Failure>>,
    version: u64,
    refuse: Refuse,
    /// What controllers that [joined](Self::join) have to look at: by controller, key and time.
    queue: Arc<Mutex<Queue>>,
    trouble: trouble::Trouble,
}

#[derive(Default)]
struct Queue {
    ready: VecDeque<(usize, Key)>,
    waiting: BTreeSet<(Duration, usize, Key)>,
}

impl Default for World {
    fn default() -> Self {
        Self {
            cluster: Arc::default(),
            now: "2026-03-01T12:00:00Z".parse().expect("a time"),
            writes: Vec::new(),
            events: Vec::new(),
            errors: Vec::new(),
            objects: BTreeMap::new(),
            reads: Vec::new(),
            served: BTreeMap::new(),
            version: 100,
            refuse: Box::new(|_| None),
            queue: Arc::default(),
            trouble: trouble::Trouble::default(),
        }
    }
}

impl World {
    /// Puts an object in, or changes it, as a user or another component would. Uid, version and creation
    /// time are made up unless given.
    pub fn add<K: Object>(&mut self, object: K) -> Arc<K> {
        let kind = Kind::of::<K>();
        let key = Key::of(&object);
        let mut value = serde_json::to_value(&object).expect("an object");
        let path = kind.path_of(&key);
        if let Some(old) = self.objects.get(&path) {
            let (meta, is_new) = (&old["metadata"], value["spec"] != old["spec"]);
            value["metadata"]["uid"] = meta["uid"].clone();
            let generation = meta["generation"].as_i64().unwrap_or(1);
            value["metadata"]["generation"] = json!(generation + i64::from(is_new));
        } else if value["metadata"]["generation"].is_null() {
            value["metadata"]["generation"] = json!(1);
        }
        let kept = self.keep(kind, path, value);
        let known = self.cluster.get::<K>(&key.namespace, &key.name);
        known.unwrap_or_else(|| Arc::new(serde_json::from_value(kept).expect("an object")))
    }

    /// The same, from JSON.
    pub fn add_json<K: Object>(&mut self, object: Value) -> Arc<K> {
        self.add(serde_json::from_value::<K>(object).expect("an object"))
    }

    /// Takes an object out, as if it had never had finalizers or grace.
    pub fn remove<K: Object>(&mut self, namespace: &str, name: &str) {
        let (kind, key) = (Kind::of::<K>(), Key::new(namespace, name));
        let path = kind.path_of(&key);
        self.objects.remove(&path);
        self.version += 1;
        self.tell(kind, key, path, None);
    }

    /// An object that must be there.
    pub fn get<K: Object>(&self, namespace: &str, name: &str) -> Arc<K> {
        let found = self.cluster.get::<K>(namespace, name);
        found.unwrap_or_else(|| panic!("no {} {namespace}/{name}", K::KIND))
    }

    /// Changes an object that must be there.
    pub fn change<K: Object>(&mut self, namespace: &str, name: &str, change: impl FnOnce(&mut K)) {
        let mut object = K::clone(&self.get::<K>(namespace, name));
        change(&mut object);
        self.add(object);
    }

    /// Changes an object without telling anybody yet: what controllers see is stale.
    pub fn change_unseen<K: Object>(
        &mut self,
        namespace: &str,
        name: &str,
        change: impl FnOnce(&mut K),
    ) {
        let path = Kind::of::<K>().path_of(&Key::new(namespace, name));
        let value = self.objects.get(&path).cloned().expect("an object");
        let mut object: K = serde_json::from_value(value).expect("an object of the kind");
        change(&mut object);
        self.version += 1;
        object.metadata_mut().resource_version = Some(self.version.to_string());
        let value = serde_json::to_value(&object).expect("an object");
        self.objects.insert(path, value);
    }

    /// Makes writes fail.
    pub fn refuse(&mut self, refuse: impl FnMut(&Write) -> Option<Failure> + 'static) {
        self.refuse = Box::new(refuse);
    }

    /// Lets a controller look at one object, and carries out what it wants. Returns when it wants to look
    /// again.
    pub fn sync(
        &mut self,
        controller: &dyn Controller,
        namespace: &str,
        name: &str,
    ) -> Option<Duration> {
        self.sync_key(controller, &Key::new(namespace, name)).0
    }

    /// Tells when to look again, and whether something failed.
    fn sync_key(&mut self, controller: &dyn Controller, key: &Key) -> (Option<Duration>, bool) {
        let seed = std::cell::Cell::new(self.version);
        let random = || {
            seed.set(
                seed.get()
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1),
            );
            seed.get()
        };
        let cluster = self.cluster.clone();
        let cx = |now| Cx {
            cluster: &cluster,
            now,
            random: &random,
        };
        let mut plan = controller.sync(&cx(self.now), key);
        let (mut again, mut failed) = (None::<Duration>, false);
        loop {
            let Plan {
                events,
                reads,
                writes,
                order,
                then,
                requeue_after,
                error,
            } = plan;
            self.events.extend(events);
            again = [again, requeue_after].into_iter().flatten().min();
            if let Some(error) = error {
                self.errors.push(error);
                failed = true;
            }
            let mut outcomes: Vec<Outcome> = reads.iter().map(|path| self.read(path)).collect();
            outcomes.extend(self.carry_out(writes, order));
            if self.trouble.has_crashed {
                return (None, true);
            }
            let failures = outcomes.iter().filter_map(Outcome::failure);
            let messages: Vec<String> = failures.map(|failure| failure.message.clone()).collect();
            failed |= !messages.is_empty();
            self.errors.extend(messages);
            match then {
                Some(then) => plan = then(&cx(self.now), &outcomes),
                None => return (again, failed),
            }
        }
    }

    /// Answers reads of paths that begin like this, whatever the objects are. A path ends before its query.
    pub fn serve(&mut self, path: &str, answer: Result<Value, Failure>) {
        self.served.insert(path.to_owned(), answer);
    }

    fn read(&mut self, path: &str) -> Outcome {
        self.reads.push(path.to_owned());
        let plain = path.split('?').next().unwrap_or_default();
        let none = || Err(failure(404, "NotFound", plain));
        Outcome::Answered(
            match (self.served.get(plain), plain.strip_suffix("/scale")) {
                (Some(answer), _) => answer.clone(),
                (None, Some(of)) => self.objects.get(of).map(scale_of).map_or_else(none, Ok),
                (None, None) if plain.ends_with("/pods") => Ok(self.list(plain)),
                (None, None) => self.objects.get(plain).cloned().map_or_else(none, Ok),
            },
        )
    }

    /// All objects of a kind in a namespace.
    fn list(&self, path: &str) -> Value {
        let root = format!("{path}/");
        let of = self
            .objects
            .iter()
            .filter(|(path, _)| path.starts_with(&root));
        json!({"items": of.map(|(_, object)| object).collect::<Vec<_>>()})
    }

    /// Replaces the number of replicas by the scale of an object.
    fn rescale(&mut self, write: &Write, scale: &Value) -> Result<Value, Failure> {
        let of = write.path.trim_end_matches("/scale");
        if let Some(answer) = self.served.get_mut(&write.path) {
            *answer = Ok(scale.clone());
            return Ok(scale.clone());
        }
        let Some(mut object) = self.objects.get(of).cloned() else {
            return Err(failure(404, "NotFound", of));
        };
        let given = scale["metadata"]["resourceVersion"].as_str();
        if given.is_some() && given != object["metadata"]["resourceVersion"].as_str() {
            return Err(failure(409, "Conflict", of));
        }
        object["spec"]["replicas"] = scale["spec"]["replicas"].clone();
        let kind = match object["kind"].as_str() {
            Some("ReplicationController") => Kind::of::<ReplicationController>(),
            Some("StatefulSet") => Kind::of::<StatefulSet>(),
            Some("ReplicaSet") => Kind::of::<ReplicaSet>(),
            _ => Kind::of::<Deployment>(),
        };
        let kept = self.keep(kind, of.to_owned(), object);
        Ok(scale_of(&kept))
    }

    fn carry_out(&mut self, writes: Vec<Write>, order: Order) -> Vec<Outcome> {
        let mut outcomes = Vec::new();
        let (mut batch_end, mut size, mut broken) = (1, 1, false);
        for (at, mut write) in writes.into_iter().enumerate() {
            if order == Order::SlowStart && at == batch_end {
                size *= 2;
                batch_end += size;
            }
            let is_batch_start = at + size == batch_end;
            let skipped = match order {
                _ if self.trouble.has_crashed => true,
                Order::Parallel => false,
                Order::Sequence => broken,
                Order::SlowStart => {
                    broken && (is_batch_start || matches!(outcomes.last(), Some(Outcome::Skipped)))
                }
            };
            if skipped {
                outcomes.push(Outcome::Skipped);
                continue;
            }
            let outcome = self.write(&write);
            broken |= outcome.failure().is_some();
            self.events.extend(write.told(&outcome));
            outcomes.push(outcome);
        }
        outcomes
    }

    fn write(&mut self, write: &Write) -> Outcome {
        let body: Value = serde_json::from_slice(&write.body).expect("JSON");
        self.writes
            .push((write.method, write.path.clone(), body.clone()));
        let cluster = self.cluster.clone();
        let refused = self.next_refusal().or_else(|| (self.refuse)(write));
        if let Some(failure) = refused {
            return write.answered(&cluster, Err(failure));
        }
        let answer = match write.method {
            Method::Post => self.create(write, body),
            Method::Put if write.path.ends_with("/scale") => self.rescale(write, &body),
            Method::Put => self.replace(write, body, false),
            Method::Patch => self.replace(write, body, true),
            Method::Delete => self.delete(write, &body),
        };
        match self.lose_answer(answer) {
            Ok(value) => write.answered(&cluster, Ok(&value.to_string())),
            Err(failure) => write.answered(&cluster, Err(failure)),
        }
    }

    fn keep(&mut self, kind: Kind, path: String, mut value: Value) -> Value {
        self.version += 1;
        strip_nulls(&mut value);
        let meta = &mut value["metadata"];
        meta["resourceVersion"] = json!(self.version.to_string());
        if meta["uid"].is_null() {
            meta["uid"] = json!(format!("uid-{}", self.version));
        }
        if meta["creationTimestamp"].is_null() {
            meta["creationTimestamp"] = json!(seconds(self.now));
        }
        let is_gone = !meta["deletionTimestamp"].is_null()
            && meta["deletionGracePeriodSeconds"].as_i64().unwrap_or(0) == 0
            && meta["finalizers"].as_array().is_none_or(Vec::is_empty);
        let text = |field: &Value| field.as_str().unwrap_or_default().to_owned();
        let key = Key::new(&text(&meta["namespace"]), &text(&meta["name"]));
        if is_gone {
            self.objects.remove(&path);
            self.tell(kind, key, path, None);
        } else {
            self.objects.insert(path.clone(), value.clone());
            self.tell(kind, key, path, Some(value.to_string()));
        }
        value
    }

    fn create(&mut self, write: &Write, mut value: Value) -> Result<Value, Failure> {
        let meta = &mut value["metadata"];
        if meta["name"].as_str().unwrap_or_default().is_empty() {
            let prefix = meta["generateName"].as_str().unwrap_or_default();
            meta["name"] = json!(format!("{prefix}{}", self.version));
        }
        meta["generation"] = json!(1);
        let path = format!(
            "{}/{}",
            write.path,
            meta["name"].as_str().unwrap_or_default()
        );
        if self.objects.contains_key(&path) {
            return Err(failure(409, "AlreadyExists", &path));
        }
        Ok(self.keep(write.kind, path, value))
    }

    fn replace(
        &mut self,
        write: &Write,
        mut body: Value,
        is_patch: bool,
    ) -> Result<Value, Failure> {
        let path = write.kind.path_of(&write.key);
        let Some(old) = self.objects.get(&path).cloned() else {
            return Err(failure(404, "NotFound", &path));
        };
        let given = body["metadata"]["resourceVersion"].as_str();
        if given.is_some_and(|given| Some(given) != old["metadata"]["resourceVersion"].as_str()) {
            return Err(failure(409, "Conflict", &path));
        }
        if write.content_type == "application/strategic-merge-patch+json" {
            merge_finalizers(&old, &mut body);
        }
        let mut new = match is_patch {
            true => merged(old.clone(), &body),
            false => body,
        };
        if write.path.ends_with("/status") {
            let (status, annotations) = (&new["status"], &new["metadata"]["annotations"]);
            let mut with_status = old.clone();
            with_status["status"] = status.clone();
            // As upstream, whoever replaces a status replaces annotations, too.
            if !annotations.is_null() {
                with_status["metadata"]["annotations"] = annotations.clone();
            }
            new = with_status;
        } else {
            new["status"] = old["status"].clone();
            for field in [
                "uid",
                "creationTimestamp",
                "deletionTimestamp",
                "deletionGracePeriodSeconds",
            ] {
                new["metadata"][field] = old["metadata"][field].clone();
            }
            let generation = old["metadata"]["generation"].as_i64().unwrap_or(1);
            let changed = i64::from(new["spec"] != old["spec"]);
            new["metadata"]["generation"] = json!(generation + changed);
        }
        // What changes nothing is not written.
        strip_nulls(&mut new);
        if new == old {
            return Ok(old);
        }
        Ok(self.keep(write.kind, path, new))
    }

    fn delete(&mut self, write: &Write, options: &Value) -> Result<Value, Failure> {
        let path = write.kind.path_of(&write.key);
        let Some(mut old) = self.objects.get(&path).cloned() else {
            return Err(failure(404, "NotFound", &path));
        };
        let uid = options["preconditions"]["uid"].as_str();
        if uid.is_some_and(|uid| Some(uid) != old["metadata"]["uid"].as_str()) {
            return Err(failure(409, "Conflict", &path));
        }
        let version = options["preconditions"]["resourceVersion"].as_str();
        if version
            .is_some_and(|version| Some(version) != old["metadata"]["resourceVersion"].as_str())
        {
            return Err(failure(409, "Conflict", &path));
        }
        let is_pod_on_node = write.kind.name == "Pod" && old["spec"]["nodeName"].is_string();
        let usual = old["spec"]["terminationGracePeriodSeconds"]
            .as_i64()
            .unwrap_or(30);
        let grace = match (is_pod_on_node, options["gracePeriodSeconds"].as_i64()) {
            (false, _) => 0,
            (true, given) => given.unwrap_or(usual),
        };
        let meta = &mut old["metadata"];
        if meta["deletionTimestamp"].is_null() {
            let at = self.now + SignedDuration::from_secs(grace);
            meta["deletionTimestamp"] = json!(seconds(at));
        }
        meta["deletionGracePeriodSeconds"] = json!(grace);
        Ok(self.keep(write.kind, path, old))
    }

    /// Lets a controller take part in [`settle`](Self::settle): it is told of all that there is and of all
    /// changes.
    pub fn join(&mut self, number: usize, controller: &dyn Controller) {
        let mut watches = Watches::default();
        controller.watch(&mut watches);
        let queue = self.queue.clone();
        let enqueue = move |keys: Keys| {
            let mut queue = queue.lock().expect("no panic");
            for (key, after) in keys {
                match after.is_zero() {
                    true if queue.ready.contains(&(number, key.clone())) => {}
                    true => queue.ready.push_back((number, key)),
                    false => drop(queue.waiting.insert((after, number, key))),
                }
            }
        };
        watches.install(&self.cluster, &(Arc::new(enqueue) as _));
    }

    /// Lets those who [joined](Self::join), in the order of their numbers, work until nobody has anything
    /// to do, for this long. Time jumps to whatever comes next.
    pub fn settle(&mut self, controllers: &[&dyn Controller], span: Duration) {
        let mut left = span;
        for _ in 0..100_000 {
            let next = self.queue.lock().expect("no panic").ready.pop_front();
            if let Some((number, key)) = next {
                let (again, failed) = self.sync_key(controllers[number], &key);
                let again = if failed {
                    Some(Duration::from_secs(1))
                } else {
                    again
                };
                if let Some(again) = again {
                    let mut queue = self.queue.lock().expect("no panic");
                    queue.waiting.insert((again, number, key));
                }
                continue;
            }
            let first = self
                .queue
                .lock()
                .expect("no panic")
                .waiting
                .first()
                .map(|first| first.0);
            let passes = match first {
                Some(first) if first <= left => first,
                _ => {
                    self.pass(left);
                    return;
                }
            };
            left -= passes;
            self.pass(passes);
        }
        panic!("controllers never come to rest");
    }

    /// Lets time pass.
    pub fn pass(&mut self, span: Duration) {
        self.now += SignedDuration::try_from(span).expect("a span");
        let mut queue = self.queue.lock().expect("no panic");
        let waiting = std::mem::take(&mut queue.waiting);
        for (after, number, key) in waiting {
            match after.saturating_sub(span) {
                Duration::ZERO => queue.ready.push_back((number, key)),
                after => drop(queue.waiting.insert((after, number, key))),
            }
        }
    }

    /// The reasons of all events so far, and forgets them.
    pub fn take_reasons(&mut self) -> Vec<&'static str> {
        self.events.drain(..).map(|event| event.reason).collect()
    }

    /// All writes so far as `METHOD path`, and forgets them.
    pub fn take_writes(&mut self) -> Vec<String> {
        let writes = self.writes.drain(..);
        writes
            .map(|(method, path, _)| format!("{} {path}", method.as_str()))
            .collect()
    }
}

/// The scale of a workload with `matchLabels`.
fn scale_of(object: &Value) -> Value {
    let (meta, spec) = (&object["metadata"], &object["spec"]);
    let labels = spec["selector"]["matchLabels"]
        .as_object()
        .or(spec["selector"].as_object());
    let labels = labels.into_iter().flatten();
    let labels: Vec<String> = labels
        .map(|(key, value)| format!("{key}={}", value.as_str().unwrap_or_default()))
        .collect();
    json!({
        "kind": "Scale",
        "apiVersion": "autoscaling/v1",
        "metadata": {
            "name": meta["name"], "namespace": meta["namespace"], "uid": meta["uid"],
            "resourceVersion": meta["resourceVersion"],
        },
        "spec": {"replicas": spec["replicas"].as_i64().unwrap_or(1)},
        "status": {
            "replicas": object["status"]["replicas"].as_i64().unwrap_or(0),
            "selector": labels.join(","),
        },
    })
}

/// A time as the API has it: without fractions of seconds.
fn seconds(at: Timestamp) -> String {
    Timestamp::from_second(at.as_second())
        .expect("a time")
        .to_string()
}

/// What is null is absent.
fn strip_nulls(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.retain(|_, field| !field.is_null());
            fields.values_mut().for_each(strip_nulls);
        }
        Value::Array(items) => items.iter_mut().for_each(strip_nulls),
        _ => {}
    }
}

fn failure(code: u16, reason: &str, about: &str) -> Failure {
    Failure {
        code,
        reason: reason.to_owned(),
        message: format!("{about}: {reason}"),
        causes: Vec::new(),
    }
}

fn merged(mut old: Value, patch: &Value) -> Value {
    let Value::Object(patch) = patch else {
        return patch.clone();
    };
    if !old.is_object() {
        old = json!({});
    }
    for (key, value) in patch {
        if key == "ownerReferences"
            && let Some(entries) = value.as_array()
        {
            old[key] = merged_owners(old[key].take(), entries);
            continue;
        }
        if key == "conditions"
            && let Some(entries) = value.as_array()
        {
            old[key] = merged_conditions(old[key].take(), entries);
            continue;
        }
        match value {
            Value::Null => drop(old.as_object_mut().expect("an object").remove(key)),
            value => old[key] = merged(old[key].take(), value),
        }
    }
    old
}

/// Finalizers are added to those that there are, or taken from them, as a strategic merge patch does.
fn merge_finalizers(old: &Value, patch: &mut Value) {
    let Some(meta) = patch["metadata"].as_object_mut() else {
        return;
    };
    let list = |value: Option<Value>| match value {
        Some(Value::Array(list)) => list,
        _ => Vec::new(),
    };
    let removed = meta.remove("$deleteFromPrimitiveList/finalizers");
    let added = meta.remove("finalizers");
    if removed.is_none() && added.is_none() {
        return;
    }
    let mut held = list(old["metadata"].get("finalizers").cloned());
    let removed = list(removed);
    held.retain(|finalizer| !removed.contains(finalizer));
    for finalizer in list(added) {
        if !held.contains(&finalizer) {
            held.push(finalizer);
        }
    }
    meta.insert("finalizers".to_owned(), Value::Array(held));
}

/// Owners are merged by uid, as a strategic merge patch does.
fn merged_owners(old: Value, entries: &[Value]) -> Value {
    let mut owners = old.as_array().cloned().unwrap_or_default();
    for entry in entries {
        owners.retain(|owner| owner["uid"] != entry["uid"]);
        if entry["$patch"] != "delete" {
            owners.push(entry.clone());
        }
    }
    Value::Array(owners)
}

/// Conditions are merged by type, as a strategic merge patch does.
fn merged_conditions(old: Value, entries: &[Value]) -> Value {
    let mut conditions = old.as_array().cloned().unwrap_or_default();
    for entry in entries {
        match conditions
            .iter_mut()
            .find(|known| known["type"] == entry["type"])
        {
            Some(known) => *known = merged(known.take(), entry),
            None => conditions.push(entry.clone()),
        }
    }
    Value::Array(conditions)
}
