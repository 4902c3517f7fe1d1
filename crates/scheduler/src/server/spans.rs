//! Traces: a span for each attempt and each binding, sent to an OpenTelemetry collector by
//! OTLP over HTTP, in JSON. Nothing is made or sent unless a collector is named.

use http::{Request, Uri};
use http_body_util::BodyExt;
use kube::Client;
use kube::client::Body;
use serde_json::{Value, json};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use stowplan_base::{Env, Time};
use stowplan_env::timeout;
use stowplan_transport::certificates_der;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;

/// At most so many spans wait to be sent; more are dropped.
const WAITING_MAX: usize = 8_192;
/// At most so many are sent at a time.
const BATCH_MAX: usize = 512;
/// How long spans wait for others.
const GATHER: Duration = Duration::from_secs(1);
/// How long the collector may take.
const PATIENCE: Duration = Duration::from_secs(10);

/// Something that took a while.
#[derive(Clone, Debug)]
pub(crate) struct Span {
    /// The pod's uid and the start of the attempt: these tell what belongs together.
    pub(crate) attempt: (std::sync::Arc<str>, Time),
    /// `schedulingAttempt` or `binding`.
    pub(crate) name: SpanName,
    pub(crate) start: Time,
    pub(crate) end: Time,
    pub(crate) attributes: Vec<(&'static str, String)>,
    /// What went wrong.
    pub(crate) error: Option<String>,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum SpanName {
    Attempt,
    Binding,
}

impl Span {
    fn id(&self, name: SpanName) -> u64 {
        let mut hasher = DefaultHasher::new();
        (&self.attempt.0, self.attempt.1.as_nanos(), name).hash(&mut hasher);
        // An id must not be 0.
        hasher.finish() | 1
    }

    fn to_json(&self) -> Value {
        let trace = (self.id(SpanName::Attempt), self.id(SpanName::Binding));
        let (name, parent) = match self.name {
            SpanName::Attempt => ("schedulingAttempt", String::new()),
            SpanName::Binding => ("binding", format!("{:016x}", self.id(SpanName::Attempt))),
        };
        let attributes = self.attributes.iter();
        let attributes: Vec<_> = attributes
            .map(|(key, value)| json!({"key": key, "value": {"stringValue": value}}))
            .collect();
        let status = match &self.error {
            Some(message) => json!({"code": 2, "message": message}),
            None => json!({"code": 1}),
        };
        json!({
            "traceId": format!("{:016x}{:016x}", trace.0, trace.1),
            "spanId": format!("{:016x}", self.id(self.name)),
            "parentSpanId": parent,
            "name": name,
            "kind": 1,
            "startTimeUnixNano": self.start.as_nanos().to_string(),
            "endTimeUnixNano": self.end.as_nanos().to_string(),
            "attributes": attributes,
            "status": status,
        })
    }
}

/// An OpenTelemetry collector.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Collector {
    /// `http://host:4318` or `https://host:4318`.
    pub url: Uri,
    /// The CA of its certificate, in PEM; without it the system's CAs are trusted.
    pub ca_pem: Option<String>,
}

impl Collector {
    fn client(&self) -> Result<Client, String> {
        let mut parts = self.url.clone().into_parts();
        let authority = parts.authority.ok_or("the collector has no host")?;
        // The port of OTLP, not that of HTTP.
        let port = authority.port_u16().unwrap_or(4318);
        let authority = format!("{}:{port}", authority.host()).parse();
        parts.authority = Some(authority.map_err(|error| format!("{error}"))?);
        let url = Uri::from_parts(parts).map_err(|error| error.to_string())?;
        let mut config = kube::Config::new(url);
        config.default_retry = false;
        if let Some(pem) = &self.ca_pem {
            let roots = certificates_der(pem).map_err(|error| error.to_string())?;
            config.root_cert = Some(roots);
        }
        Client::try_from(config).map_err(|error| told(&error))
    }
}

/// Takes spans and sends them on, in the background.
pub struct Tracer {
    spans: mpsc::Sender<Span>,
    env: Arc<dyn Env>,
    sender: Mutex<Option<(oneshot::Sender<()>, JoinHandle<()>)>>,
}

impl Tracer {
    /// Sends to a collector from within the current tokio runtime. An error says what is wrong with
    /// it.
    pub fn new(collector: &Collector, env: Arc<dyn Env>) -> Result<Self, String> {
        let client = collector.client()?;
        let (spans, receiver) = mpsc::channel(WAITING_MAX);
        let (end, ending) = oneshot::channel();
        let sender = tokio::spawn(send_all(client, env.clone(), receiver, ending));
        Ok(Self {
            spans,
            env,
            sender: Mutex::new(Some((end, sender))),
        })
    }

    /// Takes a span; forgets it if too many wait.
    pub(crate) fn take(&self, span: Span) {
        let _ = self.spans.try_send(span);
    }

    /// Takes no more; waits until those that wait were sent.
    pub(crate) async fn finish(&self) {
        let sender = self.sender.lock();
        let sender = sender.unwrap_or_else(PoisonError::into_inner).take();
        if let Some((end, sender)) = sender {
            let _ = end.send(());
            let _ = timeout(&*self.env, PATIENCE, sender).await;
        }
    }
}

async fn send_all(
    client: Client,
    env: Arc<dyn Env>,
    mut spans: mpsc::Receiver<Span>,
    mut ending: oneshot::Receiver<()>,
) {
    let mut batch = Vec::new();
    let mut is_open = true;
    loop {
        let first = tokio::select! {
            first = spans.recv_many(&mut batch, BATCH_MAX) => first,
            _ = &mut ending, if is_open => {
                is_open = false;
                spans.close();
                continue;
            }
        };
        if first == 0 {
            return;
        }
        let others = async {
            while let room @ 1.. = BATCH_MAX.saturating_sub(batch.len())
                && spans.recv_many(&mut batch, room).await > 0
            {}
        };
        tokio::select! {
            () = others => {}
            () = env.sleep(GATHER) => {}
            _ = &mut ending, if is_open => {
                is_open = false;
                spans.close();
            }
        }
        let sent = timeout(&*env, PATIENCE, send(&client, &batch)).await;
        let failed = match sent {
            Ok(Ok(())) => None,
            Ok(Err(error)) => Some(error),
            Err(_) => Some("no answer".to_owned()),
        };
        if let Some(error) = failed {
            tracing::debug!(error, spans = batch.len(), "spans were lost");
        }
        batch.clear();
    }
}

async fn send(client: &Client, spans: &[Span]) -> Result<(), String> {
    let spans: Vec<_> = spans.iter().map(Span::to_json).collect();
    let service = json!({"key": "service.name", "value": {"stringValue": "stowplan-scheduler"}});
    let body = json!({"resourceSpans": [{
        "resource": {"attributes": [service]},
        "scopeSpans": [{"scope": {"name": "stowplan"}, "spans": spans}],
    }]});
    let request = Request::post("/v1/traces")
        .header("content-type", "application/json")
        .body(Body::from(body.to_string().into_bytes()))
        .map_err(|error| error.to_string())?;
    let answer = client.send(request).await.map_err(|error| told(&error))?;
    let status = answer.status();
    // Who reads the answer can use the connection again.
    let _ = answer.into_body().collect().await;
    match status.is_success() {
        true => Ok(()),
        false => Err(format!("the collector answered {status}")),
    }
}

/// What went wrong in the end.
fn told(error: &kube::Error) -> String {
    let mut deepest: &dyn std::error::Error = error;
    while let Some(source) = deepest.source() {
        deepest = source;
    }
    deepest.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::Bytes;
    use http_body_util::Full;
    use hyper::body::Incoming;
    use std::convert::Infallible;
    use std::net::SocketAddr;
    use stowplan_transport::{Limits, Listener, Pki};
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;

    fn span(name: SpanName, error: Option<&str>) -> Span {
        Span {
            attempt: ("uid".into(), Time::from_secs(1)),
            name,
            start: Time::from_secs(1),
            end: Time::from_secs(2),
            attributes: vec![("k8s.pod.name", "p".to_owned())],
            error: error.map(str::to_owned),
        }
    }

    /// A collector, and the request that it gets.
    async fn collector() -> (Collector, JoinHandle<(String, Value)>) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let got = tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut text = String::new();
            let body = loop {
                let mut buffer = [0; 4096];
                let read = stream.read(&mut buffer).await.unwrap();
                text.push_str(std::str::from_utf8(&buffer[..read]).unwrap());
                if let Some((_, body)) = text.split_once("\r\n\r\n")
                    && let Ok(body) = serde_json::from_str::<Value>(body)
                {
                    break body;
                }
            };
            let answer = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}";
            stream.write_all(answer).await.unwrap();
            (text, body)
        });
        let collector = Collector {
            url: url.parse().unwrap(),
            ca_pem: None,
        };
        (collector, got)
    }

    #[tokio::test]
    async fn a_collector_gets_what_belongs_together() {
        let (collector, got) = collector().await;
        let tracer = Tracer::new(&collector, Arc::new(stowplan_env::System::new())).unwrap();
        tracer.take(span(SpanName::Attempt, None));
        tracer.take(span(SpanName::Binding, Some("conflict")));
        let (text, body) = got.await.unwrap();
        assert!(text.starts_with("POST /v1/traces HTTP/1.1\r\n"), "{text}");
        let spans = &body["resourceSpans"][0]["scopeSpans"][0]["spans"];
        assert_eq!(spans[0]["traceId"], spans[1]["traceId"]);
        assert_eq!(spans[0]["traceId"].as_str().unwrap().len(), 32);
        assert_eq!(spans[0]["spanId"], spans[1]["parentSpanId"]);
        assert_eq!(spans[0]["startTimeUnixNano"], "1000000000");
        assert_eq!(
            spans[1]["status"],
            json!({"code": 2, "message": "conflict"})
        );
    }

    #[tokio::test]
    async fn what_waits_is_sent_in_the_end() {
        let (collector, got) = collector().await;
        let tracer = Tracer::new(&collector, Arc::new(stowplan_env::System::new())).unwrap();
        tracer.take(span(SpanName::Attempt, None));
        tracer.finish().await;
        assert!(got.is_finished());
        // There is nobody to take it.
        tracer.take(span(SpanName::Binding, None));
        tracer.finish().await;
    }

    #[tokio::test]
    async fn a_collector_over_tls_is_verified() {
        let pki = Pki::generate().unwrap();
        let any = SocketAddr::from(([127, 0, 0, 1], 0));
        let own = pki.clone().into();
        let listener = Listener::bind(any, &own, Limits::default()).await;
        let listener = listener.unwrap();
        let url: Uri = format!("https://{}", listener.address().unwrap())
            .parse()
            .unwrap();
        let (heard, mut hears) = mpsc::unbounded_channel();
        let service = tower::service_fn(move |request: Request<Incoming>| {
            heard.send(request.uri().path().to_owned()).unwrap();
            async { Ok::<_, Infallible>(http::Response::new(Full::new(Bytes::from("{}")))) }
        });
        let serving = tokio::spawn(listener.serve(service, std::future::pending()));
        let stranger = Pki::generate().unwrap().ca_pem;
        for (ca_pem, is_heard) in [(stranger, false), (pki.ca_pem, true)] {
            let collector = Collector {
                url: url.clone(),
                ca_pem: Some(ca_pem),
            };
            let tracer = Tracer::new(&collector, Arc::new(stowplan_env::System::new())).unwrap();
            tracer.take(span(SpanName::Attempt, None));
            tracer.finish().await;
            let path = hears.try_recv().ok();
            assert_eq!(path.as_deref(), is_heard.then_some("/v1/traces"));
        }
        serving.abort();
    }

    #[tokio::test]
    async fn a_collector_may_have_an_address_of_ipv6() {
        for url in ["http://[::1]", "http://otel:4318", "https://otel/prefix"] {
            let collector = Collector {
                url: url.parse().unwrap(),
                ca_pem: None,
            };
            assert!(collector.client().is_ok(), "{url}");
        }
    }
}
