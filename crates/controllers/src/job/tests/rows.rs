//! `TestControllerSyncJob`: what one look comes to.

use super::*;

mod ends;

/// Pods of each kind, and what comes of them.
#[derive(Clone, Copy, Default)]
struct Row {
    parallelism: i32,
    completions: i32,
    policy: &'static str,
    suspend: bool,
    is_deleting: bool,
    pending: usize,
    active: usize,
    ready: usize,
    succeeded: usize,
    failed: usize,
    terminating: usize,
    backoff_limit: i32,
    refuse_pods: bool,
    created: usize,
    deleted: usize,
    patched: usize,
    then_active: i32,
    then_ready: i32,
    then_succeeded: i32,
    then_failed: i32,
    then_terminating: i32,
    then: &'static [&'static str],
}

const ROW: Row = Row {
    parallelism: 2,
    completions: 5,
    policy: "TerminatingOrFailed",
    suspend: false,
    is_deleting: false,
    pending: 0,
    active: 0,
    ready: 0,
    succeeded: 0,
    failed: 0,
    terminating: 0,
    backoff_limit: 6,
    refuse_pods: false,
    created: 0,
    deleted: 0,
    patched: 0,
    then_active: 0,
    then_ready: 0,
    then_succeeded: 0,
    then_failed: 0,
    then_terminating: 0,
    then: &[],
};

fn pods_of(row: &Row) -> Vec<Value> {
    let mut pods = Vec::new();
    let mut add = |count: usize, what: &str, make: &dyn Fn(Value, usize) -> Value, phase: &str| {
        for n in 0..count {
            let made = make(pod(&format!("{what}-{n}"), phase), n);
            pods.push(made);
        }
    };
    let long_ago = "2026-03-01T11:00:00Z";
    add(row.pending, "pending", &|pod, _| pod, "Pending");
    let is_ready = |pod: Value, n: usize| if n < row.ready { ready(pod) } else { pod };
    add(row.active, "active", &is_ready, "Running");
    add(
        row.succeeded,
        "succeeded",
        &|pod, _| exited(pod, 0, long_ago),
        "Succeeded",
    );
    add(
        row.failed,
        "failed",
        &|pod, _| exited(pod, 1, long_ago),
        "Failed",
    );
    add(
        row.terminating,
        "terminating",
        &|pod, _| deleted(pod),
        "Running",
    );
    pods
}

fn check(what: &str, row: Row) {
    let mut given = job(json!({
        "parallelism": row.parallelism,
        "completions": (row.completions >= 0).then_some(row.completions),
        "podReplacementPolicy": row.policy,
        "suspend": row.suspend,
        "backoffLimit": row.backoff_limit,
    }));
    if row.is_deleting {
        given["metadata"]["deletionTimestamp"] = json!("2026-03-01T12:00:00Z");
        given["metadata"]["finalizers"] = json!(["foregroundDeletion"]);
    }
    let mut world = world(given, pods_of(&row));
    world.now = at("2026-03-01T12:30:00Z");
    if row.refuse_pods {
        world.refuse(|write| (write.kind.name == "Pod").then(|| refused(500)));
    }
    sync(&mut world);
    assert_eq!(
        count(&world, Method::Post, "/pods"),
        row.created,
        "created: {what}"
    );
    assert_eq!(
        count(&world, Method::Delete, "/pods"),
        row.deleted,
        "deleted: {what}"
    );
    assert_eq!(
        count(&world, Method::Patch, "/pods"),
        row.patched,
        "patched: {what}"
    );
    let status = status(&world);
    let number = |count: Option<i32>| count.unwrap_or(0);
    assert_eq!(number(status.active), row.then_active, "active: {what}");
    assert_eq!(number(status.ready), row.then_ready, "ready: {what}");
    assert_eq!(
        number(status.succeeded),
        row.then_succeeded,
        "succeeded: {what}"
    );
    assert_eq!(number(status.failed), row.then_failed, "failed: {what}");
    assert_eq!(
        number(status.terminating),
        row.then_terminating,
        "terminating: {what}"
    );
    assert_eq!(conditions(&world), row.then, "conditions: {what}");
    assert_eq!(
        status.start_time.is_some(),
        !row.suspend,
        "startTime: {what}"
    );
    assert_eq!(world.errors.is_empty(), !row.refuse_pods, "errors: {what}");
}

/// Without a number of completions: a work queue.
const QUEUE: Row = Row {
    completions: -1,
    ..ROW
};

#[test]
fn pods_are_made() {
    check(
        "a new Job",
        Row {
            created: 2,
            then_active: 2,
            ..ROW
        },
    );
    check(
        "a new queue",
        Row {
            created: 2,
            then_active: 2,
            ..QUEUE
        },
    );
    check(
        "pods that wait",
        Row {
            pending: 2,
            then_active: 2,
            ..ROW
        },
    );
    check(
        "as many as there should be",
        Row {
            parallelism: 3,
            active: 3,
            ready: 2,
            then_active: 3,
            then_ready: 2,
            ..ROW
        },
    );
    check(
        "a queue with as many",
        Row {
            active: 2,
            then_active: 2,
            ..QUEUE
        },
    );
    check(
        "too few",
        Row {
            active: 1,
            succeeded: 1,
            created: 1,
            patched: 1,
            then_active: 2,
            then_succeeded: 1,
            ..ROW
        },
    );
    check(
        "too few of a queue",
        Row {
            active: 1,
            created: 1,
            then_active: 2,
            ..QUEUE
        },
    );
    check(
        "none, none wanted",
        Row {
            parallelism: 0,
            completions: 0,
            then: &["SuccessCriteriaMet", "Complete"],
            ..ROW
        },
    );
    check(
        "a queue of none",
        Row {
            parallelism: 0,
            ..QUEUE
        },
    );
    check(
        "more than 500",
        Row {
            parallelism: 600,
            completions: 600,
            created: 500,
            then_active: 500,
            ..ROW
        },
    );
}

#[test]
fn pods_are_replaced() {
    check(
        "a new failure",
        Row {
            active: 1,
            failed: 1,
            created: 1,
            patched: 1,
            then_active: 2,
            then_failed: 1,
            ..ROW
        },
    );
    check(
        "a failure and a success",
        Row {
            active: 1,
            succeeded: 1,
            failed: 1,
            created: 1,
            patched: 2,
            then_active: 2,
            then_succeeded: 1,
            then_failed: 1,
            ..ROW
        },
    );
    let one = Row {
        parallelism: 1,
        ..ROW
    };
    check(
        "when they are over",
        Row {
            policy: "Failed",
            active: 1,
            failed: 1,
            terminating: 1,
            patched: 1,
            then_active: 1,
            then_failed: 1,
            then_terminating: 1,
            ..one
        },
    );
    check(
        "when they are over, and not before",
        Row {
            policy: "Failed",
            terminating: 1,
            then_terminating: 1,
            ..one
        },
    );
    check(
        "as soon as they are deleted",
        Row {
            active: 1,
            failed: 1,
            terminating: 1,
            patched: 2,
            then_active: 1,
            then_failed: 2,
            then_terminating: 1,
            ..one
        },
    );
    check(
        "before they are over",
        Row {
            terminating: 1,
            created: 1,
            patched: 1,
            then_active: 1,
            then_failed: 1,
            then_terminating: 1,
            ..Row {
                parallelism: 1,
                completions: -1,
                ..one
            }
        },
    );
}

#[test]
fn pods_are_deleted() {
    check(
        "too many",
        Row {
            active: 3,
            deleted: 1,
            patched: 1,
            then_active: 2,
            then_terminating: 1,
            ..ROW
        },
    );
    check(
        "far too many",
        Row {
            active: 10,
            deleted: 8,
            patched: 8,
            then_active: 2,
            then_terminating: 8,
            ..ROW
        },
    );
    check(
        "too many, ready",
        Row {
            active: 3,
            ready: 3,
            deleted: 1,
            patched: 1,
            then_active: 2,
            then_ready: 2,
            then_terminating: 1,
            ..ROW
        },
    );
    check(
        "more than are left to do",
        Row {
            parallelism: 3,
            completions: 4,
            active: 3,
            succeeded: 2,
            deleted: 1,
            patched: 3,
            then_active: 2,
            then_succeeded: 2,
            then_terminating: 1,
            ..ROW
        },
    );
    check(
        "too many while others terminate",
        Row {
            parallelism: 1,
            completions: 1,
            policy: "Failed",
            active: 2,
            terminating: 4,
            deleted: 1,
            patched: 1,
            then_active: 1,
            then_terminating: 5,
            ..ROW
        },
    );
    check(
        "those that are not ready first",
        Row {
            active: 3,
            ready: 2,
            deleted: 1,
            patched: 1,
            then_active: 2,
            then_ready: 2,
            then_terminating: 1,
            ..ROW
        },
    );
}

#[test]
fn pods_that_cannot_be_written() {
    check(
        "made",
        Row {
            active: 1,
            created: 1,
            then_active: 1,
            refuse_pods: true,
            ..ROW
        },
    );
    check(
        "made, many",
        Row {
            parallelism: 7,
            completions: 7,
            created: 1,
            refuse_pods: true,
            ..ROW
        },
    );
    check(
        "deleted",
        Row {
            active: 3,
            patched: 1,
            then_active: 3,
            refuse_pods: true,
            ..ROW
        },
    );
    check(
        "counted",
        Row {
            active: 2,
            succeeded: 1,
            patched: 1,
            then_active: 2,
            refuse_pods: true,
            ..ROW
        },
    );
}
