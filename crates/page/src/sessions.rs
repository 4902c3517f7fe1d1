//! Sessions: a link is good for one, and a cookie stands for it.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use http::header::COOKIE;
use http::{HeaderMap, HeaderValue};
use ring::digest::{SHA256, digest};
use std::collections::{HashSet, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};
use stowplan_auth::token::random_text;

/// So many sessions are kept; the oldest ends when there is one more.
const SESSIONS_MAX: usize = 64;

/// How long a browser keeps the cookie, in seconds: a week. The session ends with the process.
const COOKIE_SECONDS: u32 = 7 * 24 * 3_600;

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
    sessions: VecDeque<Digest>,
}

/// What came of opening a link.
pub(crate) enum Opened {
    /// A session, with its cookie.
    Session(HeaderValue),
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
        let cookie = secret().and_then(|session| {
            let cookie = format!(
                "{}={session}; Path=/; Max-Age={COOKIE_SECONDS}; HttpOnly; SameSite=Strict",
                self.cookie
            );
            let value = HeaderValue::try_from(cookie).ok()?;
            kept.sessions.push_back(fingerprint(&session));
            Some(value)
        });
        if kept.sessions.len() > SESSIONS_MAX {
            kept.sessions.pop_front();
        }
        cookie.map_or(Opened::Refused, Opened::Session)
    }

    /// Whether a request belongs to a session.
    pub(crate) fn knows(&self, headers: &HeaderMap) -> bool {
        let kept = self.kept();
        let cookies = headers.get_all(COOKIE).into_iter();
        let cookies = cookies.filter_map(|value| value.to_str().ok());
        let mut pairs = cookies
            .flat_map(|value| value.split(';'))
            .filter_map(|pair| pair.trim().split_once('='));
        pairs
            .any(|(name, value)| name == self.cookie && kept.sessions.contains(&fingerprint(value)))
    }
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
        let Opened::Session(cookie) = opened else {
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
    fn the_oldest_sessions_end() {
        let sessions = Sessions::new(1);
        let open = || pair(sessions.open(&sessions.invite().unwrap()));
        let first = open();
        let others: Vec<_> = (0..SESSIONS_MAX).map(|_| open()).collect();
        assert!(!sessions.knows(&with(&first)));
        assert!(others.iter().all(|cookie| sessions.knows(&with(cookie))));
    }
}
