//! A server, a graph, and workers that can be stopped between any two requests.

use super::super::*;
use super::server::{Event, Object, Server};
use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

/// A conversation under way.
enum Job {
    Delete(Arc<str>, Attempt, Request),
    /// What is left to strike out, then the owner's finalizer.
    Orphan {
        owner: Arc<str>,
        left: VecDeque<(RemoveOwners, Request)>,
        finalizer: Option<(RemoveFinalizer, Request)>,
    },
}

/// A server, a graph, and workers.
#[derive(Default)]
pub(super) struct World {
    pub(super) server: Server,
    pub(super) graph: Graph,
    delete: VecDeque<Arc<str>>,
    orphan: VecDeque<Arc<str>>,
    /// What is tried again once nothing else is left.
    later: BTreeSet<(bool, Arc<str>)>,
    jobs: Vec<Job>,
    pub(super) invalid: Vec<String>,
}

pub(super) fn gvk(kind: &str) -> Arc<Gvk> {
    Arc::new(Gvk::new("v1", kind))
}

/// `Kind/namespace/name`; the uid is the name.
pub(super) fn identity(text: &str) -> Identity {
    let mut parts = text.split('/');
    let mut next = || parts.next().unwrap();
    let (kind, namespace, name) = (next(), next(), next());
    Identity {
        gvk: gvk(kind),
        namespace: namespace.into(),
        name: name.into(),
        uid: name.into(),
    }
}

/// `Kind/name`, with `!` at the end if it blocks.
pub(super) fn owner(text: &str) -> Owner {
    let (text, block) = match text.strip_suffix('!') {
        Some(text) => (text, Some(true)),
        None => (text, None),
    };
    let (kind, name) = text.split_once('/').unwrap();
    Owner {
        gvk: gvk(kind),
        name: name.into(),
        uid: name.into(),
        controller: None,
        block,
    }
}

impl World {
    pub(super) fn create(&mut self, name: &str, owners: &[&str]) {
        self.create_with(name, owners, &[]);
    }

    pub(super) fn create_with(&mut self, name: &str, owners: &[&str], finalizers: &[&str]) {
        self.server.store(Object {
            identity: identity(name),
            owners: owners.iter().map(|text| owner(text)).collect(),
            finalizers: finalizers.iter().map(|&text| text.to_owned()).collect(),
            deleting: false,
            version: 0,
        });
    }

    pub(super) fn names(&self) -> String {
        let names = self.server.objects.values();
        let names: Vec<&str> = names.map(|object| &*object.identity.name).collect();
        names.join(" ")
    }

    pub(super) fn take_log(&mut self) -> Vec<String> {
        std::mem::take(&mut self.server.log)
    }

    pub(super) fn apply(&mut self, effects: Effects) {
        for (queue, uids) in [
            (&mut self.delete, effects.delete),
            (&mut self.orphan, effects.orphan),
        ] {
            for uid in uids {
                if !queue.contains(&uid) {
                    queue.push_back(uid);
                }
            }
        }
        let later = effects.delete_later.into_iter();
        self.later.extend(later.map(|uid| (false, uid)));
        let messages = effects.invalid.iter().map(InvalidOwner::message);
        self.invalid.extend(messages);
    }

    /// The kinds of which reflectors have something to tell.
    pub(super) fn telling(&self) -> Vec<String> {
        let events = self.server.events.iter();
        let some = events.filter(|(_, events)| !events.is_empty());
        some.map(|(kind, _)| kind.clone()).collect()
    }

    /// The reflector of a kind tells the next thing.
    pub(super) fn tell(&mut self, kind: &str) {
        let events = self.server.events.get_mut(kind);
        let effects = match events.and_then(VecDeque::pop_front) {
            Some(Event::Seen(object)) => self.graph.observe(object),
            Some(Event::Gone(uid)) => self.graph.gone(&uid),
            None => return,
        };
        self.apply(effects);
    }

    /// A worker begins to look at something.
    pub(super) fn begin(&mut self) -> bool {
        let is_busy = |uid: &Arc<str>| {
            let mut jobs = self.jobs.iter();
            jobs.any(|job| matches!(job, Job::Delete(busy, ..) if busy == uid))
        };
        let free = self.delete.iter().position(|uid| !is_busy(uid));
        if let Some(uid) = free.and_then(|at| self.delete.remove(at)) {
            if let Some(attempt) = Attempt::new(&self.graph, &uid) {
                let request = attempt.start();
                self.jobs.push(Job::Delete(uid, attempt, request));
            }
            return true;
        }
        let Some(uid) = self.orphan.pop_front() else {
            return false;
        };
        if let Some(owner) = self.graph.identity(&uid).cloned() {
            let dependents = self.graph.dependents(&uid).into_iter();
            let left = dependents.map(|dependent| {
                let removal = RemoveOwners::new(dependent, vec![uid.clone()]);
                let request = removal.start();
                (removal, request)
            });
            let removal = RemoveFinalizer::new(owner, ORPHAN);
            let request = removal.start();
            self.jobs.push(Job::Orphan {
                owner: uid.clone(),
                left: left.collect(),
                finalizer: Some((removal, request)),
            });
        }
        true
    }

    pub(super) fn jobs(&self) -> usize {
        self.jobs.len()
    }

    /// A worker sends its next request.
    pub(super) fn step(&mut self, number: usize) {
        match self.jobs.remove(number) {
            Job::Delete(uid, mut attempt, request) => {
                let answer = self.server.answer(&request);
                let mut effects = Effects::default();
                match attempt.next(answer, &mut self.graph, &mut effects) {
                    Step::Ask(request) => {
                        self.jobs.insert(number, Job::Delete(uid, attempt, request));
                    }
                    Step::Done(Verdict::Forget) => {}
                    Step::Done(Verdict::Retry(_)) => {
                        self.later.insert((false, uid));
                    }
                }
                self.apply(effects);
            }
            Job::Orphan {
                owner,
                mut left,
                mut finalizer,
            } => {
                if let Some((mut removal, request)) = left.pop_front() {
                    let answer = self.server.answer(&request);
                    match removal.next(answer) {
                        Ok(request) => left.push_front((removal, request)),
                        Err(Answer::Done | Answer::NotFound { .. }) => {}
                        Err(_) => {
                            self.later.insert((true, owner));
                            return;
                        }
                    }
                } else if let Some((mut removal, request)) = finalizer.take() {
                    let answer = self.server.answer(&request);
                    match removal.next(answer) {
                        Ok(request) => finalizer = Some((removal, request)),
                        Err(Verdict::Forget) => {}
                        Err(Verdict::Retry(_)) => {
                            self.later.insert((true, owner));
                            return;
                        }
                    }
                } else {
                    return;
                }
                let job = Job::Orphan {
                    owner,
                    left,
                    finalizer,
                };
                self.jobs.insert(number, job);
            }
        }
    }

    /// What failed is tried again.
    pub(super) fn retry(&mut self) {
        for (orphan, uid) in std::mem::take(&mut self.later) {
            let mut effects = Effects::default();
            match orphan {
                true => effects.orphan.push(uid),
                false => effects.delete.push(uid),
            }
            self.apply(effects);
        }
    }

    /// Until nothing is left to do but what is tried again in vain.
    pub(super) fn settle(&mut self) {
        for _ in 0..10 {
            loop {
                if let Some(kind) = self.telling().first() {
                    self.tell(kind);
                } else if !self.begin() {
                    match self.jobs.len() {
                        0 => break,
                        _ => self.step(0),
                    }
                }
            }
            self.retry();
        }
    }
}
