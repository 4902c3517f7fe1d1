//! Names of images, as far as defaults depend on them.
//!
//! Upstream: `pkg/util/parsers` over `github.com/distribution/reference` 0.6.0.

/// The longest path of a repository.
const PATH_BYTES_MAX: usize = 255;
const TAG_BYTES_MAX: usize = 128;

/// Whether an image is pulled as `latest`: by name, or for want of a tag and a digest. A text that
/// names no image is not.
pub(crate) fn is_latest(image: &str) -> bool {
    match split(image) {
        Some(Reference {
            tag: None,
            digested: false,
        }) => true,
        Some(Reference { tag: Some(tag), .. }) => tag == "latest",
        _ => false,
    }
}

struct Reference<'a> {
    tag: Option<&'a str>,
    digested: bool,
}

fn split(image: &str) -> Option<Reference<'_>> {
    if image.len() == 64 && image.bytes().all(is_lower_hex) {
        return None;
    }
    let (domain, remainder) = split_domain(image);
    let remote = remainder.split(':').next().unwrap_or_default();
    if remote.chars().any(char::is_uppercase) {
        return None;
    }
    let (rest, digest) = match remainder.split_once('@') {
        Some((rest, digest)) => (rest, Some(digest)),
        None => (remainder, None),
    };
    let (path, tag) = match rest.split_once(':') {
        Some((path, tag)) => (path, Some(tag)),
        None => (rest, None),
    };
    let well_formed = domain.is_none_or(is_domain)
        && path.split('/').all(is_path_component)
        && normalized_length(domain, path) <= PATH_BYTES_MAX
        && tag.is_none_or(is_tag)
        && digest.is_none_or(is_digest);
    well_formed.then_some(Reference {
        tag,
        digested: digest.is_some(),
    })
}

/// The registry in front of the first slash, if that is one.
fn split_domain(image: &str) -> (Option<&str>, &str) {
    match image.split_once('/') {
        Some((domain, rest))
            if domain == "localhost"
                || domain.contains(['.', ':'])
                || domain.chars().any(char::is_uppercase) =>
        {
            (Some(domain), rest)
        }
        _ => (None, image),
    }
}

/// How long the path is once `library/` stands before names of one part.
fn normalized_length(domain: Option<&str>, path: &str) -> usize {
    let on_hub = matches!(domain, None | Some("docker.io" | "index.docker.io"));
    match on_hub && !path.contains('/') {
        true => path.len() + "library/".len(),
        false => path.len(),
    }
}

fn is_lower_hex(b: u8) -> bool {
    matches!(b, b'0'..=b'9' | b'a'..=b'f')
}

fn is_domain(domain: &str) -> bool {
    let (host, port) = match domain.rsplit_once(':') {
        Some((host, port)) if !port.contains(']') => (host, Some(port)),
        _ => (domain, None),
    };
    if port.is_some_and(|p| p.is_empty() || !p.bytes().all(|b| b.is_ascii_digit())) {
        return false;
    }
    if let Some(address) = host.strip_prefix('[').and_then(|h| h.strip_suffix(']')) {
        let digit = |b: u8| b.is_ascii_hexdigit() || b == b':';
        return !address.is_empty() && address.bytes().all(digit);
    }
    host.split('.').all(|part| {
        let edge = |b: Option<&u8>| b.is_some_and(u8::is_ascii_alphanumeric);
        let inner = |b: u8| b.is_ascii_alphanumeric() || b == b'-';
        let bytes = part.as_bytes();
        edge(bytes.first()) && edge(bytes.last()) && part.bytes().all(inner)
    })
}

/// Lower-case words with one period, one or two underscores or any number of hyphens between them.
fn is_path_component(text: &str) -> bool {
    let word = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit();
    let bytes = text.as_bytes();
    let edge = |b: Option<&u8>| b.is_some_and(|b| word(*b));
    if !edge(bytes.first()) || !edge(bytes.last()) {
        return false;
    }
    let separators = text.split(|c: char| c.is_ascii_lowercase() || c.is_ascii_digit());
    let known = |s: &str| matches!(s, "" | "." | "_" | "__") || s.bytes().all(|b| b == b'-');
    separators.into_iter().all(known)
}

fn is_tag(tag: &str) -> bool {
    let word = |b: u8| b.is_ascii_alphanumeric() || b == b'_';
    let first = tag.bytes().next().is_some_and(word);
    let rest = |b: u8| word(b) || matches!(b, b'.' | b'-');
    first && tag.len() <= TAG_BYTES_MAX && tag.bytes().all(rest)
}

fn is_digest(digest: &str) -> bool {
    let (algorithm, encoded) = digest.split_once(':').unwrap_or_default();
    let length = match algorithm {
        "sha256" => 64,
        "sha384" => 96,
        "sha512" => 128,
        _ => return false,
    };
    encoded.len() == length && encoded.bytes().all(is_lower_hex)
}

#[cfg(test)]
mod tests {
    use super::is_latest;

    #[test]
    fn latest_is_what_has_no_tag_and_no_digest() {
        let digest = format!("sha256:{}", "a".repeat(64));
        for (image, latest) in [
            ("nginx", true),
            ("nginx:latest", true),
            ("nginx:1.25", false),
            ("registry.example.com:5000/team/app", true),
            ("registry.example.com:5000/team/app:v1", false),
            ("localhost/app", true),
            ("Registry/app", true),
            ("[::1]:5000/app", true),
            ("a__b/c--d.e", true),
            (&format!("busybox@{digest}"), false),
            (&format!("busybox:latest@{digest}"), true),
            (&format!("busybox:1@{digest}"), false),
        ] {
            assert_eq!(is_latest(image), latest, "{image}");
        }
    }

    #[test]
    fn what_names_no_image_is_not_latest() {
        for image in [
            "",
            " nginx",
            "with space",
            "Bad_Name!",
            "UPPER",
            "a//b",
            "a___b",
            "-a",
            "a.",
            "nginx:",
            "nginx:-x",
            "busybox@sha256:abc",
            "busybox@md5:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
            "example.com:port/app",
            &"a".repeat(64),
            &"y".repeat(249),
        ] {
            assert!(!is_latest(image), "{image}");
        }
    }
}
