//! Nodes: kubelets without containers, or with those that a [`Runtime`] runs.
//!
//! Pods that are bound to a simulated node are taken on or refused, start, become ready, run, exit, are
//! started again and are deleted as a kubelet of Kubernetes v1.36.4 would have it, and the API is told so
//! in its words; only that no process runs. How long they take is said by annotations, rules and plain
//! commands ([`Rule`], [`RUN_FOR`]).
//!
//! | here | what it is |
//! |---|---|
//! | `kubelet` | one pod: a state machine, time is an argument |
//! | `status` | what is reported of it |
//! | `admission` | whether a node takes it on |
//! | `node` | one node and what is reported of it |
//! | `world` | all of them, and what has to be written |
//! | `runtime` | what is asked of whoever runs containers, if they are not simulated |
//! | `driver` | informers in, requests out: [`Nodes`] |
//!
//! **Invariant:** only `driver` knows tasks, requests and a clock; there is no task and no timer per pod or
//! node.

mod admission;
mod behaviour;
mod driver;
mod events;
mod kubelet;
mod node;
mod observe;
mod runtime;
mod status;
mod world;

pub use behaviour::{EXIT_CODE, FAIL_PROBES, RUN_FOR, Rule, Rules, START_AFTER, STOP_AFTER, Usage};
pub use driver::{LogReader, Nodes, Settings};
pub use events::{EventSink, NodeEvent, PodEvent, Unheard};
pub use node::{FAULT, Fault, KWOK_NODE, NODE, NodeTemplate};
pub use observe::{LogLine, LogOf, LogsWanted, NodeUsage, PodUsage, log_of};
pub use runtime::{
    Answer, Exit, Found, FoundState, Hook, Order, PodOrder, PodReport, ProbeKind, Report, Reports,
    RunId, Runtime, Trouble,
};
pub use world::{Config, NodeFact, Which};
