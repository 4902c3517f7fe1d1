//! Questions by what cannot be read back: what is kept says nothing of tokens, and is short however
//! long they are. Upstream's `token/cache` does so, too.

use ring::hmac::{Context, HMAC_SHA256, Key, Tag};
use ring::rand::SystemRandom;
use stowplan_telemetry::{AccessRequest, Identity};

/// What stands for a question.
pub(super) type Digest = [u8; 32];

/// Makes digests with a key that this process alone has, and for its lifetime only.
pub(super) struct Digester(Key);

impl Digester {
    pub(super) fn new() -> Self {
        let key = Key::generate(HMAC_SHA256, &SystemRandom::new());
        Self(key.expect("the system has random numbers"))
    }

    pub(super) fn token(&self, token: &str) -> Digest {
        let mut text = Text(Context::with_key(&self.0));
        text.list(&["token", token]);
        text.end()
    }

    pub(super) fn question(&self, user: &Identity, wish: &AccessRequest) -> Digest {
        let mut text = Text(Context::with_key(&self.0));
        match wish {
            AccessRequest::Path { verb, path } => text.list(&["path", verb, path]),
            AccessRequest::Pod { namespace, name } => text.list(&["pod", namespace, name]),
            AccessRequest::Open => text.list(&["open"]),
            AccessRequest::Nodes => text.list(&["nodes"]),
            AccessRequest::Pods { namespace: None } => text.list(&["pods"]),
            AccessRequest::Pods {
                namespace: Some(namespace),
            } => text.list(&["pods", namespace]),
        }
        text.list(&[&user.name, &user.uid]);
        text.list(&user.groups);
        text.number(user.extra.len());
        for (key, values) in &user.extra {
            text.list(&[key]);
            text.list(values);
        }
        text.end()
    }
}

/// Texts one after the other, each with its length, so that none can pass for two.
struct Text(Context);

impl Text {
    fn number(&mut self, number: usize) {
        self.0.update(&(number as u64).to_le_bytes());
    }

    fn list(&mut self, texts: &[impl AsRef<str>]) {
        self.number(texts.len());
        for text in texts {
            let bytes = text.as_ref().as_bytes();
            self.number(bytes.len());
            self.0.update(bytes);
        }
    }

    fn end(self) -> Digest {
        let tag: Tag = self.0.sign();
        let mut digest = [0; 32];
        digest.copy_from_slice(tag.as_ref());
        digest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_question_passes_for_another() {
        let user = |name: &str, groups: &[&str]| Identity {
            name: name.to_owned(),
            groups: groups.iter().map(|group| (*group).to_owned()).collect(),
            ..Identity::default()
        };
        let path = |verb: &str, path: &str| AccessRequest::Path {
            verb: verb.to_owned(),
            path: path.to_owned(),
        };
        let pod = AccessRequest::Pod {
            namespace: "get".to_owned(),
            name: "/a".to_owned(),
        };
        let digester = Digester::new();
        let all = [
            digester.question(&user("jane", &["a", "b"]), &path("get", "/a")),
            digester.question(&user("jane", &["ab"]), &path("get", "/a")),
            digester.question(&user("janea", &["b"]), &path("get", "/a")),
            digester.question(&user("jane", &["a", "b"]), &path("get/", "a")),
            digester.question(&user("jane", &["a", "b"]), &pod),
            digester.token("jane"),
        ];
        let different = std::collections::HashSet::from(all);
        assert_eq!(different.len(), all.len());
        let again = digester.question(&user("jane", &["a", "b"]), &path("get", "/a"));
        assert_eq!(again, all[0]);
        assert_ne!(Digester::new().token("jane"), digester.token("jane"));
    }
}
