//! `/healthz`, `/livez` and `/readyz`. Upstream's `apiserver/pkg/server/healthz`.

use crate::ports::Answer;
use crate::registry::{Counter, Desc, Family, Gauge, Kind, Registry, Stability, Text};
use http::StatusCode;
use std::collections::BTreeSet;
use std::fmt::Write;
use std::sync::Arc;

const HEALTHCHECK: Desc = Desc {
    name: "kubernetes_healthcheck",
    kind: Kind::Gauge,
    stability: Stability::Stable,
    labels: &["name", "type"],
    help: "This metric records the result of a single healthcheck.",
};
const HEALTHCHECKS: Desc = Desc {
    name: "kubernetes_healthchecks_total",
    kind: Kind::Counter,
    stability: Stability::Stable,
    labels: &["name", "status", "type"],
    help: "This metric records the results of all healthcheck.",
};

/// The names of the metrics of this file.
pub(crate) const NAMES: [&str; 2] = [HEALTHCHECK.name, HEALTHCHECKS.name];

type Test = dyn Fn() -> Result<(), String> + Send + Sync;

/// Something that can be asked whether it is well.
#[derive(Clone)]
pub struct Check {
    name: &'static str,
    test: Arc<Test>,
}

impl Check {
    /// A check of this name; the error says what is wrong.
    pub fn new(
        name: &'static str,
        test: impl Fn() -> Result<(), String> + Send + Sync + 'static,
    ) -> Self {
        Self {
            name,
            test: Arc::new(test),
        }
    }

    /// The check that never fails.
    pub fn ping() -> Self {
        Self::new("ping", || Ok(()))
    }
}

/// The checks behind each path, and how they went.
pub struct Health {
    endpoints: [(&'static str, Vec<Check>); 3],
    registry: Registry,
    last: Arc<Family<Gauge>>,
    all: Arc<Family<Counter>>,
}

impl Health {
    /// These checks for `/healthz`, `/livez` and `/readyz`; where there are none, a ping.
    pub fn new(healthz: Vec<Check>, livez: Vec<Check>, readyz: Vec<Check>) -> Self {
        let or_ping = |checks: Vec<Check>| match checks.is_empty() {
            true => vec![Check::ping()],
            false => checks,
        };
        let mut registry = Registry::default();
        Self {
            endpoints: [
                ("healthz", or_ping(healthz)),
                ("livez", or_ping(livez)),
                ("readyz", or_ping(readyz)),
            ],
            last: registry.family(HEALTHCHECK),
            all: registry.family(HEALTHCHECKS),
            registry,
        }
    }

    /// The answer to a request for this path; `None` if it is not about health.
    pub(crate) fn answer(&self, path: &str, query: &str) -> Option<Answer> {
        let path = path.strip_prefix('/')?;
        let (endpoint, check) = match path.split_once('/') {
            Some((endpoint, check)) => (endpoint, Some(check)),
            None => (path, None),
        };
        let (endpoint, checks) = self.endpoints.iter().find(|(name, _)| *name == endpoint)?;
        match check {
            None => Some(self.all_of(endpoint, checks, query)),
            Some(check) => {
                let check = checks.iter().find(|known| known.name == check)?;
                Some(match (check.test)() {
                    Ok(()) => Answer::text(StatusCode::OK, "ok"),
                    Err(error) => Answer::text(
                        StatusCode::INTERNAL_SERVER_ERROR,
                        format!("internal server error: {error}\n"),
                    ),
                })
            }
        }
    }

    fn all_of(&self, endpoint: &str, checks: &[Check], query: &str) -> Answer {
        let parameters = || {
            query
                .split('&')
                .map(|p| p.split_once('=').unwrap_or((p, "")))
        };
        let excluded: BTreeSet<&str> = parameters()
            .filter(|(name, _)| *name == "exclude")
            .map(|(_, value)| value)
            .collect();
        let mut unknown = excluded.clone();
        let mut told = String::new();
        let mut has_failed = false;
        for check in checks {
            let name = check.name;
            if excluded.contains(name) {
                unknown.remove(name);
                let _ = writeln!(told, "[+]{name} excluded: ok");
                continue;
            }
            let result = (check.test)();
            self.count(endpoint, name, result.is_ok());
            match result {
                Ok(()) => {
                    let _ = writeln!(told, "[+]{name} ok");
                }
                Err(error) => {
                    has_failed = true;
                    tracing::debug!(check = name, endpoint, error, "a health check failed");
                    // Whoever wants to know more needs leave to ask the check itself.
                    let _ = writeln!(told, "[-]{name} failed: reason withheld");
                }
            }
        }
        if !unknown.is_empty() {
            let names: Vec<_> = unknown.iter().map(|name| format!("{name:?}")).collect();
            let names = names.join(",");
            let _ = writeln!(
                told,
                "warn: some health checks cannot be excluded: no matches for {names}"
            );
        }
        if has_failed {
            let _ = writeln!(told, "{endpoint} check failed");
            return Answer::text(StatusCode::INTERNAL_SERVER_ERROR, told);
        }
        if !parameters().any(|(name, _)| name == "verbose") {
            return Answer::text(StatusCode::OK, "ok");
        }
        let _ = writeln!(told, "{endpoint} check passed");
        Answer::text(StatusCode::OK, told)
    }

    fn count(&self, endpoint: &str, name: &str, ok: bool) {
        let (status, value) = if ok { ("success", 1.0) } else { ("error", 0.0) };
        self.last.with(&[name, endpoint]).set(value);
        self.all.with(&[name, status, endpoint]).inc();
    }

    /// How the checks went so far: `/metrics/slis`.
    pub(crate) fn write(&self, text: &mut Text) {
        self.registry.write(text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn health() -> Health {
        let broken = Check::new("broken", || Err("it broke".to_owned()));
        let readyz = vec![Check::new("fine", || Ok(())), broken];
        Health::new(vec![], vec![], readyz)
    }

    fn check(path: &str, query: &str, status: u16, body: &str) {
        let answer = health().answer(path, query).unwrap();
        assert_eq!(
            (answer.status.as_u16(), &*answer.body),
            (status, body.as_bytes())
        );
    }

    #[test]
    fn health_is_told_as_upstream_tells_it() {
        check("/healthz", "", 200, "ok");
        check("/livez", "verbose", 200, "[+]ping ok\nlivez check passed\n");
        check("/livez/ping", "", 200, "ok");
        let failed = "[+]fine ok\n[-]broken failed: reason withheld\nreadyz check failed\n";
        check("/readyz", "", 500, failed);
        check(
            "/readyz/broken",
            "",
            500,
            "internal server error: it broke\n",
        );
        check("/readyz", "exclude=broken", 200, "ok");
        check(
            "/readyz",
            "verbose=1&exclude=broken&exclude=who",
            200,
            "[+]fine ok\n[+]broken excluded: ok\n\
             warn: some health checks cannot be excluded: no matches for \"who\"\n\
             readyz check passed\n",
        );
        assert!(health().answer("/readyz/who", "").is_none());
        assert!(health().answer("/metrics", "").is_none());
    }

    #[test]
    fn results_are_counted() {
        let health = health();
        health.answer("/readyz", "");
        let mut text = Text::default();
        health.write(&mut text);
        let text = text.into_string();
        let line = "kubernetes_healthcheck{name=\"broken\",type=\"readyz\"} 0\n";
        assert!(text.contains(line), "{text}");
    }
}
