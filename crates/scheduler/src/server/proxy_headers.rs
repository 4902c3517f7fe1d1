//! Users that a front proxy names in headers. Upstream's `request/headerrequest`.

use http::HeaderMap;
use std::collections::BTreeMap;
use stowplan_telemetry::Identity;

/// The names of the headers that name the user.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ProxyHeaders {
    /// Where the name is.
    pub username: Vec<String>,
    /// Where the uid is.
    pub uid: Vec<String>,
    /// Where the groups are.
    pub group: Vec<String>,
    /// How headers begin that hold something else.
    pub extra_prefix: Vec<String>,
}

impl ProxyHeaders {
    /// The user that the headers name, if they do.
    pub(crate) fn identity(&self, headers: &HeaderMap) -> Option<Identity> {
        let first = |names: &[String]| values(headers, names).into_iter().next();
        let mut groups = values(headers, &self.group);
        let authenticated = "system:authenticated".to_owned();
        if !groups.contains(&authenticated) {
            groups.push(authenticated);
        }
        Some(Identity {
            name: first(&self.username)?,
            uid: first(&self.uid).unwrap_or_default(),
            groups,
            extra: self.extra(headers),
        })
    }

    fn extra(&self, headers: &HeaderMap) -> BTreeMap<String, Vec<String>> {
        let mut extra: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for prefix in &self.extra_prefix {
            let prefix = prefix.to_ascii_lowercase();
            for (name, value) in headers {
                if let (Some(key), Ok(value)) =
                    (name.as_str().strip_prefix(&*prefix), value.to_str())
                {
                    let values = extra.entry(unescaped(key)).or_default();
                    values.push(value.to_owned());
                }
            }
        }
        extra
    }
}

/// What these headers hold, in the order of their names.
fn values(headers: &HeaderMap, names: &[String]) -> Vec<String> {
    let all = names.iter().flat_map(|name| headers.get_all(name));
    let all = all.filter_map(|value| value.to_str().ok());
    all.filter(|value| !value.is_empty())
        .map(str::to_owned)
        .collect()
}

/// A key without its %-escapes; as it is, if they are broken.
fn unescaped(key: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = key.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        rest = after;
        if first != b'%' {
            bytes.push(first);
            continue;
        }
        let hex = rest.get(..2).and_then(|hex| std::str::from_utf8(hex).ok());
        match hex.and_then(|hex| u8::from_str_radix(hex, 16).ok()) {
            Some(byte) => bytes.push(byte),
            None => return key.to_owned(),
        }
        rest = &rest[2..];
    }
    String::from_utf8(bytes).unwrap_or_else(|_| key.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names() -> ProxyHeaders {
        let one = |name: &str| vec![name.to_owned()];
        ProxyHeaders {
            username: one("X-Remote-User"),
            uid: one("X-Remote-Uid"),
            group: one("X-Remote-Group"),
            extra_prefix: one("X-Remote-Extra-"),
        }
    }

    #[test]
    fn the_headers_name_a_user() {
        let mut headers = HeaderMap::new();
        assert_eq!(names().identity(&headers), None);
        for (name, value) in [
            ("x-remote-user", "jane"),
            ("x-remote-group", "devs"),
            ("x-remote-group", "ops"),
            ("x-remote-extra-example.com%2fscope", "a"),
            ("x-remote-extra-50%", "b"),
        ] {
            headers.append(name, value.parse().unwrap());
        }
        let jane = names().identity(&headers).unwrap();
        assert_eq!(jane.name, "jane");
        assert_eq!(jane.groups, ["devs", "ops", "system:authenticated"]);
        let keys: Vec<_> = jane.extra.keys().map(String::as_str).collect();
        assert_eq!(keys, ["50%", "example.com/scope"]);
    }
}
