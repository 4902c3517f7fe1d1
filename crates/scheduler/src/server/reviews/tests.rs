//! Strangers, and what they can make this process do.

use super::*;
use http::{Request, Response};
use http_body_util::BodyExt;
use kube::client::Body;
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::sync::Semaphore;

/// An API server that knows tokens that begin with `good`, and lets everybody do everything but
/// strangers. Each question needs a permit.
#[derive(Clone)]
struct Fake {
    asked: Arc<AtomicUsize>,
    permits: Arc<Semaphore>,
}

impl Fake {
    fn new(permits: usize) -> Self {
        Self {
            asked: Arc::default(),
            permits: Arc::new(Semaphore::new(permits)),
        }
    }

    fn asked(&self) -> usize {
        self.asked.load(Ordering::Relaxed)
    }

    fn reviews(&self) -> Arc<Reviews> {
        let fake = self.clone();
        let service = tower::service_fn(move |request| fake.clone().answer(request));
        let client = Client::new(service, "default");
        let limits = Limits {
            kept: CacheLimits {
                answers: 8,
                bytes: 8 << 10,
            },
            strangers: Concurrency {
                asked: 2,
                waiting: 4,
            },
            ..LIMITS
        };
        let env = Arc::new(stowplan_env::System::new());
        Arc::new(Reviews::with_limits(client.clone(), client, limits, env))
    }

    async fn answer(self, request: Request<Body>) -> Result<Response<Body>, tower::BoxError> {
        self.asked.fetch_add(1, Ordering::Relaxed);
        self.permits.acquire().await?.forget();
        let body = request.into_body().collect().await?.to_bytes();
        let mut review: Value = serde_json::from_slice(&body)?;
        let spec = &review["spec"];
        review["status"] = match spec["token"].as_str() {
            Some(token) => json!({
                "authenticated": token.starts_with("good"),
                "user": {"username": token},
            }),
            None => json!({"allowed": spec["user"] != "system:anonymous"}),
        };
        let body = serde_json::to_vec(&review)?;
        Ok(Response::new(Body::from(body)))
    }
}

fn caller(token: &str) -> Caller {
    Caller {
        token: Some(token.to_owned()),
        certificate: None,
    }
}

fn path(path: &str) -> AccessRequest {
    AccessRequest::Path {
        verb: "get".to_owned(),
        path: path.to_owned(),
    }
}

/// As many requests at once, each with a token or a path of its own.
fn at_once(
    reviews: &Arc<Reviews>,
    requests: Vec<(Caller, AccessRequest)>,
) -> Vec<tokio::task::JoinHandle<Result<(), Refusal>>> {
    let ask = |(caller, wish)| {
        let reviews = Arc::clone(reviews);
        tokio::spawn(async move { reviews.admit(caller, wish).await })
    };
    requests.into_iter().map(ask).collect()
}

async fn let_them_come() {
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_token_that_is_too_long_is_not_asked_about() {
    let fake = Fake::new(100);
    let reviews = fake.reviews();
    let long = "good".repeat(5_000);
    let answer = reviews.admit(caller(&long), path("/")).await;
    assert_eq!(answer, Err(Refusal::Unauthorized));
    assert_eq!(fake.asked(), 0);
}

#[tokio::test(start_paused = true)]
async fn strangers_do_not_drive_out_who_is_known() {
    let fake = Fake::new(usize::MAX >> 4);
    let reviews = fake.reviews();
    let known = || reviews.admit(caller("good"), path("/metrics"));
    assert_eq!(known().await, Ok(()));
    let refused = Err(Refusal::Unauthorized);
    for i in 0..100 {
        let answer = reviews.admit(caller(&format!("bad{i}")), path("/")).await;
        assert_eq!(answer, refused);
        let nobody = reviews.admit(Caller::default(), path(&format!("/{i}")));
        assert!(matches!(nobody.await, Err(Refusal::Forbidden { .. })));
    }
    let asked = fake.asked();
    assert_eq!(known().await, Ok(()));
    // The last of them are remembered, too.
    assert_eq!(reviews.admit(caller("bad99"), path("/")).await, refused);
    assert_eq!(fake.asked(), asked);
}

#[tokio::test(start_paused = true)]
async fn few_strangers_are_asked_about_at_once_and_few_wait() {
    let fake = Fake::new(2);
    let reviews = fake.reviews();
    assert_eq!(reviews.admit(caller("good"), path("/")).await, Ok(()));
    tokio::time::advance(BELIEF * 2).await;
    let strangers = (0..100).map(|i| match i % 2 {
        0 => (caller(&format!("bad{i}")), path("/")),
        _ => (Caller::default(), path(&format!("/{i}"))),
    });
    let strangers = at_once(&reviews, strangers.collect());
    let_them_come().await;
    assert_eq!(fake.asked(), 2 + 4, "two tokens and two paths");
    // Who was known before is asked about at once.
    let known = at_once(&reviews, vec![(caller("good"), path("/"))]);
    let_them_come().await;
    assert_eq!(fake.asked(), 2 + 4 + 1);
    fake.permits.add_permits(100);
    let mut busy = 0;
    for stranger in strangers {
        busy += usize::from(stranger.await.unwrap() == Err(Refusal::Busy));
    }
    assert_eq!(busy, 100 - 8);
    for known in known {
        assert_eq!(known.await.unwrap(), Ok(()));
    }
}

#[tokio::test(start_paused = true)]
async fn the_same_is_not_asked_twice_at_the_same_time() {
    let fake = Fake::new(0);
    let reviews = fake.reviews();
    let mut same = at_once(&reviews, vec![(caller("good"), path("/")); 4]);
    let_them_come().await;
    assert_eq!(fake.asked(), 1);
    // Whoever asks goes away: another one asks.
    same.remove(0).abort();
    let_them_come().await;
    fake.permits.add_permits(100);
    for one in same {
        assert_eq!(one.await.unwrap(), Ok(()));
    }
    assert_eq!(fake.asked(), 3, "the token once more, and what he may");
    assert!(reviews.strangers.is_idle());
}

#[tokio::test(start_paused = true)]
async fn an_api_server_that_does_not_answer_holds_nobody_for_long() {
    let reviews = Fake::new(0).reviews();
    let token = reviews.admit(caller("good"), path("/")).await;
    assert_eq!(token, Err(Refusal::Unauthorized));
    let nobody = reviews.admit(Caller::default(), path("/")).await;
    assert!(matches!(nobody, Err(Refusal::Broken(_))));
}
