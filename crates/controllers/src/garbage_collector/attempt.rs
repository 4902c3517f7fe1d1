//! One look at an object that may have to be deleted.

use super::patches::{unblock, without_finalizer};
use super::{
    Answer, Effects, FOREGROUND, Graph, Identity, Live, ORPHAN, Owner, Policy, RemoveOwners,
    Request,
};
use std::sync::Arc;

/// How often an item that changes is tried to be deleted at once.
const TRIES_MAX: u32 = 8;

/// How an attempt goes on.
#[derive(Debug)]
pub enum Step {
    /// The server is asked.
    Ask(Request),
    /// It is over.
    Done(Verdict),
}

/// How an attempt ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// Nothing is left to do.
    Forget,
    /// It has to be tried again, for this reason.
    Retry(String),
}

/// One look at an object that may have to be deleted. Upstream's `attemptToDeleteItem`.
#[derive(Debug)]
pub struct Attempt {
    item: Identity,
    state: State,
    /// How often the item changed when it was about to be deleted.
    tries: u32,
}

#[derive(Debug)]
enum State {
    /// What the item is like was asked.
    Looking,
    /// What an owner is like was asked, the first of those that are left.
    Classifying(Box<Classes>),
    /// The item's owners were asked not to wait for it, by a patch of the first kind.
    Unblocking(Live),
    /// The same, by a patch that every kind knows.
    UnblockingAgain,
    /// Deletion was asked.
    Deleting(Live, Policy),
    /// Deletion was refused because the item changed; what it is like was asked.
    Comparing(Live, Policy),
    /// Owners are struck out.
    Removing(RemoveOwners),
    /// The finalizer was asked to be taken away.
    Finalizing,
    /// It is over.
    Over,
}

/// What is known of the item's owners.
#[derive(Debug)]
struct Classes {
    live: Live,
    /// Those that were not looked at yet, the last one first.
    left: Vec<Owner>,
    has_solid: bool,
    dangling: Vec<Arc<str>>,
    waiting: Vec<Arc<str>>,
}

impl Attempt {
    /// A look at the object of a uid; `None` if there is nothing to look at.
    pub fn new(graph: &Graph, uid: &str) -> Option<Self> {
        let node = graph.nodes.get(uid)?;
        // Who is being deleted is on a way of no return; what depends on it is looked at once it is gone.
        if node.deleting && !node.deletes_dependents() {
            return None;
        }
        Some(Self {
            item: node.identity.clone(),
            state: State::Looking,
            tries: 0,
        })
    }

    /// What is asked first.
    pub fn start(&self) -> Request {
        Request::Get(self.item.clone())
    }

    /// How it goes on after an answer.
    pub fn next(&mut self, answer: Answer, graph: &mut Graph, effects: &mut Effects) -> Step {
        match (std::mem::replace(&mut self.state, State::Over), answer) {
            (_, Answer::NoNamespace) => Step::Done(Verdict::Forget),
            (State::Looking, Answer::Found(live)) if live.uid == *self.item.uid => {
                self.judge(live, graph, effects)
            }
            (State::Looking, Answer::Found(_) | Answer::NotFound { .. }) => {
                self.absent(graph, effects)
            }
            (State::Classifying(classes), answer) => self.classified(classes, answer, graph),
            (State::Unblocking(live), Answer::Unsupported) => {
                let request = unblock(&self.item, &[], Some(&live));
                self.ask(State::UnblockingAgain, request)
            }
            // The patch made another version of it, which is deleted next time.
            (State::Unblocking(_) | State::UnblockingAgain, Answer::Done) => {
                Step::Done(Verdict::Retry("its owners do not wait any more".to_owned()))
            }
            (State::Deleting(live, policy), Answer::Conflict) if self.tries < TRIES_MAX => {
                let request = Request::Get(self.item.clone());
                self.ask(State::Comparing(live, policy), request)
            }
            (State::Comparing(before, policy), Answer::Found(live))
                if live.uid == *self.item.uid && live.owners == before.owners =>
            {
                // Changes that have nothing to do with owners must not keep it forever. Upstream leaves the
                // version out; then an owner that came between would not be seen.
                self.tries += 1;
                self.delete(live, policy)
            }
            (State::Deleting(..) | State::Comparing(..), Answer::NotFound { .. }) => {
                self.absent(graph, effects)
            }
            (State::Removing(mut removal), answer) => match removal.next(answer) {
                Ok(request) => self.ask(State::Removing(removal), request),
                Err(Answer::Done) => self.done(graph),
                Err(answer) => refused(answer),
            },
            (_, Answer::Done) => self.done(graph),
            (_, answer) => refused(answer),
        }
    }

    fn ask(&mut self, state: State, request: Request) -> Step {
        self.state = state;
        Step::Ask(request)
    }

    /// It went well. Somebody whom no reflector has seen yet is looked at again until one has: it may come
    /// and go unseen.
    fn done(&self, graph: &Graph) -> Step {
        let node = graph.nodes.get(&self.item.uid);
        Step::Done(match node.is_some_and(|node| node.is_virtual) {
            true => Verdict::Retry("it was not observed yet".to_owned()),
            false => Verdict::Forget,
        })
    }

    /// The item is not there.
    fn absent(&self, graph: &mut Graph, effects: &mut Effects) -> Step {
        let found = graph.absent(&self.item);
        effects.merge(found);
        Step::Done(Verdict::Forget)
    }

    fn judge(&mut self, live: Live, graph: &mut Graph, effects: &mut Effects) -> Step {
        let Some(node) = graph.nodes.get(&self.item.uid) else {
            return Step::Done(Verdict::Forget);
        };
        if node.deletes_dependents() {
            return self.wait_for_dependents(&live, graph, effects);
        }
        if live.owners.is_empty() {
            return self.done(graph);
        }
        let mut left = live.owners.clone();
        left.reverse();
        let classes = Classes {
            live,
            left,
            has_solid: false,
            dangling: Vec::new(),
            waiting: Vec::new(),
        };
        self.classify(Box::new(classes), graph)
    }

    /// The item goes once its dependents are gone. Upstream's `processDeletingDependentsItem`.
    fn wait_for_dependents(&mut self, live: &Live, graph: &Graph, effects: &mut Effects) -> Step {
        let uid = self.item.uid.clone();
        let mut blocking = graph.blocking_dependents(&uid).peekable();
        if blocking.peek().is_none() {
            return match without_finalizer(&self.item, live, FOREGROUND) {
                Some(request) => self.ask(State::Finalizing, request),
                None => self.done(graph),
            };
        }
        let open = blocking.filter(|node| !node.deletes_dependents());
        effects
            .delete
            .extend(open.map(|node| node.identity.uid.clone()));
        self.done(graph)
    }

    /// Looks at the owners that are left. Those that are known to be absent are not asked for.
    fn classify(&mut self, mut classes: Box<Classes>, graph: &mut Graph) -> Step {
        while let Some(owner) = classes.left.last() {
            let here = owner.identity_in(&self.item.namespace);
            let nowhere = owner.identity_in(&Arc::from(""));
            if graph.absent.has(&nowhere) || graph.absent.has(&here) {
                classes.dangling.push(here.uid);
                classes.left.pop();
                continue;
            }
            return self.ask(State::Classifying(classes), Request::Get(here));
        }
        self.decide(*classes, graph)
    }

    fn classified(&mut self, mut classes: Box<Classes>, answer: Answer, graph: &mut Graph) -> Step {
        let Some(owner) = classes.left.pop() else {
            return Step::Done(Verdict::Forget);
        };
        match answer {
            Answer::Found(live) if live.uid == *owner.uid => {
                match live.deleting && live.has(FOREGROUND) {
                    true => classes.waiting.push(owner.uid),
                    false => classes.has_solid = true,
                }
            }
            Answer::Found(Live { namespaced, .. }) | Answer::NotFound { namespaced } => {
                let mut identity = owner.identity_in(&self.item.namespace);
                if !namespaced {
                    identity.namespace = Arc::from("");
                }
                graph.absent.add(identity);
                classes.dangling.push(owner.uid);
            }
            answer => return refused(answer),
        }
        self.classify(classes, graph)
    }

    fn decide(&mut self, classes: Classes, graph: &Graph) -> Step {
        let Classes {
            live,
            has_solid,
            dangling,
            waiting,
            ..
        } = classes;
        if has_solid {
            if dangling.is_empty() && waiting.is_empty() {
                return self.done(graph);
            }
            // Who waits would wait forever.
            let uids = dangling.into_iter().chain(waiting).collect();
            let removal = RemoveOwners::new(self.item.clone(), uids);
            let request = removal.start();
            return self.ask(State::Removing(removal), request);
        }
        let uid = self.item.uid.clone();
        let mut dependents = graph.dependent_nodes(&uid).peekable();
        if waiting.is_empty() || dependents.peek().is_none() {
            let policy = match () {
                () if live.has(ORPHAN) => Policy::Orphan,
                () if live.has(FOREGROUND) => Policy::Foreground,
                () => Policy::Background,
            };
            return self.delete(live, policy);
        }
        // It and its dependent may wait for each other in a circle.
        let is_circle = dependents.any(super::graph::Node::deletes_dependents);
        match is_circle && live.owners.iter().any(Owner::blocks) {
            true => {
                let request = unblock(&self.item, &live.owners, None);
                self.ask(State::Unblocking(live), request)
            }
            false => self.delete(live, Policy::Foreground),
        }
    }

    fn delete(&mut self, live: Live, policy: Policy) -> Step {
        let request = Request::Delete {
            target: self.item.clone(),
            resource_version: live.resource_version.clone(),
            policy,
        };
        self.ask(State::Deleting(live, policy), request)
    }
}

fn refused(answer: Answer) -> Step {
    Step::Done(Verdict::Retry(match answer {
        Answer::Failed(why) => why,
        answer => format!("{answer:?}"),
    }))
}

impl Effects {
    /// Adds others.
    pub fn merge(&mut self, other: Self) {
        self.delete.extend(other.delete);
        self.delete_later.extend(other.delete_later);
        self.orphan.extend(other.orphan);
        self.invalid.extend(other.invalid);
    }
}
