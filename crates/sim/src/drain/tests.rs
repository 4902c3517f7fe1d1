use super::*;
use crate::Source;
use stowplan_config::KubeSchedulerConfiguration;
use stowplan_manifest::Input;

/// Three nodes with room for two pods each.
const NODES: &str = "
{apiVersion: v1, kind: Node, metadata: {name: n1}, status: {allocatable: {cpu: 2, pods: 10}}}
---
{apiVersion: v1, kind: Node, metadata: {name: n2}, status: {allocatable: {cpu: 2, pods: 10}}}
---
{apiVersion: v1, kind: Node, metadata: {name: n3}, status: {allocatable: {cpu: 2, pods: 10}}}
---
";

/// A pod that takes half a node.
fn pod(name: &str, node: &str, owner: &str, more: &str) -> String {
    let owner = match owner.split_once('/') {
        Some((kind, owner)) => format!(
            ", ownerReferences: [{{apiVersion: apps/v1, kind: {kind}, name: {owner}, uid: '', controller: true}}]"
        ),
        None => String::new(),
    };
    format!(
        "{{apiVersion: v1, kind: Pod, metadata: {{name: {name}, labels: {{app: web}}{owner}}}, \
         spec: {{nodeName: {node}, containers: [{{name: c, image: i, resources: {{requests: {{cpu: 1}}}}}}]{more}}}}}\n---\n"
    )
}

fn budget(spec: &str) -> String {
    format!(
        "{{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {{name: b}}, \
         spec: {{{spec}, selector: {{matchLabels: {{app: web}}}}}}}}\n---\n"
    )
}

fn options(nodes: &[&str]) -> Options {
    Options {
        nodes: nodes.iter().map(|name| (*name).to_owned()).collect(),
        allowed: Allowed::default(),
        grace_period: None,
        disable_eviction: false,
        startup: Duration::from_secs(20),
        seed: 0,
    }
}

fn run(text: &str, options: &Options) -> DrainReport {
    let mut input = Input::default();
    input.read_text("test", text.to_owned());
    let config = KubeSchedulerConfiguration::from_profiles(Vec::new()).unwrap();
    let (source, _) = Source::new(input, config, "config".into()).unwrap();
    let asked = Asked {
        is_meant: &|_| true,
        daemon_set: &|_, name| match name {
            "gone" => Err(NotThere::missing(name)),
            _ => Ok(()),
        },
    };
    dry_run(&mut source.into_simulation().unwrap(), options, &asked).unwrap()
}

/// One line per pod: name, fate, where to, when it is evicted, gone and replaced, and why it waits.
fn lines(report: &DrainReport) -> Vec<String> {
    let shown = |time: Option<Duration>| time.map_or("-".to_owned(), |time| time.to_string());
    let line = |pod: &DrainedPod| {
        let wait = pod.waits.as_ref().map_or(String::new(), |wait| {
            format!(" [{}: {} {}]", wait.budget, shown(wait.span), wait.reason)
        });
        let times = [pod.evicted_after, pod.gone_after, pod.ready_after].map(shown);
        format!(
            "{} {:?} {} {}{wait}",
            pod.name,
            pod.fate,
            pod.to.as_deref().unwrap_or("-"),
            times.join(" ")
        )
    };
    report.pods.iter().map(line).collect()
}

#[test]
fn all_pods_go_at_once_and_sets_replace_them_at_once() {
    let text = [
        NODES.to_owned(),
        pod(
            "a",
            "n1",
            "ReplicaSet/web",
            ", terminationGracePeriodSeconds: 10",
        ),
        pod("b", "n1", "ReplicaSet/web", ""),
        pod("c", "n2", "ReplicaSet/web", ""),
    ];
    let report = run(&text.concat(), &options(&["n1"]));
    assert_eq!(
        lines(&report),
        ["a Moves n3 0s 10s 20s", "b Moves n2 0s 30s 20s"]
    );
    assert_eq!(report.takes, Some(Duration::from_secs(30)));
    assert!(report.is_fine());
}

#[test]
fn a_stateful_set_waits_for_the_end_of_its_pod() {
    let text = NODES.to_owned() + &pod("db-0", "n1", "StatefulSet/db", "");
    let report = run(&text, &options(&["n1"]));
    assert_eq!(report.pods[0].gone_after, Some(Duration::from_secs(30)));
    assert_eq!(report.pods[0].ready_after, Some(Duration::from_secs(50)));
}

#[test]
fn a_budget_lets_pods_go_one_by_one() {
    let text = [
        NODES.to_owned(),
        budget("minAvailable: 2"),
        pod("a", "n1", "ReplicaSet/web", ""),
        pod("b", "n1", "ReplicaSet/web", ""),
        pod("c", "n2", "ReplicaSet/web", ""),
    ];
    // The replacement of a is ready after 20 seconds; b is tried every five.
    let report = run(&text.concat(), &options(&["n1"]));
    assert_eq!(
        lines(&report),
        [
            "a Moves n3 0s 30s 20s",
            "b Moves n2 20s 50s 40s [default/b: 20s minAvailable 2, 2 of 3 healthy]",
        ]
    );
    assert_eq!(report.takes, Some(Duration::from_secs(50)));
    // A retry that comes just too early costs five seconds more.
    let mut later = options(&["n1"]);
    later.startup = Duration::from_secs(21);
    let report = run(&text.concat(), &later);
    assert_eq!(report.pods[1].evicted_after, Some(Duration::from_secs(25)));
}

#[test]
fn a_budget_that_can_never_allow_blocks_for_ever() {
    let text = [
        NODES.to_owned(),
        budget("minAvailable: 2"),
        pod("a", "n1", "ReplicaSet/web", ""),
        pod("b", "n2", "ReplicaSet/web", ""),
    ];
    let report = run(&text.concat(), &options(&["n1", "n2"]));
    assert_eq!(
        lines(&report),
        [
            "a Blocked - - - - [default/b: - minAvailable 2, 2 of 2 healthy]",
            "b NotReached - - - -",
        ]
    );
    assert_eq!(report.blocking_budgets, ["default/b"]);
    assert_eq!(report.takes, None);
    let mut deletes = options(&["n1"]);
    deletes.disable_eviction = true;
    assert!(run(&text.concat(), &deletes).is_fine());
}

#[test]
fn a_budget_waits_for_ever_for_a_replacement_without_a_place() {
    // Both other nodes are full: the replacement of a never comes, and b never goes.
    let text = [
        NODES.to_owned(),
        budget("minAvailable: 5"),
        pod("a", "n1", "ReplicaSet/web", ""),
        pod("b", "n1", "ReplicaSet/web", ""),
        pod("c", "n2", "ReplicaSet/web", ""),
        pod("d", "n2", "ReplicaSet/web", ""),
        pod("e", "n3", "ReplicaSet/web", ""),
        pod("f", "n3", "ReplicaSet/web", ""),
    ];
    let report = run(&text.concat(), &options(&["n1"]));
    assert_eq!(
        lines(&report),
        [
            "a Pending - 0s 30s -",
            "b Blocked - - - - [default/b: - minAvailable 5, 5 of 6 healthy]",
        ]
    );
    assert_eq!(
        report.pods[0].message,
        "0/3 nodes are available: 1 node(s) were unschedulable, 2 Insufficient cpu. no new claims to \
         deallocate, preemption: 0/3 nodes are available: 1 Preemption is not helpful for scheduling, \
         2 No preemption victims found for incoming pod."
    );
}

#[test]
fn unhealthy_pods_go_by_the_policy_of_their_budget() {
    let unready = ", status: {phase: Running, conditions: [{type: Ready, status: 'False'}]}}";
    let sick = pod("sick", "n1", "ReplicaSet/web", "");
    let sick = sick.replace("}\n---", &format!("{unready}\n---"));
    let well = pod("well", "n2", "ReplicaSet/web", "");
    let check = |spec: &str, expected: &str| {
        let text = [NODES, &budget(spec), &sick, &well].concat();
        assert_eq!(lines(&run(&text, &options(&["n1"])))[0], expected, "{spec}");
    };
    check("minAvailable: 1", "sick Moves n3 0s 30s 20s");
    check(
        "minAvailable: 2",
        "sick Blocked - - - - [default/b: - minAvailable 2, 1 of 2 healthy; the pod is not ready itself, \
         and unhealthyPodEvictionPolicy is IfHealthyBudget]",
    );
    check(
        "minAvailable: 2, unhealthyPodEvictionPolicy: AlwaysAllow",
        "sick Moves n3 0s 30s 20s",
    );
}

#[test]
fn two_budgets_for_one_pod_fail_its_eviction() {
    let second = budget("minAvailable: 0").replace("name: b", "name: b2");
    let text = [
        NODES.to_owned(),
        budget("minAvailable: 0"),
        second,
        pod("a", "n1", "ReplicaSet/web", ""),
    ];
    let report = run(&text.concat(), &options(&["n1"]));
    assert_eq!(report.pods[0].fate, Fate::Failed);
    assert!(!report.is_fine());
}

#[test]
fn nodes_are_drained_one_after_the_other_and_all_are_cordoned_first() {
    let text = [
        NODES.to_owned(),
        pod("a", "n1", "ReplicaSet/web", ""),
        pod("b", "n2", "ReplicaSet/web", ""),
    ];
    let report = run(&text.concat(), &options(&["n1", "n2"]));
    assert_eq!(
        lines(&report),
        ["a Moves n3 0s 30s 20s", "b Moves n3 30s 1m0s 50s"]
    );
}

#[test]
fn pods_are_told_as_kubectl_tells_them() {
    let mirror = pod("mirror", "n1", "Node/n1", "").replace(
        "labels: {app: web}",
        "labels: {app: web}, annotations: {kubernetes.io/config.mirror: x}",
    );
    let local = pod(
        "local",
        "n1",
        "ReplicaSet/web",
        ", volumes: [{name: v, emptyDir: {}}]",
    );
    let agent = pod("agent", "n1", "DaemonSet/agent", "").replace("cpu: 1", "cpu: 100m");
    let orphan = pod("orphan", "n1", "DaemonSet/gone", "").replace("cpu: 1", "cpu: 100m");
    let alone = pod("alone", "n1", "", "");
    let text = [NODES, &agent, &alone, &local, &mirror, &orphan].concat();
    let report = run(&text, &options(&["n1"]));
    assert_eq!(
        report.errors,
        [
            "cannot delete DaemonSet-managed Pods (use --ignore-daemonsets to ignore): default/agent",
            "cannot delete Pods that declare no controller (use --force to override): default/alone",
            "cannot delete Pods with local storage (use --delete-emptydir-data to override): \
             default/local",
            "cannot delete daemonsets.apps \"gone\" not found: default/orphan",
        ]
    );
    assert!(report.warnings.is_empty());
    let fates =
        |report: &DrainReport| -> Vec<Fate> { report.pods.iter().map(|p| p.fate).collect() };
    use Fate::{Lost, Moves, Refused, Skipped};
    assert_eq!(
        fates(&report),
        [Refused, Refused, Refused, Skipped, Refused]
    );
    let mut all = options(&["n1"]);
    all.allowed = Allowed {
        force: true,
        ignore_daemonsets: true,
        delete_emptydir_data: true,
    };
    let report = run(&text, &all);
    assert!(report.errors.is_empty());
    // As kubectl, nothing is said of local storage if the pod has a controller.
    assert_eq!(
        report.warnings,
        [
            "ignoring DaemonSet-managed Pods: default/agent",
            "deleting Pods that declare no controller: default/alone",
        ]
    );
    assert_eq!(fates(&report), [Skipped, Lost, Moves, Skipped, Lost]);
}

#[test]
fn finished_pods_are_removed_whatever_they_are() {
    let done = pod("done", "n1", "", ", volumes: [{name: v, emptyDir: {}}]");
    let done = done.replace("}\n---", ", status: {phase: Succeeded}}\n---");
    let report = run(&(NODES.to_owned() + &done), &options(&["n1"]));
    assert_eq!(lines(&report), ["done Removed - 0s 0s -"]);
    assert!(report.is_fine());
}

#[test]
fn a_volume_pins_its_pod_to_a_zone() {
    let zoned = NODES
        .replace(
            "name: n1}",
            "name: n1, labels: {topology.kubernetes.io/zone: a}}",
        )
        .replace(
            "name: n2}",
            "name: n2, labels: {topology.kubernetes.io/zone: b}}",
        )
        .replace(
            "name: n3}",
            "name: n3, labels: {topology.kubernetes.io/zone: a}}",
        );
    let volume = "
{apiVersion: v1, kind: PersistentVolume, metadata: {name: disk}, spec: {capacity: {storage: 1Gi}, accessModes: [ReadWriteOnce], csi: {driver: d, volumeHandle: h}, claimRef: {namespace: default, name: data-db-0}, nodeAffinity: {required: {nodeSelectorTerms: [{matchExpressions: [{key: topology.kubernetes.io/zone, operator: In, values: [a]}]}]}}}}
---
{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: data-db-0}, spec: {volumeName: disk, accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}
---
";
    let claim = ", volumes: [{name: d, persistentVolumeClaim: {claimName: data-db-0}}]";
    let text = [
        zoned.as_str(),
        volume,
        &pod("db-0", "n1", "StatefulSet/db", claim),
    ]
    .concat();
    assert_eq!(
        run(&text, &options(&["n1"])).pods[0].to.as_deref(),
        Some("n3")
    );
    let report = run(&text, &options(&["n1", "n3"]));
    assert_eq!(report.pods[0].fate, Fate::Pending);
    assert!(
        report.pods[0]
            .message
            .contains("1 node(s) didn't match PersistentVolume's node affinity"),
        "{}",
        report.pods[0].message
    );
}

#[test]
fn a_replacement_is_made_by_the_template_of_its_owner() {
    // The set was changed after its pod was made: new pods take a whole node.
    let set = "
{apiVersion: apps/v1, kind: ReplicaSet, metadata: {name: web}, spec: {replicas: 2, selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}}, spec: {containers: [{name: c, image: i, resources: {requests: {cpu: 2}}}]}}}}
---
";
    let text = [
        NODES,
        set,
        &pod("a", "n1", "ReplicaSet/web", ""),
        &pod("b", "n2", "ReplicaSet/web", ""),
    ]
    .concat();
    assert_eq!(
        lines(&run(&text, &options(&["n1"]))),
        ["a Moves n3 0s 30s 20s"]
    );
}

#[test]
fn important_pods_preempt_others_and_those_are_told() {
    let text = [
        NODES,
        "{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: high}, value: 100}\n---\n",
        &pod("a", "n1", "ReplicaSet/web", ", priorityClassName: high"),
        &pod("c", "n2", "ReplicaSet/batch", ""),
        &pod("d", "n2", "ReplicaSet/batch", ""),
        &pod("e", "n3", "ReplicaSet/batch", ""),
        &pod("f", "n3", "ReplicaSet/batch", ""),
    ]
    .concat();
    let report = run(&text, &options(&["n1"]));
    assert_eq!(report.pods[0].fate, Fate::Moves);
    let [victim] = report.preempted.as_slice() else {
        panic!("{:?}", report.preempted)
    };
    assert_eq!(victim.by, "default/a");
    assert_eq!(victim.to, None);
    assert!(
        victim
            .pending
            .as_deref()
            .unwrap()
            .contains("Insufficient cpu")
    );
    assert!(!report.is_fine());
}

#[test]
fn a_node_that_is_not_there_is_an_error() {
    let mut input = Input::default();
    input.read_text("test", NODES.to_owned());
    let config = KubeSchedulerConfiguration::from_profiles(Vec::new()).unwrap();
    let (source, _) = Source::new(input, config, "config".into()).unwrap();
    let asked = Asked {
        is_meant: &|_| true,
        daemon_set: &|_, _| Ok(()),
    };
    let wrong = dry_run(
        &mut source.into_simulation().unwrap(),
        &options(&["n9"]),
        &asked,
    );
    assert_eq!(wrong.unwrap_err(), "nodes \"n9\" not found");
}
