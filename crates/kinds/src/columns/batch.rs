//! Jobs and CronJobs.

use super::text::{condition, containers, count, selector, terminating};
use super::{Columns, age};
use serde_json::{Value, json};
use stowplan_apimachinery::{View, meta};

pub(crate) static JOBS: Columns = Columns::new("jobs", |object, now_s| {
    let spec = object.at("spec");
    let (names, images) = containers(spec.path(&["template", "spec"]));
    vec![
        json!(meta::name(object)),
        json!(state(object)),
        json!(completions(object)),
        json!(duration(object.at("status"), now_s)),
        json!(age::of(object, now_s)),
        json!(names),
        json!(images),
        json!(selector(spec.at("selector"))),
    ]
});

pub(crate) static CRON_JOBS: Columns = Columns::new("cronjobs", |object, now_s| {
    let (spec, status) = (object.at("spec"), object.at("status"));
    let job = spec.path(&["jobTemplate", "spec"]);
    let (names, images) = containers(job.path(&["template", "spec"]));
    let suspend = match spec.at("suspend").as_bool() {
        Some(true) => "True",
        Some(false) => "False",
        None => "<unset>",
    };
    let last = match status.at("lastScheduleTime") {
        Value::Null => "<none>".to_owned(),
        time => age::since(time, now_s),
    };
    vec![
        json!(meta::name(object)),
        json!(spec.text("schedule")),
        json!(spec.at("timeZone").as_str().unwrap_or("<none>")),
        json!(suspend),
        json!(status.list("active").len()),
        json!(last),
        json!(age::of(object, now_s)),
        json!(names),
        json!(images),
        json!(selector(job.at("selector"))),
    ]
});

fn state(job: &Value) -> &'static str {
    if condition(job, "Complete") {
        "Complete"
    } else if condition(job, "Failed") {
        "Failed"
    } else if terminating(job) {
        "Terminating"
    } else if condition(job, "Suspended") {
        "Suspended"
    } else if condition(job, "FailureTarget") {
        "FailureTarget"
    } else if condition(job, "SuccessCriteriaMet") {
        "SuccessCriteriaMet"
    } else {
        "Running"
    }
}

fn completions(job: &Value) -> String {
    let succeeded = count(job.at("status"), "succeeded");
    let spec = job.at("spec");
    match (spec.int("completions"), count(spec, "parallelism")) {
        (Some(wanted), _) => format!("{succeeded}/{wanted}"),
        (None, parallelism) if parallelism > 1 => format!("{succeeded}/1 of {parallelism}"),
        (None, _) => format!("{succeeded}/1"),
    }
}

fn duration(status: &Value, now_s: i64) -> String {
    match age::seconds(status.at("startTime")) {
        None => String::new(),
        Some(start) => {
            let end = age::seconds(status.at("completionTime")).unwrap_or(now_s);
            age::human(end - start)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_state_of_a_job_is_its_most_final_condition() {
        let job = |conditions: &[&str]| {
            let all = conditions
                .iter()
                .map(|t| json!({"type": t, "status": "True"}));
            json!({"status": {"conditions": all.collect::<Vec<_>>()}})
        };
        assert_eq!(state(&job(&["SuccessCriteriaMet", "Complete"])), "Complete");
        assert_eq!(state(&job(&["FailureTarget"])), "FailureTarget");
        assert_eq!(state(&job(&["Suspended"])), "Suspended");
        assert_eq!(state(&job(&[])), "Running");
    }

    #[test]
    fn completions_and_duration() {
        let job = json!({"spec": {"parallelism": 2}, "status": {"succeeded": 1}});
        assert_eq!(completions(&job), "1/1 of 2");
        let job = json!({"spec": {"parallelism": 2, "completions": 4}});
        assert_eq!(completions(&job), "0/4");
        let status = json!({"startTime": "1970-01-01T00:00:00Z"});
        assert_eq!(duration(&status, 61), "61s");
        let status = json!({"startTime": "1970-01-01T00:00:00Z",
            "completionTime": "1970-01-01T00:00:07Z"});
        assert_eq!(duration(&status, 61), "7s");
        assert_eq!(duration(&json!({}), 61), "");
    }
}
