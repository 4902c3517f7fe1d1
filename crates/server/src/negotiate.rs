//! Which form an answer takes: JSON, YAML, a Table, metadata only.
//!
//! Upstream: `k8s.io/apiserver/pkg/endpoints/handlers/negotiation` and `munnerz/goautoneg`.

use crate::request::Request;
use stowplan_apimachinery::Status;

/// What objects can be written as, in upstream's order. Protobuf is listed but not produced: every
/// client that asks for it takes JSON as well.
pub(crate) const MEDIA_TYPES: &str =
    "application/json, application/yaml, application/vnd.kubernetes.protobuf";

/// How bytes are written.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum Format {
    #[default]
    Json,
    Yaml,
}

const FORMATS: [(&str, Format); 2] = [("json", Format::Json), ("yaml", Format::Yaml)];

/// What the object is turned into before.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub(crate) enum Convert {
    #[default]
    Nothing,
    /// A Table in this version of `meta.k8s.io`.
    Table(&'static str),
    /// `PartialObjectMetadata`, or its list if `true`.
    Metadata(&'static str, bool),
}

/// The outcome of negotiation.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Output {
    pub(crate) format: Format,
    pub(crate) convert: Convert,
    pub(crate) pretty: bool,
}

/// One alternative of an Accept header.
#[derive(Debug)]
pub(crate) struct Clause {
    pub(crate) kind: String,
    pub(crate) subtype: String,
    pub(crate) params: Vec<(String, String)>,
    quality: f32,
}

impl Clause {
    /// Whether it covers `application/subtype`.
    pub(crate) fn covers(&self, subtype: &str) -> bool {
        match (self.kind.as_str(), self.subtype.as_str()) {
            ("*", "*") | ("application", "*") => true,
            ("application", own) => own == subtype,
            _ => false,
        }
    }

    /// The value of a parameter; the last one wins.
    pub(crate) fn param(&self, name: &str) -> Option<&str> {
        let found = self.params.iter().rev().find(|(key, _)| key == name);
        found.map(|(_, value)| value.as_str())
    }
}

/// Reads an Accept header; the best comes first.
pub(crate) fn clauses(header: &str) -> Vec<Clause> {
    let mut clauses: Vec<Clause> = header.split(',').filter_map(clause).collect();
    let specificity = |clause: &Clause| match (clause.kind.as_str(), clause.subtype.as_str()) {
        ("*", _) => 2,
        (_, "*") => 1,
        _ => 0,
    };
    clauses.sort_by(|a, b| {
        let quality = b.quality.partial_cmp(&a.quality);
        let quality = quality.unwrap_or(std::cmp::Ordering::Equal);
        quality.then_with(|| specificity(a).cmp(&specificity(b)))
    });
    clauses
}

fn clause(text: &str) -> Option<Clause> {
    let mut parts = text.trim().split(';');
    let range = parts.next()?;
    let (kind, subtype) = match range.split_once('/') {
        Some((kind, subtype)) if !subtype.contains('/') => (kind.trim(), subtype.trim()),
        None if range.trim() == "*" => ("*", "*"),
        _ => return None,
    };
    let mut clause = Clause {
        kind: kind.to_owned(),
        subtype: subtype.to_owned(),
        params: Vec::new(),
        quality: 1.0,
    };
    for part in parts {
        match part.split_once('=') {
            Some((_, "")) | None => {}
            Some((_, value)) if value.contains('=') => {}
            Some((key, value)) if key.trim() == "q" => {
                clause.quality = value.trim().parse().unwrap_or_default();
            }
            Some((key, value)) => {
                let pair = (key.trim().to_owned(), value.trim().to_owned());
                clause.params.push(pair);
            }
        }
    }
    Some(clause)
}

/// The form that the client likes best and that a resource can take.
pub(crate) fn output(request: &Request) -> Result<Output, Status> {
    let header = request.header("accept");
    let pretty = pretty(request);
    if header.is_empty() {
        return Ok(Output {
            pretty,
            ..Output::default()
        });
    }
    let tables = has_tables(request);
    for clause in clauses(header) {
        for (subtype, format) in FORMATS {
            if !clause.covers(subtype) {
                continue;
            }
            let convert = conversion(&clause);
            if let Some(convert) = convert.filter(|c| tables || !matches!(c, Convert::Table(_))) {
                return Ok(Output {
                    format,
                    convert,
                    pretty: pretty || clause.param("pretty") == Some("1"),
                });
            }
        }
    }
    Err(not_acceptable(MEDIA_TYPES))
}

/// Whether what is asked for can be shown as a table: questions and deeds cannot. Upstream: the
/// storages that have a `ConvertToTable`.
fn has_tables(request: &Request) -> bool {
    let info = &request.info;
    let questions = ["authentication.k8s.io", "authorization.k8s.io"];
    let deeds = [
        "binding",
        "ephemeralcontainers",
        "eviction",
        "finalize",
        "log",
        "resize",
        "token",
    ];
    let asks = questions.contains(&info.group.as_str());
    let acts = info.group.is_empty() && info.resource == "bindings";
    !asks && !acts && !deeds.contains(&info.subresource.as_str())
}

/// How errors are written: as the client asked, without conversion; JSON if that cannot be.
pub(crate) fn for_errors(request: &Request) -> Output {
    let plain = |clause: &Clause| conversion(clause) == Some(Convert::Nothing);
    let clauses = clauses(request.header("accept"));
    let formats = clauses
        .iter()
        .filter(|c| plain(c))
        .filter_map(|clause| FORMATS.iter().find(|(subtype, _)| clause.covers(subtype)));
    Output {
        format: formats
            .map(|(_, format)| *format)
            .next()
            .unwrap_or_default(),
        convert: Convert::Nothing,
        pretty: pretty(request),
    }
}

/// 406.
pub(crate) fn not_acceptable(known: &str) -> Status {
    let message = format!("only the following media types are accepted: {known}");
    Status::failure(406, "NotAcceptable", message)
}

/// The conversion that a clause asks for; `None` if nobody can do it.
fn conversion(clause: &Clause) -> Option<Convert> {
    if clause
        .param("stream")
        .is_some_and(|s| s != "watch" && !s.is_empty())
    {
        return None;
    }
    if clause
        .param("sv")
        .is_some_and(|v| v != "v1" && !v.is_empty())
    {
        return None;
    }
    let (kind, group, version) = (clause.param("as"), clause.param("g"), clause.param("v"));
    if kind.is_none() && group.is_none() && version.is_none() {
        return Some(Convert::Nothing);
    }
    let version = match (group, version) {
        (Some("meta.k8s.io"), Some("v1")) => "v1",
        (Some("meta.k8s.io"), Some("v1beta1")) => "v1beta1",
        _ => return None,
    };
    match kind {
        Some("Table") => Some(Convert::Table(version)),
        Some("PartialObjectMetadata") => Some(Convert::Metadata(version, false)),
        Some("PartialObjectMetadataList") => Some(Convert::Metadata(version, true)),
        _ => None,
    }
}

fn pretty(request: &Request) -> bool {
    if let Some(word) = request.query.get("pretty").filter(|word| !word.is_empty()) {
        return matches!(word, "1" | "t" | "T" | "true" | "TRUE" | "True");
    }
    let agent = request.header("user-agent");
    let people = ["curl", "Wget", "Mozilla/5.0"];
    people.iter().any(|prefix| agent.starts_with(prefix))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn alternatives_are_ordered_by_quality_and_then_by_precision() {
        let read = clauses("*/*, application/json;q=0.5, text/html, application/*;as=Table;v=v1");
        let kinds: Vec<String> = read
            .iter()
            .map(|c| format!("{}/{}", c.kind, c.subtype))
            .collect();
        assert_eq!(
            kinds,
            ["text/html", "application/*", "*/*", "application/json"]
        );
        assert_eq!(read[1].param("as"), Some("Table"));
    }

    #[test]
    fn questions_and_deeds_have_no_table() {
        let asked = |path: &str| {
            let mut headers = http::HeaderMap::new();
            let table = "application/json;as=Table;v=v1;g=meta.k8s.io";
            headers.insert("accept", http::HeaderValue::from_static(table));
            let (method, query) = (http::Method::PATCH, crate::request::Query::default());
            let info = crate::request::Info::new(&method, path, &query);
            output(&Request::new(method, info, query, headers)).map_err(|status| status.code)
        };
        assert!(asked("/api/v1/namespaces/n/pods/p/status").is_ok());
        assert_eq!(asked("/api/v1/namespaces/n/pods/p/resize"), Err(406));
        let review = "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews";
        assert_eq!(asked(review), Err(406));
    }

    #[test]
    fn what_cannot_be_converted_falls_through() {
        let clause = |text: &str| conversion(&clauses(text)[0]);
        assert_eq!(clause("application/json"), Some(Convert::Nothing));
        assert_eq!(
            clause("application/json;as=Table;v=v1;g=meta.k8s.io"),
            Some(Convert::Table("v1"))
        );
        assert_eq!(clause("application/json;as=Table;v=v9;g=meta.k8s.io"), None);
        assert_eq!(clause("application/json;v=v1"), None);
    }
}
