//! What `jobs/status` may say. Faults that were there before are left alone.

use super::indexes;
use super::policies::unshown;
use crate::common::equality::same;
use crate::common::faults::Faults;
use crate::common::{IMMUTABLE, NEGATIVE};
use serde_json::Value;
use std::collections::BTreeSet;
use stowplan_apimachinery::View;
use stowplan_apimachinery::field::{ErrorList, Path};

const STATUS: Path<'static> = Path::new("status");

fn has_condition(job: &Value, kind: &str, status: &str) -> bool {
    let conditions = job.at("status").list("conditions").iter();
    conditions
        .filter(|c| c.text("type") == kind)
        .any(|c| c.text("status") == status)
}

/// What a job says of itself.
struct Seen<'a> {
    spec: &'a Value,
    status: &'a Value,
    complete: bool,
    failed: bool,
    failure_target: bool,
    success_criteria_met: bool,
}

impl<'a> Seen<'a> {
    fn of(job: &'a Value) -> Self {
        let is_true = |kind: &str| has_condition(job, kind, "True");
        Self {
            spec: job.at("spec"),
            status: job.at("status"),
            complete: is_true("Complete"),
            failed: is_true("Failed"),
            failure_target: is_true("FailureTarget"),
            success_criteria_met: is_true("SuccessCriteriaMet"),
        }
    }

    fn finished(&self) -> bool {
        self.complete || self.failed
    }

    fn number(&self, field: &str) -> i64 {
        self.status.int(field).unwrap_or_default()
    }
}

/// What differs between two statuses.
struct Changed {
    finished: bool,
    complete: bool,
    failed: bool,
    failure_target: bool,
    success_criteria_met: bool,
    fields: BTreeSet<&'static str>,
}

impl Changed {
    fn between(new: &Seen<'_>, old: &Seen<'_>) -> Self {
        let fields = [
            "completedIndexes",
            "failedIndexes",
            "active",
            "startTime",
            "completionTime",
            "uncountedTerminatedPods",
            "ready",
            "terminating",
        ];
        let differs = |field: &&str| !same(new.status.at(field), old.status.at(field));
        Self {
            finished: new.finished() != old.finished(),
            complete: new.complete != old.complete,
            failed: new.failed != old.failed,
            failure_target: new.failure_target != old.failure_target,
            success_criteria_met: new.success_criteria_met != old.success_criteria_met,
            fields: fields.into_iter().filter(differs).collect(),
        }
    }

    fn field(&self, name: &str) -> bool {
        self.fields.contains(name)
    }
}

/// Faults of a change of status (`ValidateJobStatusUpdate`).
pub(super) fn validate(new_job: &Value, old_job: &Value, errors: &mut ErrorList) {
    let (new, old) = (Seen::of(new_job), Seen::of(old_job));
    let changed = Changed::between(&new, &old);
    validate_counts(&new, errors);
    validate_conditions(&new, &changed, errors);
    validate_finish(&new, &changed, errors);
    validate_indexes(&new, &changed, errors);
    validate_pods(&new, &changed, errors);
    validate_success(&new, errors);
    validate_progress(&new, &old, errors);
    let resuming =
        has_condition(old_job, "Suspended", "True") && has_condition(new_job, "Suspended", "False");
    let at = STATUS.child("startTime");
    let (start, before) = (new.status.at("startTime"), old.status.at("startTime"));
    let moved = changed.field("startTime") && !resuming;
    if moved && !before.is_null() && !new.spec.flag("suspend") {
        let detail = "field is immutable for unsuspended job once set";
        errors.invalid(&at, start, detail);
    }
    let conditions = STATUS.child("conditions");
    if old.success_criteria_met && !new.success_criteria_met {
        errors.push(unshown(
            &conditions,
            "cannot disable the SuccessCriteriaMet=True condition",
        ));
    }
    if old.complete && !old.success_criteria_met && new.success_criteria_met {
        errors.push(unshown(
            &conditions,
            "cannot set SuccessCriteriaMet=True for Job already has Complete=true conditions",
        ));
    }
}

fn validate_counts(new: &Seen<'_>, errors: &mut ErrorList) {
    for field in ["active", "succeeded", "failed", "ready", "terminating"] {
        if new.number(field) < 0 {
            errors.invalid(&STATUS.child(field), new.number(field), NEGATIVE);
        }
    }
    let at = STATUS.child("uncountedTerminatedPods");
    let mut taken = BTreeSet::new();
    for field in ["succeeded", "failed"] {
        let list = at.child(field);
        let pods = new.status.at("uncountedTerminatedPods").list(field);
        for (i, uid) in pods.iter().enumerate() {
            let uid = uid.as_str().unwrap_or_default();
            if uid.is_empty() {
                errors.invalid(&list.index(i), uid, "must not be empty");
            } else if !taken.insert(uid) {
                errors.duplicate(&list.index(i), uid);
            }
        }
    }
}

fn validate_conditions(new: &Seen<'_>, changed: &Changed, errors: &mut ErrorList) {
    let at = STATUS.child("conditions");
    if (changed.complete || changed.failed) && new.complete && new.failed {
        let detail = "cannot set Complete=True and Failed=true conditions";
        errors.push(unshown(&at, detail));
    }
    let target_changed = changed.complete || changed.failure_target;
    if target_changed && new.complete && new.failure_target {
        let detail = "cannot set Complete=True and FailureTarget=true conditions";
        errors.push(unshown(&at, detail));
    }
    let completed = STATUS.child("completionTime");
    let time = new.status.at("completionTime");
    if changed.complete || changed.field("completionTime") {
        if !time.is_null() && !new.complete {
            let detail = "cannot set completionTime when there is no Complete=True condition";
            errors.invalid(&completed, time, detail);
        }
        if time.is_null() && new.complete {
            errors.required(&completed, "completionTime is required for Complete jobs");
        }
    }
    let start = new.status.text("startTime");
    let times_changed = changed.field("startTime") || changed.field("completionTime");
    // Times of one form compare as texts.
    if times_changed && !start.is_empty() && !time.is_null() {
        let ended = time.as_str().unwrap_or_default();
        if ended < start {
            errors.invalid(&completed, ended, "must be equal to or after `startTime`");
        }
    }
}

fn validate_finish(new: &Seen<'_>, changed: &Changed, errors: &mut ErrorList) {
    let at = STATUS.child("conditions");
    let failed_changed = changed.failed || changed.field("failedIndexes");
    if failed_changed && new.failed && !new.failure_target {
        let detail = "cannot set Failed=True condition without the FailureTarget=true condition";
        errors.push(unshown(&at, detail));
    }
    let met_changed = changed.complete || changed.success_criteria_met;
    if met_changed && new.complete && !new.success_criteria_met {
        let detail =
            "cannot set Complete=True condition without the SuccessCriteriaMet=true condition";
        errors.push(unshown(&at, detail));
    }
    if !new.finished() {
        return;
    }
    let active = new.number("active");
    if (changed.finished || changed.field("active")) && active > 0 {
        let detail = "active>0 is invalid for finished job";
        errors.invalid(&STATUS.child("active"), active, detail);
    }
    let empty = new.spec.flag("suspend") && new.spec.int("completions") == Some(0);
    let start_changed = changed.finished || changed.field("startTime");
    if start_changed && !empty && !new.status.has("startTime") {
        let detail = "startTime is required for finished job";
        errors.required(&STATUS.child("startTime"), detail);
    }
    let uncounted = new.status.at("uncountedTerminatedPods");
    let some = ["failed", "succeeded"]
        .iter()
        .any(|field| !uncounted.list(field).is_empty());
    if (changed.finished || changed.field("uncountedTerminatedPods")) && some {
        errors.invalid(
            &STATUS.child("uncountedTerminatedPods"),
            crate::common::internal::Internal(uncounted),
            "must be empty for finished job",
        );
    }
}

fn validate_indexes(new: &Seen<'_>, changed: &Changed, errors: &mut ErrorList) {
    let completions = new.spec.int("completions");
    let (completed, failed) = (
        new.status.text("completedIndexes"),
        new.status.text("failedIndexes"),
    );
    let (completed_at, failed_at) = (
        STATUS.child("completedIndexes"),
        STATUS.child("failedIndexes"),
    );
    let has_failed = new.status.has("failedIndexes");
    let per_index = new.spec.has("backoffLimitPerIndex");
    if let Some(completions) = completions {
        if changed.field("completedIndexes")
            && let Err(fault) = indexes::count(completed, completions)
        {
            let detail = format!("error parsing completedIndexes: {fault}");
            errors.invalid(&completed_at, completed, detail);
        }
        if changed.field("failedIndexes")
            && per_index
            && has_failed
            && let Err(fault) = indexes::count(failed, completions)
        {
            let detail = format!("error parsing failedIndexes: {fault}");
            errors.invalid(&failed_at, failed, detail);
        }
    }
    let indexed = new.spec.text("completionMode") == "Indexed";
    if changed.field("completedIndexes") && !completed.is_empty() && !indexed {
        let detail = "cannot set non-empty completedIndexes when non-indexed completion mode";
        errors.invalid(&completed_at, completed, detail);
    }
    if changed.field("failedIndexes") && !per_index && has_failed {
        let detail = "cannot set non-null failedIndexes when backoffLimitPerIndex is null";
        errors.invalid(&failed_at, failed, detail);
    }
    let either = changed.field("failedIndexes") || changed.field("completedIndexes");
    if let Some(completions) = completions.filter(|_| either && has_failed)
        && let Some(index) = indexes::overlap(completed, failed, completions)
    {
        let detail = format!("failedIndexes and completedIndexes overlap at index: {index}");
        errors.invalid(&failed_at, failed, detail);
    }
}

fn validate_pods(new: &Seen<'_>, changed: &Changed, errors: &mut ErrorList) {
    let terminating = new.number("terminating");
    let terminating_changed = changed.finished || changed.field("terminating");
    if terminating_changed && terminating > 0 && new.finished() {
        let detail = "terminating>0 is invalid for finished job";
        errors.invalid(&STATUS.child("terminating"), terminating, detail);
    }
    let ready_changed = changed.field("ready") || changed.field("active");
    if let Some(ready) = new.status.int("ready").filter(|_| ready_changed)
        && ready > new.number("active")
    {
        let detail = "cannot set more ready pods than active";
        errors.invalid(&STATUS.child("ready"), ready, detail);
    }
}

fn validate_success(new: &Seen<'_>, errors: &mut ErrorList) {
    let at = STATUS.child("conditions");
    if new.success_criteria_met && new.failed {
        let detail = "cannot set SuccessCriteriaMet=True and Failed=true conditions";
        errors.push(unshown(&at, detail));
    }
    if new.success_criteria_met && new.failure_target {
        let detail = "cannot set SuccessCriteriaMet=True and FailureTarget=true conditions";
        errors.push(unshown(&at, detail));
    }
    if new.spec.has("successPolicy") && !new.success_criteria_met && new.complete {
        let detail =
            "cannot set Complete=True for Job with SuccessPolicy unless SuccessCriteriaMet=True";
        errors.push(unshown(&at, detail));
    }
}

/// What has been reached is not lost again.
fn validate_progress(new: &Seen<'_>, old: &Seen<'_>, errors: &mut ErrorList) {
    let conditions = STATUS.child("conditions");
    for (kind, before, after) in [
        ("Failed", old.failed, new.failed),
        ("Complete", old.complete, new.complete),
        ("FailureTarget", old.failure_target, new.failure_target),
    ] {
        if before && !after {
            let detail = format!("cannot disable the terminal {kind}=True condition");
            errors.push(unshown(&conditions, detail));
        }
    }
    let indexed = new.spec.text("completionMode") == "Indexed";
    let elastic = indexed && new.spec.at("completions") == new.spec.at("parallelism");
    for (field, counts) in [("failed", true), ("succeeded", !elastic)] {
        if counts && new.number(field) < old.number(field) {
            let detail = format!("cannot decrease the {field} counter");
            errors.invalid(&STATUS.child(field), new.number(field), detail);
        }
    }
    let (after, before) = (
        new.status.at("completionTime"),
        old.status.at("completionTime"),
    );
    if !after.is_null() && !before.is_null() && after != before {
        errors.invalid(&STATUS.child("completionTime"), after, IMMUTABLE);
    }
}
