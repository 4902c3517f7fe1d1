//! Who a caller is and what he may do, as the API server sees it. Upstream's delegated
//! authentication and authorization (`apiserver/pkg/server/options/auth*.go`).

use k8s_openapi::api::authentication::v1::{TokenReview, TokenReviewSpec};
use k8s_openapi::api::authorization::v1::{
    NonResourceAttributes, ResourceAttributes, SubjectAccessReview, SubjectAccessReviewSpec,
};
use kube::api::PostParams;
use kube::{Api, Client};
use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};
use stowplan_telemetry::{BoxFuture, Caller, Gate, Identity, Refusal, Wish};

/// How long an answer is believed. Upstream's default for all three.
const BELIEF: Duration = Duration::from_secs(10);
/// How many answers are kept.
const ANSWERS: usize = 1024;

/// A [`Gate`] that asks by TokenReview and SubjectAccessReview.
pub struct Reviews {
    tokens: Client,
    access: Client,
    users: Memory<String, Option<Identity>>,
    verdicts: Memory<(Identity, Wish), Option<String>>,
}

impl Reviews {
    /// Asks whose a token is with the first client, and what he may with the second.
    pub fn new(tokens: Client, access: Client) -> Self {
        Self {
            tokens,
            access,
            users: Memory::default(),
            verdicts: Memory::default(),
        }
    }

    async fn user(&self, caller: Caller) -> Result<Identity, Refusal> {
        if let Some(known) = caller.certificate {
            return Ok(known);
        }
        let Some(token) = caller.token else {
            return Ok(Identity {
                name: "system:anonymous".to_owned(),
                groups: vec!["system:unauthenticated".to_owned()],
                ..Identity::default()
            });
        };
        let user = match self.users.get(&token) {
            Some(known) => known,
            None => {
                let user = self.review_token(&token).await?;
                self.users.put(token, user.clone());
                user
            }
        };
        user.ok_or(Refusal::Unauthorized)
    }

    /// Whose token it is; `None` if it is nobody's.
    async fn review_token(&self, token: &str) -> Result<Option<Identity>, Refusal> {
        let reviews: Api<TokenReview> = Api::all(self.tokens.clone());
        let review = TokenReview {
            spec: TokenReviewSpec {
                token: token.to_owned(),
                ..TokenReviewSpec::default()
            },
            ..TokenReview::default()
        };
        let answer = reviews.create(&PostParams::default(), &review).await;
        let status = match answer {
            Ok(answer) => answer.status.unwrap_or_default(),
            Err(error) => {
                // Upstream lets nobody in whom it cannot ask about, and tells him no more.
                tracing::warn!(%error, "cannot find out whose token it is");
                return Err(Refusal::Unauthorized);
            }
        };
        let user = status.user.unwrap_or_default();
        Ok((status.authenticated == Some(true)).then(|| Identity {
            name: user.username.unwrap_or_default(),
            uid: user.uid.unwrap_or_default(),
            groups: user.groups.unwrap_or_default(),
            extra: user.extra.unwrap_or_default(),
        }))
    }

    async fn may(&self, user: Identity, wish: Wish) -> Result<(), Refusal> {
        if user.groups.iter().any(|group| group == "system:masters") {
            return Ok(());
        }
        let question = (user, wish);
        let verdict = match self.verdicts.get(&question) {
            Some(verdict) => verdict,
            None => {
                let verdict = self.review_access(&question.0, &question.1).await?;
                self.verdicts.put(question.clone(), verdict.clone());
                verdict
            }
        };
        match verdict {
            None => Ok(()),
            Some(reason) => Err(Refusal::Forbidden {
                user: question.0.name,
                reason,
            }),
        }
    }

    /// Why the user may not; `None` if he may.
    async fn review_access(&self, user: &Identity, wish: &Wish) -> Result<Option<String>, Refusal> {
        let path = match wish {
            Wish::Path { verb, path } => Some(NonResourceAttributes {
                path: Some(path.clone()),
                verb: Some(verb.clone()),
            }),
            Wish::Pod { .. } | Wish::Open => None,
        };
        let resource = match wish {
            Wish::Pod { namespace, name } => Some(ResourceAttributes {
                verb: Some("get".to_owned()),
                version: Some("v1".to_owned()),
                resource: Some("pods".to_owned()),
                namespace: Some(namespace.clone()),
                name: Some(name.clone()),
                ..ResourceAttributes::default()
            }),
            Wish::Path { .. } | Wish::Open => None,
        };
        let reviews: Api<SubjectAccessReview> = Api::all(self.access.clone());
        let review = SubjectAccessReview {
            spec: SubjectAccessReviewSpec {
                user: Some(user.name.clone()),
                uid: Some(user.uid.clone()),
                groups: Some(user.groups.clone()),
                extra: Some(user.extra.clone()),
                non_resource_attributes: path,
                resource_attributes: resource,
            },
            ..SubjectAccessReview::default()
        };
        let answer = reviews.create(&PostParams::default(), &review).await;
        let answer = answer.map_err(|error| Refusal::Broken(error.to_string()))?;
        let status = answer.status.unwrap_or_default();
        Ok((!status.allowed).then(|| status.reason.unwrap_or_default()))
    }
}

impl Gate for Reviews {
    fn admit(&self, caller: Caller, wish: Wish) -> BoxFuture<'_, Result<(), Refusal>> {
        Box::pin(async move {
            let user = self.user(caller).await?;
            match wish {
                Wish::Open => Ok(()),
                wish => self.may(user, wish).await,
            }
        })
    }
}

/// Answers of the last seconds.
struct Memory<K, V>(Mutex<HashMap<K, (Instant, V)>>);

impl<K, V> Default for Memory<K, V> {
    fn default() -> Self {
        Self(Mutex::new(HashMap::new()))
    }
}

impl<K: Eq + Hash, V: Clone> Memory<K, V> {
    fn get(&self, key: &K) -> Option<V> {
        let answers = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (at, value) = answers.get(key)?;
        (at.elapsed() < BELIEF).then(|| value.clone())
    }

    fn put(&self, key: K, value: V) {
        let mut answers = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if answers.len() >= ANSWERS {
            answers.retain(|_, (at, _)| at.elapsed() < BELIEF);
        }
        if answers.len() >= ANSWERS {
            answers.clear();
        }
        answers.insert(key, (Instant::now(), value));
    }
}
