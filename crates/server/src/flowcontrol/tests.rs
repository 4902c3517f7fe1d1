use super::*;
use crate::limits::{
    ANSWER_TIME, ANSWERS_KIB_MAX, BODIES_KIB_MAX, BODY_BYTES_MAX, LEFTOVERS_MAX, LIGHT_OBJECTS_MAX,
    QUEUE_LENGTH_MAX, SEATS, SMALL_ANSWER_BYTES,
};
use crate::testing::{self, WEAK_TOKEN};
use crate::{Answer, Api, answer};
use axum::body::Body;
use bytes::Bytes;
use http_body::{Frame, SizeHint};
use http_body_util::BodyExt;
use serde_json::json;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use stowplan_env::System;

fn env() -> Arc<dyn Env> {
    Arc::new(System::new())
}

fn flow(name: &str) -> Flow {
    Flow::Of(name.into())
}

/// All that one flow gets of a pool, one by one.
fn all_of(pool: &Pool, name: &str) -> Vec<Held> {
    std::iter::from_fn(|| pool.take(&flow(name), 1)).collect()
}

#[test]
fn nobody_takes_more_than_what_is_left() {
    let pool = Pool::new(1_000);
    let first = all_of(&pool, "first");
    assert_eq!(first.len(), 500, "half, for one alone");
    let second = all_of(&pool, "second");
    assert_eq!(second.len(), 250);
    assert_eq!(
        all_of(&pool, "third").len(),
        125,
        "and whoever comes next finds room"
    );
    drop(first);
    let more = all_of(&pool, "second");
    assert_eq!(second.len() + more.len(), 500);
    drop((second, more));
    assert_eq!(
        (pool.free(), pool.flows()),
        (1_000, 0),
        "nobody is remembered"
    );
}

#[test]
fn greedy_flows_that_take_turns_get_equal_shares() {
    let pool = Pool::new(1_000);
    let mut held: [Vec<Held>; 4] = Default::default();
    while (0..4).fold(false, |more, i| {
        let taken = pool.take(&flow(&i.to_string()), 1);
        let took = taken.is_some();
        held[i].extend(taken);
        more || took
    }) {}
    assert!(held.iter().all(|held| held.len() == 200), "a fifth each");
    assert_eq!(pool.free(), 200, "and one for who comes next");
}

#[test]
fn what_the_exempt_take_is_taken_from_nobody() {
    let pool = Pool::new(10);
    let all: Vec<_> = (0..100).map(|_| pool.take(&Flow::Exempt, 1)).collect();
    assert!(all.iter().all(Option::is_some));
    assert_eq!(pool.free(), 10);
}

#[tokio::test(start_paused = true)]
async fn who_finds_no_seat_waits_in_a_short_queue() {
    let seats = Seats::new(4, env());
    let greedy = flow("greedy");
    let one = seats.take(&greedy, 1).await.expect("free");
    let two = seats.take(&greedy, 1).await.expect("free");
    assert_eq!(seats.pool().free(), 2, "more would be more than its share");
    let waiting: Vec<_> = (0..QUEUE_LENGTH_MAX)
        .map(|_| {
            let (seats, flow) = (seats.clone(), greedy.clone());
            tokio::spawn(async move { seats.take(&flow, 1).await.is_some() })
        })
        .collect();
    tokio::task::yield_now().await;
    assert!(seats.take(&greedy, 1).await.is_none(), "the queue is full");
    assert!(seats.take(&flow("other"), 1).await.is_some());
    assert!(seats.take(&Flow::Exempt, 1).await.is_some());
    // Each gives its seat on as soon as it has it.
    drop(one);
    for waiter in waiting {
        assert!(waiter.await.expect("no panic"));
    }
    drop(two);
    assert_eq!(seats.pool().free(), 4);
}

#[tokio::test(start_paused = true)]
async fn who_has_waited_for_too_long_is_told_to_come_back() {
    let seats = Seats::new(2, env());
    let greedy = flow("greedy");
    let held = seats.take(&greedy, 1).await.expect("free");
    assert!(seats.take(&greedy, 1).await.is_none());
    // Nobody waits behind those who gave up.
    drop(held);
    assert!(seats.take(&greedy, 1).await.is_some());
    assert_eq!(seats.pool().free(), 2);
}

#[tokio::test(start_paused = true)]
async fn the_flow_with_the_fewest_seats_is_served_first() {
    let seats = Seats::new(3, env());
    let (busy, idle) = (flow("busy"), flow("idle"));
    let first = seats.take(&busy, 1).await.expect("free");
    let others = [
        seats.take(&flow("a"), 1).await.expect("free"),
        seats.take(&flow("b"), 1).await.expect("free"),
    ];
    let (served, mut order) = tokio::sync::mpsc::unbounded_channel();
    for (flow, name) in [(&busy, "busy"), (&idle, "idle")] {
        let (seats, flow, served) = (seats.clone(), flow.clone(), served.clone());
        tokio::spawn(async move {
            let seat = seats.take(&flow, 1).await;
            let _ = served.send((name, seat));
        });
        tokio::task::yield_now().await;
    }
    drop(others);
    let (name, _seat) = order.recv().await.expect("somebody");
    assert_eq!(name, "idle", "it came later, and has no seat yet");
    drop(first);
}

/// The code, the header `Retry-After` and the body.
async fn ask_as(api: &Arc<Api>, token: &str, url: &str) -> (u16, String, String) {
    let request = http::Request::get(url).header("authorization", format!("Bearer {token}"));
    let answer = api.call(request.body(Body::empty()).expect("a request"));
    let answer = answer.await;
    let code = answer.status().as_u16();
    let after = answer.headers().get("retry-after");
    let after = after.map_or("", |v| v.to_str().unwrap_or_default());
    let after = after.to_owned();
    let body = answer.into_body().collect().await.expect("a body");
    let body = String::from_utf8_lossy(&body.to_bytes()).into_owned();
    (code, after, body)
}

const SHORT_WATCH: &str = "/api/v1/pods?watch=1&timeoutSeconds=1";

fn refused() -> (u16, String, String) {
    let text = "Too many requests, please try again later.\n";
    (429, "1".to_owned(), text.to_owned())
}

impl FlowControl {
    /// Others have taken all seats for what computes for long.
    pub(crate) fn without_heavy_seats(&self) -> Vec<Held> {
        flood(self.heavy.pool())
    }
}

/// As many flows as it takes until hardly anything is left.
fn flood(pool: &Pool) -> Vec<Held> {
    let mut held = Vec::new();
    for i in 0.. {
        let taken = all_of(pool, &format!("flood-{i}"));
        if taken.is_empty() {
            return held;
        }
        held.extend(taken);
    }
    held
}

#[tokio::test(start_paused = true)]
async fn too_many_at_once_are_told_to_come_back() {
    let api = testing::api_with_weak_user().await;
    let flooded = flood(api.flow_control().seats.pool());
    assert_eq!(ask_as(&api, WEAK_TOKEN, "/api/v1/pods").await, refused());
    assert_eq!(
        ask_as(&api, "test", "/api/v1/pods").await.0,
        200,
        "a master"
    );
    assert_eq!(ask_as(&api, WEAK_TOKEN, "/livez").await.0, 200, "a probe");
    let watch = ask_as(&api, WEAK_TOKEN, SHORT_WATCH).await;
    assert_eq!(watch, refused(), "one that is to begin");
    drop(flooded);
    assert_eq!(ask_as(&api, WEAK_TOKEN, "/api/v1/pods").await.0, 200);
    assert_eq!(api.flow_control().seats.pool().free(), SEATS);
}

#[tokio::test(start_paused = true)]
async fn too_many_watches_are_told_to_come_back() {
    let api = testing::api_with_weak_user().await;
    let flooded = flood(&api.flow_control().watches);
    assert_eq!(ask_as(&api, WEAK_TOKEN, SHORT_WATCH).await, refused());
    assert_eq!(ask_as(&api, "test", SHORT_WATCH).await.0, 200, "a master");
    assert_eq!(ask_as(&api, WEAK_TOKEN, "/api/v1/pods").await.0, 200);
    drop(flooded);
    assert_eq!(ask_as(&api, WEAK_TOKEN, SHORT_WATCH).await.0, 200);
    let free = api.flow_control().watches.free();
    assert_eq!(free, WATCHES_MAX, "a watch gives its place back");
}

/// The attack: lists that wait for a revision that does not come.
#[tokio::test(start_paused = true)]
async fn lists_that_wait_lock_nobody_out() {
    let api = testing::api_with_weak_user().await;
    let waits = || async {
        let url = "/api/v1/pods?resourceVersion=999999";
        ask_as(&api, WEAK_TOKEN, url).await.0
    };
    let attack = futures_util::future::join_all((0..1_000).map(|_| waits()));
    let meanwhile = async {
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        let others = (0..100).map(|i| {
            let seats = api.flow_control().seats.clone();
            async move { seats.take(&flow(&format!("other-{}", i % 5)), 1).await }
        });
        let other = futures_util::future::join_all(others);
        assert!(other.await.iter().all(Option::is_some));
        assert_eq!(ask_as(&api, "test", "/api/v1/pods").await.0, 200);
        assert_eq!(ask_as(&api, WEAK_TOKEN, "/livez").await.0, 200);
    };
    let (codes, ()) = futures_util::future::join(attack, meanwhile).await;
    assert!(codes.contains(&504) && codes.contains(&429));
}

#[tokio::test]
async fn whoever_acts_as_others_pays_himself() {
    let name = |user: &str| match Flow::of_user(&User::new(user, &[])) {
        Flow::Of(name) => name.to_string(),
        Flow::Exempt => String::new(),
    };
    assert_eq!(name("ann"), "ann");
    assert_eq!(
        name("system:serviceaccount:ns:a"),
        name("system:serviceaccount:ns:b")
    );
    assert_ne!(
        name("system:serviceaccount:ns:a"),
        name("system:serviceaccount:ms:a")
    );
}

#[tokio::test]
async fn a_body_that_is_too_large_is_refused() {
    let api = testing::api().await;
    let body = json!({"data": {"k": "x".repeat(BODY_BYTES_MAX)}});
    let url = "/api/v1/namespaces/default/configmaps";
    let (code, status) = testing::send(&api, "POST", url, &[], &body).await;
    let reason = json!("RequestEntityTooLarge");
    assert_eq!((code, &status["reason"]), (413, &reason));
}

fn request(method: &str, url: &str, body: Body) -> http::Request<Body> {
    let request = http::Request::builder().method(method).uri(url);
    let request = request.header("authorization", "Bearer test");
    request.body(body).expect("a request")
}

fn endless() -> Body {
    let never = futures_util::stream::pending::<Result<Bytes, std::io::Error>>();
    Body::from_stream(never)
}

#[tokio::test]
async fn a_slow_body_holds_no_place() {
    let api = testing::api().await;
    let mut slow = std::pin::pin!(api.call(request("POST", "/api/v1/namespaces", endless())));
    let poll =
        std::future::poll_fn(|cx| std::task::Poll::Ready(slow.as_mut().poll(cx).is_pending()));
    assert!(poll.await, "nothing has come yet");
    assert_eq!(api.flow_control().seats.pool().free(), SEATS);
}

#[tokio::test]
async fn bodies_that_mean_nothing_are_not_read() {
    let api = testing::api().await;
    for (method, url) in [
        ("GET", "/healthz"),
        ("GET", "/api/v1/pods"),
        ("POST", "/version"),
    ] {
        let answer = api.call(request(method, url, endless())).await;
        assert_ne!(answer.status().as_u16(), 504, "{method} {url}");
    }
}

#[tokio::test]
async fn who_waits_to_be_told_to_send_is_not_waited_for() {
    let api = testing::api().await;
    let ask = |expect: bool| {
        let mut request = request("POST", "/api/v1/namespaces", endless());
        let headers = request.headers_mut();
        headers.remove("authorization");
        if expect {
            headers.insert("expect", "100-continue".parse().expect("a header"));
        }
        api.call(request)
    };
    let free = || api.flow_control().leftovers.available_permits();
    assert_eq!(ask(true).await.status().as_u16(), 403);
    assert_eq!(free(), LEFTOVERS_MAX);
    assert_eq!(ask(false).await.status().as_u16(), 403);
    assert_eq!(free(), LEFTOVERS_MAX - 1);
}

#[tokio::test(start_paused = true)]
async fn bodies_take_up_room_while_they_are_needed() {
    let api = testing::api_with_weak_user().await;
    let control = api.flow_control();
    let flooded = flood(&control.bodies_kib);
    let post = || {
        let post = http::Request::post("/api/v1/namespaces/default/configmaps");
        let post = post.header("authorization", format!("Bearer {WEAK_TOKEN}"));
        post.body(Body::from("{}")).expect("a request")
    };
    assert_eq!(api.call(post()).await.status().as_u16(), 429);
    drop(flooded);
    assert_ne!(api.call(post()).await.status().as_u16(), 429);
    assert_eq!(control.bodies_kib.free(), BODIES_KIB_MAX);
    let in_parts = [Bytes::from("{\"a\""), Bytes::from(":1}")].map(Ok::<_, std::io::Error>);
    let mut body = Body::from_stream(futures_util::stream::iter(in_parts));
    let read = control.read(&mut body, 0, &flow("u")).await;
    let (bytes, held) = read.expect("is small").expect("there is room");
    assert_eq!(bytes, "{\"a\":1}");
    let kib = control.bodies_kib.held_by(&flow("u"));
    assert_eq!(kib, 1, "both pieces together are smaller than that");
    drop(held);
    assert_eq!(control.bodies_kib.free(), BODIES_KIB_MAX);
}

#[tokio::test]
async fn nobody_takes_all_the_room_for_bodies() {
    let control = FlowControl::new(env());
    let body = || Body::from(vec![b'x'; BODY_BYTES_MAX]);
    let (greedy, other) = (flow("greedy"), flow("other"));
    let mut held = Vec::new();
    while let Some((_, room)) = control
        .read(&mut body(), 0, &greedy)
        .await
        .expect("is allowed")
    {
        held.push(room);
    }
    let share = BODIES_KIB_MAX / 2 / (BODY_BYTES_MAX / 1024);
    assert_eq!(held.len(), share);
    let other = control
        .read(&mut body(), 0, &other)
        .await
        .expect("is allowed");
    assert!(other.is_some(), "there is room for others");
    held.pop();
    held.pop();
    let again = control
        .read(&mut body(), 0, &greedy)
        .await
        .expect("is allowed");
    assert!(again.is_some(), "what was read makes room");
    drop((held, other, again));
    assert_eq!(control.bodies_kib.flows(), 0);
}

#[tokio::test]
async fn a_write_that_is_done_is_answered_even_without_room() {
    let control = FlowControl::new(env());
    let _flooded = flood(&control.answers_kib);
    let weak = flow("weak");
    assert!(control.hold(large(), &weak, false).is_none());
    assert!(control.hold(large(), &weak, true).is_some());
    assert!(control.hold(large(), &Flow::Exempt, false).is_some());
}

/// The attack: large lists that nobody reads.
#[tokio::test]
async fn unread_answers_leave_room_for_others() {
    let control = FlowControl::new(env());
    let nine_mb = || large().map(|_| Body::new(Sized(9 << 20)));
    let greedy = flow("greedy");
    let unread: Vec<_> = (0..130)
        .map_while(|_| control.hold(nine_mb(), &greedy, false))
        .collect();
    assert!(unread.len() < 60, "half of all room");
    assert!(control.hold(nine_mb(), &flow("other"), false).is_some());
}

#[tokio::test]
async fn an_answer_larger_than_all_room_is_given_while_nobody_else_needs_it() {
    let control = FlowControl::new(env());
    let size = u64::try_from(ANSWERS_KIB_MAX).expect("fits") * 1024 + 1;
    let huge = || large().map(|_| Body::new(Sized(size)));
    let (one, other) = (flow("one"), flow("other"));
    let held = control.hold(huge(), &one, false).expect("all room is free");
    assert_eq!(control.answers_kib.free(), 0);
    assert!(control.hold(large(), &other, false).is_none());
    drop(held);
    assert!(control.hold(large(), &other, false).is_some());
}

/// A body that says how large it is.
struct Sized(u64);

impl http_body::Body for Sized {
    type Data = Bytes;
    type Error = std::io::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        _cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, std::io::Error>>> {
        Poll::Pending
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.0)
    }
}

fn large() -> Answer {
    let size = usize::try_from(SMALL_ANSWER_BYTES).expect("fits") + 1;
    answer::bytes(200, "text/plain", vec![b'x'; size])
}

#[tokio::test(start_paused = true)]
async fn a_large_answer_keeps_its_room_until_it_is_read_or_given_up() {
    let control = FlowControl::new(env());
    let one = flow("one");
    let held = || control.hold(large(), &one, false).expect("room");
    let free = || control.answers_kib.free();
    let answer = held();
    assert!(free() < ANSWERS_KIB_MAX);
    let whole = answer.into_body().collect().await.expect("a body");
    assert_eq!(whole.to_bytes().len() as u64, SMALL_ANSWER_BYTES + 1);
    assert_eq!(free(), ANSWERS_KIB_MAX);
    // Somebody who reads a little now and then keeps it.
    let mut body = held().into_body();
    for _ in 0..2 {
        tokio::time::sleep(ANSWER_TIME).await;
        assert!(body.frame().await.expect("more").is_ok());
    }
    assert_ne!(free(), ANSWERS_KIB_MAX);
    tokio::time::sleep(ANSWER_TIME * 3).await;
    assert_eq!(free(), ANSWERS_KIB_MAX);
    assert!(body.frame().await.expect("an error").is_err());
}

#[tokio::test]
async fn small_answers_take_up_room_too() {
    let control = FlowControl::new(env());
    let one = flow("one");
    let small = || answer::bytes(200, "text/plain", vec![b'x'; 5_000]);
    let answer = control.hold(small(), &one, false).expect("room");
    assert_eq!(control.answers_kib.free(), ANSWERS_KIB_MAX - 5);
    let whole = answer.into_body().collect().await.expect("a body");
    assert_eq!(whole.to_bytes().len(), 5_000);
    assert_eq!(control.answers_kib.free(), ANSWERS_KIB_MAX);
}

/// The attack: writes whose answers are not read. What is done is answered, but no more is done.
#[tokio::test]
async fn who_does_not_read_must_read_first() {
    let control = FlowControl::new(env());
    let one = flow("one");
    let huge = || large().map(|_| Body::new(Sized(100 << 20)));
    let unread: Vec<_> = (0..20)
        .take_while(|_| !control.must_read_first(&one))
        .map(|_| control.hold(huge(), &one, true).expect("must be given"))
        .collect();
    assert!(unread.len() < 8, "{}", unread.len());
    assert!(!control.must_read_first(&flow("other")));
    assert!(!control.must_read_first(&Flow::Exempt));
    drop(unread);
    assert!(!control.must_read_first(&one));
    assert_eq!(control.answers_kib.free(), ANSWERS_KIB_MAX);
}

#[tokio::test(start_paused = true)]
async fn a_long_queue_does_not_go_before_who_comes_next() {
    let seats = Seats::new(2, env());
    let held = [
        seats.take(&flow("a"), 1).await,
        seats.take(&flow("b"), 1).await,
    ];
    let (served, mut order) = tokio::sync::mpsc::unbounded_channel();
    for name in ["a", "a", "a", "a", "late"] {
        let (seats, served) = (seats.clone(), served.clone());
        tokio::spawn(async move {
            let seat = seats.take(&flow(name), 1).await;
            tokio::time::sleep(std::time::Duration::from_millis(100)).await;
            drop(seat);
            let _ = served.send(name);
        });
        tokio::task::yield_now().await;
    }
    drop(held);
    let first = [order.recv().await, order.recv().await];
    assert!(first.contains(&Some("late")), "{first:?}");
}

#[test]
fn no_two_flows_take_all_at_once() {
    let pool = Pool::new(1_000);
    let all: Vec<_> = ["a", "b", "c", "d"]
        .iter()
        .map(|name| pool.take(&flow(name), 300))
        .collect();
    assert!(all[1].is_some() && pool.free() >= 300, "{}", pool.free());
    assert!(pool.take(&flow("next"), 1).is_some());
}

#[tokio::test]
async fn a_large_body_takes_more_seats() {
    let control = FlowControl::new(env());
    let one = flow("one");
    let seat = control.request(&one, 20 * 1024).await;
    assert_eq!(control.seats.pool().free(), SEATS - 6);
    drop(seat);
    let seat = control.request(&one, usize::MAX).await;
    let widest = SEATS.div_ceil(16);
    assert_eq!(control.seats.pool().free(), SEATS - widest);
    drop(seat);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn long_work_keeps_nobody_from_the_reactor() {
    let (send, receive) = std::sync::mpsc::channel();
    let long = tokio::spawn(off_the_reactor(async move {
        // Computes until somebody else has had his turn.
        receive
            .recv_timeout(std::time::Duration::from_secs(60))
            .is_ok()
    }));
    tokio::task::yield_now().await;
    let other = tokio::spawn(async move { send.send(()).is_ok() });
    assert!(other.await.expect("no panic"));
    assert!(long.await.expect("no panic"));
}

#[tokio::test(start_paused = true)]
async fn what_looks_at_many_objects_needs_a_heavy_seat() {
    let api = testing::api_with_weak_user().await;
    let url = "/api/v1/namespaces/default/configmaps";
    for i in 0..=LIGHT_OBJECTS_MAX {
        let object = json!({"metadata": {"name": format!("a{i}")}});
        testing::send(&api, "POST", url, &[], &object).await;
    }
    let delete = || {
        let request = http::Request::delete(url);
        let request = request.header("authorization", format!("Bearer {WEAK_TOKEN}"));
        api.call(request.body(Body::empty()).expect("a request"))
    };
    let flooded = flood(api.flow_control().heavy.pool());
    assert_eq!(ask_as(&api, WEAK_TOKEN, url).await, refused());
    assert_eq!(delete().await.status().as_u16(), 429);
    let one = format!("{url}/a1");
    assert_eq!(ask_as(&api, WEAK_TOKEN, &one).await.0, 200, "a light one");
    drop(flooded);
    assert_eq!(ask_as(&api, WEAK_TOKEN, url).await.0, 200);
    assert_eq!(delete().await.status().as_u16(), 200);
    assert_eq!(ask_as(&api, WEAK_TOKEN, &one).await.0, 404);
}

/// The attack: an HTTP/2 window of one byte. Who sends takes a whole piece into buffers of its own.
#[tokio::test]
async fn bytes_keep_their_room_wherever_they_are() {
    let control = FlowControl::new(env());
    let one = flow("one");
    for answer in [answer::bytes(200, "text/plain", vec![b'x'; 5_000]), large()] {
        let mut body = control.hold(answer, &one, false).expect("room").into_body();
        let frame = body.frame().await.expect("a frame").expect("bytes");
        drop(body);
        assert!(control.answers_kib.free() < ANSWERS_KIB_MAX);
        drop(frame);
        assert_eq!(control.answers_kib.free(), ANSWERS_KIB_MAX);
    }
}

/// The attack: requests that are refused with an answer longer than they are, and that nobody reads.
#[tokio::test]
async fn refusals_take_up_room_too() {
    let api = testing::api().await;
    let name = "x".repeat(20_000);
    for token in [WEAK_TOKEN, "a-stranger"] {
        let asked = http::Request::get(format!("/api/v1/namespaces/n/secrets/{name}"))
            .header("authorization", format!("Bearer {token}"));
        let asked = asked.body(Body::empty()).expect("a request");
        let refusal = api.call(asked).await;
        assert!(matches!(refusal.status().as_u16(), 401 | 403));
        assert!(api.flow_control().answers_kib.free() < ANSWERS_KIB_MAX);
        drop(refusal);
        assert_eq!(api.flow_control().answers_kib.free(), ANSWERS_KIB_MAX);
    }
}

/// The attack: many dry runs that each hold all objects of a namespace.
#[tokio::test]
async fn deleting_many_takes_up_room_for_what_it_reads() {
    let api = testing::api_with_weak_user().await;
    let url = "/api/v1/namespaces/default/configmaps";
    let map = json!({"metadata": {"name": "m"}, "data": {"k": "x".repeat(100_000)}});
    assert_eq!(testing::send(&api, "POST", url, &[], &map).await.0, 201);
    let delete = || async {
        let asked = http::Request::delete(format!("{url}?dryRun=All"));
        let asked = asked.header("authorization", format!("Bearer {WEAK_TOKEN}"));
        let answer = api.call(asked.body(Body::empty()).expect("a request"));
        answer.await.status().as_u16()
    };
    assert_eq!(delete().await, 200);
    // Enough is left for the bytes, not for what they become.
    let room = &api.flow_control().answers_kib;
    let _taken = room
        .take(&flow("other"), ANSWERS_KIB_MAX / 2)
        .expect("half");
    let _more = room.take_by_force(&flow("third"), ANSWERS_KIB_MAX / 2 - 1_000);
    assert_eq!(delete().await, 429);
}

/// The attack: one letter of "copy" is written as an escape.
#[tokio::test]
async fn copies_are_seen_however_they_are_written() {
    for (body, heavy) in [
        (r#"[{"op":"replace","path":"/a","value":1}]"#, false),
        (r#"[{"op":"copy","from":"/a","path":"/b"}]"#, true),
        (r#"[{"op":"\u0063opy","from":"/a","path":"/b"}]"#, true),
    ] {
        assert_eq!(weight::may_copy(body.as_bytes()), heavy, "{body}");
    }
}

/// The attack: short lists and watches of a time since when very much has happened elsewhere.
#[tokio::test(start_paused = true)]
async fn what_goes_back_in_time_needs_a_heavy_seat() {
    let api = testing::api_with_weak_user().await;
    let maps = "/api/v1/namespaces/default/configmaps";
    for name in ["a", "b"] {
        let object = json!({"metadata": {"name": name}});
        testing::send(&api, "POST", maps, &[], &object).await;
    }
    let then = api.store().revision();
    let (_, page) = testing::get(&api, &format!("{maps}?limit=1"), "application/json").await;
    let token = page["metadata"]["continue"].as_str().expect("a token");
    let goes_on = format!("{maps}?limit=1&continue={token}");
    let of_then = format!("{maps}?resourceVersion={then}&resourceVersionMatch=Exact");
    let since_then = format!("{maps}?resourceVersion={then}&watch=1&timeoutSeconds=1");
    let not_older = format!("{maps}?resourceVersion={then}");
    for i in 0..=LIGHT_OBJECTS_MAX {
        let object = json!({"metadata": {"name": format!("n{i}")}});
        testing::send(&api, "POST", "/api/v1/namespaces", &[], &object).await;
    }
    let flooded = api.flow_control().without_heavy_seats();
    for url in [&goes_on, &of_then, &since_then] {
        assert_eq!(ask_as(&api, WEAK_TOKEN, url).await, refused(), "{url}");
    }
    assert_eq!(ask_as(&api, WEAK_TOKEN, &not_older).await.0, 200);
    drop(flooded);
    for url in [&goes_on, &of_then, &since_then] {
        assert_eq!(ask_as(&api, WEAK_TOKEN, url).await.0, 200, "{url}");
    }
    // Who watches the same from there on has done the work.
    let watch = api.store().watch("/registry/configmaps/default/", then);
    let flooded = api.flow_control().without_heavy_seats();
    assert_eq!(ask_as(&api, WEAK_TOKEN, &since_then).await.0, 200);
    drop((watch, flooded));
}

#[tokio::test(start_paused = true)]
async fn a_watch_that_has_begun_keeps_no_seat() {
    let api = testing::api_with_weak_user().await;
    let request = http::Request::get("/api/v1/pods?watch=1");
    let request = request.header("authorization", format!("Bearer {WEAK_TOKEN}"));
    let watch = api.call(request.body(Body::empty()).expect("a request"));
    let watch = watch.await;
    assert_eq!(watch.status().as_u16(), 200);
    assert_eq!(api.flow_control().seats.pool().free(), SEATS);
}

/// The attack: a binding of a few bytes to a role of very many, and a small change of a role.
#[tokio::test(start_paused = true)]
async fn whoever_grants_takes_a_heavy_seat() {
    let api = testing::api_with_weak_user().await;
    let group = "rbac.authorization.k8s.io";
    let roles = format!("/apis/{group}/v1/namespaces/default/roles");
    let rules = json!([{"apiGroups": [group], "resources": ["*"], "verbs": ["*"]}]);
    let role = json!({"metadata": {"name": "r"}, "rules": rules});
    let binding = json!({"metadata": {"name": "b"},
        "roleRef": {"apiGroup": group, "kind": "Role", "name": "r"},
        "subjects": [{"apiGroup": group, "kind": "User", "name": "weak"}]});
    let bindings = roles.replace("/roles", "/rolebindings");
    for (url, object) in [(&roles, &role), (&bindings, &binding)] {
        assert_eq!(testing::send(&api, "POST", url, &[], object).await.0, 201);
    }
    let flooded = api.flow_control().without_heavy_seats();
    let write = async |method: &str, url: String, object: serde_json::Value| {
        let request = http::Request::builder().method(method).uri(url);
        let request = request.header("authorization", format!("Bearer {WEAK_TOKEN}"));
        let request = request.header(
            "content-type",
            match method {
                "PATCH" => "application/merge-patch+json",
                _ => "application/json",
            },
        );
        let request = request.body(Body::from(object.to_string()));
        api.call(request.expect("a request"))
            .await
            .status()
            .as_u16()
    };
    let other = json!({"metadata": {"name": "c"}, "roleRef": binding["roleRef"]});
    assert_eq!(write("POST", bindings.clone(), other.clone()).await, 429);
    assert_eq!(write("PUT", format!("{roles}/r"), role.clone()).await, 429);
    assert_eq!(write("PATCH", format!("{roles}/r"), json!({})).await, 429);
    drop(flooded);
    assert_eq!(write("POST", bindings, other).await, 201);
    assert_eq!(write("PUT", format!("{roles}/r"), role).await, 200);
}

/// The attack: questions whose answers are not read. They are asked by POST, but change nothing.
#[tokio::test]
async fn the_answer_to_a_question_need_not_be_given() {
    let api = testing::api_with_weak_user().await;
    let ask = async || {
        let url = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
        let request = http::Request::post(url);
        let request = request.header("authorization", format!("Bearer {WEAK_TOKEN}"));
        let attributes = json!({"verb": "get", "resource": "pods", "name": "a".repeat(5_000)});
        let review = json!({"spec": {"resourceAttributes": attributes}});
        let request = request.body(Body::from(review.to_string()));
        api.call(request.expect("a request"))
            .await
            .status()
            .as_u16()
    };
    assert_eq!(ask().await, 201);
    // One is left: nobody has to read first, but the answer takes more.
    let room = &api.flow_control().answers_kib;
    let others = room.take_by_force(&flow("other"), ANSWERS_KIB_MAX - 1);
    assert_eq!(ask().await, 429);
    drop(others);
    assert_eq!(ask().await, 201);
}
