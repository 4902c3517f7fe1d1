//! A scheduler with its port and its lease.

use crate::{client, object, server};
use http::Request;
use k8s_openapi::ByteString;
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::{ConfigMap, Namespace, Node, Pod, ServiceAccount};
use k8s_openapi::api::rbac::v1::{Role, RoleBinding};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use k8s_openapi::jiff::Timestamp;
use kube::api::{Api, Patch, PatchParams, PostParams};
use kube::config::AuthInfo;
use kube::runtime::wait::await_condition;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use std::fmt::Debug;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use stowplan_config::KubeSchedulerConfiguration;
use stowplan_scheduler::server::{
    AuthenticationLookup, Broken, Callers, SchedulerServer, SecurePort, ServerOptions,
};
use stowplan_transport::{Certificates, Pki};

type Server = Arc<stowplan_server::Api>;

fn options(host: &str, competes: bool) -> ServerOptions {
    let any_port = SocketAddr::from(([127, 0, 0, 1], 0));
    ServerOptions {
        env: crate::env(),
        seed: 0,
        host: host.to_owned(),
        throttled: false,
        unschedulable_max: None,
        competes,
        port: Some(SecurePort::new(any_port, Pki::generate().unwrap().into())),
        authentication: None,
        authorization: None,
        informers: None,
        collector: None,
    }
}

fn config(text: &str) -> KubeSchedulerConfiguration {
    let head = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n";
    KubeSchedulerConfiguration::from_text(&format!("{head}{text}")).unwrap()
}

async fn start(server: &Server, text: &str, options: ServerOptions) -> SchedulerServer {
    let user = client(server, "system:kube-scheduler", &["system:authenticated"]);
    SchedulerServer::start(user, config(text), options)
        .await
        .unwrap()
}

/// What the scheduler's port says to the bearer of this token.
async fn ask(
    scheduler: &SchedulerServer,
    token: Option<&str>,
    path: &str,
) -> Result<String, kube::Error> {
    let who = AuthInfo {
        token: token.map(|token| token.to_owned().into()),
        ..AuthInfo::default()
    };
    ask_as(scheduler, who, path).await
}

async fn ask_as(
    scheduler: &SchedulerServer,
    who: AuthInfo,
    path: &str,
) -> Result<String, kube::Error> {
    ask_with(scheduler, who, &[], path).await
}

async fn ask_with(
    scheduler: &SchedulerServer,
    who: AuthInfo,
    headers: &[(&'static str, &str)],
    path: &str,
) -> Result<String, kube::Error> {
    let address = scheduler.address().unwrap();
    let mut config = kube::Config::new(format!("https://{address}").parse().unwrap());
    config.accept_invalid_certs = true;
    config.auth_info = who;
    let client = kube::Client::try_from(config).unwrap();
    let mut request = Request::get(path);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    client.request_text(request.body(Vec::new()).unwrap()).await
}

async fn create<K>(api: Api<K>, value: Value) -> K
where
    K: DeserializeOwned + Serialize + Clone + Debug,
{
    let made = api.create(&PostParams::default(), &object(value)).await;
    made.unwrap()
}

/// A namespace `n` in which pods can be made.
async fn namespace(admin: &kube::Client) {
    let namespaces: Api<Namespace> = Api::all(admin.clone());
    create(namespaces, json!({"metadata": {"name": "n"}})).await;
    let accounts: Api<ServiceAccount> = Api::namespaced(admin.clone(), "n");
    create(accounts, json!({"metadata": {"name": "default"}})).await;
}

async fn node(admin: &kube::Client, name: &str) {
    let nodes: Api<Node> = Api::all(admin.clone());
    let amounts = json!({"cpu": "2", "memory": "4Gi", "pods": "110"});
    let status = json!({"capacity": amounts, "allocatable": amounts});
    let node = json!({"metadata": {"name": name}, "status": status});
    create(nodes.clone(), node).await;
    // Whoever makes a node cannot know that it is ready; its kubelet says so.
    let ready = Patch::Merge(json!({"spec": {"taints": null}}));
    let patched = nodes.patch(name, &PatchParams::default(), &ready).await;
    patched.unwrap();
}

async fn pod(admin: &kube::Client, name: &str, cpu: &str) {
    let pods: Api<Pod> = Api::namespaced(admin.clone(), "n");
    let resources = json!({"requests": {"cpu": cpu}});
    let containers = json!([{"name": "c", "image": "i", "resources": resources}]);
    let pod = json!({"metadata": {"name": name}, "spec": {"containers": containers}});
    create(pods, pod).await;
}

/// Waits for what must come; a test that waits for ever tells nobody why.
async fn in_time<T>(what: impl Debug, coming: impl Future<Output = T>) -> T {
    let come = tokio::time::timeout(Duration::from_secs(120), coming).await;
    come.unwrap_or_else(|_| panic!("{what:?} did not come"))
}

async fn until(admin: &kube::Client, name: &str, holds: fn(&Pod) -> bool) {
    let pods: Api<Pod> = Api::namespaced(admin.clone(), "n");
    let condition = move |pod: Option<&Pod>| pod.is_some_and(holds);
    let come = in_time(name, await_condition(pods, name, condition));
    come.await.unwrap();
}

fn is_bound(pod: &Pod) -> bool {
    pod.spec
        .as_ref()
        .is_some_and(|spec| spec.node_name.is_some())
}

fn is_unschedulable(pod: &Pod) -> bool {
    let conditions = pod.status.as_ref().and_then(|s| s.conditions.as_ref());
    let reasons = conditions.into_iter().flatten();
    reasons
        .filter_map(|condition| condition.reason.as_deref())
        .any(|reason| reason == "Unschedulable")
}

/// Asks for metrics until all of these lines are among them: a binding is counted after others see
/// it.
async fn metrics_with(scheduler: &SchedulerServer, lines: &[&str]) -> String {
    let told = async {
        loop {
            let text = ask(scheduler, Some("admin"), "/metrics").await.unwrap();
            if lines.iter().all(|line| text.contains(line)) {
                return text;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    in_time(lines, told).await
}

#[tokio::test]
async fn every_extension_point_is_told_with_its_time() {
    let server = server().await;
    let admin = client(&server, "admin", &["system:masters"]);
    let scheduler = start(&server, "", options("a", false)).await;
    namespace(&admin).await;
    node(&admin, "one").await;
    pod(&admin, "alone", "1").await;
    until(&admin, "alone", is_bound).await;
    node(&admin, "two").await;
    pod(&admin, "compared", "1").await;
    until(&admin, "compared", is_bound).await;
    pod(&admin, "waits", "10").await;
    until(&admin, "waits", is_unschedulable).await;
    let points = [
        ("PreEnqueue", "Success", 3),
        ("Sign", "Success", 3),
        ("PreFilter", "Success", 3),
        ("Filter", "Success", 3),
        // A node that is the only one is not scored.
        ("PreScore", "Success", 1),
        ("Score", "Success", 1),
        ("PostFilter", "Unschedulable", 1),
        ("Reserve", "Success", 2),
        ("Permit", "Success", 2),
        ("PreBindPreFlight", "Skip", 2),
        ("PreBind", "Success", 2),
        ("Bind", "Success", 2),
        ("PostBind", "Success", 2),
    ];
    let name = "scheduler_framework_extension_point_duration_seconds";
    let series = |part: &str, (point, status, _): (&str, &str, u64)| {
        format!(
            "{name}_{part}{{extension_point=\"{point}\",profile=\"default-scheduler\",status=\"{status}\"}} "
        )
    };
    let lines: Vec<_> = points
        .iter()
        .map(|point| format!("{}{}\n", series("count", *point), point.2))
        .collect();
    let lines: Vec<_> = lines.iter().map(String::as_str).collect();
    let text = metrics_with(&scheduler, &lines).await;
    for point in points {
        let sum = series("sum", point);
        let value = text.lines().find_map(|line| line.strip_prefix(&sum));
        let value: f64 = value.unwrap().parse().unwrap();
        // Pods without work at PreBind are bound in the moment in which they are decided.
        let at_once = point.0 == "PreBind";
        assert!((at_once || value > 0.0) && value < 60.0, "{sum}{value}");
    }
    for line in [
        "scheduler_event_handling_duration_seconds_count{event=\"NodeAdd\"} 2\n",
        "scheduler_event_handling_duration_seconds_count{event=\"UnschedulablePodAdd\"} 3\n",
        "scheduler_goroutines{operation=\"Filter\"} 0\n",
        "scheduler_batch_attempts_total{profile=\"default-scheduler\",result=\"hint_used\"} 1\n",
    ] {
        assert!(text.contains(line), "{line} is not in\n{text}");
    }
    scheduler.run_until(async {}).await.unwrap();
}

#[tokio::test]
async fn what_happens_is_counted_and_told_to_those_who_may_ask() {
    let server = server().await;
    let admin = client(&server, "admin", &["system:masters"]);
    let scheduler = start(&server, "podMaxBackoffSeconds: 7", options("a", false)).await;
    namespace(&admin).await;
    node(&admin, "one").await;
    pod(&admin, "fits", "1500m").await;
    until(&admin, "fits", is_bound).await;
    pod(&admin, "waits", "1").await;
    until(&admin, "waits", is_unschedulable).await;

    let text = metrics_with(
        &scheduler,
        &[
            "scheduler_schedule_attempts_total{profile=\"default-scheduler\",result=\"scheduled\"} 1\n",
            "scheduler_pod_scheduling_attempts_count 1\n",
            "stowplan_bindings_total{code=\"201\"} 1\n",
            "scheduler_pending_pods{queue=\"unschedulable\"} 1\n",
            "kube_pod_status_phase{namespace=\"n\",phase=\"Pending\",pod=\"waits\"",
        ],
    )
    .await;
    for line in [
        "scheduler_preemption_attempts_total 1\n",
        "scheduler_pod_scheduling_sli_duration_seconds_count{attempts=\"1\"} 1\n",
        "scheduler_unschedulable_pods{plugin=\"NodeResourcesFit\",profile=\"default-scheduler\"} 1\n",
        "scheduler_queue_incoming_pods_total{event=\"UnschedulablePodAdd\",queue=\"active\"} 2\n",
        "scheduler_cache_size{type=\"nodes\"} 1\n",
        "scheduler_cache_size{type=\"pods\"} 1\n",
        "scheduler_goroutines{operation=\"binding\"} 0\n",
        "stowplan_unschedulable_attempts_total{profile=\"default-scheduler\",reason=\"Insufficient cpu\"} 1\n",
        "scheduler_plugin_evaluation_total{extension_point=\"Filter\",plugin=\"NodeResourcesFit\",profile=\"default-scheduler\"} 2\n",
        "scheduler_plugin_evaluation_total{extension_point=\"Filter\",plugin=\"NodePorts\",profile=\"default-scheduler\"} 0\n",
        "scheduler_plugin_evaluation_total{extension_point=\"Score\",plugin=\"NodeResourcesFit\",profile=\"default-scheduler\"} 0\n",
        "stowplan_node_request_utilization_bucket{resource=\"cpu\",le=\"0.8\"} 1\n",
        "scheduler_framework_extension_point_duration_seconds_count{extension_point=\"Bind\",profile=\"default-scheduler\",status=\"Success\"} 1\n",
    ] {
        assert!(text.contains(line), "{line} is not in\n{text}");
    }

    let resources = ask(&scheduler, Some("admin"), "/metrics/resources").await;
    let line = "kube_pod_resource_request{namespace=\"n\",node=\"one\",pod=\"fits\",priority=\"0\",resource=\"cpu\",scheduler=\"default-scheduler\",unit=\"cores\"} 1.5\n";
    assert!(resources.unwrap().contains(line));
    let configz = ask(&scheduler, Some("admin"), "/configz").await.unwrap();
    let configz: Value = serde_json::from_str(&configz).unwrap();
    assert_eq!(configz["componentconfig"]["podMaxBackoffSeconds"], 7);
    let profile = &configz["componentconfig"]["profiles"][0];
    let enabled = &profile["plugins"]["multiPoint"]["enabled"];
    assert_eq!(enabled[0]["name"], "SchedulingGates", "{configz}");
    assert_eq!(ask(&scheduler, None, "/healthz").await.unwrap(), "ok");
    assert_eq!(ask(&scheduler, None, "/readyz").await.unwrap(), "ok");
    let refused = ask(&scheduler, Some("jane"), "/metrics").await;
    assert!(matches!(refused, Err(kube::Error::Api(status)) if status.code == 403));
    scheduler.run_until(async {}).await.unwrap();
}

/// Somebody with a certificate of this CA.
fn certified(ca: &Pki, name: &str, group: &str) -> AuthInfo {
    let (certificate, key) = ca.client(name, &[group]).unwrap();
    let base64 = |pem: String| object::<String>(json!(ByteString(pem.into_bytes())));
    AuthInfo {
        client_certificate_data: Some(base64(certificate)),
        client_key_data: Some(base64(key).into()),
        ..AuthInfo::default()
    }
}

/// As kube-scheduler: who signs certificates is looked up in the cluster.
#[tokio::test]
async fn callers_are_known_by_certificates_of_the_cluster() {
    let server = server().await;
    let admin = client(&server, "admin", &["system:masters"]);
    let (users, proxies) = (Pki::generate().unwrap(), Pki::generate().unwrap());
    let maps: Api<ConfigMap> = Api::namespaced(admin, "kube-system");
    let data = json!({
        "client-ca-file": users.ca_pem,
        "requestheader-client-ca-file": proxies.ca_pem,
        "requestheader-allowed-names": "[\"aggregator\"]",
        "requestheader-username-headers": "[\"X-Remote-User\"]",
        "requestheader-group-headers": "[\"X-Remote-Group\"]",
    });
    let metadata = json!({"name": "extension-apiserver-authentication"});
    create(maps, json!({"metadata": metadata, "data": data})).await;
    let mut with_lookup = options("a", false);
    if let Some(port) = &mut with_lookup.port {
        port.callers = Callers {
            lookup: AuthenticationLookup::Strict,
            ..Callers::default()
        };
    }
    let scheduler = start(&server, "", with_lookup).await;
    let ask = async |ca: &Pki, name: &str, headers: &[(&'static str, &str)]| {
        let who = certified(ca, name, "friends");
        match ask_with(&scheduler, who, headers, "/metrics").await {
            Ok(_) => "answered".to_owned(),
            Err(kube::Error::Api(status)) => status.message,
            Err(error) => panic!("{error}"),
        }
    };
    let masters = [
        ("x-remote-user", "kim"),
        ("x-remote-group", "system:masters"),
    ];
    assert_eq!(ask(&proxies, "aggregator", &masters).await, "answered");
    let kim = [("x-remote-user", "kim")];
    let refused = ask(&proxies, "aggregator", &kim).await;
    assert!(refused.contains("User \"kim\" cannot"), "{refused}");
    // Whoever else says for whom he asks is not believed.
    let jane = ask(&users, "jane", &masters).await;
    assert!(jane.contains("User \"jane\" cannot"), "{jane}");
    let other = ask(&proxies, "jane", &masters).await;
    assert!(other.contains("User \"system:anonymous\""), "{other}");
    scheduler.stop().await;
}

#[tokio::test]
async fn callers_are_known_by_certificates_of_the_given_ca() {
    let server = server().await;
    let (clients, strangers) = (Pki::generate().unwrap(), Pki::generate().unwrap());
    let (chain, key) = Pki::generate().unwrap().client("scheduler", &[]).unwrap();
    let own = Certificates::given(chain, key).unwrap();
    let own = own.with_client_ca(clients.ca_pem.clone()).unwrap();
    let any_port = SocketAddr::from(([127, 0, 0, 1], 0));
    let options = ServerOptions {
        port: Some(SecurePort::new(any_port, own)),
        ..options("a", false)
    };
    let scheduler = start(&server, "", options).await;
    let shows = |ca: &Pki, group: &str| certified(ca, "jane", group);
    let known = ask_as(&scheduler, shows(&clients, "system:masters"), "/metrics").await;
    assert!(known.unwrap().contains("scheduler_pending_pods"));
    let refused = ask_as(&scheduler, shows(&clients, "friends"), "/metrics").await;
    let Err(kube::Error::Api(status)) = refused else {
        panic!("{refused:?}")
    };
    assert_eq!(status.code, 403);
    assert!(status.message.contains("User \"jane\""), "{status:?}");
    let stranger = ask_as(&scheduler, shows(&strangers, "system:masters"), "/metrics").await;
    assert!(stranger.is_err(), "{stranger:?}");
    scheduler.stop().await;
}

#[tokio::test]
async fn of_two_schedulers_one_works_at_a_time() {
    let server = server().await;
    let admin = client(&server, "admin", &["system:masters"]);
    namespace(&admin).await;
    node(&admin, "one").await;
    let quick = "leaderElection: {leaseDuration: 60s, renewDeadline: 40s, retryPeriod: 20ms}";
    let first = start(&server, quick, options("first", true)).await;
    let leads = "leader_election_master_status{name=\"kube-scheduler\"} 1\n";
    metrics_with(&first, &[leads]).await;
    let second = start(&server, quick, options("second", true)).await;
    let stands_by = "leader_election_master_status{name=\"kube-scheduler\"} 0\n";
    metrics_with(&second, &[stands_by]).await;
    pod(&admin, "a", "100m").await;
    until(&admin, "a", is_bound).await;
    assert!(holder(&admin).await.starts_with("first_"));

    first.run_until(async {}).await.unwrap();
    pod(&admin, "b", "100m").await;
    until(&admin, "b", is_bound).await;
    assert!(holder(&admin).await.starts_with("second_"));
    metrics_with(
        &second,
        &[leads, "stowplan_bindings_total{code=\"201\"} 1\n"],
    )
    .await;
    second.run_until(async {}).await.unwrap();
    assert_eq!(holder(&admin).await, "");
}

#[tokio::test]
async fn who_lost_the_lease_ends_and_leaves_it_to_the_other() {
    let server = server().await;
    let admin = client(&server, "admin", &["system:masters"]);
    let quick = "leaderElection: {leaseDuration: 5s, renewDeadline: 2s, retryPeriod: 20ms}";
    let scheduler = start(&server, quick, options("first", true)).await;
    let leads = "leader_election_master_status{name=\"kube-scheduler\"} 1\n";
    metrics_with(&scheduler, &[leads]).await;
    let leases: Api<Lease> = Api::namespaced(admin.clone(), "kube-system");
    let other = json!({
        "holderIdentity": "other",
        "leaseDurationSeconds": 3600,
        "renewTime": MicroTime(Timestamp::now()),
    });
    let other = Patch::Merge(json!({"spec": other}));
    let params = PatchParams::default();
    let taken = leases.patch("kube-scheduler", &params, &other).await;
    taken.unwrap();
    let ended = in_time("the end", scheduler.run_until(std::future::pending())).await;
    assert_eq!(ended, Err(Broken::LeaseLost));
    assert_eq!(holder(&admin).await, "other");
}

#[tokio::test]
async fn an_election_has_one_name_whatever_its_lease_is_called() {
    let server = server().await;
    let config = "leaderElection: {resourceName: mine, retryPeriod: 20ms}";
    let scheduler = start(&server, config, options("a", true)).await;
    let leads = "leader_election_master_status{name=\"kube-scheduler\"} 1\n";
    let text = metrics_with(&scheduler, &[leads]).await;
    assert!(!text.contains("name=\"mine\""), "{text}");
    scheduler.run_until(async {}).await.unwrap();
}

#[tokio::test]
async fn a_profile_that_does_not_preempt_attempts_none() {
    let server = server().await;
    let admin = client(&server, "admin", &["system:masters"]);
    let polite = "profiles: [{plugins: {multiPoint: {disabled: [{name: DefaultPreemption}]}}}]";
    let scheduler = start(&server, polite, options("a", false)).await;
    namespace(&admin).await;
    node(&admin, "one").await;
    pod(&admin, "waits", "3").await;
    until(&admin, "waits", is_unschedulable).await;
    let failed = "scheduler_schedule_attempts_total{profile=\"default-scheduler\",result=\"unschedulable\"} 1\n";
    let none = "scheduler_preemption_attempts_total 0\n";
    metrics_with(&scheduler, &[failed, none]).await;
    scheduler.run_until(async {}).await.unwrap();
}

async fn holder(admin: &kube::Client) -> String {
    let leases: Api<Lease> = Api::namespaced(admin.clone(), "kube-system");
    let lease = leases.get("kube-scheduler").await.unwrap();
    lease.spec.unwrap().holder_identity.unwrap_or_default()
}

/// Lets a user read, but not list, the pods of `n`.
async fn may_read_pods(admin: &kube::Client, user: &str) {
    let rules = json!([{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]);
    let role = json!({"metadata": {"name": "reads"}, "rules": rules});
    create::<Role>(Api::namespaced(admin.clone(), "n"), role).await;
    let group = "rbac.authorization.k8s.io";
    let binding = json!({
        "metadata": {"name": "reads"},
        "roleRef": {"apiGroup": group, "kind": "Role", "name": "reads"},
        "subjects": [{"apiGroup": group, "kind": "User", "name": user}],
    });
    create::<RoleBinding>(Api::namespaced(admin.clone(), "n"), binding).await;
}

const DECISIONS: &str = "/apis/stowplan.dev/v1/namespaces/n/decisions";

async fn told(scheduler: &SchedulerServer, token: &str, rest: &str) -> Value {
    let path = format!("{DECISIONS}/{rest}");
    let mut patience = 100;
    loop {
        match ask(scheduler, Some(token), &path).await {
            Ok(text) => return serde_json::from_str(&text).unwrap(),
            // It tells whole tournaments only now and then.
            Err(kube::Error::Api(status)) if status.code == 429 && patience > 0 => {
                patience -= 1;
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
            Err(error) => panic!("{path}: {error}"),
        }
    }
}

#[tokio::test]
async fn decisions_are_remembered_and_can_be_played_again() {
    let server = server().await;
    let admin = client(&server, "admin", &["system:masters"]);
    let scheduler = start(&server, "", options("a", false)).await;
    namespace(&admin).await;
    node(&admin, "one").await;
    node(&admin, "two").await;
    pod(&admin, "first", "1500m").await;
    until(&admin, "first", is_bound).await;
    let bound = "scheduler_pod_scheduling_attempts_count 1\n";
    metrics_with(&scheduler, &[bound]).await;

    let decision = told(&scheduler, "admin", "first").await;
    assert_eq!(decision["kind"], "Decision");
    assert_eq!(decision["outcome"], "Bound");
    assert_eq!(decision["tied"], 2);
    let best = decision["best"].as_array().unwrap();
    assert_eq!(best.len(), 2);
    let weights = decision["plugins"].as_array().unwrap().iter();
    let weights = weights.map(|plugin| plugin["weight"].as_i64().unwrap());
    let scores = best[0]["scores"].as_array().unwrap().iter();
    let scores = scores.map(|score| score.as_i64().unwrap());
    let sum: i64 = weights
        .zip(scores)
        .map(|(weight, score)| weight * score)
        .sum();
    assert_eq!(best[0]["total"], sum);

    // The second pod changes the cluster; the first is told as it was.
    pod(&admin, "second", "1500m").await;
    until(&admin, "second", is_bound).await;
    let first = told(&scheduler, "admin", "first/tournament").await;
    assert_eq!(first["kind"], "Explanation");
    assert_eq!(first["moment"]["atDecision"], true);
    assert_eq!(
        (&first["feasible"], &first["outcome"]),
        (&2.into(), &"Fits".into())
    );
    assert_eq!(first["pod"]["state"], "Bound");
    let second = told(&scheduler, "admin", "second/tournament").await;
    assert_eq!(second["feasible"], 1);
    let totals = first["nodes"].as_array().unwrap().iter();
    let mut totals = totals.map(|node| &node["total"]);
    assert!(totals.all(|total| *total == best[0]["total"]), "{first}");

    pod(&admin, "third", "1").await;
    until(&admin, "third", is_unschedulable).await;
    let third = told(&scheduler, "admin", "third").await;
    assert_eq!(third["outcome"], "Unschedulable");
    let reasons = json!([{"count": 2, "reason": "Insufficient cpu"}]);
    assert_eq!(third["reasons"], reasons);
    assert!(third.to_string().len() <= 4096);
    let third = told(&scheduler, "admin", "third/tournament").await;
    assert_eq!(third["outcome"], "FitsNowhere");
    let help = third["whatWouldHelp"].as_array().unwrap();
    assert!((1..=5).contains(&help.len()), "{help:?}");

    let path = format!("{DECISIONS}/first");
    let refused = ask(&scheduler, Some("jane"), &path).await;
    assert!(matches!(refused, Err(kube::Error::Api(status)) if status.code == 403));
    may_read_pods(&admin, "jane").await;
    let told_jane = told(&scheduler, "jane", "second/tournament").await;
    let own = told_jane["pod"]["node"].as_str().unwrap();
    let names = told_jane["nodes"].as_array().unwrap().iter();
    let mut names: Vec<_> = names.map(|node| node["name"].as_str().unwrap()).collect();
    names.sort_unstable();
    // She can read in the pod where it is, and no more of nodes.
    assert_eq!(names, ["node-1", own]);
    let told_jane = told(&scheduler, "jane", "third/tournament").await;
    let names = json!(["node-1", "node-2"]);
    let shown = told_jane["nodes"].as_array().unwrap().iter();
    assert_eq!(
        Value::from_iter(shown.map(|node| node["name"].clone())),
        names
    );
    let help = told_jane["whatWouldHelp"].to_string();
    assert!(
        help.contains("node-") && !help.contains("n/first"),
        "{help}"
    );
    assert!(!help.contains(" one") && !help.contains(" two"), "{help}");
    let summary = told(&scheduler, "jane", "second").await;
    assert_eq!(summary["best"][0]["node"], own);

    let path = format!("{DECISIONS}/nobody");
    let unknown = ask(&scheduler, Some("admin"), &path).await;
    assert!(matches!(unknown, Err(kube::Error::Api(status)) if status.code == 404));
    scheduler.run_until(async {}).await.unwrap();
}
