//! Who may ask at all: requests for the page's own names, from its own origin.

use crate::{Answer, text};
use http::header::{HOST, ORIGIN};
use http::{HeaderMap, Method, Request, StatusCode};
use std::net::SocketAddr;

/// The names that the page is served by.
pub(crate) struct Gate {
    hosts: Vec<String>,
}

impl Gate {
    pub(crate) fn new(address: SocketAddr) -> Self {
        let mut hosts = vec![address.to_string()];
        // Whoever types the name of this machine's loopback means this page, too.
        hosts.push(format!("localhost:{}", address.port()));
        if address.port() == 80 {
            let short = hosts
                .iter()
                .map(|host| host.trim_end_matches(":80").to_owned());
            hosts.extend(short.collect::<Vec<_>>());
        }
        Self { hosts }
    }

    /// The name that links use.
    pub(crate) fn name(&self) -> &str {
        self.hosts.first().map_or("", String::as_str)
    }

    /// Why a request is not answered, if so.
    pub(crate) fn refusal<B>(&self, request: &Request<B>) -> Option<Answer> {
        let headers = request.headers();
        let Some(host) = self.host(headers) else {
            return Some(text(
                StatusCode::MISDIRECTED_REQUEST,
                format!("this page is served as http://{}/ only", self.name()),
            ));
        };
        let refused = |why: &str| Some(text(StatusCode::FORBIDDEN, why));
        let origins: Vec<_> = headers.get_all(ORIGIN).into_iter().collect();
        let own = format!("http://{host}");
        if origins.iter().any(|origin| *origin != own.as_str()) {
            return refused("another origin may not ask here");
        }
        let changes = !matches!(*request.method(), Method::GET | Method::HEAD);
        let upgrades = headers.contains_key(http::header::UPGRADE);
        if (changes || upgrades) && origins.len() != 1 {
            return refused("the page's own origin must be named");
        }
        // Another port of this host is another origin, but browsers send it the same cookies.
        let site = header(headers, "sec-fetch-site").unwrap_or("none");
        let navigates = header(headers, "sec-fetch-mode") == Some("navigate")
            && header(headers, "sec-fetch-dest") == Some("document")
            && is_for_people(request.uri().path());
        match site {
            "same-origin" | "none" => None,
            _ if navigates => None,
            _ => refused("another site may not ask here"),
        }
    }

    fn host(&self, headers: &HeaderMap) -> Option<&str> {
        let mut given = headers.get_all(HOST).into_iter();
        let host = given.next()?.to_str().ok()?;
        let known = self.hosts.iter().find(|own| own.eq_ignore_ascii_case(host));
        known.filter(|_| given.next().is_none()).map(String::as_str)
    }
}

/// Whether links of other sites may lead there.
fn is_for_people(path: &str) -> bool {
    matches!(path, "/" | "/open")
}

fn header<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name)?.to_str().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_page_itself_may_ask() {
        let gate = Gate::new(SocketAddr::from(([127, 0, 0, 1], 7070)));
        let check = |line: &str, headers: &[(&str, &str)], expected: u16| {
            let (method, path) = line.split_once(' ').unwrap();
            let mut request = Request::builder().method(method).uri(path);
            for (name, value) in headers {
                request = request.header(*name, *value);
            }
            let request = request.body(()).unwrap();
            let code = gate
                .refusal(&request)
                .map_or(0, |told| told.status().as_u16());
            assert_eq!(code, expected, "{line} {headers:?}");
        };
        let host = ("host", "127.0.0.1:7070");
        let own = ("origin", "http://127.0.0.1:7070");
        let foreign = ("origin", "http://evil.example");
        let other_port = ("origin", "http://127.0.0.1:8080");
        check("GET /", &[host], 0);
        check("GET /", &[("host", "LOCALHOST:7070")], 0);
        check("GET /", &[], 421);
        check("GET /", &[("host", "evil.example:7070")], 421);
        check("GET /", &[("host", "127.0.0.1")], 421);
        check("GET /", &[host, host], 421);
        check("GET /api/v1/pods", &[host, own], 0);
        check("GET /api/v1/pods", &[host, foreign], 403);
        check("GET /api/v1/pods", &[host, other_port], 403);
        check("GET /api/v1/pods", &[host, own, foreign], 403);
        check("GET /api/v1/pods", &[host, ("origin", "null")], 403);
        // The same page by another of its names is another origin.
        check("GET /", &[host, ("origin", "http://localhost:7070")], 403);
        check("POST /api/v1/pods", &[host], 403);
        check("DELETE /api/v1/pods", &[host], 403);
        check("POST /api/v1/pods", &[host, own], 0);
        check("GET /watches", &[host, ("upgrade", "websocket")], 403);
        check("GET /watches", &[host, own, ("upgrade", "websocket")], 0);
        let site = |value| ("sec-fetch-site", value);
        let navigates = [
            ("sec-fetch-mode", "navigate"),
            ("sec-fetch-dest", "document"),
        ];
        let framed = [("sec-fetch-mode", "navigate"), ("sec-fetch-dest", "iframe")];
        check("GET /api/v1/pods", &[host, site("same-origin")], 0);
        check("GET /api/v1/pods", &[host, site("same-site")], 403);
        check("GET /app.js", &[host, site("cross-site")], 403);
        let [mode, document] = navigates;
        check("GET /", &[host, site("cross-site"), mode, document], 0);
        check("GET /api", &[host, site("cross-site"), mode, document], 403);
        let [_, iframe] = framed;
        check("GET /", &[host, site("cross-site"), mode, iframe], 403);
    }
}
