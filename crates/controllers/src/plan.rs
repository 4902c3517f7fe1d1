//! What a controller wants done about one object.

use crate::{Answer, Cx, Event, Outcome, Write};
use std::time::Duration;

/// What comes after the reads and writes of a plan, when it is known what came of them: of reads first.
pub type Then = Box<dyn FnOnce(&Cx<'_>, &[Outcome]) -> Plan + Send>;

/// In which order writes are carried out.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Order {
    /// One after the other, until one fails.
    #[default]
    Sequence,
    /// All at the same time.
    Parallel,
    /// One, then two at the same time, then four, until one of them fails. Upstream's `slowStartBatch`: a
    /// hundred pods that a quota forbids are not all tried.
    SlowStart,
}

/// What a controller wants done about one object: events, then writes, then whatever their outcomes lead
/// to. If a write fails that does not [tolerate](Write::tolerating) it, the object is looked at again
/// after a pause that grows.
#[derive(Default)]
#[must_use]
pub struct Plan {
    /// What to tell users at once.
    pub events: Vec<Event>,
    /// What to read that is in no store: paths, all of them asked for at the same time, before anything is
    /// written. That an answer is bad is no failure: what comes after judges it.
    pub reads: Vec<String>,
    /// What to write.
    pub writes: Vec<Write>,
    /// In which order.
    pub order: Order,
    /// What comes after that.
    pub then: Option<Then>,
    /// When to look at the object again, whatever happens until then.
    pub requeue_after: Option<Duration>,
    /// Why the object has to be looked at again after a pause.
    pub error: Option<String>,
}

impl Plan {
    /// Nothing has to be done.
    pub fn nothing() -> Self {
        Self::default()
    }

    /// Reads what is in no store, and goes on with the answers, one for each path.
    pub fn read(
        paths: Vec<String>,
        then: impl FnOnce(&Cx<'_>, &[Answer]) -> Self + Send + 'static,
    ) -> Self {
        let plan = Self {
            reads: paths,
            ..Self::default()
        };
        plan.then(move |cx, outcomes| {
            let answers = outcomes.iter().filter_map(Outcome::answer).cloned();
            then(cx, &answers.collect::<Vec<_>>())
        })
    }

    /// One write.
    pub fn write(write: Write) -> Self {
        Self::sequence(vec![write])
    }

    /// One write after the other, until one fails.
    pub fn sequence(writes: Vec<Write>) -> Self {
        Self {
            writes,
            ..Self::default()
        }
    }

    /// All writes at the same time.
    pub fn parallel(writes: Vec<Write>) -> Self {
        Self {
            order: Order::Parallel,
            ..Self::sequence(writes)
        }
    }

    /// One write, then two, then four, until one of them fails.
    pub fn slow_start(writes: Vec<Write>) -> Self {
        Self {
            order: Order::SlowStart,
            ..Self::sequence(writes)
        }
    }

    /// The object has to be looked at again after a pause that grows.
    pub fn retry(why: impl Into<String>) -> Self {
        Self {
            error: Some(why.into()),
            ..Self::default()
        }
    }

    /// Also tells users.
    pub fn event(mut self, event: Event) -> Self {
        self.events.push(event);
        self
    }

    /// Also tells users.
    pub fn events(mut self, events: impl IntoIterator<Item = Event>) -> Self {
        self.events.extend(events);
        self
    }

    /// Goes on once it is known what came of the writes. The time and the cluster are those of then.
    pub fn then(mut self, then: impl FnOnce(&Cx<'_>, &[Outcome]) -> Self + Send + 'static) -> Self {
        self.then = Some(Box::new(then));
        self
    }

    /// Looks at the object again after this long, whatever happens until then.
    pub fn requeue_after(mut self, span: Duration) -> Self {
        self.requeue_after = Some(self.requeue_after.map_or(span, |other| other.min(span)));
        self
    }

    /// Whether nothing has to be done, now or later.
    pub fn is_nothing(&self) -> bool {
        self.events.is_empty()
            && self.reads.is_empty()
            && self.writes.is_empty()
            && self.then.is_none()
            && self.requeue_after.is_none()
            && self.error.is_none()
    }
}
