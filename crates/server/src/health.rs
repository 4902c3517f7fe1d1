//! `/healthz`, `/livez`, `/readyz` and `/metrics`.
//!
//! Upstream: `k8s.io/apiserver/pkg/server/healthz`.

use crate::answer::{self, Answer};
use crate::api::Api;
use crate::request::Request;
use std::fmt::Write;

const TEXT: &str = "text/plain; charset=utf-8";

/// What is checked. Only the store, which goes by the name of upstream's, can fail.
const CHECKS: [&str; 3] = ["ping", "log", STORE];
const STORE: &str = "etcd";

/// The state of all checks, or of the one in the path.
pub(crate) fn answer(api: &Api, request: &Request, checks: &[&str]) -> Answer {
    let failed = api.store().stats().failed;
    match checks {
        [] => all(request, failed),
        [one] if CHECKS.contains(one) => match failed && *one == STORE {
            true => {
                let why = "internal server error: the store cannot write\n";
                answer::bytes(500, TEXT, why)
            }
            false => answer::bytes(200, TEXT, "ok"),
        },
        _ => crate::dispatch::no_such_page(),
    }
}

fn all(request: &Request, store_failed: bool) -> Answer {
    let excluded = request.query.all("exclude");
    let mut text = String::new();
    let mut bad = false;
    for check in CHECKS {
        // Writing to a string does not fail.
        let _ = if excluded.iter().any(|e| e == check) {
            writeln!(text, "[+]{check} excluded: ok")
        } else if store_failed && check == STORE {
            bad = true;
            writeln!(text, "[-]{check} failed: reason withheld")
        } else {
            writeln!(text, "[+]{check} ok")
        };
    }
    let endpoint = request.info.path.trim_matches('/');
    if bad {
        let _ = writeln!(text, "{endpoint} check failed");
        return answer::bytes(500, TEXT, text);
    }
    if request.query.get("verbose").is_none() {
        return answer::bytes(200, TEXT, "ok");
    }
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
    api.requested().write(&mut text);
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

#[cfg(test)]
mod tests {
    use crate::testing::{api_on, get, send};
    use serde_json::json;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};
    use stowplan_store::{Backend, Batch, Loaded, OpenError, Options, Revision, Store, WriteError};

    /// A disk that is full from some time on.
    struct Disk(Arc<AtomicBool>);

    impl Backend for Disk {
        fn name(&self) -> String {
            "disk".to_owned()
        }

        fn load(&mut self) -> Result<Loaded, OpenError> {
            Ok(Loaded {
                compacted: Revision::FIRST,
                records: Vec::new(),
            })
        }

        fn write(&mut self, _batch: &Batch<'_>) -> Result<(), WriteError> {
            match self.0.load(Ordering::Relaxed) {
                true => Err(WriteError {
                    file: self.name(),
                    source: "no space left".into(),
                }),
                false => Ok(()),
            }
        }
    }

    #[tokio::test]
    async fn a_store_that_cannot_write_is_not_healthy() {
        let full = Arc::new(AtomicBool::new(false));
        let options = Options {
            inline: true,
            ..Options::default()
        };
        let store = Store::open(Disk(Arc::clone(&full)), options).expect("an empty disk");
        let api = api_on(store).await;
        for path in ["/readyz", "/livez", "/healthz", "/readyz/etcd"] {
            assert_eq!(get(&api, path, "").await.0, 200, "{path}");
        }
        full.store(true, Ordering::Relaxed);
        let object = json!({"metadata": {"name": "n"}});
        let (code, _) = send(&api, "POST", "/api/v1/namespaces", &[], &object).await;
        assert_eq!(code, 500);
        for path in ["/readyz", "/livez", "/healthz", "/readyz/etcd"] {
            assert_eq!(get(&api, path, "").await.0, 500, "{path}");
        }
        for path in ["/readyz?exclude=etcd", "/readyz/ping"] {
            assert_eq!(get(&api, path, "").await.0, 200, "{path}");
        }
    }
}
