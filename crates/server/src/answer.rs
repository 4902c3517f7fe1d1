//! Writing answers.

use crate::negotiate::{Format, Output};
use axum::body::Body;
use bytes::Bytes;
use http::{HeaderValue, Response, header};
use serde_json::Value;
use stowplan_apimachinery::Status;
use stowplan_schema::yaml;

/// An HTTP answer.
pub type Answer = Response<Body>;

/// Bytes of some type.
pub(crate) fn bytes(code: u16, content_type: &str, body: impl Into<Bytes>) -> Answer {
    let mut answer = Response::new(Body::from(body.into()));
    *answer.status_mut() =
        http::StatusCode::from_u16(code).unwrap_or(http::StatusCode::INTERNAL_SERVER_ERROR);
    if let Ok(value) = HeaderValue::from_str(content_type) {
        answer.headers_mut().insert(header::CONTENT_TYPE, value);
    }
    if content_type.starts_with("text/") {
        keep_type(&mut answer);
    }
    answer
}

/// An object in the form that was negotiated.
pub(crate) fn object(code: u16, object: &Value, output: Output) -> Answer {
    match output.format {
        Format::Json => {
            // Most objects fit.
            let mut body = Vec::with_capacity(4096);
            match output.pretty {
                // Writing JSON to memory does not fail.
                true => drop(serde_json::to_writer_pretty(&mut body, object)),
                false => stowplan_apimachinery::json::write(&mut body, object),
            }
            bytes(code, "application/json", body)
        }
        Format::Yaml => bytes(code, "application/yaml", yaml::from_json(object)),
    }
}

/// JSON that is ready.
pub(crate) fn json(code: u16, body: Vec<u8>, output: Output) -> Answer {
    if output.format == Format::Json && !output.pretty {
        return bytes(code, "application/json", body);
    }
    object(code, &crate::storage::parse(&body), output)
}

/// A failure.
pub(crate) fn failure(status: &Status, output: Output) -> Answer {
    let mut answer = object(status.code, &status.to_json(), output);
    let seconds = status.details.as_ref().map_or(0, |d| d.retry_after_seconds);
    if seconds > 0 {
        answer
            .headers_mut()
            .insert(header::RETRY_AFTER, HeaderValue::from(seconds));
    }
    answer
}

/// 429, in plain text. Upstream: `tooManyRequests` of the filters for requests in flight.
pub(crate) fn too_many_requests() -> Answer {
    let text = "Too many requests, please try again later.\n";
    let mut answer = bytes(429, "text/plain; charset=utf-8", text);
    let headers = answer.headers_mut();
    headers.insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
    answer
}

/// A browser is not to take the answer for anything else than what it says it is. Upstream does this
/// for texts (`http.Error`, health) and for refusals (`RespondWithError`).
pub(crate) fn keep_type(answer: &mut Answer) {
    let nosniff = HeaderValue::from_static("nosniff");
    let headers = answer.headers_mut();
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, nosniff);
}

/// Answers are for who asked, and for now, unless they say otherwise. Upstream: `WithCacheControl`.
pub(crate) fn keep_from_caches(answer: &mut Answer) {
    let private = HeaderValue::from_static("no-cache, private");
    let headers = answer.headers_mut();
    headers.entry(header::CACHE_CONTROL).or_insert(private);
}

/// Adds `Warning` headers. Upstream: `filters/warning.go` and `util/net.NewWarningHeader`.
pub(crate) fn add_warnings(answer: &mut Answer, warnings: &[String]) {
    /// Beyond so many characters in all, each text is cut.
    const TOTAL_MAX: usize = 4 * 1024;
    const EACH_MAX: usize = 256;
    let cut = warnings.iter().map(String::len).sum::<usize>() > TOTAL_MAX;
    let mut written = 0;
    for text in warnings {
        let text = match text.char_indices().nth(EACH_MAX) {
            Some((end, _)) if cut => &text[..end],
            _ => text,
        };
        if text.contains(|c: char| c.is_control()) {
            continue;
        }
        let quoted = text.replace('\\', "\\\\").replace('"', "\\\"");
        written += text.len();
        if written > TOTAL_MAX {
            break;
        }
        if let Ok(value) = HeaderValue::from_str(&format!("299 - \"{quoted}\"")) {
            answer.headers_mut().append(header::WARNING, value);
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{api, receive};
    use axum::body::Body;

    fn ask(url: &str, token: &str) -> http::Request<Body> {
        let request = http::Request::get(url);
        let request = match token {
            "" => request,
            token => request.header("authorization", format!("Bearer {token}")),
        };
        request.body(Body::empty()).expect("a request")
    }

    #[tokio::test]
    async fn texts_and_refusals_are_what_they_say_they_are() {
        let api = api().await;
        for (url, token, code, kept) in [
            ("/healthz", "test", 200, true),
            ("/livez/ping", "test", 200, true),
            ("/livez?verbose", "", 200, true),
            ("/metrics", "test", 200, true),
            ("/nowhere", "test", 404, true),
            ("/api/v1/pods", "", 403, true),
            ("/api/v1/pods", "test", 200, false),
            ("/api/v1/pods", "unknown", 401, false),
        ] {
            let answer = api.call(ask(url, token)).await;
            assert_eq!(answer.status().as_u16(), code, "{url}");
            let header = answer.headers().get("x-content-type-options");
            assert_eq!(header.is_some_and(|h| h == "nosniff"), kept, "{url}");
        }
    }

    #[tokio::test]
    async fn a_timeout_that_is_none_is_refused_before_anything_else() {
        let api = api().await;
        let pods = "/api/v1/pods";
        for (query, token, code) in [
            ("timeout=abc", "test", 400),
            ("timeout=abc", "", 400),
            ("timeout=5", "unknown", 400),
            ("timeout=", "test", 200),
            ("timeout=-5s", "test", 200),
            ("timeout=0", "test", 200),
            ("timeout=1000h", "test", 200),
        ] {
            let answer = receive(&api, ask(&format!("{pods}?{query}"), token)).await;
            assert_eq!(answer.0, code, "{query}");
        }
        let (_, status) = receive(&api, ask(&format!("{pods}?timeout=abc"), "test")).await;
        let message =
            "invalid timeout specified in the request URL - time: invalid duration \"abc\"";
        assert_eq!(status["message"], message);
        assert_eq!(status["reason"], "BadRequest");
        // A watch has no such time.
        let watch = api.call(ask(&format!("{pods}?watch=1&timeout=abc"), "test"));
        assert_eq!(watch.await.status().as_u16(), 200);
    }
}
