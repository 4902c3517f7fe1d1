//! Continue tokens: where the next page of a list begins, and at which revision.
//!
//! Upstream: `k8s.io/apiserver/pkg/storage/continue.go` and `etcd3/errors.go`.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;
use serde_json::json;
use stowplan_apimachinery::{Status, View};
use stowplan_store::Revision;

/// The token of the page after `last`.
pub(crate) fn encode(last: &str, root: &str, revision: Revision) -> String {
    token(last, root, i64::try_from(revision.0).unwrap_or(-1))
}

fn token(last: &str, root: &str, revision: i64) -> String {
    let start = last.strip_prefix(root).unwrap_or_default();
    let token = json!({"v": "meta.k8s.io/v1", "rv": revision, "start": format!("{start}\0")});
    BASE64.encode(token.to_string())
}

/// The revision in a token, if there is one.
pub(crate) fn revision(token: &str) -> Option<Revision> {
    let bytes = BASE64.decode(token).ok()?;
    let token = serde_json::from_slice::<serde_json::Value>(&bytes).ok()?;
    let revision = token.int("rv").and_then(|rv| u64::try_from(rv).ok());
    revision.map(Revision)
}

/// The key after which to go on, and the revision (`None`: whatever is there now).
pub(crate) fn decode(token: &str, root: &str) -> Result<(String, Option<Revision>), Status> {
    let invalid = |why: String| {
        Status::bad_request(format!(
            "invalid continue token: continue key is not valid{why}"
        ))
    };
    let bytes = BASE64.decode(token).map_err(|_| {
        invalid(format!(
            ": illegal base64 data at input byte {}",
            bad_byte(token)
        ))
    })?;
    let token = serde_json::from_slice::<serde_json::Value>(&bytes)
        .map_err(|_| invalid(format!(": {}", not_json(&bytes))))?;
    if token.text("v") != "meta.k8s.io/v1" {
        let version = token.text("v");
        return Err(invalid(format!(
            ": server does not recognize this encoded version {version}"
        )));
    }
    let revision = token.int("rv").unwrap_or_default();
    if revision == 0 {
        return Err(invalid(
            ": incorrect encoded start resourceVersion (version meta.k8s.io/v1)".to_owned(),
        ));
    }
    let start = token.text("start");
    if start.is_empty() {
        return Err(invalid(
            ": encoded start key empty (version meta.k8s.io/v1)".to_owned(),
        ));
    }
    let plain = start.strip_prefix('/').unwrap_or(start);
    let climbs = plain.split('/').any(|part| matches!(part, "" | "." | ".."));
    if climbs {
        return Err(invalid(format!(": {start}")));
    }
    // The token names the first key that could come next: the last one and a zero byte.
    let last = plain.strip_suffix('\0').unwrap_or(plain);
    let at = u64::try_from(revision).ok().map(Revision);
    Ok((format!("{root}{last}"), at))
}

/// Where Go's decoder stops.
fn bad_byte(token: &str) -> usize {
    let good = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_');
    let bad = token.bytes().position(|b| !good(b));
    bad.unwrap_or(token.len() / 4 * 4)
}

fn not_json(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    match text.trim_start().chars().next() {
        None => "unexpected end of JSON input".to_owned(),
        Some(c) => format!(
            "invalid character {} looking for beginning of value",
            quote_char(c)
        ),
    }
}

fn quote_char(c: char) -> String {
    match c {
        '\'' => r"'\''".to_owned(),
        c => {
            let quoted = stowplan_apimachinery::go::quote(&c.to_string());
            let inner = quoted.trim_start_matches('"').trim_end_matches('"');
            format!("'{}'", if inner.is_empty() { "\"" } else { inner })
        }
    }
}

/// 410: the revision of the token is no longer kept. The answer has a token that goes on from what
/// is there now. Upstream: `handleCompactedErrorForPaging`.
pub(crate) fn expired(root: &str, after: &str) -> Status {
    let mut status = Status::expired(
        "The provided continue parameter is too old to display a consistent list result. You can start a new list \
         without the continue parameter, or use the continue token in this response to retrieve the remainder of the \
         results. Continuing with the provided token results in an inconsistent list - objects that were created, \
         modified, or deleted between the time the first chunk was returned and now may show up in the list.",
    );
    status.continue_token = token(after, root, -1);
    status
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_names_the_next_key_and_the_revision() {
        let token = encode("/registry/pods/a/b", "/registry/pods/", Revision(7));
        let (after, at) = decode(&token, "/registry/pods/").expect("our own token");
        assert_eq!(
            (after.as_str(), at),
            ("/registry/pods/a/b", Some(Revision(7)))
        );
    }

    #[test]
    fn a_token_that_is_too_old_is_answered_with_one_for_now() {
        let status = expired("/registry/pods/", "/registry/pods/a/b");
        assert_eq!(status.code, 410);
        let (after, at) = decode(&status.continue_token, "/registry/pods/").expect("our own");
        assert_eq!((after.as_str(), at), ("/registry/pods/a/b", None));
    }

    #[test]
    fn broken_tokens_are_refused_in_gos_words() {
        let refused = |token: &str| decode(token, "/r/").unwrap_err().message;
        let of = |json: &str| refused(&BASE64.encode(json));
        assert!(refused("a!").ends_with("illegal base64 data at input byte 1"));
        assert!(of("x").ends_with("invalid character 'x' looking for beginning of value"));
        assert!(of("{}").ends_with("server does not recognize this encoded version "));
        assert!(of(r#"{"v":"meta.k8s.io/v1","rv":1}"#).contains("encoded start key empty"));
        assert!(of(r#"{"v":"meta.k8s.io/v1","rv":1,"start":"../x"}"#).ends_with(": ../x"));
    }
}
