//! `/healthz`, `/livez`, `/readyz` and `/metrics`.
//!
//! Upstream: `k8s.io/apiserver/pkg/server/healthz`.

use crate::answer::{self, Answer};
use crate::api::Api;
use crate::request::Request;
use std::fmt::Write;

const TEXT: &str = "text/plain; charset=utf-8";

/// What is checked. This server answers when it is up, so none of them ever fails.
const CHECKS: [&str; 3] = ["ping", "log", "etcd"];

/// The state of all checks, or of the one in the path.
pub(crate) fn answer(request: &Request, checks: &[&str]) -> Answer {
    match checks {
        [] => all(request),
        [one] if CHECKS.contains(one) => answer::bytes(200, TEXT, "ok"),
        _ => crate::dispatch::no_such_page(),
    }
}

fn all(request: &Request) -> Answer {
    if request.query.get("verbose").is_none() {
        return answer::bytes(200, TEXT, "ok");
    }
    let excluded = request.query.all("exclude");
    let mut text = String::new();
    for check in CHECKS {
        let state = match excluded.iter().any(|e| e == check) {
            true => "excluded: ok",
            false => "ok",
        };
        // Writing to a string does not fail.
        let _ = writeln!(text, "[+]{check} {state}");
    }
    let endpoint = request.info.path.trim_matches('/');
    let _ = writeln!(text, "{endpoint} check passed");
    answer::bytes(200, TEXT, text)
}

/// A few figures in Prometheus' text format.
pub(crate) fn metrics(api: &Api) -> Answer {
    let stats = api.store().stats();
    let mut text = String::new();
    for (name, help, value) in [
        ("revision", "Number of the last write.", stats.revision.0),
        ("objects", "Objects that are stored.", stats.entries as u64),
        ("watches", "Open watches.", stats.watches as u64),
        (
            "history_bytes",
            "Bytes that old versions take up.",
            stats.history_bytes as u64,
        ),
    ] {
        let _ = write!(
            text,
            "# HELP stowplan_store_{name} {help}\n# TYPE stowplan_store_{name} gauge\nstowplan_store_{name} {value}\n"
        );
    }
    if let Some(log) = api.audit_log() {
        let (written, lost) = (log.written(), log.lost());
        let _ = write!(
            text,
            "# HELP apiserver_audit_event_total Audit events that were written.\n\
             # TYPE apiserver_audit_event_total counter\napiserver_audit_event_total {written}\n\
             # HELP apiserver_audit_error_total Audit events that could not be written.\n\
             # TYPE apiserver_audit_error_total counter\n\
             apiserver_audit_error_total{{plugin=\"log\"}} {lost}\n"
        );
    }
    answer::bytes(200, "text/plain; version=0.0.4; charset=utf-8", text)
}
