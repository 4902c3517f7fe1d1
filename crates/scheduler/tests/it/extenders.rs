//! Services of others have a say.

use crate::cluster::{Cluster, asks, patiently, pod_path};
use crate::faults::{Fault, faulty};
use serde_json::{Value, json};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use stowplan_api::k8s::api::core::v1::Pod;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// What was asked: the verb and the question.
type Asked = Arc<Mutex<Vec<(String, Value)>>>;

/// A service that answers as `answer` says, which is told the verb and the question; `None` is a
/// failure, and null no answer at all. Returns its address.
async fn serve(
    answer: impl Fn(&str, &Value) -> Option<Value> + Clone + Send + 'static,
) -> (String, Asked) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    let asked = Asked::default();
    let told = asked.clone();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let (answer, told) = (answer.clone(), told.clone());
            tokio::spawn(async move {
                let mut stream = stream;
                while let Some((verb, question)) = read(&mut stream).await {
                    let answer = answer(&verb, &question);
                    if let Ok(mut told) = told.lock() {
                        told.push((verb, question));
                    }
                    if write(&mut stream, answer).await.is_none() {
                        return;
                    }
                }
            });
        }
    });
    (format!("http://{address}/scheduler"), asked)
}

/// Reads a request: the last part of its path, and its body.
async fn read(stream: &mut TcpStream) -> Option<(String, Value)> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.ok()?);
    }
    let head = String::from_utf8(head).ok()?;
    let path = head.split(' ').nth(1)?;
    let verb = path.strip_prefix("/scheduler/")?.to_owned();
    let length = head
        .lines()
        .filter_map(|line| line.split_once(": "))
        .find(|(name, _)| name.eq_ignore_ascii_case("content-length"))?;
    let mut body = vec![0; length.1.parse().ok()?];
    stream.read_exact(&mut body).await.ok()?;
    Some((verb, serde_json::from_slice(&body).ok()?))
}

async fn write(stream: &mut TcpStream, answer: Option<Value>) -> Option<()> {
    let (status, body) = match answer {
        Some(Value::Null) => return None,
        Some(answer) => ("200 OK", answer.to_string()),
        // A client that knows no better would ask again.
        None => ("503 Service Unavailable", String::new()),
    };
    let length = body.len();
    let text = format!("HTTP/1.1 {status}\r\nContent-Length: {length}\r\n\r\n{body}");
    stream.write_all(text.as_bytes()).await.ok()
}

async fn three_nodes() -> Cluster {
    let cluster = Cluster::new().await;
    for node in ["a", "b", "c"] {
        cluster.plain_node(node).await;
    }
    cluster
}

async fn with_extender(cluster: &Cluster, url: &str, more: &str) -> stowplan_scheduler::Running {
    let config = format!("extenders: [{{urlPrefix: '{url}', {more}}}]");
    cluster
        .scheduler_with(cluster.scheduler_client(), &config)
        .await
}

#[tokio::test]
async fn an_extender_filters_and_prioritizes_by_name() {
    let cluster = three_nodes().await;
    let (url, asked) = serve(|verb, question| match verb {
        "filter" => Some(json!({"NodeNames": ["b", "c"], "FailedNodes": {"a": "not today"}})),
        "prioritize" => {
            let names = question["NodeNames"].as_array()?.iter();
            let scores = names.map(|name| json!({"Host": name, "Score": i64::from(name == "c")}));
            Some(scores.collect())
        }
        _ => None,
    })
    .await;
    let verbs =
        "filterVerb: filter, prioritizeVerb: prioritize, weight: 100, nodeCacheCapable: true";
    let _scheduler = with_extender(&cluster, &url, verbs).await;
    cluster.pod("p", json!({})).await;
    assert_eq!(cluster.bound("p").await, "c");
    let asked = asked.lock().unwrap();
    let (verb, question) = &asked[0];
    assert_eq!(verb, "filter");
    assert_eq!(question["Pod"]["metadata"]["name"], "p");
    assert_eq!(question["NodeNames"], json!(["a", "b", "c"]));
    assert!(question["Nodes"].is_null());
}

#[tokio::test]
async fn an_extender_that_does_not_know_the_nodes_gets_them_whole() {
    let cluster = three_nodes().await;
    let (url, _) = serve(|_, question| {
        let nodes = question["Nodes"]["items"].as_array()?;
        let left = nodes.iter().filter(|node| {
            node["metadata"]["name"] == "b" && node["status"]["allocatable"]["cpu"] == "4"
        });
        let left: Vec<_> = left.collect();
        Some(json!({"nodes": {"items": left}}))
    })
    .await;
    let _scheduler = with_extender(&cluster, &url, "filterVerb: filter").await;
    cluster.pod("p", json!({})).await;
    assert_eq!(cluster.bound("p").await, "b");
}

#[tokio::test]
async fn an_extender_that_rejects_all_nodes_is_quoted_and_asked_again_when_something_happens() {
    let cluster = three_nodes().await;
    let (url, _) = serve(|_, question| {
        let names = question["NodeNames"].as_array()?;
        let (left, gone): (Vec<&Value>, Vec<&Value>) = names.iter().partition(|n| **n == "d");
        let failed = gone.iter().map(|name| (name.as_str().unwrap(), "too old"));
        let failed: serde_json::Map<_, _> = failed
            .map(|(name, why)| (name.to_owned(), Value::from(why)))
            .collect();
        Some(json!({"NodeNames": left, "FailedAndUnresolvableNodes": failed}))
    })
    .await;
    let verbs = "filterVerb: filter, nodeCacheCapable: true";
    let _scheduler = with_extender(&cluster, &url, verbs).await;
    cluster.pod("p", json!({})).await;
    let why = cluster.unschedulable("p").await;
    assert!(
        why.starts_with("0/3 nodes are available: 3 too old."),
        "{why}"
    );
    cluster.plain_node("d").await;
    assert_eq!(cluster.bound("p").await, "d");
}

#[tokio::test]
async fn an_extender_that_fails_is_ignored_if_it_may_be() {
    let cluster = three_nodes().await;
    let (url, asked) = serve(|_, _| None).await;
    let verbs = "filterVerb: filter, nodeCacheCapable: true, ignorable: true";
    let _scheduler = with_extender(&cluster, &url, verbs).await;
    cluster.pod("p", json!({})).await;
    cluster.bound("p").await;
    assert_eq!(asked.lock().unwrap().len(), 1);
}

#[tokio::test]
async fn an_extender_that_fails_fails_the_attempt() {
    let cluster = three_nodes().await;
    let (url, _) = serve(|_, _| None).await;
    let verbs = "filterVerb: filter, nodeCacheCapable: true";
    let _scheduler = with_extender(&cluster, &url, verbs).await;
    cluster.pod("p", json!({})).await;
    let why = cluster.unschedulable("p").await;
    assert_eq!(
        why,
        format!("failed filter with extender at URL {url}/filter, code 503")
    );
    let pod = cluster.all::<Pod>().get("p").await.unwrap();
    let condition = crate::cluster::condition(&pod, "PodScheduled").unwrap();
    assert_eq!(condition["reason"], "SchedulerError");
}

#[tokio::test]
async fn an_extender_is_asked_only_about_pods_that_use_its_resources() {
    let cluster = three_nodes().await;
    let (url, asked) = serve(|_, _| Some(json!({"NodeNames": ["b"]}))).await;
    let verbs = "filterVerb: filter, nodeCacheCapable: true, \
                 managedResources: [{name: example.com/gpu, ignoredByScheduler: true}]";
    let _scheduler = with_extender(&cluster, &url, verbs).await;
    cluster.pod("plain", json!({"containers": asks("1")})).await;
    cluster.bound("plain").await;
    assert!(asked.lock().unwrap().is_empty());
    let resources = json!({"limits": {"example.com/gpu": "1"}});
    let gpu = json!({"containers": [{"name": "c", "image": "i", "resources": resources}]});
    cluster.pod("gpu", gpu).await;
    assert_eq!(cluster.bound("gpu").await, "b");
}

/// Binds a pod, as services do that are asked to.
async fn bind(api: kube::Client, question: Value) {
    let name = question["PodName"].as_str().unwrap_or_default();
    let binding = json!({"apiVersion": "v1", "kind": "Binding",
        "metadata": {"name": name}, "target": {"kind": "Node", "name": question["Node"]}});
    let request = http::Request::post(format!("{}/binding", pod_path(name)))
        .header("Content-Type", "application/json")
        .body(binding.to_string().into_bytes())
        .expect("a request");
    api.request::<Value>(request).await.expect("it is bound");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_extender_that_binds_and_does_not_say_so_is_not_taken_for_a_failure() {
    for silence in [None, Some(Value::Null)] {
        let cluster = three_nodes().await;
        let api = cluster.admin.clone();
        let (url, asked) = serve(move |_, question| {
            let bound = bind(api.clone(), question.clone());
            tokio::task::block_in_place(|| tokio::runtime::Handle::current().block_on(bound));
            silence.clone()
        })
        .await;
        let _scheduler = with_extender(&cluster, &url, "bindVerb: bind").await;
        cluster.pod("p", json!({})).await;
        let told = crate::status::event(&cluster, "Scheduled").await;
        assert_eq!(told["regarding"]["name"], "p");
        assert_eq!(asked.lock().unwrap().len(), 1);
    }
}

#[tokio::test]
async fn an_extender_that_may_be_ignored_is_asked_last() {
    let cluster = three_nodes().await;
    let order = Arc::new(Mutex::new(Vec::new()));
    let says = |name: &'static str| {
        let order = order.clone();
        serve(move |_, question| {
            order.lock().unwrap().push(name);
            Some(json!({"NodeNames": question["NodeNames"]}))
        })
    };
    let ((minor, _), (major, _)) = (says("minor").await, says("major").await);
    let verbs = "filterVerb: filter, nodeCacheCapable: true";
    let config = format!(
        "extenders: [{{urlPrefix: '{minor}', {verbs}, ignorable: true}}, \
         {{urlPrefix: '{major}', {verbs}}}]"
    );
    let client = cluster.scheduler_client();
    let _scheduler = cluster.scheduler_with(client, &config).await;
    cluster.pod("p", json!({})).await;
    cluster.bound("p").await;
    assert_eq!(*order.lock().unwrap(), ["major", "minor"]);
}

#[tokio::test]
async fn an_extender_binds() {
    let cluster = three_nodes().await;
    let api = cluster.admin.clone();
    let (url, asked) = serve(move |verb, question| {
        assert_eq!(verb, "bind");
        tokio::spawn(bind(api.clone(), question.clone()));
        Some(json!({}))
    })
    .await;
    let _scheduler = with_extender(&cluster, &url, "bindVerb: bind").await;
    cluster.pod("p", json!({})).await;
    let node = cluster.bound("p").await;
    let asked = asked.lock().unwrap();
    assert_eq!(asked.len(), 1);
    assert_eq!(asked[0].1["Node"], json!(node));
    assert_eq!(asked[0].1["PodNamespace"], "n");
}

/// Open until it is told otherwise.
#[derive(Default)]
struct Gate(AtomicBool);

impl stowplan_client::Guard for Gate {
    fn may_act(&self) -> bool {
        !self.0.load(Ordering::SeqCst)
    }
}

#[tokio::test]
async fn no_extender_is_asked_to_bind_once_the_lease_is_lost() {
    let cluster = three_nodes().await;
    let gate = Arc::new(Gate::default());
    let closes = gate.clone();
    // The lease is lost while the pod is being decided.
    let (url, asked) = serve(move |verb, question| match verb {
        "filter" => {
            closes.0.store(true, Ordering::SeqCst);
            Some(json!({"NodeNames": question["NodeNames"]}))
        }
        _ => Some(json!({})),
    })
    .await;
    let verbs = "filterVerb: filter, bindVerb: bind, nodeCacheCapable: true";
    let config = format!("extenders: [{{urlPrefix: '{url}', {verbs}}}]");
    let client = cluster.scheduler_client();
    let scheduler = cluster.guarded_scheduler(client, &config, gate).await;
    cluster.pod("p", json!({})).await;
    let filtered = async {
        while asked.lock().unwrap().is_empty() {
            tokio::task::yield_now().await;
        }
    };
    patiently(filtered).await;
    // What was decided is carried out, or refused, before it stops.
    scheduler.stop().await;
    let asked = asked.lock().unwrap();
    let verbs: Vec<&str> = asked.iter().map(|(verb, _)| verb.as_str()).collect();
    assert_eq!(verbs, ["filter"]);
}

/// Extenders are shown pods as the watch told them: nothing is read for them.
#[tokio::test]
async fn calls_of_extenders_read_no_pods() {
    let cluster = three_nodes().await;
    let class = json!({"metadata": {"name": "high"}, "value": 1000});
    cluster
        .create("/apis/scheduling.k8s.io/v1/priorityclasses", class)
        .await;
    let (url, asked) = serve(|verb, question| match verb {
        "filter" => Some(json!({"Nodes": question["Nodes"]})),
        "prioritize" => Some(json!([])),
        // Nobody has to go.
        _ => Some(json!({"NodeNameToMetaVictims": {}})),
    })
    .await;
    let verbs = "filterVerb: filter, prioritizeVerb: prioritize, preemptVerb: preempt, weight: 1";
    let config = format!("extenders: [{{urlPrefix: '{url}', {verbs}}}]");
    let read = Arc::new(Mutex::new(Vec::new()));
    let reads = read.clone();
    let client = faulty(cluster.scheduler_client(), move |path, _| {
        let last = path.rsplit('/').next().unwrap_or_default();
        if path.contains("/pods/") && last.starts_with("pod-") {
            reads.lock().unwrap().push(path.to_owned());
        }
        Fault::None
    });
    let _scheduler = cluster.scheduler_with(client, &config).await;
    for i in 0..3 {
        let name = format!("pod-{i}");
        cluster.pod(&name, json!({"containers": asks("4")})).await;
    }
    cluster.all_bound(3).await;
    let high = json!({"containers": asks("3"), "priorityClassName": "high"});
    cluster.pod("pod-high", high).await;
    cluster.unschedulable("pod-high").await;
    let asked = asked.lock().unwrap();
    let filtered = asked.iter().find(|(verb, _)| verb == "filter").unwrap();
    let resources = &filtered.1["Pod"]["spec"]["containers"][0]["resources"];
    assert_eq!(resources["requests"]["cpu"], "4");
    let preempted = asked.iter().find(|(verb, _)| verb == "preempt").unwrap();
    let victims = preempted.1["NodeNameToVictims"].as_object().unwrap();
    assert_eq!(victims.len(), 3);
    for (node, victims) in victims {
        assert_eq!(victims["Pods"][0]["spec"]["nodeName"], json!(node));
    }
    assert_eq!(*read.lock().unwrap(), [""; 0]);
}

#[tokio::test]
async fn an_extender_chooses_the_victims() {
    let cluster = three_nodes().await;
    let class = json!({"metadata": {"name": "high"}, "value": 1000});
    cluster
        .create("/apis/scheduling.k8s.io/v1/priorityclasses", class)
        .await;
    let (url, _) = serve(|_, question| {
        let all = question["NodeNameToMetaVictims"].as_object()?;
        Some(json!({"NodeNameToMetaVictims": {"c": all["c"]}}))
    })
    .await;
    let verbs = "preemptVerb: preempt, nodeCacheCapable: true";
    let _scheduler = with_extender(&cluster, &url, verbs).await;
    for i in 0..3 {
        cluster
            .pod(&format!("low-{i}"), json!({"containers": asks("4")}))
            .await;
    }
    let low = cluster.all_bound(3).await;
    let on_c = low
        .iter()
        .find(|pod| crate::cluster::node_of(pod) == Some("c"));
    let victim = on_c.unwrap().metadata.name.clone().unwrap();
    let high = json!({"containers": asks("4"), "priorityClassName": "high"});
    cluster.pod("high", high).await;
    cluster
        .until::<Pod>(&victim, |pod| pod.metadata.deletion_timestamp.is_some())
        .await;
    cluster.delete(&pod_path(&victim)).await;
    assert_eq!(cluster.bound("high").await, "c");
}
