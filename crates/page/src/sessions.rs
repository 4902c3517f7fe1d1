//! Sessions: a link is good for one. A cookie stands for it, and a key: browsers send a cookie to all ports of
//! a host, but only the page itself knows the key.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use http::header::{COOKIE, SEC_WEBSOCKET_PROTOCOL};
use http::{HeaderMap, HeaderValue};
use ring::digest::{SHA256, digest};
use std::collections::{HashSet, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};
use stowplan_auth::token::random_text;

/// So many sessions are kept; the oldest ends when there is one more.
const SESSIONS_MAX: usize = 64;

/// How long a browser keeps the cookie, in seconds: a week. The session ends with the process.
const COOKIE_SECONDS: u32 = 7 * 24 * 3_600;

/// The header that has the key, and how a protocol begins that has it.
const KEY: &str = "x-stowplan-key";
const KEY_PROTOCOL: &str = "stowplan-key.";

/// Secrets are kept as digests: comparing these tells nobody how much of a guess was right.
type Digest = [u8; 32];

/// Links that wait, and sessions that were opened by them.
pub(crate) struct Sessions {
    /// Cookies are shared by all ports of a host, so that each has a name of its own.
    cookie: String,
    kept: Mutex<Kept>,
}

#[derive(Default)]
struct Kept {
    invitations: HashSet<Digest>,
    sessions: VecDeque<Session>,
}

struct Session {
    cookie: Digest,
    key: Digest,
}

/// What came of opening a link.
pub(crate) enum Opened {
    /// A session, with its cookie and its key.
    Session(HeaderValue, String),
    /// The token is not one of ours, or not any more.
    Refused,
}

impl Sessions {
    pub(crate) fn new(port: u16) -> Self {
        Self {
            cookie: format!("stowplan-{port}"),
            kept: Mutex::default(),
        }
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A token for one session.
    pub(crate) fn invite(&self) -> Option<String> {
        let token = secret()?;
        self.kept().invitations.insert(fingerprint(&token));
        Some(token)
    }

    /// Exchanges a token for a session; a second time it is refused.
    pub(crate) fn open(&self, token: &str) -> Opened {
        let mut kept = self.kept();
        if !kept.invitations.remove(&fingerprint(token)) {
            return Opened::Refused;
        }
        let opened = secret().zip(secret()).and_then(|(session, key)| {
            let cookie = format!(
                "{}={session}; Path=/; Max-Age={COOKIE_SECONDS}; HttpOnly; SameSite=Strict",
                self.cookie
            );
            let value = HeaderValue::try_from(cookie).ok()?;
            kept.sessions.push_back(Session {
                cookie: fingerprint(&session),
                key: fingerprint(&key),
            });
            Some(Opened::Session(value, key))
        });
        if kept.sessions.len() > SESSIONS_MAX {
            kept.sessions.pop_front();
        }
        opened.unwrap_or(Opened::Refused)
    }

    /// Whether a request has the cookie of a session: enough for the page's files, which are no secret.
    pub(crate) fn knows(&self, headers: &HeaderMap) -> bool {
        let cookies = self.cookies(headers);
        let kept = self.kept();
        let mut sessions = kept.sessions.iter();
        sessions.any(|session| cookies.contains(&session.cookie))
    }

    /// Whether a request has both the cookie and the key of a session: only then the cluster is asked.
    pub(crate) fn may_ask(&self, headers: &HeaderMap) -> bool {
        let Some(key) = key(headers) else {
            return false;
        };
        let cookies = self.cookies(headers);
        let kept = self.kept();
        let mut sessions = kept.sessions.iter();
        sessions.any(|session| session.key == key && cookies.contains(&session.cookie))
    }

    fn cookies(&self, headers: &HeaderMap) -> Vec<Digest> {
        let cookies = headers.get_all(COOKIE).into_iter();
        let cookies = cookies.filter_map(|value| value.to_str().ok());
        let pairs = cookies
            .flat_map(|value| value.split(';'))
            .filter_map(|pair| pair.trim().split_once('='));
        let own = pairs.filter(|(name, _)| *name == self.cookie);
        own.map(|(_, value)| fingerprint(value)).collect()
    }
}

/// The key that a request has, in a header of its own or, since browsers let nobody set headers of a WebSocket,
/// as one of its protocols.
fn key(headers: &HeaderMap) -> Option<Digest> {
    let protocols = headers.get_all(SEC_WEBSOCKET_PROTOCOL).into_iter();
    let protocols = protocols.filter_map(|value| value.to_str().ok());
    let mut protocols = protocols.flat_map(|value| value.split(','));
    let header = headers.get(KEY).and_then(|value| value.to_str().ok());
    let key = header.or_else(|| protocols.find_map(|name| name.trim().strip_prefix(KEY_PROTOCOL)));
    key.map(fingerprint)
}

/// 256 random bits, in few letters.
fn secret() -> Option<String> {
    let text = random_text().ok()?;
    Some(URL_SAFE_NO_PAD.encode(fingerprint(&text)))
}

fn fingerprint(secret: &str) -> Digest {
    let mut out = [0; 32];
    out.copy_from_slice(digest(&SHA256, secret.as_bytes()).as_ref());
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(cookie: &str) -> HeaderMap {
        HeaderMap::from_iter([(COOKIE, HeaderValue::from_str(cookie).unwrap())])
    }

    fn pair(opened: Opened) -> String {
        let Opened::Session(cookie, _) = opened else {
            panic!("refused")
        };
        let text = cookie.to_str().unwrap().to_owned();
        for attribute in ["; HttpOnly", "; SameSite=Strict", "; Path=/"] {
            assert!(text.contains(attribute), "{text}");
        }
        text.split(';').next().unwrap().to_owned()
    }

    #[test]
    fn a_link_opens_one_session() {
        let sessions = Sessions::new(7070);
        let token = sessions.invite().unwrap();
        assert!(matches!(sessions.open("guess"), Opened::Refused));
        let cookie = pair(sessions.open(&token));
        assert!(cookie.starts_with("stowplan-7070="));
        assert!(matches!(sessions.open(&token), Opened::Refused));
        assert!(sessions.knows(&with(&cookie)));
        assert!(sessions.knows(&with(&format!("other=1; {cookie}; more=2"))));
        assert!(!sessions.knows(&with(&cookie.replace("7070", "7071"))));
        assert!(!sessions.knows(&with(&format!("{cookie}x"))));
        assert!(!sessions.knows(&HeaderMap::new()));
    }

    #[test]
    fn the_cluster_is_asked_with_cookie_and_key() {
        let sessions = Sessions::new(7070);
        let open = || match sessions.open(&sessions.invite().unwrap()) {
            Opened::Session(cookie, key) => (cookie, key),
            Opened::Refused => panic!("refused"),
        };
        let ((cookie, key), (_, other)) = (open(), open());
        let ask = |key: Option<(&'static str, String)>| {
            let mut headers = HeaderMap::from_iter([(COOKIE, cookie.clone())]);
            assert!(sessions.knows(&headers));
            if let Some((name, value)) = key {
                headers.insert(name, HeaderValue::try_from(value).unwrap());
            }
            sessions.may_ask(&headers)
        };
        let protocol = "sec-websocket-protocol";
        assert!(!ask(None));
        assert!(!ask(Some((KEY, String::new()))));
        assert!(!ask(Some((KEY, other))));
        assert!(ask(Some((KEY, key.clone()))));
        assert!(!ask(Some((protocol, "stowplan-watches".to_owned()))));
        let protocols = format!("stowplan-watches, {KEY_PROTOCOL}{key}");
        assert!(ask(Some((protocol, protocols))));
        let key = HeaderMap::from_iter([(KEY.parse().unwrap(), key.parse().unwrap())]);
        assert!(!sessions.may_ask(&key));
    }

    #[test]
    fn the_oldest_sessions_end() {
        let sessions = Sessions::new(1);
        let open = || pair(sessions.open(&sessions.invite().unwrap()));
        let first = open();
        let others: Vec<_> = (0..SESSIONS_MAX).map(|_| open()).collect();
        assert!(!sessions.knows(&with(&first)));
        assert!(others.iter().all(|cookie| sessions.knows(&with(cookie))));
    }
}
