//! Writing answers.

use crate::negotiate::{Format, Output};
use axum::body::Body;
use bytes::Bytes;
use http::{HeaderValue, Response, header};
use serde_json::Value;
use stowplan_machinery::Status;
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
                false => stowplan_machinery::json::write(&mut body, object),
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
    let nosniff = HeaderValue::from_static("nosniff");
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, nosniff);
    answer
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
