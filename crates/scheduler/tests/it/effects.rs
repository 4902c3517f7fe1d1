//! A plugin that uses every point at which plugins ask for something behaves alike on a live cluster
//! and in the simulator: the same placements, the same objects in the end, the same order of effects
//! for each pod.

use crate::cluster::{Cluster, NAMESPACE, pod_path};
use serde_json::{Value, json};
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use stowplan_base::{Duration, Names, Sym};
use stowplan_client::Unguarded;
use stowplan_config::KubeSchedulerConfiguration;
use stowplan_engine::framework::Registry;
use stowplan_engine::framework::{
    Bind, Command, Cx, Event, EventType, FieldChange, ObjectKey, Patch, Permit, PermitResult,
    Plugin, PluginBuilder, PostBind, PreBind, Reserve, Seen, Slot, Status, Step, Target, Text,
    Wait, WaitCondition,
};
use stowplan_engine::model::{Kind, Object, Pod};
use stowplan_engine::plugins::registry::in_tree;
use stowplan_engine::scheduler::{Request, Scheduler};
use stowplan_env::System;
use stowplan_manifest::Input;
use stowplan_scheduler::{Observer, Settings, start};
use stowplan_sim::{Source, play_watched};

const CONFIG: &str = "
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- schedulerName: default-scheduler
  plugins:
    multiPoint: {enabled: [{name: Pairs}]}
    bind: {disabled: [{name: DefaultBinder}]}
";

/// What is written, by whom: lines per pod.
type Log = Mutex<BTreeMap<String, Vec<String>>>;

/// Pods with the label `pair` go to their nodes two by two; nodes are told who comes.
struct Pairs {
    log: &'static Log,
    /// Uids of the pods for which something is reserved.
    reserved: RefCell<BTreeSet<Arc<str>>>,
    /// Uids of the pods that failed once.
    failed: RefCell<BTreeSet<Arc<str>>>,
}

impl Pairs {
    fn registry(log: &'static Log) -> Registry {
        in_tree().with("Pairs", move || {
            let pairs = Pairs {
                log,
                reserved: RefCell::default(),
                failed: RefCell::default(),
            };
            let plugin = PluginBuilder::new(pairs).reserve().permit().pre_bind();
            plugin.bind().post_bind().build()
        })
    }
}

fn note(log: &Log, pod: &Pod, line: String) {
    let mut log = log.lock().unwrap();
    log.entry(pod.key.name.to_string()).or_default().push(line);
}

fn annotate(target: Target, key: &str, value: &str) -> Patch {
    Patch {
        target,
        changes: vec![FieldChange::Annotation(key.into(), Some(value.into()))],
        expect: None,
    }
}

fn object(kind: Kind, namespace: Sym, name: Sym) -> Target {
    Target {
        key: (kind, namespace, name),
        uid: "".into(),
        resource_version: "".into(),
    }
}

impl Plugin for Pairs {
    type FilterState = ();
    type ScoreState = ();
}

impl Reserve for Pairs {
    fn reserve(
        &self,
        _cx: Cx<'_>,
        _state: Slot<&()>,
        pod: &Pod,
        _node: Sym,
    ) -> Result<Vec<Object>, Status> {
        self.reserved.borrow_mut().insert(pod.uid.clone());
        note(self.log, pod, "Reserve".to_owned());
        Ok(Vec::new())
    }

    fn unreserve(&self, _cx: Cx<'_>, pod: &Pod, _node: Sym) {
        assert!(
            self.reserved.borrow_mut().remove(&pod.uid),
            "it was reserved"
        );
        note(self.log, pod, "Unreserve".to_owned());
    }
}

impl Permit for Pairs {
    fn permit(&self, cx: Cx<'_>, pod: &Pod, _node: Sym) -> PermitResult {
        let pair = |pod: &Pod| pod.labels.get(cx.cluster.names.get("pair")?);
        let Some(own) = pair(pod) else {
            return PermitResult::Allow;
        };
        let mut waiting = cx.underway.handle.waiting_pods();
        match waiting.find(|other| pair(&other.pod) == Some(own)) {
            Some(other) => {
                assert_eq!(other.pending_plugins().collect::<Vec<_>>(), ["Pairs"]);
                cx.underway.handle.allow(&other.pod.uid, "Pairs");
                PermitResult::Allow
            }
            None => PermitResult::Wait(Duration::from_secs(600)),
        }
    }
}

impl PreBind for Pairs {
    fn pre_bind(
        &self,
        cx: Cx<'_>,
        _state: Slot<&()>,
        pod: &Pod,
        node: Sym,
    ) -> Result<Vec<Step>, Status> {
        let on = (Kind::Node, Sym::EMPTY, node);
        // One pod fails the first time: there is no such object.
        if &*pod.key.name == "late" && self.failed.borrow_mut().insert(pod.uid.clone()) {
            let missing = object(Kind::PersistentVolumeClaim, pod.namespace, pod.name);
            return Ok(vec![annotate(missing, "example.com/x", "y").into()]);
        }
        let key = format!("example.com/{}", pod.key.name);
        let node_name = cx.cluster.names.text(node);
        let wait = Wait {
            until: Arc::new(Announced {
                on,
                key: key.clone(),
            }),
            on: vec![on],
            timeout: Duration::from_secs(60),
            timed_out: "the node does not know",
        };
        Ok(vec![
            annotate(Target::pod(pod), "example.com/prepared-for", node_name).into(),
            annotate(object(on.0, on.1, on.2), &key, "comes").into(),
            wait.into(),
        ])
    }
}

/// The node says who comes.
#[derive(Debug)]
struct Announced {
    on: ObjectKey,
    key: String,
}

impl WaitCondition for Announced {
    fn check(&self, cx: Cx<'_>, seen: &Seen, _listen: &mut Vec<ObjectKey>) -> Result<bool, String> {
        match seen.get(&self.on) {
            Some(Some(Object::Node(node))) => {
                let key = cx.cluster.names.get(&self.key);
                Ok(key.is_some_and(|key| node.annotations.has(key)))
            }
            Some(_) => Err("the node is gone".to_owned()),
            None => Ok(false),
        }
    }
}

impl Bind for Pairs {
    fn bind(&self, _cx: Cx<'_>, pod: &Arc<Pod>, node: Sym) -> Option<Command> {
        assert!(self.reserved.borrow().contains(&pod.uid), "it is reserved");
        note(self.log, pod, "Bind".to_owned());
        Some(Command::Bind {
            pod: pod.clone(),
            node,
        })
    }
}

const PAIRED: EventType = EventType {
    kind: "Normal",
    reason: "Paired",
    action: "Pairing",
};

impl PostBind for Pairs {
    fn post_bind(&self, _cx: Cx<'_>, pod: &Pod, _node: Sym) -> Vec<Command> {
        self.reserved.borrow_mut().remove(&pod.uid);
        let event = Event {
            regarding: Target::pod(pod).into(),
            says: &PAIRED,
            note: Text::Made("they are together".into()),
        };
        let patch = annotate(Target::pod(pod), "example.com/bound-by", "Pairs");
        vec![Command::Event(event), Command::Patch(Box::new(patch))]
    }
}

/// A request in one line.
fn describe(request: &Request, names: &Names) -> String {
    let what = match &request.command {
        Command::Bind { node, .. } => format!("bind to {}", names.text(*node)),
        Command::Patch(patch) => {
            let (kind, _, name) = patch.target.key;
            let name = names.text(name);
            format!("patch {} {name}: {:?}", kind.as_str(), patch.changes)
        }
        Command::PatchStatus {
            condition,
            nomination,
            ..
        } => {
            let condition = condition
                .as_ref()
                .map(|c| (c.says.reason, c.message.render(names)));
            format!("status {condition:?} {nomination:?}")
        }
        Command::Delete(target) => format!("delete {}", names.text(target.key.2)),
        Command::Event(event) => format!("{}: {}", event.says.reason, event.note.render(names)),
    };
    // Symbols are another number in another cluster.
    let what = what.replace(|c: char| c.is_ascii_digit(), "#");
    format!("{} {:?}: {what}", request.plugin, request.point)
}

fn node(name: &str) -> Value {
    let room = json!({"cpu": "4", "memory": "8Gi", "pods": "110"});
    json!({
        "apiVersion": "v1", "kind": "Node",
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}},
        "status": {"allocatable": room, "capacity": room},
    })
}

/// The pods: their names, their pairs and their nodes.
const PODS: [(&str, Option<&str>, &str); 3] = [
    ("first", Some("x"), "node-a"),
    ("second", Some("x"), "node-b"),
    ("late", None, "node-a"),
];

/// What became of everything: placements and annotations.
type End = BTreeMap<String, (Option<String>, BTreeMap<String, String>)>;

fn ours(annotations: impl IntoIterator<Item = (String, String)>) -> BTreeMap<String, String> {
    let annotations = annotations.into_iter();
    annotations
        .filter(|(key, _)| key.starts_with("example.com/"))
        .collect()
}

fn simulated(log: &'static Log) -> End {
    let mut input = Input::default();
    let mut read = |object: Value| {
        input.read_text("test", object.to_string());
    };
    read(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}));
    ["node-a", "node-b"]
        .into_iter()
        .for_each(|name| read(node(name)));
    for (name, pair, on) in PODS {
        read(json!({
            "apiVersion": "v1", "kind": "Pod",
            "metadata": {
                "name": name, "namespace": NAMESPACE,
                "labels": pair.map(|pair| json!({"pair": pair})),
            },
            "spec": spec(on),
        }));
    }
    let config = KubeSchedulerConfiguration::from_text(CONFIG).expect("a configuration");
    let source = Source::new(input, config.clone(), PathBuf::new());
    let (source, _) = source.expect("the input is right");
    let registry = Pairs::registry(log);
    let simulation = source.simulation_of(&config, &registry);
    let mut simulation = simulation.expect("the plugin is known");
    let playback = play_watched(&mut simulation, 0, &mut |request, simulation| {
        let line = describe(request, &simulation.scheduler.cluster().names);
        note(log, &request.pod, line);
    });
    let names = &simulation.scheduler.cluster().names;
    let pods = playback.bound.iter().map(|(pod, node)| {
        let annotations = simulation.annotations("Pod", NAMESPACE, &pod.key.name);
        let node = Some(names.text(*node).to_owned());
        (pod.key.name.to_string(), (node, ours(annotations)))
    });
    let nodes = ["node-a", "node-b"].map(|name| {
        let annotations = simulation.annotations("Node", "", name);
        (name.to_owned(), (None, ours(annotations)))
    });
    pods.chain(nodes).collect()
}

fn spec(on: &str) -> Value {
    json!({
        "nodeSelector": {"kubernetes.io/hostname": on},
        "containers": [{"name": "c", "image": "i"}],
    })
}

/// Writes down what is asked for.
struct Watch(&'static Log);

impl Observer for Watch {
    fn request(&self, request: &Request, scheduler: &Scheduler) {
        let line = describe(request, &scheduler.cluster().names);
        note(self.0, &request.pod, line);
    }
}

static LIVE: Log = Mutex::new(BTreeMap::new());
static SIMULATED: Log = Mutex::new(BTreeMap::new());

async fn live() -> End {
    let cluster = Cluster::new().await;
    cluster.plain_node("node-a").await;
    cluster.plain_node("node-b").await;
    let settings = Settings {
        informers: None,
        config: KubeSchedulerConfiguration::from_text(CONFIG).expect("a configuration"),
        plugins: || Pairs::registry(&LIVE),
        seed: 0,
        host: "host".to_owned(),
        env: Arc::new(System::new()),
        guard: Arc::new(Unguarded),
        observer: Arc::new(Watch(&LIVE)),
        throttled: false,
        unschedulable_max: None,
    };
    // The plugin writes what kube-scheduler's own rights do not let it.
    let running = start(cluster.admin.clone(), settings).await;
    let running = running.expect("it starts");
    for (name, pair, on) in PODS {
        let labels = pair.map_or(json!({}), |pair| json!({"pair": pair}));
        cluster.labelled_pod(name, labels, spec(on)).await;
    }
    let is_done = |pod: &stowplan_api::k8s::api::core::v1::Pod| {
        let annotations = pod.metadata.annotations.iter().flatten();
        annotations
            .into_iter()
            .any(|(key, _)| key == "example.com/bound-by")
    };
    for (name, _, _) in PODS {
        cluster.until(name, is_done).await;
    }
    let mut end = End::new();
    let paths = PODS.map(|(name, _, _)| (name, pod_path(name)));
    let nodes = ["node-a", "node-b"].map(|name| (name, format!("/api/v1/nodes/{name}")));
    for (name, path) in paths.into_iter().chain(nodes) {
        let object = cluster.get(&path).await;
        let annotations = object["metadata"]["annotations"].as_object().cloned();
        let annotations = annotations.unwrap_or_default().into_iter();
        let annotations = annotations.map(|(key, v)| (key, v.as_str().unwrap_or("").to_owned()));
        let node = object["spec"]["nodeName"].as_str().map(str::to_owned);
        end.insert(name.to_owned(), (node, ours(annotations)));
    }
    running.stop().await;
    end
}

/// What was done, with the first nomination of each pod only: whether it has to be written again depends on
/// whether the watch has told by then that it was taken back.
fn nominations_once(log: &BTreeMap<String, Vec<String>>) -> BTreeMap<String, Vec<String>> {
    let mut log = log.clone();
    for lines in log.values_mut() {
        let mut nominations = 0;
        lines.retain(|line| {
            let nominates = line.contains("status None Set(Some");
            nominations += usize::from(nominates);
            !nominates || nominations == 1
        });
    }
    log
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_plugin_behaves_alike_live_and_simulated() {
    let simulated = simulated(&SIMULATED);
    let live = live().await;
    assert_eq!(simulated, live);
    assert_eq!(live["first"].0.as_deref(), Some("node-a"));
    assert_eq!(live["node-a"].1.len(), 2, "it knew who comes: {live:?}");
    let (simulated, live) = (SIMULATED.lock().unwrap(), LIVE.lock().unwrap());
    assert_eq!(
        nominations_once(&simulated),
        nominations_once(&live),
        "{live:#?}"
    );
    let late = &live["late"];
    let place = |what: &str| late.iter().position(|line| line.contains(what));
    let (unreserve, bind) = (
        place("Unreserve"),
        late.iter().position(|line| line == "Bind"),
    );
    assert!(unreserve.is_some() && unreserve < bind, "{late:#?}");
    assert!(place("FailedScheduling").is_some(), "{late:#?}");
}
