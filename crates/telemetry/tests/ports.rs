//! What is served to whom.

use bytes::Bytes;
use http::{Request, Response};
use serde_json::json;
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use stowplan_telemetry::{
    AccessRequest, BoxFuture, Caller, Check, DecisionAnswer, Gate, GaugeValues, Health,
    PendingPods, PodTable, Ports, Reader, Refusal, SchedulerMetrics, Source,
};

struct Doors;

impl Gate for Doors {
    fn admit(&self, caller: Caller, request: AccessRequest) -> BoxFuture<'_, Result<(), Refusal>> {
        let is_hers = matches!(request, AccessRequest::Pod { .. } | AccessRequest::Open);
        let result = match caller.token.as_deref() {
            Some("jane") if is_hers => Ok(()),
            Some("jane") => Err(Refusal::Forbidden {
                user: "jane".to_owned(),
                reason: String::new(),
            }),
            Some("good") => Ok(()),
            Some(_) => Err(Refusal::Unauthorized),
            None => Err(Refusal::Forbidden {
                user: "system:anonymous".to_owned(),
                reason: String::new(),
            }),
        };
        Box::pin(async move { result })
    }
}

/// A replica; whether it leads.
struct Replica(bool);

impl Source for Replica {
    fn gauge_values(&self) -> BoxFuture<'_, Option<GaugeValues>> {
        let mut gauge_values = GaugeValues::default();
        gauge_values.pending[0] = PendingPods {
            count: 3,
            oldest_seconds: 7.5,
        };
        gauge_values.unschedulable = vec![("NodeResourcesFit", "default-scheduler".to_owned(), 2)];
        Box::pin(async move { Some(gauge_values) })
    }

    fn is_leader(&self) -> bool {
        self.0
    }

    fn decision<'a>(
        &'a self,
        namespace: &'a str,
        name: &'a str,
        whole: bool,
        reader: &'a dyn Reader,
    ) -> BoxFuture<'a, DecisionAnswer> {
        Box::pin(async move {
            let knows_nodes = reader.may(AccessRequest::Nodes).await;
            match name {
                "gone" => DecisionAnswer::Unknown,
                "busy" => DecisionAnswer::Busy,
                name => DecisionAnswer::Found(json!([namespace, name, whole, knows_nodes])),
            }
        })
    }
}

fn ask(path: &str, token: Option<&str>) -> Response<Bytes> {
    ask_replica(Replica(true), path, token)
}

fn ask_replica(replica: Replica, path: &str, token: Option<&str>) -> Response<Bytes> {
    let ports = Ports {
        health: Health::new(vec![Check::ping()], vec![], vec![]),
        metrics: Arc::new(SchedulerMetrics::default()),
        pods: Arc::new(PodTable::default()),
        source: Arc::new(replica),
        gate: Arc::new(Doors),
        configuration: json!({"kind": "KubeSchedulerConfiguration"}),
        open_paths: ["/healthz", "/livez", "/readyz", "/open/*"]
            .map(str::to_owned)
            .to_vec(),
    };
    let mut request = Request::get(path);
    if let Some(token) = token {
        request = request.header("authorization", format!("Bearer {token}"));
    }
    let (parts, ()) = request.body(()).unwrap().into_parts();
    let answer = pin!(ports.answer(&parts, None));
    // Nothing here waits.
    match answer.poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(response) => response,
        Poll::Pending => panic!("{path} waits"),
    }
}

fn body(response: &Response<Bytes>) -> &str {
    std::str::from_utf8(response.body()).unwrap()
}

#[test]
fn health_is_open_and_the_rest_is_not() {
    assert_eq!(body(&ask("/healthz", None)), "ok");
    assert_eq!(ask("/readyz?verbose", None).status(), 200);
    let refused = ask("/metrics", None);
    assert_eq!(refused.status(), 403);
    let status: serde_json::Value = serde_json::from_str(body(&refused)).unwrap();
    assert_eq!(
        status["message"],
        "forbidden: User \"system:anonymous\" cannot get path \"/metrics\""
    );
    assert_eq!(ask("/healthz/ping", None).status(), 403);
    // All that begins like an open path that says so, be it there or not.
    assert_eq!(ask("/open/x", None).status(), 404);
    assert_eq!(ask("/ope", None).status(), 403);
    assert_eq!(ask("/metrics", Some("bad")).status(), 401);
    assert_eq!(ask("/healthz", Some("bad")).status(), 401);
    // Whom one knows needs no rights for it.
    assert_eq!(ask("/healthz", Some("jane")).status(), 200);
    assert_eq!(ask("/metrics", Some("jane")).status(), 403);
    assert_eq!(ask("/", Some("good")).status(), 404);
}

#[test]
fn metrics_and_configuration_are_served() {
    let metrics = ask("/metrics", Some("good"));
    assert_eq!(
        metrics.headers()["content-type"],
        "text/plain; version=0.0.4; charset=utf-8"
    );
    for line in [
        "scheduler_pending_pods{queue=\"active\"} 3\n",
        "stowplan_pending_pod_age_seconds_max{queue=\"active\"} 7.5\n",
        "scheduler_unschedulable_pods{plugin=\"NodeResourcesFit\",profile=\"default-scheduler\"} 2\n",
    ] {
        assert!(body(&metrics).contains(line), "{}", body(&metrics));
    }
    assert_eq!(
        body(&ask("/configz", Some("good"))),
        r#"{"componentconfig":{"kind":"KubeSchedulerConfiguration"}}"#
    );
    assert_eq!(ask("/metrics/resources", Some("good")).status(), 200);
    assert_eq!(ask("/metrics/slis", Some("good")).status(), 200);
}

#[test]
fn who_does_not_lead_has_nobody_waiting_and_decided_nothing() {
    let metrics = ask_replica(Replica(false), "/metrics", Some("good"));
    let waiting = "scheduler_pending_pods{queue=\"active\"} 0\n";
    assert!(body(&metrics).contains(waiting), "{}", body(&metrics));
    let path = "/apis/stowplan.dev/v1/namespaces/n/decisions/p";
    assert_eq!(
        ask_replica(Replica(false), path, Some("jane")).status(),
        503
    );
}

#[test]
fn decisions_are_told_to_those_who_may_read_the_pod() {
    let path = |rest: &str| format!("/apis/stowplan.dev/v1/namespaces/n/decisions/{rest}");
    let told = ask(&path("p"), Some("jane"));
    assert_eq!(body(&told), r#"["n","p",false,false]"#);
    let told = ask(&path("p/tournament"), Some("jane"));
    assert_eq!(body(&told), r#"["n","p",true,false]"#);
    // Names of others are for those who may read these.
    let told = ask(&path("p"), Some("good"));
    assert_eq!(body(&told), r#"["n","p",false,true]"#);
    assert_eq!(ask(&path("gone"), Some("jane")).status(), 404);
    assert_eq!(ask(&path("busy/tournament"), Some("jane")).status(), 429);
    assert_eq!(ask(&path("p/other"), Some("jane")).status(), 403);
    assert_eq!(ask("/metrics", Some("jane")).status(), 403);
    let refused = ask(&path("p"), None);
    let status: serde_json::Value = serde_json::from_str(body(&refused)).unwrap();
    assert_eq!(
        status["message"],
        "pods \"p\" is forbidden: User \"system:anonymous\" cannot get resource \"pods\" in API \
         group \"\" in the namespace \"n\""
    );
}
