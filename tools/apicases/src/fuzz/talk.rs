//! One conversation.

use super::{LENGTH, Shared, Tally, expected, mutate, once_in, rng_of};
use crate::case::{Case, Step};
use crate::fill::{self, Known, fill};
use crate::run::{self, Server};
use http_body_util::BodyExt;
use serde_json::{Map, Value, json};
use std::time::Duration;
use stowplan_base::Rng;

/// How many recorded cases are followed side by side.
const THREADS: usize = 4;
/// How long a watch is listened to; it decides nothing.
const GLANCE: Duration = Duration::from_millis(2);
const TEXT_MAX: usize = 3_000;

/// A recorded case, and how far it has been followed.
struct Thread<'a> {
    case: &'a Case,
    at: usize,
    known: Known,
}

struct Reply {
    code: u16,
    json: bool,
    text: String,
}

/// Holds the conversation with this number.
pub(super) async fn conversation(shared: &Shared, number: usize) -> Tally {
    let mut rng = rng_of(shared.plan.seed, number);
    let server = Server::seeded(rng.next_u64()).await;
    let mut threads: Vec<Thread<'_>> = Vec::new();
    let mut tally = Tally::default();
    while tally.requests < LENGTH {
        if threads.len() < THREADS {
            threads.push(Thread::new(shared, &mut rng));
        }
        let chosen = rng.below(threads.len());
        let thread = &mut threads[chosen];
        let Some((place, mut step)) = thread.next(&mut rng) else {
            threads.remove(chosen);
            continue;
        };
        // What a case builds on is mostly left as it is.
        let spared = place.starts_with("setup") && !once_in(&mut rng, 8);
        if !spared && !once_in(&mut rng, 5) {
            for _ in 0..1 + rng.below(3) {
                mutate::mutate(&mut step, &mut rng, &shared.corpus);
            }
        }
        let Some(reply) = send(shared, &server, number, &step).await else {
            continue;
        };
        tally.requests += 1;
        tally.codes[usize::from(reply.code / 100).min(5)] += 1;
        let answer = serde_json::from_str(&reply.text).unwrap_or_default();
        if let Some(problem) = judge(&step, &reply, &answer) {
            let seed = shared.plan.seed;
            let request = shown(&step);
            let text: String = reply.text.chars().take(TEXT_MAX).collect();
            let finding = format!(
                "--seed {seed} --case {number}: {problem}\n{request}\n-> {} {text}",
                reply.code
            );
            tally.findings.push(finding);
        }
        threads[chosen].known.insert(place, answer);
    }
    tally
}

impl<'a> Thread<'a> {
    fn new(shared: &'a Shared, rng: &mut Rng) -> Self {
        let cases = &shared.corpus.cases;
        let mut fresh = |prefix: &str| json!(format!("{prefix}{:08x}", rng.next_u64() as u32));
        let names = [
            ("ns".to_owned(), fresh("ns")),
            ("id".to_owned(), fresh("id")),
        ];
        Self {
            case: &cases[rng.below(cases.len())],
            at: 0,
            known: Known::from(names),
        }
    }

    /// The next request and the name of its answer. Some are sent twice.
    fn next(&mut self, rng: &mut Rng) -> Option<(String, Map<String, Value>)> {
        let setup = self.case.setup.len();
        let (place, step) = match self.case.setup.get(self.at) {
            Some(step) => (format!("setup{}", self.at + 1), step),
            None => {
                let at = self.at - setup;
                (format!("step{}", at + 1), self.case.steps.get(at)?)
            }
        };
        if self.at < setup || !once_in(rng, 4) {
            self.at += 1;
        }
        Some((place, self.fill(step)))
    }

    fn fill(&self, step: &Step) -> Map<String, Value> {
        let path = step
            .fields
            .get("path")
            .map(fill::as_text)
            .unwrap_or_default();
        let mut rest = step.fields.clone();
        for field in ["expect", "until", "wait_ms"] {
            rest.remove(field);
        }
        let filled = fill(&Value::Object(rest), &self.known);
        let mut filled = filled.as_object().cloned().unwrap_or_default();
        let path = fill::fill_path(&path, &self.known);
        filled.insert("path".to_owned(), path.into());
        filled
    }
}

/// Sends a request, unless it cannot even be written down.
async fn send(
    shared: &Shared,
    server: &Server,
    number: usize,
    step: &Map<String, Value>,
) -> Option<Reply> {
    let body = step.get("body").map(Value::to_string);
    let request = run::request(step, body).ok()?;
    let target = request.uri().to_string();
    let shown = shown(step);
    if shared.plan.only.is_some() {
        println!("{shown}");
    }
    shared
        .watchdog
        .begin(number, format!("--case {number}: {shown}"));
    let (parts, mut body) = server.call(request).await.into_parts();
    let mut bytes = Vec::new();
    let endless = target.contains("watch") || target.contains("follow");
    loop {
        let frame = match endless {
            true => tokio::time::timeout(GLANCE, body.frame())
                .await
                .ok()
                .flatten(),
            false => body.frame().await,
        };
        match frame {
            Some(Ok(frame)) => bytes.extend(frame.into_data().unwrap_or_default()),
            _ => break,
        }
    }
    shared.watchdog.end(number);
    let kind = parts.headers.get(http::header::CONTENT_TYPE);
    let reply = Reply {
        code: parts.status.as_u16(),
        json: !endless && kind.is_some_and(|kind| kind == "application/json"),
        text: String::from_utf8_lossy(&bytes).into_owned(),
    };
    if shared.plan.only.is_some() {
        println!(
            "-> {} {}",
            reply.code,
            reply.text.chars().take(TEXT_MAX).collect::<String>()
        );
    }
    Some(reply)
}

/// What is wrong with an answer.
fn judge(step: &Map<String, Value>, reply: &Reply, answer: &Value) -> Option<String> {
    let head = step.get("method").is_some_and(|method| method == "HEAD");
    if reply.code >= 500 && expected::reason(reply.code, &reply.text).is_none() {
        return Some("a failure that upstream is not known to share".to_owned());
    }
    if !(200..600).contains(&reply.code) {
        return Some("no status code".to_owned());
    }
    if reply.json && !head && answer.is_null() && reply.text != "null\n" {
        return Some("no JSON".to_owned());
    }
    let told = answer.get("code").and_then(Value::as_u64);
    let failed = reply.code >= 400 && answer["kind"] == "Status";
    match told {
        Some(told) if failed && told != u64::from(reply.code) => Some(format!("it says {told}")),
        _ => None,
    }
}

fn shown(step: &Map<String, Value>) -> String {
    let text = |key: &str| step.get(key).map(fill::as_text).unwrap_or_default();
    let body = text("rawBody") + &text("body");
    let body: String = body.chars().take(TEXT_MAX).collect();
    format!(
        "{} {} {} {} {body}",
        text("method"),
        text("path"),
        text("query"),
        text("headers")
    )
}
