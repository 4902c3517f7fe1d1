//! The files of the page. They are built in `web` and kept in `web/dist`, so that nobody needs Node.

use crate::{Answer, typed};
use axum::body::Body;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use http::header::{CACHE_CONTROL, ETAG, IF_NONE_MATCH};
use http::{HeaderMap, HeaderValue, StatusCode};
use ring::digest::{SHA256, digest};

/// A file of the page.
pub(crate) struct Asset {
    path: &'static str,
    kind: &'static str,
    bytes: &'static [u8],
}

macro_rules! asset {
    ($name:literal, $kind:literal) => {
        Asset {
            path: concat!("/", $name),
            kind: $kind,
            bytes: include_bytes!(concat!("../../../web/dist/", $name)),
        }
    };
}

static ASSETS: [Asset; 6] = [
    asset!("index.html", "text/html; charset=utf-8"),
    asset!("app.js", "text/javascript; charset=utf-8"),
    asset!("app.css", "text/css; charset=utf-8"),
    asset!("worker.js", "text/javascript; charset=utf-8"),
    asset!("welcome.js", "text/javascript; charset=utf-8"),
    asset!("icon.svg", "image/svg+xml"),
];

/// What hands a key over, which stands there as `KEY`, and goes on to the page by itself.
const WELCOME: &str = include_str!("pages/welcome.html");
/// What those see whose link was opened before.
pub(crate) const USED: &str = include_str!("pages/used.html");
/// What those see who have no session.
pub(crate) const STRANGER: &str = include_str!("pages/stranger.html");

/// What hands this key over and goes on to the page.
pub(crate) fn welcome(key: &str) -> String {
    WELCOME.replace("\"KEY\"", &format!("\"{key}\""))
}

/// The file at a path.
pub(crate) fn find(path: &str) -> Option<&'static Asset> {
    let path = match path {
        "/" => "/index.html",
        other => other,
    };
    ASSETS.iter().find(|asset| asset.path == path)
}

impl Asset {
    /// The file, or that it has not changed.
    pub(crate) fn answer(&self, headers: &HeaderMap) -> Answer {
        let digest = digest(&SHA256, self.bytes);
        let tag = format!("\"{}\"", URL_SAFE_NO_PAD.encode(digest.as_ref()));
        let known = headers.get(IF_NONE_MATCH);
        let mut answer = match known.is_some_and(|known| *known == tag.as_str()) {
            true => typed(StatusCode::NOT_MODIFIED, self.kind, Body::empty()),
            false => typed(StatusCode::OK, self.kind, Body::from(self.bytes)),
        };
        let headers = answer.headers_mut();
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
        if let Ok(tag) = HeaderValue::try_from(tag) {
            headers.insert(ETAG, tag);
        }
        answer
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_known_is_not_sent_again() {
        let index = find("/").unwrap();
        let first = index.answer(&HeaderMap::new());
        assert_eq!(first.status(), StatusCode::OK);
        let tag = first.headers().get(ETAG).unwrap().clone();
        let again = index.answer(&HeaderMap::from_iter([(IF_NONE_MATCH, tag)]));
        assert_eq!(again.status(), StatusCode::NOT_MODIFIED);
        assert!(find("/../Cargo.toml").is_none());
    }

    /// The policy would not let the browser run it.
    #[test]
    fn nothing_is_inline() {
        let index = std::str::from_utf8(find("/").unwrap().bytes).unwrap();
        for page in [index, WELCOME, USED, STRANGER] {
            for inline in ["<style", "style=", "<script>", "onclick", "javascript:"] {
                assert!(!page.contains(inline), "{inline} in {page}");
            }
        }
    }
}
