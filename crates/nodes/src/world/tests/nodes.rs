//! Nodes that are registered, beat, and fail; what can be asked of them.

use super::super::*;
use super::Api;
use crate::behaviour::{EXIT_CODE, RUN_FOR};
use crate::kubelet::testing::START;
use crate::node::{FAULT, Fault, NODE};
use crate::observe::{LogsWanted, Rest, logs, node_usage, pod_usage};
use serde_json::json;

#[test]
fn a_node_is_registered_once_the_server_answers_and_again_only_if_asked() {
    for reregister in [false, true] {
        let mut api = Api::new();
        api.world.config.reregister = reregister;
        api.is_down = true;
        api.world
            .want_nodes(&crate::NodeTemplate::default().nodes());
        api.settle();
        assert!(api.world.next_job().is_none(), "not at once");
        let due = api.world.next_due().unwrap();
        assert_eq!(due, START + Duration::from_secs(1));
        api.world.advance(due);
        let job = api.world.next_job().unwrap();
        let request = api.world.prepare(&job, due).unwrap();
        assert_eq!((request.method, &*request.path), ("POST", "/api/v1/nodes"));
        assert!(request.body["spec"]["podCIDR"].is_string());
        assert_eq!(request.body["metadata"]["annotations"][NODE], "simulated");
        let mut node = request.body;
        node["metadata"]["uid"] = json!("uid");
        let node: Arc<Node> = Arc::new(serde_json::from_value(node).unwrap());
        api.world.node_seen(&node, due);
        assert_eq!(api.world.next_job(), Some(Job::Lease(0)));
        assert_eq!(api.world.next_job(), None);
        api.world.node_gone(&node);
        assert_eq!(api.world.next_job().is_some(), reregister);
    }
}

#[test]
fn a_failed_node_says_nothing_and_nothing_goes_on() {
    let mut api = Api::new();
    api.node("n1", json!({}));
    api.pod("p", json!({RUN_FOR: "30s"}));
    api.pass(10);
    api.take_writes();
    assert_eq!(
        api.world
            .set_faults(Which::Zone("z"), Some(Fault::Fail), api.now),
        1
    );
    api.pass(300);
    api.delete("p");
    api.pass(300);
    assert!(api.writes.is_empty());
    assert!(pod_usage(&api.world, api.now).is_empty());
    api.world.set_faults(Which::Node("n1"), None, api.now);
    api.settle();
    assert_eq!(api.take_writes(), ["p Succeeded", "p DELETE"]);
    // It ended when the node was back.
    let mut api = Api::new();
    api.node("n1", json!({}));
    api.pod("p", json!({RUN_FOR: "30s"}));
    api.pass(10);
    api.world
        .set_faults(Which::Node("n1"), Some(Fault::Fail), api.now);
    api.pass(290);
    api.world.set_faults(Which::Node("n1"), None, api.now);
    api.settle();
    assert_eq!(
        api.finished_at("p").as_deref(),
        Some("2027-01-15T08:05:00Z")
    );
}

#[test]
fn a_node_that_is_cut_off_goes_on_and_tells_later() {
    let mut api = Api::new();
    api.node("n1", json!({}));
    api.pod("p", json!({RUN_FOR: "30s"}));
    api.pod("q", json!({}));
    api.pass(10);
    api.take_writes();
    api.node("n1", json!({FAULT: "partition"}));
    api.delete("q");
    api.pod("r", json!({}));
    api.pass(290);
    assert!(api.writes.is_empty());
    // The annotation is gone.
    api.node("n1", json!({}));
    api.settle();
    let mut writes = api.take_writes();
    writes.sort();
    assert_eq!(writes, ["p Succeeded", "q DELETE", "q Failed", "r Pending"]);
    assert_eq!(
        api.finished_at("p").as_deref(),
        Some("2027-01-15T08:00:31Z")
    );
}

#[test]
fn each_lease_is_renewed_every_ten_seconds_and_each_status_every_five_minutes() {
    let mut api = Api::new();
    for i in 0..250 {
        api.node(&format!("n{i}"), json!({}));
    }
    api.settle();
    let (mut leases, mut statuses, mut most) = (0, 0, 0);
    let end = api.now + Duration::from_secs(600);
    while let Some(due) = api.world.next_due().filter(|due| *due <= end) {
        api.world.advance(due);
        let mut batch = 0;
        while let Some(job) = api.world.next_job() {
            let request = api.world.prepare(&job, due);
            api.world.done(&job, "", Outcome::Done(0), due);
            batch += usize::from(request.is_some());
            match job {
                Job::Lease(_) => leases += 1,
                Job::NodeStatus(_) => statuses += 1,
                other => panic!("{other:?}"),
            }
        }
        most = most.max(batch);
    }
    assert_eq!((leases, statuses), (250 * 60, 250 * 2));
    // They are spread: no more than three leases and three statuses at a time.
    assert!(most <= 6, "{most}");
}

#[test]
fn logs_follow_from_the_pod_and_the_time() {
    let mut api = Api::new();
    api.node("n1", json!({}));
    api.pod("p", json!({RUN_FOR: "100s"}));
    let read = |api: &Api, wanted: LogsWanted| {
        let log = logs(&api.world, ("n", "p"), "c", &wanted, None, api.now)?;
        let texts = log.lines.into_iter().map(|line| line.text);
        Ok::<_, String>(texts.collect::<Vec<_>>())
    };
    assert_eq!(
        read(&api, LogsWanted::default()).unwrap_err(),
        "container \"c\" in pod \"p\" is waiting to start: ContainerCreating"
    );
    api.pass(62);
    let lines = read(&api, LogsWanted::default()).unwrap();
    assert_eq!(
        lines,
        [
            "c started: image , pod p, restarts 0",
            "c is running since 30s: heartbeat 1",
            "c is running since 1m0s: heartbeat 2",
        ]
    );
    assert_eq!(read(&api, LogsWanted::default()).unwrap(), lines);
    api.pass(60);
    let wanted = LogsWanted {
        tail: Some(1),
        ..LogsWanted::default()
    };
    let last = ["c exited with code 0 at 2027-01-15T08:01:41Z"];
    assert_eq!(read(&api, wanted).unwrap(), last);
    let wanted = LogsWanted {
        since: Some(START + Duration::from_secs(90)),
        ..LogsWanted::default()
    };
    assert_eq!(read(&api, wanted).unwrap().len(), 2);
    let wanted = LogsWanted {
        previous: true,
        ..LogsWanted::default()
    };
    assert_eq!(
        read(&api, wanted).unwrap_err(),
        "previous terminated container \"c\" in pod \"p\" not found"
    );
}

#[test]
fn a_log_goes_on_where_it_was_left_until_its_run_ends() {
    let mut api = Api::new();
    api.node("n1", json!({}));
    api.pod("p", json!({RUN_FOR: "40s", EXIT_CODE: "1"}));
    api.pass(11);
    let read = |api: &Api, left: Option<&Rest>| {
        let wanted = LogsWanted::default();
        let log = logs(&api.world, ("n", "p"), "c", &wanted, left, api.now).unwrap();
        let texts = log.lines.into_iter().map(|line| line.text);
        (texts.collect::<Vec<_>>(), log.rest)
    };
    let (lines, rest) = read(&api, None);
    assert_eq!(lines, ["c started: image , pod p, restarts 0"]);
    assert_eq!(rest.unwrap().due, START + Duration::from_secs(31));
    let (lines, rest) = read(&api, rest.as_ref());
    assert_eq!(lines, [""; 0]);
    api.pass(20);
    let (lines, rest) = read(&api, rest.as_ref());
    assert_eq!(lines, ["c is running since 30s: heartbeat 1"]);
    // It ends before it would say something again.
    assert_eq!(rest.unwrap().due, START + Duration::from_secs(41));
    api.pass(30);
    let (lines, rest) = read(&api, rest.as_ref());
    assert_eq!(lines, ["c exited with code 1 at 2027-01-15T08:00:41Z"]);
    assert_eq!(rest, None, "the next run is another log");
}

#[test]
fn usage_follows_the_profile() {
    use crate::behaviour::{Rule, Rules, Usage};
    let rule = |usage| {
        Rules::new(vec![Rule {
            usage: Some(usage),
            ..Rule::default()
        }])
    };
    let sine = Usage::Sine {
        low: 0.2,
        high: 0.8,
        period: Duration::from_secs(100),
    };
    let constant = Usage::Constant {
        cpu_m: 7,
        memory: 9,
    };
    for (rules, least, most) in [
        (Rules::default(), 280, 320),
        (rule(Usage::Fraction(0.5)), 470, 530),
        (rule(sine), 180, 850),
        (rule(constant), 7, 7),
    ] {
        let mut api = Api::new();
        api.world.config.rules = rules;
        api.node("n1", json!({}));
        api.pod("p", json!({}));
        assert!(pod_usage(&api.world, api.now).is_empty());
        let mut seen = Vec::new();
        for _ in 0..20 {
            api.pass(20);
            let usage = pod_usage(&api.world, api.now);
            assert_eq!(usage, pod_usage(&api.world, api.now));
            let [one] = &usage[..] else {
                panic!("{usage:?}")
            };
            assert!((least..=most).contains(&one.cpu_m), "{one:?}");
            let nodes = node_usage(&api.world, api.now);
            assert_eq!(nodes[0].cpu_m, one.cpu_m + 100);
            seen.push(one.cpu_m);
        }
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen.len() > 1, least != most);
    }
}

#[test]
fn nodes_say_where_their_kubelet_is_served() {
    let mut api = Api::new();
    api.node("n1", json!({}));
    api.settle();
    let kubelet = "127.0.0.1:40000".parse().unwrap();
    api.world.config.kubelet = Some(kubelet);
    let id = api.world.node_id("n1").unwrap();
    let node = api.world.nodes.get(id).unwrap().object.clone();
    api.world.node_seen(&node, api.now);
    let job = Job::NodeStatus(id);
    assert_eq!(api.world.next_job(), Some(job.clone()));
    let patch = api.world.prepare(&job, api.now).unwrap().body;
    assert_eq!(
        patch["status"]["addresses"],
        json!([{"$patch": "replace"}, {"type": "InternalIP", "address": "127.0.0.1"}])
    );
    let endpoint = &patch["status"]["daemonEndpoints"]["kubeletEndpoint"];
    assert_eq!(endpoint["Port"], 40_000);
}
