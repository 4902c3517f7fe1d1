//! What every answer says to the browser: what it may run, and who may show it.

use http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, HeaderName, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS,
    X_FRAME_OPTIONS,
};
use http::{HeaderMap, HeaderValue};

/// Files of this origin only, nothing inline, no frames, and no text that becomes markup.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; \
                      connect-src 'self'; worker-src 'self'; base-uri 'none'; form-action 'none'; \
                      frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types worker";

/// Adds the headers that no answer goes without. What an answer says itself stays.
pub(crate) fn protect(headers: &mut HeaderMap) {
    let own = |name: &'static str| HeaderName::from_static(name);
    for (name, value) in [
        (CONTENT_SECURITY_POLICY, POLICY),
        (X_FRAME_OPTIONS, "DENY"),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (REFERRER_POLICY, "no-referrer"),
        (CACHE_CONTROL, "no-store"),
        (own("cross-origin-opener-policy"), "same-origin"),
        (own("cross-origin-resource-policy"), "same-origin"),
        (
            own("permissions-policy"),
            "camera=(), geolocation=(), microphone=()",
        ),
    ] {
        headers
            .entry(name)
            .or_insert_with(|| HeaderValue::from_static(value));
    }
}
