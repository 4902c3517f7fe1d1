//! What a scheduler has to do on a whole cluster, one file per theme.

mod constraints;
mod explained;
mod extender;
mod faults;
mod leaders;
mod limits;
mod preemption;
mod preferences;
mod replicas;
mod simple;
mod volumes;

use crate::home::Home;
use crate::metrics;
use anyhow::Result;
use futures::future::BoxFuture;

/// One scenario: a name, and what is done on a cluster without scheduler and without nodes.
pub(crate) type Scenario = (&'static str, fn(&mut Home) -> BoxFuture<'_, Result<()>>);

/// Those that a scheduler can be put through that is part of the server: it has no arguments and no
/// replicas.
pub(crate) const INSIDE: &[&str] = &[
    "basic",
    "gates",
    "constraints",
    "preemption",
    "volumes",
    "provisioning",
    "api-restart",
];

/// All scenarios, in the order in which they run.
pub(crate) const SCENARIOS: &[Scenario] = &[
    ("basic", |home| Box::pin(simple::basic(home))),
    ("gates", |home| Box::pin(simple::gates(home))),
    ("profiles", |home| Box::pin(simple::profiles(home))),
    ("constraints", |home| Box::pin(constraints::each_once(home))),
    ("preferences", |home| Box::pin(preferences::each_once(home))),
    ("limits", |home| Box::pin(limits::of_nodes(home))),
    ("preemption", |home| {
        Box::pin(preemption::spares_budgets(home))
    }),
    ("volumes", |home| Box::pin(volumes::chosen_late(home))),
    ("provisioning", |home| Box::pin(volumes::provisioned(home))),
    ("volume-rules", |home| Box::pin(volumes::rules(home))),
    ("volume-limits", |home| Box::pin(volumes::counted(home))),
    ("extender", |home| Box::pin(extender::asked(home))),
    ("failover", |home| Box::pin(leaders::failover(home))),
    ("old-leader", |home| Box::pin(leaders::old_leader(home))),
    ("explain", |home| Box::pin(explained::by_the_leader(home))),
    ("race", |home| Box::pin(replicas::race(home))),
    ("metrics", |home| Box::pin(metrics::compared(home))),
    ("kill", |home| Box::pin(faults::kill(home))),
    ("api-restart", |home| Box::pin(faults::api_restart(home))),
];
