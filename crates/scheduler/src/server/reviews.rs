//! Who a caller is and what he may do, as the API server sees it. Upstream's delegated
//! authentication and authorization (`apiserver/pkg/server/options/auth*.go`).

mod digest;
mod memory;
mod single_flight;

use digest::{Digest, Digester};
use k8s_openapi::api::authentication::v1::{TokenReview, TokenReviewSpec};
use k8s_openapi::api::authorization::v1::{
    NonResourceAttributes, ResourceAttributes, SubjectAccessReview, SubjectAccessReviewSpec,
};
use kube::api::PostParams;
use kube::{Api, Client};
use memory::{CacheLimits, Measured, ReviewCache};
use single_flight::{Concurrency, SingleFlight};
use std::sync::Arc;
use std::time::Duration;
use stowplan_base::Env;
use stowplan_env::timeout;
use stowplan_telemetry::{AccessRequest, BoxFuture, Caller, Gate, Identity, Refusal};

/// How long an answer is believed. Upstream's default for all three.
const BELIEF: Duration = Duration::from_secs(10);

/// What callers may make this process keep, and make it ask the API server.
#[derive(Clone, Copy, Debug)]
struct Limits {
    /// Bytes of a token; a longer one is nobody's.
    token_bytes: usize,
    /// Answers of each kind that are kept: about callers that are known, and apart from these about
    /// strangers.
    kept: CacheLimits,
    /// Questions about callers that are known, or were when they last asked.
    known: Concurrency,
    /// Questions about strangers.
    strangers: Concurrency,
    /// How long the API server may take. Upstream's.
    patience: Duration,
}

const LIMITS: Limits = Limits {
    token_bytes: 16 << 10,
    kept: CacheLimits {
        answers: 1024,
        bytes: 4 << 20,
    },
    known: Concurrency {
        asked: 16,
        waiting: 256,
    },
    strangers: Concurrency {
        asked: 4,
        waiting: 64,
    },
    patience: Duration::from_secs(10),
};

/// A [`Gate`] that asks by TokenReview and SubjectAccessReview.
pub struct Reviews {
    env: Arc<dyn Env>,
    tokens: Client,
    access: Client,
    limits: Limits,
    digester: Digester,
    /// Whose tokens are.
    users: ReviewCache<Identity>,
    /// Tokens that are nobody's.
    nobodies: ReviewCache<()>,
    known: SingleFlight<Option<Identity>>,
    strangers: SingleFlight<Option<Identity>>,
    /// What callers may who say who they are, and those who do not.
    verdicts: [Verdicts; 2],
}

/// Why not, if a caller may not.
type Verdict = Option<String>;

struct Verdicts {
    kept: ReviewCache<Verdict>,
    single_flight: SingleFlight<Verdict>,
}

impl Verdicts {
    fn new(limits: &Limits, width: Concurrency, env: &Arc<dyn Env>) -> Self {
        Self {
            kept: ReviewCache::new(limits.kept, BELIEF, env.clone()),
            single_flight: SingleFlight::new(width),
        }
    }
}

impl Measured for Identity {
    fn bytes(&self) -> usize {
        let groups = self.groups.iter().map(String::len).sum::<usize>();
        let extra = self.extra.iter().map(|(key, values)| {
            key.len() + values.iter().map(|value| value.len() + 24).sum::<usize>() + 48
        });
        self.name.len() + self.uid.len() + groups + 24 * self.groups.len() + extra.sum::<usize>()
    }
}

impl Measured for () {
    fn bytes(&self) -> usize {
        0
    }
}

impl Measured for Verdict {
    fn bytes(&self) -> usize {
        self.as_ref().map_or(0, String::len)
    }
}

impl Reviews {
    /// Asks whose a token is with the first client, and what he may with the second.
    pub fn new(tokens: Client, access: Client, env: Arc<dyn Env>) -> Self {
        Self::with_limits(tokens, access, LIMITS, env)
    }

    fn with_limits(tokens: Client, access: Client, limits: Limits, env: Arc<dyn Env>) -> Self {
        Self {
            tokens,
            access,
            digester: Digester::new(),
            users: ReviewCache::new(limits.kept, BELIEF, env.clone()),
            nobodies: ReviewCache::new(limits.kept, BELIEF, env.clone()),
            known: SingleFlight::new(limits.known),
            strangers: SingleFlight::new(limits.strangers),
            verdicts: [limits.known, limits.strangers]
                .map(|width| Verdicts::new(&limits, width, &env)),
            limits,
            env,
        }
    }

    /// Who asks, and whether he has said so.
    async fn user(&self, caller: Caller) -> Result<(Identity, bool), Refusal> {
        if let Some(known) = caller.certificate {
            return Ok((known, true));
        }
        let Some(token) = caller.token else {
            let nobody = Identity {
                name: "system:anonymous".to_owned(),
                groups: vec!["system:unauthenticated".to_owned()],
                ..Identity::default()
            };
            return Ok((nobody, false));
        };
        if token.len() > self.limits.token_bytes {
            return Err(Refusal::Unauthorized);
        }
        let user = self.owner(&token).await?;
        user.map(|user| (user, true)).ok_or(Refusal::Unauthorized)
    }

    /// Whose token it is; `None` if it is nobody's.
    async fn owner(&self, token: &str) -> Result<Option<Identity>, Refusal> {
        let key = self.digester.token(token);
        if let Some(user) = self.users.get(&key) {
            return Ok(Some(user));
        }
        if self.nobodies.get(&key).is_some() {
            return Ok(None);
        }
        // Who was known before does not wait in line with strangers.
        let single_flight = match self.users.knew(&key) {
            true => &self.known,
            false => &self.strangers,
        };
        let ask = async {
            let user = self.review_token(token).await?;
            match &user {
                Some(user) => self.users.put(key, user.clone()),
                None => {
                    self.users.forget(&key);
                    self.nobodies.put(key, ());
                }
            }
            Ok(user)
        };
        single_flight.ask(key, ask).await
    }

    async fn review_token(&self, token: &str) -> Result<Option<Identity>, Refusal> {
        let reviews: Api<TokenReview> = Api::all(self.tokens.clone());
        let review = TokenReview {
            spec: TokenReviewSpec {
                token: token.to_owned(),
                ..TokenReviewSpec::default()
            },
            ..TokenReview::default()
        };
        let params = PostParams::default();
        let answer = timeout(
            &*self.env,
            self.limits.patience,
            reviews.create(&params, &review),
        )
        .await;
        // Upstream lets nobody in whom it cannot ask about, and tells him no more.
        let status = match answer {
            Ok(Ok(answer)) => answer.status.unwrap_or_default(),
            Ok(Err(error)) => {
                tracing::warn!(%error, "cannot find out whose token it is");
                return Err(Refusal::Unauthorized);
            }
            Err(_) => {
                tracing::warn!("nobody said in time whose token it is");
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

    async fn may(
        &self,
        user: Identity,
        is_known: bool,
        wish: AccessRequest,
    ) -> Result<(), Refusal> {
        if user.groups.iter().any(|group| group == "system:masters") {
            return Ok(());
        }
        let verdicts = &self.verdicts[usize::from(!is_known)];
        let key = self.digester.question(&user, &wish);
        let verdict = match verdicts.kept.get(&key) {
            Some(verdict) => verdict,
            None => {
                let ask = async {
                    let verdict = self.review_access(&user, &wish).await?;
                    verdicts.kept.put(key, verdict.clone());
                    Ok(verdict)
                };
                verdicts.single_flight.ask(key, ask).await?
            }
        };
        match verdict {
            None => Ok(()),
            Some(reason) => Err(Refusal::Forbidden {
                user: user.name,
                reason,
            }),
        }
    }

    /// Why the user may not; `None` if he may.
    async fn review_access(
        &self,
        user: &Identity,
        wish: &AccessRequest,
    ) -> Result<Verdict, Refusal> {
        let path = match wish {
            AccessRequest::Path { verb, path } => Some(NonResourceAttributes {
                path: Some(path.clone()),
                verb: Some(verb.clone()),
            }),
            _ => None,
        };
        let core = |verb: &str, resource: &str| ResourceAttributes {
            verb: Some(verb.to_owned()),
            version: Some("v1".to_owned()),
            resource: Some(resource.to_owned()),
            ..ResourceAttributes::default()
        };
        let resource = match wish {
            AccessRequest::Pod { namespace, name } => Some(ResourceAttributes {
                namespace: Some(namespace.clone()),
                name: Some(name.clone()),
                ..core("get", "pods")
            }),
            AccessRequest::Nodes => Some(core("list", "nodes")),
            AccessRequest::Pods { namespace } => Some(ResourceAttributes {
                namespace: namespace.clone(),
                ..core("list", "pods")
            }),
            AccessRequest::Path { .. } | AccessRequest::Open => None,
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
        let params = PostParams::default();
        let answer = timeout(
            &*self.env,
            self.limits.patience,
            reviews.create(&params, &review),
        )
        .await;
        let answer = answer.map_err(|late| Refusal::Broken(late.to_string()))?;
        let answer = answer.map_err(|error| Refusal::Broken(error.to_string()))?;
        let status = answer.status.unwrap_or_default();
        Ok((!status.allowed).then(|| status.reason.unwrap_or_default()))
    }
}

impl Gate for Reviews {
    fn admit(&self, caller: Caller, wish: AccessRequest) -> BoxFuture<'_, Result<(), Refusal>> {
        Box::pin(async move {
            let (user, is_known) = self.user(caller).await?;
            match wish {
                AccessRequest::Open => Ok(()),
                wish => self.may(user, is_known, wish).await,
            }
        })
    }
}

#[cfg(test)]
mod tests;
