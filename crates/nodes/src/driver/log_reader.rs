//! Reads the log of a container, and goes on reading as long as it runs.

use super::Nodes;
use crate::observe::{self, Log, LogLine, LogsWanted, Rest};
use std::pin::pin;
use std::time::Duration;

/// How long a reader rests after it has looked: much happens that does not concern it.
const PAUSE: Duration = Duration::from_millis(100);

/// The log of one run of a container.
pub struct LogReader {
    nodes: Nodes,
    /// Namespace, pod and container.
    whose: [Box<str>; 3],
    wanted: LogsWanted,
    lines: Vec<LogLine>,
    /// What is still to come; nothing once the run has ended.
    rest: Option<Rest>,
}

impl LogReader {
    pub(super) fn new(
        nodes: &Nodes,
        whose: [&str; 3],
        wanted: &LogsWanted,
    ) -> Result<Self, String> {
        let mut reader = Self {
            nodes: nodes.clone(),
            whose: whose.map(Box::from),
            wanted: wanted.clone(),
            lines: Vec::new(),
            rest: None,
        };
        let Log { lines, rest } = reader.look()?;
        (reader.lines, reader.rest) = (lines, rest);
        Ok(reader)
    }

    fn look(&self) -> Result<Log, String> {
        let now = self.nodes.now();
        let [namespace, pod, container] = &self.whose;
        let world = self.nodes.0.world();
        let left = self.rest.as_ref();
        observe::logs(
            &world,
            (&**namespace, &**pod),
            container,
            &self.wanted,
            left,
            now,
        )
    }

    /// The lines that are there and were not taken yet.
    pub fn take(&mut self) -> Vec<LogLine> {
        std::mem::take(&mut self.lines)
    }

    /// The next lines, as soon as there are some; none at the end of the run.
    pub async fn next(&mut self) -> Vec<LogLine> {
        let shared = self.nodes.0.clone();
        while self.lines.is_empty() && self.rest.is_some() {
            let mut moved = pin!(shared.moved.notified());
            moved.as_mut().enable();
            // A pod that is gone has said all.
            let Ok(log) = self.look() else {
                self.rest = None;
                break;
            };
            (self.lines, self.rest) = (log.lines, log.rest);
            if self.lines.is_empty()
                && let Some(rest) = self.rest
            {
                let pause = rest.due.since(self.nodes.now()).max(PAUSE);
                tokio::select! {
                    () = moved => shared.env.sleep(PAUSE).await,
                    () = shared.env.sleep(pause) => {}
                }
            }
        }
        self.take()
    }
}
