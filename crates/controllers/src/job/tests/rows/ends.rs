//! Jobs at their end, deleted or suspended.

use super::*;

const COMPLETE: &[&str] = &["SuccessCriteriaMet", "Complete"];
const FAILED: &[&str] = &["FailureTarget", "Failed"];

#[test]
fn a_job_ends() {
    check(
        "all succeeded",
        Row {
            succeeded: 5,
            patched: 5,
            then_succeeded: 5,
            then: COMPLETE,
            ..ROW
        },
    );
    check(
        "more than all",
        Row {
            succeeded: 6,
            patched: 6,
            then_succeeded: 6,
            then: COMPLETE,
            ..ROW
        },
    );
    check(
        "a queue is almost done",
        Row {
            active: 1,
            succeeded: 1,
            patched: 1,
            then_active: 1,
            then_succeeded: 1,
            ..QUEUE
        },
    );
    check(
        "a queue is done",
        Row {
            succeeded: 2,
            patched: 2,
            then_succeeded: 2,
            then: COMPLETE,
            ..QUEUE
        },
    );
    check(
        "a queue is done, with a failure",
        Row {
            succeeded: 1,
            failed: 1,
            patched: 2,
            then_succeeded: 1,
            then_failed: 1,
            then: COMPLETE,
            ..QUEUE
        },
    );
    check(
        "done, but a pod terminates",
        Row {
            succeeded: 5,
            terminating: 1,
            patched: 6,
            then_succeeded: 5,
            then_failed: 1,
            then_terminating: 1,
            then: &["SuccessCriteriaMet"],
            ..ROW
        },
    );
    check(
        "too many failures",
        Row {
            backoff_limit: 0,
            failed: 1,
            patched: 1,
            then_failed: 1,
            then: FAILED,
            ..ROW
        },
    );
    check(
        "too many failures, another runs",
        Row {
            backoff_limit: 0,
            active: 1,
            failed: 1,
            deleted: 1,
            patched: 2,
            then_failed: 2,
            then_terminating: 1,
            then: &["FailureTarget"],
            ..ROW
        },
    );
    check(
        "as many failures as allowed",
        Row {
            backoff_limit: 1,
            failed: 1,
            created: 2,
            patched: 1,
            then_active: 2,
            then_failed: 1,
            ..ROW
        },
    );
}

#[test]
fn a_job_that_is_deleted_makes_nothing() {
    check(
        "nothing there",
        Row {
            is_deleting: true,
            ..ROW
        },
    );
    check(
        "pods are let go",
        Row {
            is_deleting: true,
            active: 1,
            succeeded: 1,
            failed: 1,
            patched: 3,
            then_active: 1,
            then_succeeded: 1,
            then_failed: 1,
            ..ROW
        },
    );
}

#[test]
fn a_job_that_is_suspended() {
    check(
        "nothing there",
        Row {
            suspend: true,
            then: &["Suspended"],
            ..ROW
        },
    );
    check(
        "active pods go, uncounted",
        Row {
            suspend: true,
            active: 2,
            deleted: 2,
            patched: 2,
            then_terminating: 2,
            then: &["Suspended"],
            ..ROW
        },
    );
    check(
        "what succeeded counts",
        Row {
            suspend: true,
            active: 1,
            succeeded: 1,
            deleted: 1,
            patched: 2,
            then_succeeded: 1,
            then_terminating: 1,
            then: &["Suspended"],
            ..ROW
        },
    );
    check(
        "it is done all the same",
        Row {
            suspend: true,
            succeeded: 5,
            patched: 5,
            then_succeeded: 5,
            then: COMPLETE,
            ..ROW
        },
    );
}
