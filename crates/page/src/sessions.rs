//! Sessions: a link is good for one. A cookie stands for it, and a key: browsers send a cookie to all ports of
//! a host, but only the page itself knows the key.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use http::header::{COOKIE, SEC_WEBSOCKET_PROTOCOL};
use http::{HeaderMap, HeaderValue};
use ring::digest::{SHA256, digest};
use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use stowplan_auth::token::random_text;
use stowplan_base::Time;

/// So many sessions are kept; the oldest ends when there is one more.
const SESSIONS_MAX: usize = 64;

/// How long a session lasts, and its cookie: a week. It ends with the process, too.
const SESSION_TIME: Duration = Duration::from_secs(7 * 24 * 3_600);

/// How long a link may be opened.
const INVITATION_TIME: Duration = Duration::from_secs(15 * 60);

/// The header that has the key, and how a protocol begins that has it.
const KEY: &str = "x-stowplan-key";
const KEY_PROTOCOL: &str = "stowplan-key.";

/// Secrets are kept as digests: comparing these tells nobody how much of a guess was right.
type Digest = [u8; 32];

/// Links that wait, and sessions that were opened by them. All times are those of one clock that never goes back.
pub(crate) struct Sessions {
    /// Cookies are shared by all ports of a host, so that each has a name of its own.
    cookie: String,
    kept: Mutex<Kept>,
}

#[derive(Default)]
struct Kept {
    /// When each ends.
    invitations: HashMap<Digest, Time>,
    sessions: VecDeque<Session>,
}

struct Session {
    cookie: Digest,
    key: Digest,
    ends: Time,
}

/// What came of opening a link.
pub(crate) enum Opened {
    /// A session, with its cookie and its key.
    Session(HeaderValue, String),
    /// The token is not one of ours, or not any more: it was used, or is too old.
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
    pub(crate) fn invite(&self, now: Time) -> Option<String> {
        let token = secret()?;
        self.kept()
            .invitations
            .insert(fingerprint(&token), now + INVITATION_TIME);
        Some(token)
    }

    /// Exchanges a token for a session; a second time it is refused.
    pub(crate) fn open(&self, token: &str, now: Time) -> Opened {
        let mut kept = self.kept();
        kept.invitations.retain(|_, ends| now < *ends);
        kept.sessions.retain(|session| now < session.ends);
        if kept.invitations.remove(&fingerprint(token)).is_none() {
            return Opened::Refused;
        }
        let opened = secret().zip(secret()).and_then(|(session, key)| {
            let cookie = format!(
                "{}={session}; Path=/; Max-Age={}; HttpOnly; SameSite=Strict",
                self.cookie,
                SESSION_TIME.as_secs(),
            );
            let value = HeaderValue::try_from(cookie).ok()?;
            kept.sessions.push_back(Session {
                cookie: fingerprint(&session),
                key: fingerprint(&key),
                ends: now + SESSION_TIME,
            });
            Some(Opened::Session(value, key))
        });
        if kept.sessions.len() > SESSIONS_MAX {
            kept.sessions.pop_front();
        }
        opened.unwrap_or(Opened::Refused)
    }

    /// Whether a request has the cookie of a session: enough for the page's files, which are no secret.
    pub(crate) fn knows(&self, headers: &HeaderMap, now: Time) -> bool {
        let cookies = self.cookies(headers);
        let kept = self.kept();
        let mut sessions = kept.sessions.iter();
        sessions.any(|session| now < session.ends && cookies.contains(&session.cookie))
    }

    /// When the session ends whose cookie and key a request has, both: only then the cluster is asked.
    pub(crate) fn may_ask(&self, headers: &HeaderMap, now: Time) -> Option<Time> {
        let key = key(headers)?;
        let cookies = self.cookies(headers);
        let kept = self.kept();
        let mut sessions = kept.sessions.iter();
        let own = sessions.find(|session| {
            now < session.ends && session.key == key && cookies.contains(&session.cookie)
        });
        own.map(|session| session.ends)
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

    const NOW: Time = Time::from_nanos(5);

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
        let token = sessions.invite(NOW).unwrap();
        assert!(matches!(sessions.open("guess", NOW), Opened::Refused));
        let cookie = pair(sessions.open(&token, NOW));
        assert!(cookie.starts_with("stowplan-7070="));
        assert!(matches!(sessions.open(&token, NOW), Opened::Refused));
        assert!(sessions.knows(&with(&cookie), NOW));
        assert!(sessions.knows(&with(&format!("other=1; {cookie}; more=2")), NOW));
        assert!(!sessions.knows(&with(&cookie.replace("7070", "7071")), NOW));
        assert!(!sessions.knows(&with(&format!("{cookie}x")), NOW));
        assert!(!sessions.knows(&HeaderMap::new(), NOW));
    }

    #[test]
    fn the_cluster_is_asked_with_cookie_and_key() {
        let sessions = Sessions::new(7070);
        let open = || match sessions.open(&sessions.invite(NOW).unwrap(), NOW) {
            Opened::Session(cookie, key) => (cookie, key),
            Opened::Refused => panic!("refused"),
        };
        let ((cookie, key), (_, other)) = (open(), open());
        let ask = |key: Option<(&'static str, String)>| {
            let mut headers = HeaderMap::from_iter([(COOKIE, cookie.clone())]);
            assert!(sessions.knows(&headers, NOW));
            if let Some((name, value)) = key {
                headers.insert(name, HeaderValue::try_from(value).unwrap());
            }
            sessions.may_ask(&headers, NOW).is_some()
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
        assert!(sessions.may_ask(&key, NOW).is_none());
    }

    #[test]
    fn links_and_sessions_end_by_themselves() {
        let sessions = Sessions::new(7070);
        let (just, second) = (INVITATION_TIME, Duration::from_secs(1));
        let (late, early) = (sessions.invite(NOW).unwrap(), sessions.invite(NOW).unwrap());
        let opened_at = NOW + just - second;
        let Opened::Session(cookie, key) = sessions.open(&early, opened_at) else {
            panic!("refused")
        };
        assert!(matches!(sessions.open(&late, NOW + just), Opened::Refused));
        assert!(matches!(sessions.open(&late, NOW), Opened::Refused));
        let mut headers = HeaderMap::from_iter([(COOKIE, cookie)]);
        headers.insert(KEY, key.parse().unwrap());
        let end = opened_at + SESSION_TIME;
        assert!(sessions.knows(&headers, end - second));
        assert_eq!(sessions.may_ask(&headers, end - second), Some(end));
        assert!(!sessions.knows(&headers, end));
        assert_eq!(sessions.may_ask(&headers, end), None);
    }

    #[test]
    fn the_oldest_sessions_end() {
        let sessions = Sessions::new(1);
        let open = || pair(sessions.open(&sessions.invite(NOW).unwrap(), NOW));
        let first = open();
        let others: Vec<_> = (0..SESSIONS_MAX).map(|_| open()).collect();
        assert!(!sessions.knows(&with(&first), NOW));
        assert!(
            others
                .iter()
                .all(|cookie| sessions.knows(&with(cookie), NOW))
        );
    }
}
