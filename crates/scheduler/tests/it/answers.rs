//! What becomes of a pod whose binding is answered with something else than yes.

use crate::cluster::{Cluster, asks, condition, node_of};
use crate::proxy::{Instead, proxied};
use crate::status::event;
use serde_json::json;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use stowplan_api::k8s::api::core::v1::Pod;

/// Who failed is not tried again within a test.
const NO_SECOND_CHANCE: &str = "podInitialBackoffSeconds: 3600\npodMaxBackoffSeconds: 3600";

const WHY: &str = "running Bind plugin \"DefaultBinder\": as planned";

/// The first bindings are answered so, the others by the server.
struct Case {
    instead: Instead,
    times: usize,
    /// How often the binding is sent.
    sent: usize,
    bound: bool,
}

fn case(code: u16, retry_after: Option<&'static str>, times: usize) -> Case {
    Case {
        instead: Instead {
            code,
            retry_after,
            arrives: false,
        },
        times,
        sent: times,
        bound: false,
    }
}

impl Case {
    /// The last answer is the server's.
    fn then_bound(self) -> Self {
        Self {
            sent: self.times + 1,
            bound: true,
            ..self
        }
    }

    /// The pod is bound, whatever the answer says.
    fn bound_all_the_same(mut self) -> Self {
        self.instead.arrives = true;
        self.bound = true;
        self
    }

    fn sent(self, sent: usize) -> Self {
        Self { sent, ..self }
    }

    async fn run(self) {
        let Self { instead, times, .. } = self;
        let cluster = Cluster::new().await;
        cluster.plain_node("a").await;
        let seen = Arc::new(AtomicUsize::new(0));
        let plan = move |asked: &str| {
            let is_binding = asked.contains("/pods/p/binding");
            (is_binding && seen.fetch_add(1, Ordering::Relaxed) < times).then_some(instead)
        };
        let (client, asked) = proxied(cluster.scheduler_client(), plan);
        let _scheduler = cluster.scheduler_with(client, NO_SECOND_CHANCE).await;
        cluster.pod("p", json!({"containers": asks("4")})).await;
        match self.bound {
            true => {
                let told = event(&cluster, "Scheduled").await;
                assert_eq!(told["note"], "Successfully assigned n/p to a");
                let pod = cluster.all::<Pod>().get("p").await.unwrap();
                assert_eq!(node_of(&pod), Some("a"), "{instead:?}");
                let scheduled = condition(&pod, "PodScheduled").expect("the server's");
                assert_eq!(scheduled["status"], "True", "{instead:?}");
            }
            false => {
                assert_eq!(cluster.unschedulable("p").await, WHY, "{instead:?}");
                let pod = cluster.all::<Pod>().get("p").await.unwrap();
                let scheduled = condition(&pod, "PodScheduled").unwrap();
                assert_eq!(scheduled["status"], "False");
                assert_eq!(scheduled["reason"], "SchedulerError");
                let told = event(&cluster, "FailedScheduling").await;
                assert_eq!(told["note"], WHY);
                // Its room is free again.
                cluster.pod("q", json!({"containers": asks("4")})).await;
                assert_eq!(cluster.bound("q").await, "a", "{instead:?}");
            }
        }
        assert_eq!(asked.count(&["/pods/p/binding"]), self.sent, "{instead:?}");
    }
}

#[tokio::test]
async fn a_binding_that_is_refused_sends_the_pod_back() {
    case(404, None, 1).run().await;
    case(409, None, 1).run().await;
    case(403, Some("0"), 1).run().await;
}

#[tokio::test]
async fn a_binding_that_had_its_effect_counts_whatever_the_answer() {
    case(409, None, 1).bound_all_the_same().run().await;
    for code in [500, 503, 504] {
        case(code, None, 1).bound_all_the_same().run().await;
    }
}

#[tokio::test]
async fn a_server_that_says_when_to_ask_again_is_asked_again() {
    for code in [429, 500, 503] {
        case(code, Some("0"), 2).then_bound().run().await;
    }
    // As often as client-go does.
    case(429, Some("0"), 10).then_bound().run().await;
    case(503, Some("0"), usize::MAX).sent(11).run().await;
}

#[tokio::test]
async fn a_server_that_does_not_say_when_is_not_asked_again() {
    for code in [429, 500, 503] {
        case(code, None, 1).run().await;
    }
}

#[tokio::test]
async fn a_pod_stays_assumed_until_it_is_known_whether_it_is_bound() {
    let cluster = Cluster::new().await;
    cluster.plain_node("a").await;
    let silent = Arc::new(AtomicBool::new(true));
    let mute = silent.clone();
    let plan = move |asked: &str| {
        let is_about = asked.starts_with("GET") && asked.ends_with("/pods/p");
        let is_asked = is_about && mute.load(Ordering::Relaxed);
        (is_asked || asked.contains("/pods/p/binding")).then_some(Instead {
            code: 500,
            retry_after: None,
            arrives: false,
        })
    };
    let (client, asked) = proxied(cluster.scheduler_client(), plan);
    let _scheduler = cluster.scheduler_with(client, NO_SECOND_CHANCE).await;
    cluster.pod("p", json!({"containers": asks("4")})).await;
    while asked.count(&["GET", "/pods/p"]) == 0 {
        tokio::task::yield_now().await;
    }
    cluster.pod("q", json!({"containers": asks("4")})).await;
    let why = cluster.unschedulable("q").await;
    assert!(why.contains("1 Insufficient cpu"), "{why}");
    let pod = cluster.all::<Pod>().get("p").await.unwrap();
    assert!(condition(&pod, "PodScheduled").is_none());
    silent.store(false, Ordering::Relaxed);
    assert_eq!(cluster.unschedulable("p").await, WHY);
    assert_eq!(asked.count(&["/pods/p/binding"]), 1);
}
