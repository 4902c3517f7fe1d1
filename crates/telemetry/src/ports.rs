//! The paths that a scheduler serves. Upstream's `newEndpointsHandler` in
//! `cmd/kube-scheduler/app/server.go`.

use crate::gauge_values::GaugeValues;
use crate::health::Health;
use crate::pods::PodTable;
use crate::registry::{CONTENT_TYPE, Text};
use crate::scheduler::SchedulerMetrics;
use bytes::Bytes;
use http::header::{AUTHORIZATION, CACHE_CONTROL, CONTENT_TYPE as CONTENT_TYPE_HEADER};
use http::request::Parts;
use http::{HeaderValue, Response, StatusCode};
use serde_json::json;
use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

/// Paths that anybody may ask for, unless the operator says otherwise.
pub const OPEN_PATHS: [&str; 3] = ["/healthz", "/livez", "/readyz"];

/// A future that is sent around.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// What is known of whoever sent a request.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Caller {
    /// The bearer token that came with it.
    pub token: Option<String>,
    /// Whom a verified client certificate names, or a proxy that showed one.
    pub certificate: Option<Identity>,
}

/// A user, as the API server knows him.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Identity {
    /// His name.
    pub name: String,
    /// What tells him from others of that name; may be empty.
    pub uid: String,
    /// His groups.
    pub groups: Vec<String>,
    /// What else is known of him.
    pub extra: BTreeMap<String, Vec<String>>,
}

/// Why a request is turned away.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Refusal {
    /// Nobody knows the caller.
    Unauthorized,
    /// The caller is this user, who may not.
    Forbidden {
        /// The user.
        user: String,
        /// Why not, if that is known.
        reason: String,
    },
    /// Whether the caller may could not be found out.
    Broken(String),
    /// Too many others wait to be told whether they may.
    Busy,
}

/// What a caller wants to do.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum AccessRequest {
    /// This, with a path.
    Path {
        /// The method in lower case.
        verb: String,
        /// The path.
        path: String,
    },
    /// What anybody may who says who he is.
    Open,
    /// Read this pod.
    Pod {
        /// Its namespace.
        namespace: String,
        /// Its name.
        name: String,
    },
    /// List the nodes.
    Nodes,
    /// List the pods of this namespace, or of all of them.
    Pods {
        /// The namespace.
        namespace: Option<String>,
    },
}

/// Knows what the reader of a decision may: names of other things are told to those who may read these.
pub trait Reader: Send + Sync {
    /// Whether he may do this.
    fn may(&self, wish: AccessRequest) -> BoxFuture<'_, bool>;
}

/// Says who may ask for what.
pub trait Gate: Send + Sync + 'static {
    /// Lets the caller do this, or not.
    fn admit(&self, caller: Caller, wish: AccessRequest) -> BoxFuture<'_, Result<(), Refusal>>;
}

/// What is told of a decision.
#[derive(Clone, PartialEq, Debug)]
pub enum DecisionAnswer<T = serde_json::Value> {
    /// This.
    Found(T),
    /// Nothing is known of it.
    Unknown,
    /// There is no time for that now.
    Busy,
}

/// The scheduler that is told about.
pub trait Source: Send + Sync + 'static {
    /// Counts what is counted when somebody asks; `None` if nobody answers in time.
    fn gauge_values(&self) -> BoxFuture<'_, Option<GaugeValues>>;

    /// Whether it leads: others have nothing to say about pods.
    fn is_leader(&self) -> bool;

    /// What was decided about a pod, or its `whole` tournament, without names that the reader may not
    /// know.
    fn decision<'a>(
        &'a self,
        namespace: &'a str,
        name: &'a str,
        whole: bool,
        reader: &'a dyn Reader,
    ) -> BoxFuture<'a, DecisionAnswer>;
}

/// An answer, whole.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Answer {
    /// The status.
    pub status: StatusCode,
    /// The content type.
    pub content_type: &'static str,
    /// The body.
    pub body: Bytes,
}

const PLAIN: &str = "text/plain; charset=utf-8";
const JSON: &str = "application/json";

impl Answer {
    pub(crate) fn text(status: StatusCode, body: impl Into<Bytes>) -> Self {
        Self {
            status,
            content_type: PLAIN,
            body: body.into(),
        }
    }

    fn json(status: StatusCode, body: &serde_json::Value) -> Self {
        Self {
            status,
            content_type: JSON,
            body: body.to_string().into(),
        }
    }

    fn metrics(write: impl FnOnce(&mut Text)) -> Self {
        let mut text = Text::default();
        write(&mut text);
        Self {
            status: StatusCode::OK,
            content_type: CONTENT_TYPE,
            body: text.into_string().into(),
        }
    }

    fn refusal(refusal: &Refusal, wish: &AccessRequest) -> Self {
        let (status, reason, message) = match refusal {
            Refusal::Unauthorized => (
                StatusCode::UNAUTHORIZED,
                "Unauthorized",
                "Unauthorized".to_owned(),
            ),
            Refusal::Forbidden { user, reason } => {
                let colon = if reason.is_empty() { "" } else { ": " };
                let message = match wish {
                    AccessRequest::Path { verb, path } => {
                        format!("forbidden: User {user:?} cannot {verb} path {path:?}")
                    }
                    AccessRequest::Open => format!("forbidden: User {user:?}"),
                    AccessRequest::Pod { namespace, name } => format!(
                        "pods {name:?} is forbidden: User {user:?} cannot get resource \"pods\" \
                         in API group \"\" in the namespace {namespace:?}"
                    ),
                    AccessRequest::Nodes => format!("nodes is forbidden: User {user:?}"),
                    AccessRequest::Pods { .. } => format!("pods is forbidden: User {user:?}"),
                };
                let message = format!("{message}{colon}{reason}");
                (StatusCode::FORBIDDEN, "Forbidden", message)
            }
            Refusal::Broken(error) => (
                StatusCode::INTERNAL_SERVER_ERROR,
                "InternalError",
                format!("Internal Server Error: {error}"),
            ),
            Refusal::Busy => (
                StatusCode::TOO_MANY_REQUESTS,
                "TooManyRequests",
                "too many callers wait to be told whether they may, try again".to_owned(),
            ),
        };
        Self::failure(status, reason, message)
    }

    fn failure(status: StatusCode, reason: &str, message: String) -> Self {
        let mut body = json!({
            "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
            "message": message, "reason": reason, "code": status.as_u16(),
        });
        if status == StatusCode::FORBIDDEN {
            body["details"] = json!({});
        }
        Self::json(status, &body)
    }
}

impl From<Answer> for Response<Bytes> {
    fn from(answer: Answer) -> Self {
        let mut response = Self::new(answer.body);
        *response.status_mut() = answer.status;
        let headers = response.headers_mut();
        let content_type = HeaderValue::from_static(answer.content_type);
        headers.insert(CONTENT_TYPE_HEADER, content_type);
        let no_cache = HeaderValue::from_static("no-cache, private");
        headers.insert(CACHE_CONTROL, no_cache);
        let no_sniff = HeaderValue::from_static("nosniff");
        headers.insert("x-content-type-options", no_sniff);
        response
    }
}

/// A caller who was let in.
struct Admitted<'a>(&'a dyn Gate, Caller);

impl Reader for Admitted<'_> {
    fn may(&self, wish: AccessRequest) -> BoxFuture<'_, bool> {
        let Self(gate, caller) = self;
        Box::pin(async move { gate.admit(caller.clone(), wish).await.is_ok() })
    }
}

/// All that is served.
pub struct Ports {
    /// The health checks.
    pub health: Health,
    /// The metrics.
    pub metrics: Arc<SchedulerMetrics>,
    /// The pods.
    pub pods: Arc<PodTable>,
    /// The scheduler.
    pub source: Arc<dyn Source>,
    /// Who may ask.
    pub gate: Arc<dyn Gate>,
    /// The configuration in use, with defaults, as a `KubeSchedulerConfiguration`.
    pub configuration: serde_json::Value,
    /// Paths that anybody may ask for: upstream's `--authorization-always-allow-paths`. One that
    /// ends in `*` stands for all that begin so.
    pub open_paths: Vec<String>,
}

impl Ports {
    /// Answers a request; bodies are not looked at.
    pub async fn answer(&self, request: &Parts, certificate: Option<Identity>) -> Response<Bytes> {
        let path = request.uri.path();
        let verb = request.method.as_str().to_ascii_lowercase();
        let caller = Caller {
            token: bearer(request),
            certificate,
        };
        let is_open = self.open_paths.iter().any(|open| is_within(path, open));
        let asked = decision_path(path).filter(|_| verb == "get");
        let wish = match asked {
            // Who may read the pod may know why it is where it is.
            Some((namespace, name, _)) => AccessRequest::Pod {
                namespace: namespace.to_owned(),
                name: name.to_owned(),
            },
            None if is_open => AccessRequest::Open,
            None => AccessRequest::Path {
                verb,
                path: path.to_owned(),
            },
        };
        // A token that nobody knows is turned away even where anybody may ask.
        let is_nobody = is_open && caller.token.is_none();
        let admitted = match is_nobody {
            true => Ok(()),
            false => self.gate.admit(caller.clone(), wish.clone()).await,
        };
        if let Err(refusal) = admitted {
            return Answer::refusal(&refusal, &wish).into();
        }
        if let Some((namespace, name, whole)) = asked {
            if !self.source.is_leader() {
                let message = "this replica does not lead, and has decided nothing: ask another";
                let status = StatusCode::SERVICE_UNAVAILABLE;
                return Answer::failure(status, "ServiceUnavailable", message.to_owned()).into();
            }
            let reader = Admitted(&*self.gate, caller);
            let told = self.source.decision(namespace, name, whole, &reader).await;
            return decision(told, name).into();
        }
        let query = request.uri.query().unwrap_or_default();
        self.page(path, query).await.into()
    }

    async fn page(&self, path: &str, query: &str) -> Answer {
        match path {
            "/metrics" => {
                if let Some(mut gauge_values) = self.source.gauge_values().await {
                    if !self.source.is_leader() {
                        // Pods wait for the one that leads, not here.
                        gauge_values.pending = Default::default();
                        gauge_values.unschedulable.clear();
                    }
                    self.metrics.sample(&gauge_values);
                }
                Answer::metrics(|text| {
                    self.metrics.write(text);
                    if self.source.is_leader() {
                        self.pods.write_phases(text);
                    }
                })
            }
            "/metrics/resources" if self.source.is_leader() => {
                Answer::metrics(|text| self.pods.write_resources(text))
            }
            "/metrics/resources" => Answer::metrics(|_| {}),
            "/metrics/slis" => Answer::metrics(|text| self.health.write(text)),
            "/configz" => {
                let body = json!({ "componentconfig": self.configuration });
                Answer::json(StatusCode::OK, &body)
            }
            _ => self
                .health
                .answer(path, query)
                .unwrap_or_else(|| Answer::text(StatusCode::NOT_FOUND, "404 page not found\n")),
        }
    }
}

/// The namespace and the name of the pod that a path asks about, and whether it asks for the whole
/// tournament.
fn decision_path(path: &str) -> Option<(&str, &str, bool)> {
    let rest = path.strip_prefix("/apis/stowplan.dev/v1/namespaces/")?;
    let parts: Vec<_> = rest.split('/').collect();
    match *parts {
        [namespace, "decisions", name] => Some((namespace, name, false)),
        [namespace, "decisions", name, "tournament"] => Some((namespace, name, true)),
        _ => None,
    }
}

fn decision(told: DecisionAnswer, name: &str) -> Answer {
    match told {
        DecisionAnswer::Found(body) => Answer::json(StatusCode::OK, &body),
        DecisionAnswer::Unknown => Answer::failure(
            StatusCode::NOT_FOUND,
            "NotFound",
            format!("decisions.stowplan.dev {name:?} not found"),
        ),
        DecisionAnswer::Busy => Answer::failure(
            StatusCode::TOO_MANY_REQUESTS,
            "TooManyRequests",
            "the scheduler has no time for whole tournaments now, try again".to_owned(),
        ),
    }
}

/// Whether an open path stands for this one.
fn is_within(path: &str, open: &str) -> bool {
    let open = open.trim_start_matches('/');
    let path = path.trim_start_matches('/');
    match open.strip_suffix('*') {
        Some(start) => path.starts_with(start),
        None => path == open,
    }
}

fn bearer(request: &Parts) -> Option<String> {
    let value = request.headers.get(AUTHORIZATION)?.to_str().ok()?;
    let (scheme, token) = value.trim().split_once(' ')?;
    let token = token.trim();
    (scheme.eq_ignore_ascii_case("bearer") && !token.is_empty()).then(|| token.to_owned())
}
