//! How pods stand now, as `stowplan explain deployment/NAME` tells it.

use crate::world::{World, name};
use stowplan_config::KubeSchedulerConfiguration;
use stowplan_engine::explain::explain;
use stowplan_manifest::Input;
use stowplan_report::{Report, Spread, State};
use stowplan_sim::Source;

const LISTS: [&str; 4] = [
    "/api/v1/nodes",
    "/api/v1/pods",
    "/api/v1/namespaces",
    "/apis/scheduling.k8s.io/v1/priorityclasses",
];

/// The one spread constraint of an app's pods.
pub(crate) async fn of(world: &World, app: &str) -> Spread {
    let mut input = Input::default();
    for path in LISTS {
        input.read_text(path, world.get(path).await.to_string());
    }
    let config = KubeSchedulerConfiguration::from_profiles(Vec::new()).expect("a configuration");
    let source = Source::new(input, config, "config".into());
    let (source, _) = source.expect("what a server has stored");
    let simulation = source.into_simulation().expect("a cluster");
    let pods = world.pods(app).await;
    let cluster = simulation.scheduler.cluster();
    let sym = |text: &str| cluster.names.get(text).expect("a name");
    let pod = cluster.listed_pod(sym("game-day"), sym(name(&pods[0])));
    let pod = pod.expect("the pod");
    let framework = simulation.scheduler.profiles().of(pod).expect("a profile");
    let explanation = explain(framework, simulation.scheduler.cx(), pod, false);
    let state = State::Hypothetical(app.to_owned());
    let mut report = Report::new(cluster, framework, pod, &state, &explanation);
    assert_eq!(report.spread.len(), 1);
    report.spread.remove(0)
}
