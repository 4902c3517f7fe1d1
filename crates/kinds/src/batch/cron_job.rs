//! CronJobs.

use super::{job, spec, time_zone};
use crate::common::NEGATIVE;
use crate::common::faults::Faults;
use crate::common::labels;
use crate::common::status::{StatusStrategy, nothing_else};
use crate::common::{generation, kube_metadata, name_rules};
use crate::pod::Options;
use crate::workloads::{
    Workload, nothing_added, nothing_changed, nothing_new, path_mut, pod_name_warning, spec_changed,
};
use serde_json::{Value, json};
use stowplan_apimachinery::field::{ErrorList, Path, Raw};
use stowplan_apimachinery::{Edit, View, meta};
use stowplan_cron::Schedule;

const SPEC: Path<'static> = Path::new("spec");
const TEMPLATE: &[&str] = &["spec", "jobTemplate", "spec", "template"];

/// Jobs are named after it, with a time of eleven characters behind.
const NAME_BYTES_MAX: usize = 52;

/// How cron jobs behave.
pub(crate) static CRON_JOB: Workload = Workload {
    template: TEMPLATE,
    set_defaults,
    empty_status: || json!({}),
    prepare_for_create: nothing_new,
    prepare_for_update: nothing_changed,
    changed: spec_changed,
    validate: |object| {
        let mut errors = kube_metadata::validate(object, true, &name_rules::dns_subdomain);
        validate_spec(object.at("spec"), None, &Options::default(), &mut errors);
        let name = meta::name(object);
        if name.len() > NAME_BYTES_MAX {
            let metadata = Path::new("metadata");
            let detail = format!("must be no more than {NAME_BYTES_MAX} characters");
            errors.invalid(&metadata.child("name"), name, detail);
        }
        errors
    },
    validate_update: |new, old| {
        let mut errors = kube_metadata::validate_update(new, old);
        let options = Options::for_template(old.path(TEMPLATE));
        validate_spec(new.at("spec"), Some(old.at("spec")), &options, &mut errors);
        errors
    },
    warnings,
    name_rule: name_rules::dns_subdomain,
    status: Some(&CRON_JOB_STATUS),
    orphans_by_default: false,
    returns_deleted_object: false,
    read_back: nothing_added,
};

static CRON_JOB_STATUS: StatusStrategy = StatusStrategy {
    whole: &CRON_JOB,
    kept_metadata: &[],
    also: nothing_else,
    reset_fields: &[&["spec"]],
    validate_update: |_, _| ErrorList::new(),
};

fn set_defaults(object: &mut Value) {
    let spec = object.at_mut("spec");
    if spec.text("concurrencyPolicy").is_empty() {
        spec.set("concurrencyPolicy", "Allow");
    }
    spec.default_to("suspend", false);
    spec.default_to("successfulJobsHistoryLimit", 3);
    spec.default_to("failedJobsHistoryLimit", 1);
    job::set_template_defaults(path_mut(spec, &["jobTemplate", "spec"]));
}

fn warnings(new: &Value, old: Option<&Value>) -> Vec<String> {
    let template = SPEC.child("jobTemplate");
    let at = template.child("spec");
    let of_spec = || job::spec_warnings(new.path(&["spec", "jobTemplate", "spec"]), &at);
    let Some(old) = old else {
        return pod_name_warning(new).chain(of_spec()).collect();
    };
    let mut out = match generation::raised(new, old) {
        true => of_spec(),
        false => Vec::new(),
    };
    if new.at("spec").text("schedule").contains("TZ") {
        out.push("cannot use TZ or CRON_TZ in spec.spec.schedule, use timeZone instead, see https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/ for more details".to_owned());
    }
    out
}

fn validate_spec(spec: &Value, old: Option<&Value>, options: &Options, errors: &mut ErrorList) {
    let (text, at) = (spec.text("schedule"), SPEC.child("schedule"));
    if text.is_empty() {
        errors.required(&at, "");
    } else {
        let zoned = old.is_some_and(|old| old.text("schedule").contains("TZ"));
        validate_schedule(text, zoned, spec.has("timeZone"), &at, errors);
    }
    let non_negative = |field: &str, errors: &mut ErrorList| {
        if let Some(value) = spec.int(field).filter(|value| *value < 0) {
            errors.invalid(&SPEC.child(field), value, NEGATIVE);
        }
    };
    non_negative("startingDeadlineSeconds", errors);
    if old.is_none_or(|old| old.at("timeZone") != spec.at("timeZone")) {
        time_zone::validate(spec, &SPEC.child("timeZone"), errors);
    }
    let at = SPEC.child("concurrencyPolicy");
    match spec.text("concurrencyPolicy") {
        "Allow" | "Forbid" | "Replace" => {}
        "" => errors.required(&at, ""),
        other => errors.not_supported(&at, other, &["Allow", "Forbid", "Replace"]),
    }
    let template = SPEC.child("jobTemplate");
    validate_job(
        spec.path(&["jobTemplate", "spec"]),
        options,
        &template.child("spec"),
        errors,
    );
    non_negative("successfulJobsHistoryLimit", errors);
    non_negative("failedJobsHistoryLimit", errors);
}

fn validate_job(job: &Value, options: &Options, path: &Path<'_>, errors: &mut ErrorList) {
    spec::validate(job, options, path, errors);
    if job.has("selector") {
        let shown = labels::shown(job.at("selector"));
        let detail = "`selector` will be auto-generated";
        errors.invalid(&path.child("selector"), Raw(&shown), detail);
    }
    if job.flag("manualSelector") {
        errors.not_supported(&path.child("manualSelector"), true, &["nil", "false"]);
    }
}

fn validate_schedule(
    text: &str,
    zoned: bool,
    has_zone: bool,
    path: &Path<'_>,
    errors: &mut ErrorList,
) {
    if let Err(fault) = Schedule::parse(text) {
        errors.invalid(path, text, fault);
    }
    if !text.contains("TZ") {
        return;
    }
    if !zoned {
        let detail = "cannot use TZ or CRON_TZ in schedule, use timeZone field instead";
        errors.invalid(path, text, detail);
    } else if has_zone {
        let detail = "cannot use both timeZone field and TZ or CRON_TZ in schedule";
        errors.invalid(path, text, detail);
    }
}
