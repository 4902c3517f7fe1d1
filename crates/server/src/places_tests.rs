use super::*;
use crate::testing;
use crate::{Api, answer};
use serde_json::json;

#[tokio::test]
async fn a_body_that_is_too_large_is_refused() {
    let api = testing::api().await;
    let body = json!({"data": {"k": "x".repeat(super::BODY_MAX)}});
    let url = "/api/v1/namespaces/default/configmaps";
    let (code, status) = testing::send(&api, "POST", url, &[], &body).await;
    let reason = json!("RequestEntityTooLarge");
    assert_eq!((code, &status["reason"]), (413, &reason));
}

/// The code, the header `Retry-After` and the body.
async fn ask(api: &Arc<Api>, url: &str) -> (u16, String, String) {
    let request = http::Request::get(url).header("authorization", "Bearer test");
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

#[tokio::test]
async fn too_many_at_once_are_told_to_come_back() {
    let api = testing::api().await;
    let all = u32::try_from(IN_FLIGHT_MAX).expect("fits");
    let permits = api.places().in_flight.acquire_many(all).await;
    let permits = permits.expect("all are free");
    assert_eq!(ask(&api, "/api/v1/pods").await, refused());
    assert_eq!(
        ask(&api, SHORT_WATCH).await.0,
        200,
        "watches have places of their own"
    );
    drop(permits);
    assert_eq!(ask(&api, "/api/v1/pods").await.0, 200);
}

#[tokio::test]
async fn too_many_watches_are_told_to_come_back() {
    let api = testing::api().await;
    let all = u32::try_from(WATCHES_MAX).expect("fits");
    let permits = api.places().watches.acquire_many(all).await;
    let permits = permits.expect("all are free");
    assert_eq!(ask(&api, SHORT_WATCH).await, refused());
    assert_eq!(ask(&api, "/api/v1/pods").await.0, 200);
    drop(permits);
    assert_eq!(ask(&api, SHORT_WATCH).await.0, 200);
    let free = api.places().watches.available_permits();
    assert_eq!(free, WATCHES_MAX, "a watch gives its place back");
}

#[tokio::test]
async fn nobody_takes_all_watches() {
    let places = Places::default();
    let mut taken: Vec<_> = (0..USER_WATCHES_MAX)
        .map_while(|_| places.watch("greedy"))
        .collect();
    assert_eq!(taken.len(), USER_WATCHES_MAX);
    assert!(places.watch("greedy").is_none());
    assert!(places.watch("other").is_some());
    taken.pop();
    assert!(places.watch("greedy").is_some());
    drop(taken);
    assert!(lock(&places.watches_of).is_empty(), "nobody is remembered");
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
    assert_eq!(api.places().in_flight.available_permits(), IN_FLIGHT_MAX);
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
    let free = || api.places().leftovers.available_permits();
    assert_eq!(ask(true).await.status().as_u16(), 403);
    assert_eq!(free(), LEFTOVERS_MAX);
    assert_eq!(ask(false).await.status().as_u16(), 403);
    assert_eq!(free(), LEFTOVERS_MAX - 1);
}

#[tokio::test]
async fn bodies_take_up_room_while_they_are_needed() {
    let api = testing::api().await;
    let places = api.places();
    let all = u32::try_from(BODIES_KIB_MAX).expect("fits");
    let permits = places.bodies_kib.acquire_many(all).await;
    let permits = permits.expect("all are free");
    let post = || request("POST", "/api/v1/namespaces", Body::from("{}"));
    assert_eq!(api.call(post()).await.status().as_u16(), 429);
    drop(permits);
    assert_ne!(api.call(post()).await.status().as_u16(), 429);
    assert_eq!(places.bodies_kib.available_permits(), BODIES_KIB_MAX);
    let in_parts = [Bytes::from("{\"a\""), Bytes::from(":1}")].map(Ok::<_, std::io::Error>);
    let mut body = Body::from_stream(futures_util::stream::iter(in_parts));
    let read = places.read(&mut body, "u").await.expect("is small");
    let (bytes, held) = read.expect("there is room");
    assert_eq!(bytes, "{\"a\":1}");
    assert_eq!(held.kib(), 1, "both pieces together are smaller than that");
    drop(held);
    assert_eq!(places.bodies_kib.available_permits(), BODIES_KIB_MAX);
}

#[tokio::test]
async fn nobody_takes_all_the_room_for_bodies() {
    let places = Places::default();
    let body = || Body::from(vec![b'x'; BODY_MAX]);
    let mut held = Vec::new();
    while let Some((_, room)) = places
        .read(&mut body(), "greedy")
        .await
        .expect("is allowed")
    {
        held.push(room);
    }
    assert_eq!(held.len(), USER_BODIES_KIB_MAX / (BODY_MAX / 1024));
    let other = places.read(&mut body(), "other").await.expect("is allowed");
    assert!(other.is_some(), "there is room for others");
    held.pop();
    let again = places
        .read(&mut body(), "greedy")
        .await
        .expect("is allowed");
    assert!(again.is_some(), "what was read makes room");
    drop((held, other, again));
    assert!(lock(&places.bodies_kib_of).is_empty());
}

#[tokio::test]
async fn a_write_that_is_done_is_answered_even_without_room() {
    let api = testing::api().await;
    let places = api.places();
    let all = u32::try_from(ANSWERS_KIB_MAX).expect("fits");
    let permits = places.answers_kib.acquire_many(all).await;
    let _permits = permits.expect("all are free");
    let text = "x".repeat(usize::try_from(SMALL_ANSWER_BYTES).expect("fits"));
    let object = serde_json::json!({"metadata": {"name": "large"}, "data": {"text": text}});
    let url = "/api/v1/namespaces/default/configmaps";
    let post = request("POST", url, Body::from(object.to_string()));
    assert_eq!(api.call(post).await.status().as_u16(), 201);
    let get = request("GET", &format!("{url}/large"), Body::empty());
    assert_eq!(api.call(get).await.status().as_u16(), 429);
}

#[tokio::test]
async fn an_answer_larger_than_all_room_is_given_while_nobody_else_needs_it() {
    let places = Places::default();
    let size = u64::try_from(ANSWERS_KIB_MAX).expect("fits") * 1024 + 1;
    let huge = || large().map(|_| Body::new(Sized(size)));
    let held = places.hold(huge(), None, false).expect("all room is free");
    assert_eq!(places.answers_kib.available_permits(), 0);
    assert!(places.hold(large(), None, false).is_none());
    drop(held);
    assert!(places.hold(large(), None, false).is_some());
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
async fn a_large_answer_keeps_its_place_until_it_is_read_or_given_up() {
    let places = Places::default();
    let held = || places.hold(large(), places.request(), false).expect("room");
    let free = || {
        let (a, b) = (&places.in_flight, &places.answers_kib);
        (a.available_permits(), b.available_permits())
    };
    let nothing_held = (IN_FLIGHT_MAX, ANSWERS_KIB_MAX);
    let answer = held();
    assert!(free().0 < nothing_held.0 && free().1 < nothing_held.1);
    let whole = answer.into_body().collect().await.expect("a body");
    assert_eq!(whole.to_bytes().len() as u64, SMALL_ANSWER_BYTES + 1);
    assert_eq!(free(), nothing_held);
    // Somebody who reads a little now and then keeps it.
    let mut body = held().into_body();
    for _ in 0..2 {
        tokio::time::sleep(ANSWER_TIME).await;
        assert!(body.frame().await.expect("more").is_ok());
    }
    assert_ne!(free(), nothing_held);
    tokio::time::sleep(ANSWER_TIME * 3).await;
    assert_eq!(free(), nothing_held);
    assert!(body.frame().await.expect("an error").is_err());
}

#[tokio::test]
async fn a_small_answer_holds_nothing() {
    let places = Places::default();
    let small = answer::bytes(200, "text/plain", "ok");
    let answer = places.hold(small, places.request(), false).expect("room");
    assert_eq!(places.in_flight.available_permits(), IN_FLIGHT_MAX);
    drop(answer);
}
