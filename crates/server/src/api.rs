//! The server itself: what all requests share, and the way of one request through it.

use crate::addresses::Addresses;
use crate::answer::{self, Answer};
use crate::audit::{self, Arrival, Outcome};
use crate::converted::Converted;
use crate::decisions::Decisions;
use crate::flowcontrol::{Flow, FlowControl};
use crate::metrics::Usage;
use crate::provider::Provider;
use crate::rbac::Rbac;
use crate::request::{Info, Query, Request, options, unescape};
use crate::resource::Resources;
use crate::{advertise, bootstrap, dispatch, expiry, gate, negotiate, openapi, storage};
use axum::body::Body;
use bytes::Bytes;
use futures_util::FutureExt;
use std::collections::BTreeMap;
use std::convert::Infallible;
use std::future::Future;
use std::net::SocketAddr;
use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock, PoisonError, RwLock};
use stowplan_admission::Quotas;
use stowplan_apimachinery::{Status, meta};
use stowplan_auth::{Owner, User, token};
use stowplan_base::Env;
use stowplan_store::{CommitError, Store};
use tower::{BoxError, Service, service_fn};

/// What a server is made from.
pub struct Config {
    /// The clock and randomness.
    pub env: Arc<dyn Env>,
    /// Where objects are kept.
    pub store: Store,
    /// Bearer tokens and whom they stand for.
    pub tokens: BTreeMap<String, User>,
    /// Signs the tokens of service accounts; without it there are none.
    pub token_key: Option<token::Key>,
}

/// An API server.
pub struct Api {
    config: Config,
    resources: Resources,
    providers: RwLock<Vec<Arc<dyn Provider>>>,
    decisions: OnceLock<Box<dyn Decisions>>,
    usage: OnceLock<Box<dyn Usage>>,
    /// Held while a service is given addresses and stored.
    addresses: tokio::sync::Mutex<Addresses>,
    address: OnceLock<SocketAddr>,
    flow_control: FlowControl,
    rbac: Rbac,
    converted: Converted,
    documents: openapi::Documents,
    audit: OnceLock<audit::Log>,
    /// Whether quotas are counted here.
    counts_quotas: AtomicBool,
    /// Whether watches shall end.
    stopping: tokio::sync::watch::Sender<bool>,
}

impl Api {
    /// A server over a store, to which it adds what every cluster has. Fails if that cannot be stored.
    pub async fn new(config: Config) -> Result<Arc<Self>, CommitError> {
        let flow_control = FlowControl::new(config.env.clone());
        let api = Arc::new(Self {
            config,
            resources: Resources::default(),
            providers: RwLock::default(),
            decisions: OnceLock::new(),
            usage: OnceLock::new(),
            addresses: tokio::sync::Mutex::default(),
            address: OnceLock::new(),
            flow_control,
            rbac: Rbac::default(),
            converted: Converted::default(),
            documents: openapi::Documents::default(),
            audit: OnceLock::new(),
            counts_quotas: AtomicBool::new(false),
            stopping: tokio::sync::watch::Sender::new(false),
        });
        bootstrap::run(&api).await?;
        api.rbac.catch_up(api.store());
        expiry::start(&api);
        Ok(api)
    }

    /// Says where the server listens: the service `kubernetes` leads there.
    pub async fn advertise(&self, address: SocketAddr) -> Result<(), CommitError> {
        let _ = self.address.set(address);
        advertise::run(self, address).await
    }

    /// Where the server listens, if it does.
    pub(crate) fn address(&self) -> Option<SocketAddr> {
        self.address.get().copied()
    }

    /// Says who runs pods, beside those who were named before.
    pub fn provide(&self, provider: Arc<dyn Provider>) {
        let providers = self.providers.write();
        let mut providers = providers.unwrap_or_else(PoisonError::into_inner);
        providers.push(provider);
    }

    /// Says who knows what was decided about pods. The first one stays.
    pub fn decide_by(&self, decisions: Box<dyn Decisions>) {
        let _ = self.decisions.set(decisions);
    }

    /// Says who knows what pods and nodes use. The first one stays.
    pub fn use_by(&self, usage: Box<dyn Usage>) {
        let _ = self.usage.set(usage);
    }

    pub(crate) fn usage(&self) -> Option<&dyn Usage> {
        self.usage.get().map(|usage| &**usage)
    }

    pub(crate) fn decisions(&self) -> Option<&dyn Decisions> {
        self.decisions.get().map(|decisions| &**decisions)
    }

    /// Counts itself what of quotas is used. Upstream a controller does, and without it a quota has no
    /// effect.
    pub fn count_quotas(&self) {
        self.counts_quotas.store(true, Ordering::Relaxed);
    }

    pub(crate) fn quotas(&self) -> Quotas {
        match self.counts_quotas.load(Ordering::Relaxed) {
            true => Quotas::Counted,
            false => Quotas::AsTold,
        }
    }

    /// Says where a line about every request goes. The first one stays.
    pub fn audit_to(&self, log: audit::Log) {
        let _ = self.audit.set(log);
    }

    pub(crate) fn audit_log(&self) -> Option<&audit::Log> {
        self.audit.get()
    }

    /// Ends all watches, those to come included: the server is about to stop.
    pub fn end_watches(&self) {
        self.stopping.send_replace(true);
    }

    /// Tells when watches shall end.
    pub(crate) fn stopping(&self) -> tokio::sync::watch::Receiver<bool> {
        self.stopping.subscribe()
    }

    /// Who runs the pods of a node.
    pub(crate) fn provider(&self, node: &str) -> Option<Arc<dyn Provider>> {
        let providers = self.providers.read();
        let providers = providers.unwrap_or_else(PoisonError::into_inner);
        providers.iter().find(|p| p.has_node(node)).cloned()
    }

    pub(crate) fn env(&self) -> &dyn Env {
        &*self.config.env
    }

    pub(crate) fn store(&self) -> &Store {
        &self.config.store
    }

    pub(crate) fn resources(&self) -> &Resources {
        &self.resources
    }

    pub(crate) fn addresses(&self) -> &tokio::sync::Mutex<Addresses> {
        &self.addresses
    }

    pub(crate) fn tokens(&self) -> &BTreeMap<String, User> {
        &self.config.tokens
    }

    pub(crate) fn token_key(&self) -> Option<&token::Key> {
        self.config.token_key.as_ref()
    }

    /// Where an object is kept.
    pub(crate) fn key_of(&self, group: &str, plural: &str, object: &serde_json::Value) -> String {
        let resource = self.resources.by_group(group, plural);
        let key = |r| storage::key(&r, meta::namespace(object), meta::name(object));
        resource.map(key).unwrap_or_default()
    }

    /// The server as one user sees it, for clients in the same process.
    pub fn service<B>(
        self: &Arc<Self>,
        user: User,
    ) -> impl Service<
        http::Request<B>,
        Response = Answer,
        Error = Infallible,
        Future = impl Future<Output = Result<Answer, Infallible>> + Send + use<B>,
    > + Clone
    + Send
    + use<B>
    where
        B: http_body::Body<Data = Bytes> + Send + 'static,
        B::Error: Into<BoxError>,
    {
        let api = Arc::clone(self);
        service_fn(move |request: http::Request<B>| {
            let api = Arc::clone(&api);
            let mut request = request.map(Body::new);
            request.extensions_mut().insert(user.clone());
            async move { Ok(api.call(request).await) }
        })
    }

    /// Answers one request.
    pub async fn call(self: &Arc<Self>, request: http::Request<Body>) -> Answer {
        let (parts, mut body) = request.into_parts();
        let arrival = Arrival::new(self.env(), &parts);
        let query = Query::parse(parts.uri.query().unwrap_or_default());
        let Some(path) = unescape(parts.uri.path(), false) else {
            return answer::bytes(400, "text/plain; charset=utf-8", "400 Bad Request");
        };
        let info = Info::new(&parts.method, &path, &query);
        let certified = parts.extensions.get::<User>().cloned();
        let head = parts.method == http::Method::HEAD;
        let mut request = Request::new(parts.method, info, query, parts.headers);
        let passed = match options::check_timeout(&request) {
            Ok(()) => gate::pass(self, &mut request, certified).await,
            refused => refused,
        };
        let flow = Flow::of(&request);
        let is_refused = passed.is_err();
        // Who waits to be told to send is told when the body is read.
        let sends = !request.headers.contains_key(http::header::EXPECT)
            || (passed.is_ok() && takes_body(&request));
        let (outcome, panicked) = match passed {
            Ok(()) => self.guarded(&mut request, &mut body, &flow).await,
            Err(status) => (Err(status), false),
        };
        if sends {
            self.flow_control.drain(body);
        }
        let (mut answer, failure) = match outcome {
            Ok(answer) => (answer, None),
            Err(status) => {
                let answer = answer::failure(&status, negotiate::for_errors(&request));
                // It may quote what was sent many times over.
                let held = self.flow_control.hold(answer, &flow, false);
                (held.unwrap_or_else(answer::too_many_requests), Some(status))
            }
        };
        answer::add_warnings(&mut answer, &request.warnings());
        answer::keep_from_caches(&mut answer);
        if is_refused && answer.status() == http::StatusCode::FORBIDDEN {
            answer::keep_type(&mut answer);
        }
        arrival.sign(&mut answer);
        if head {
            *answer.body_mut() = Body::empty();
        }
        let outcome = Outcome {
            code: answer.status().as_u16(),
            failure: failure.as_ref(),
            panicked,
        };
        let mut answer = audit::record(self, &arrival, &request, outcome, answer).await;
        if let Flow::Of(owner) = flow {
            answer.extensions_mut().insert(Owner(owner));
        }
        answer
    }

    /// What goes wrong inside is the server's fault, and one client's only. Says whether it did.
    async fn guarded(
        self: &Arc<Self>,
        request: &mut Request,
        body: &mut Body,
        flow: &Flow,
    ) -> (Result<Answer, Status>, bool) {
        let answer = AssertUnwindSafe(self.read_and_answer(request, body, flow));
        match answer.catch_unwind().await {
            Ok(outcome) => (outcome, false),
            Err(_) => {
                tracing::error!("a request brought its handler down");
                let status = Status::internal("this request could not be handled");
                (Err(status), true)
            }
        }
    }

    async fn read_and_answer(
        self: &Arc<Self>,
        request: &mut Request,
        body: &mut Body,
        flow: &Flow,
    ) -> Result<Answer, Status> {
        if self.flow_control.must_read_first(flow) {
            return Ok(answer::too_many_requests());
        }
        let mut _room = None;
        if takes_body(request) {
            match self
                .flow_control
                .read(body, header_bytes(request), flow)
                .await?
            {
                Some((bytes, room)) => (request.body, _room) = (bytes, Some(room)),
                None => return Ok(answer::too_many_requests()),
            }
        }
        // Watches last, and are counted on their own: theirs is for the time until they have begun.
        let Some(_seat) = self.flow_control.request(flow, request.body.len()).await else {
            return Ok(answer::too_many_requests());
        };
        // There may be more of it by now: many may have been let in at once.
        if self.flow_control.must_read_first(flow) {
            return Ok(answer::too_many_requests());
        }
        let answer = dispatch::answer(self, request, flow).await?;
        // "Try again" would have what is done done twice.
        let must = !is_read(request) && request.query.get("dryRun").is_none();
        let held = self.flow_control.hold(answer, flow, must);
        Ok(held.unwrap_or_else(answer::too_many_requests))
    }

    pub(crate) fn documents(&self) -> &openapi::Documents {
        &self.documents
    }

    pub(crate) fn converted(&self) -> &Converted {
        &self.converted
    }

    pub(crate) fn rbac(&self) -> &Rbac {
        &self.rbac
    }

    pub(crate) fn flow_control(&self) -> &FlowControl {
        &self.flow_control
    }
}

/// How much of a request there is before its body.
fn header_bytes(request: &Request) -> usize {
    let headers = request.headers.iter();
    let headers = headers.map(|(name, value)| name.as_str().len() + value.len());
    request.info.path.len() + request.query.bytes() + headers.sum::<usize>()
}

/// Whether a request changes nothing.
fn is_read(request: &Request) -> bool {
    // Reviews are asked for by POST, and not kept.
    let group = request.info.group.as_str();
    matches!(request.method, http::Method::GET | http::Method::HEAD)
        || matches!(group, "authorization.k8s.io" | "authentication.k8s.io")
}

/// Whether the body of a request means anything. Others are not read: anybody may ask for some paths.
fn takes_body(request: &Request) -> bool {
    use http::Method;
    request.info.is_resource && !matches!(request.method, Method::GET | Method::HEAD)
}
