//! URLs. Upstream: `library/urls.go` over Go's `net/url`.

use crate::eval::{Outcome, overload};
use crate::value::Val;
use std::collections::HashMap;
use stowplan_apimachinery::go::quote;

/// An absolute URL, or an absolute path.
#[derive(Debug)]
pub struct Url {
    pub(super) text: String,
    scheme: String,
    host: String,
    path: String,
    query: String,
}

/// The scheme and what is behind its colon. Upstream: `getScheme`.
fn scheme(text: &str) -> Result<(&str, &str), &'static str> {
    for (i, b) in text.bytes().enumerate() {
        match b {
            b'a'..=b'z' | b'A'..=b'Z' => {}
            b'0'..=b'9' | b'+' | b'-' | b'.' if i > 0 => {}
            b':' if i == 0 => return Err("missing protocol scheme"),
            b':' => return Ok(text.split_once(':').unwrap_or(("", text))),
            _ => return Ok(("", text)),
        }
    }
    Ok(("", text))
}

fn hex(text: &str) -> Option<u8> {
    let digits = text
        .get(1..3)
        .filter(|d| d.bytes().all(|b| b.is_ascii_hexdigit()));
    digits.and_then(|digits| u8::from_str_radix(digits, 16).ok())
}

/// Which part of a URL a text is.
#[derive(Clone, Copy, PartialEq)]
enum Part {
    User,
    Host,
    Path,
    Query,
}

/// Undoes `%xx`, and `+` in queries. In hosts, only what is no ASCII is written so. Upstream: `unescape`.
fn unescape(text: &str, part: Part) -> Result<String, String> {
    let mut out = Vec::new();
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        match c {
            '%' => {
                let byte = hex(rest).filter(|b| part != Part::Host || *b >= 0x80 || *b == b'%');
                let Some(byte) = byte else {
                    let shown: String = rest.chars().take(3).collect();
                    return Err(format!("invalid URL escape {}", quote(&shown)));
                };
                out.push(byte);
                rest = rest.get(3..).unwrap_or_default();
                continue;
            }
            '+' if part == Part::Query => out.push(b' '),
            c => out.extend_from_slice(c.to_string().as_bytes()),
        }
        rest = rest.get(c.len_utf8()..).unwrap_or_default();
    }
    Ok(String::from_utf8_lossy(&out).into_owned())
}

/// The host of an authority, with its port. Upstream: `parseAuthority` and `parseHost`.
fn host(authority: &str) -> Result<String, String> {
    let (user, host) = match authority.rsplit_once('@') {
        Some((user, host)) => (user, host),
        None => ("", authority),
    };
    let in_user = |c: char| c.is_ascii_alphanumeric() || "-._:~!$&'()*+,;=%@".contains(c);
    if !user.chars().all(in_user) {
        return Err("net/url: invalid userinfo".to_owned());
    }
    unescape(user, Part::User)?;
    let port = match host.strip_prefix('[') {
        Some(inner) => match inner.split_once(']') {
            Some((_, port)) => port,
            None => return Err("missing ']' in host".to_owned()),
        },
        None => match host.rfind(':') {
            Some(at) => host.get(at..).unwrap_or_default(),
            None => "",
        },
    };
    let digits = port
        .strip_prefix(':')
        .map(|p| p.bytes().all(|b| b.is_ascii_digit()));
    if !port.is_empty() && digits != Some(true) {
        return Err(format!("invalid port {} after host", quote(port)));
    }
    if let Some(c) = host
        .chars()
        .find(|c| c.is_ascii() && "\"<>\\^`{|} ".contains(*c))
    {
        let shown = quote(&c.to_string());
        return Err(format!("invalid character {shown} in host name"));
    }
    unescape(host, Part::Host)
}

impl Url {
    /// Reads what a request could name. Upstream: `url.ParseRequestURI`, then `url.Parse`.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        Self::read(text).map_err(|why| {
            let shown = quote(text);
            format!("URL parse error during conversion from string: parse {shown}: {why}")
        })
    }

    fn read(text: &str) -> Result<Self, String> {
        if text.bytes().any(|b| b < b' ' || b == 0x7f) {
            return Err("net/url: invalid control character in URL".to_owned());
        }
        if text.is_empty() {
            return Err("empty url".to_owned());
        }
        // A request may be about the server as a whole.
        if text == "*" {
            return Ok(Self {
                text: text.to_owned(),
                scheme: String::new(),
                host: String::new(),
                path: text.to_owned(),
                query: String::new(),
            });
        }
        let whole = text.split_once('#').map_or(text, |(before, _)| before);
        let (scheme, rest) = scheme(whole)?;
        let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
        let mut url = Self {
            text: text.to_owned(),
            scheme: scheme.to_ascii_lowercase(),
            host: String::new(),
            path: String::new(),
            query: query.to_owned(),
        };
        if !rest.starts_with('/') {
            return match url.scheme.is_empty() {
                true => Err("invalid URI for request".to_owned()),
                // Such as `mailto:`.
                false => Ok(url),
            };
        }
        let mut path = rest;
        if !url.scheme.is_empty()
            && let Some(after) = rest.strip_prefix("//")
        {
            let end = after.find('/').unwrap_or(after.len());
            let (authority, behind) = after.split_at(end);
            url.host = host(authority)?;
            path = behind;
        }
        unescape(path, Part::Path)?;
        path.clone_into(&mut url.path);
        Ok(url)
    }

    fn hostname(&self) -> &str {
        match self.host.strip_prefix('[').and_then(|h| h.split_once(']')) {
            Some((inner, _)) => inner,
            None => self
                .host
                .split_once(':')
                .map_or(&self.host, |(name, _)| name),
        }
    }

    fn port(&self) -> &str {
        let behind = match self.host.strip_prefix('[').and_then(|h| h.split_once(']')) {
            Some((_, behind)) => behind,
            None => self
                .host
                .find(':')
                .and_then(|at| self.host.get(at..))
                .unwrap_or(""),
        };
        behind.strip_prefix(':').unwrap_or_default()
    }

    fn escaped_path(&self) -> String {
        let plain = |b: u8| b.is_ascii_alphanumeric() || b"-_.~!$&'()*+,;=:@[]/%".contains(&b);
        let mut out = String::new();
        for b in self.path.bytes() {
            match plain(b) {
                true => out.push(char::from(b)),
                false => out.push_str(&format!("%{b:02X}")),
            }
        }
        out
    }

    fn query(&self) -> Val {
        let mut places: HashMap<String, usize> = HashMap::new();
        let mut entries: Vec<(String, Vec<Val>)> = Vec::new();
        for pair in self.query.split('&') {
            if pair.is_empty() || pair.contains(';') {
                continue;
            }
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            let (Ok(key), Ok(value)) = (unescape(key, Part::Query), unescape(value, Part::Query))
            else {
                continue;
            };
            let place = *places.entry(key.clone()).or_insert(entries.len());
            match entries.get_mut(place) {
                Some((_, values)) => values.push(value.into()),
                None => entries.push((key, vec![value.into()])),
            }
        }
        let entries = entries.into_iter();
        entries.map(|(k, v)| (Val::from(k), Val::from(v))).collect()
    }

    /// Methods of a URL.
    pub(super) fn part(&self, name: &str, with: &[Val]) -> Outcome {
        if !with.is_empty() {
            return overload();
        }
        Ok(match name {
            "getScheme" => self.scheme.as_str().into(),
            "getHost" => self.host.as_str().into(),
            "getHostname" => self.hostname().into(),
            "getPort" => self.port().into(),
            "getEscapedPath" => self.escaped_path().into(),
            "getQuery" => self.query(),
            _ => return overload(),
        })
    }
}
