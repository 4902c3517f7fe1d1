//! Requests made by chance from the recorded ones: none may bring the server down, hang, or be
//! answered with a 5xx that the real server would not give.
//!
//! A conversation has a server of its own and follows a few recorded cases side by side, with most
//! requests changed somewhere: see [`mutate`]. Its number and the seed say all about it, so that
//! `--fuzz 1 --seed S --case I` plays it again.

mod corpus;
mod expected;
mod generate;
mod mutate;
mod patch;
mod talk;
mod tree;
mod values;
mod watchdog;

use crate::case::Case;
use corpus::Corpus;
use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};
use stowplan_base::Rng;
use watchdog::Watchdog;

/// Requests of one conversation.
const LENGTH: usize = 50;
/// How many findings are shown in full.
const SHOWN: usize = 20;

/// What to send.
#[derive(Clone, Copy)]
pub(crate) struct Plan {
    /// How many requests at least.
    pub(crate) requests: usize,
    /// Decides everything.
    pub(crate) seed: u64,
    /// Only the conversation with this number, showing each request.
    pub(crate) only: Option<usize>,
    /// Conversations at a time.
    pub(crate) at_once: usize,
}

/// What all conversations share.
struct Shared {
    plan: Plan,
    corpus: Corpus,
    watchdog: Watchdog,
    panics: Arc<Mutex<Vec<String>>>,
}

/// How conversations went.
#[derive(Default)]
struct Tally {
    requests: usize,
    /// By the first digit of the status code.
    codes: [usize; 6],
    findings: Vec<String>,
}

impl Tally {
    fn add(&mut self, other: Self) {
        self.requests += other.requests;
        for (mine, theirs) in self.codes.iter_mut().zip(other.codes) {
            *mine += theirs;
        }
        self.findings.extend(other.findings);
    }
}

/// Sends the requests and says what was wrong.
pub(crate) async fn run(cases: Vec<Case>, plan: Plan) -> ExitCode {
    let panics = Arc::new(Mutex::new(Vec::new()));
    record_panics(Arc::clone(&panics));
    let shared = Arc::new(Shared {
        plan,
        corpus: Corpus::new(cases),
        watchdog: Watchdog::start(),
        panics,
    });
    let numbers = match plan.only {
        Some(number) => number..number + 1,
        None => 0..plan.requests.div_ceil(LENGTH),
    };
    let permits = Arc::new(tokio::sync::Semaphore::new(plan.at_once.max(1)));
    let mut tasks = tokio::task::JoinSet::new();
    for number in numbers {
        let (shared, permits) = (Arc::clone(&shared), Arc::clone(&permits));
        tasks.spawn(async move {
            let _permit = permits.acquire_owned().await;
            talk::conversation(&shared, number).await
        });
    }
    let mut tally = Tally::default();
    while let Some(ended) = tasks.join_next().await {
        match ended {
            Ok(one) => tally.add(one),
            Err(error) => tally
                .findings
                .push(format!("a conversation broke: {error}")),
        }
    }
    let panics = shared.panics.lock().unwrap_or_else(PoisonError::into_inner);
    tally.findings.extend(panics.iter().cloned());
    report(&tally, plan.seed)
}

fn record_panics(panics: Arc<Mutex<Vec<String>>>) {
    std::panic::set_hook(Box::new(move |info| {
        let mut panics = panics.lock().unwrap_or_else(PoisonError::into_inner);
        panics.push(format!("panic: {info}"));
    }));
}

fn report(tally: &Tally, seed: u64) -> ExitCode {
    for finding in tally.findings.iter().take(SHOWN) {
        println!("{finding}\n");
    }
    let [_, _, good, moved, refused, failed] = tally.codes;
    println!(
        "FUZZ seed={seed} requests={} 2xx={good} 3xx={moved} 4xx={refused} 5xx={failed} findings={}",
        tally.requests,
        tally.findings.len()
    );
    match tally.findings.is_empty() {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    }
}

/// The randomness of one conversation.
fn rng_of(seed: u64, number: usize) -> Rng {
    let mut rng = Rng::new(seed);
    let base = rng.next_u64();
    Rng::new(base ^ (number as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15))
}

/// One of several.
fn pick<'a, T>(rng: &mut Rng, list: &'a [T]) -> Option<&'a T> {
    match list.is_empty() {
        true => None,
        false => list.get(rng.below(list.len())),
    }
}

/// True once in `times`.
fn once_in(rng: &mut Rng, times: usize) -> bool {
    rng.below(times) == 0
}
