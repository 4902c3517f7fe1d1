//! What others need to know to check the tokens of service accounts.
//!
//! Upstream: `pkg/routes/openidmetadata.go` and `pkg/serviceaccount/openidmetadata.go`.

use crate::advertise::reachable;
use crate::answer::{self, Answer};
use crate::api::Api;
use crate::request::Request;
use crate::{dispatch, route};
use http::{HeaderValue, Method, header};
use serde_json::json;
use std::net::SocketAddr;
use stowplan_apimachinery::Status;
use stowplan_auth::token::ISSUER;

const KEYS: &str = "/openid/v1/jwks";
const KEYS_TYPE: &str = "application/jwk-set+json";

/// Answers for the configuration and for the keys.
pub(crate) fn answer(api: &Api, request: &Request, parts: &[&str]) -> Result<Answer, Status> {
    let Some(key) = api.token_key() else {
        return Ok(dispatch::no_such_page());
    };
    if request.method != Method::GET {
        return Err(route::no_such_method());
    }
    let (content_type, document) = match parts {
        ["openid", ..] => (KEYS_TYPE, key.public_set()),
        _ => ("application/json", configuration(api)),
    };
    route::represent(request, content_type)?;
    let mut answer = answer::bytes(200, content_type, document.to_string());
    let cache = HeaderValue::from_static("public, max-age=3600");
    answer.headers_mut().insert(header::CACHE_CONTROL, cache);
    Ok(answer)
}

/// The keys are where the server says it is.
fn configuration(api: &Api) -> serde_json::Value {
    let server = match api.address() {
        Some(address) => {
            let address = SocketAddr::new(reachable(address.ip()), address.port());
            format!("https://{address}")
        }
        None => ISSUER.to_owned(),
    };
    json!({
        "issuer": ISSUER,
        "jwks_uri": format!("{server}{KEYS}"),
        "response_types_supported": ["id_token"],
        "subject_types_supported": ["public"],
        "id_token_signing_alg_values_supported": ["ES256"],
    })
}

#[cfg(test)]
mod tests {
    use crate::testing;
    use stowplan_auth::token::Key;

    #[tokio::test]
    async fn the_configuration_leads_to_the_keys() {
        let key = Key::from_pkcs8(&Key::generate().expect("a key")).expect("a key");
        let expected = key.public_set();
        let api = testing::api_that_signs(key).await;
        let (code, found) = testing::get(&api, "/.well-known/openid-configuration", "").await;
        assert_eq!(code, 200);
        assert_eq!(found["jwks_uri"], "https://stow/openid/v1/jwks");
        let address = std::net::SocketAddr::from(([10, 1, 2, 3], 6443));
        api.advertise(address).await.expect("a store that works");
        let (_, found) = testing::get(&api, "/.well-known/openid-configuration", "").await;
        assert_eq!(found["jwks_uri"], "https://10.1.2.3:6443/openid/v1/jwks");
        let (code, keys) = testing::get(&api, "/openid/v1/jwks", "").await;
        assert_eq!((code, keys), (200, expected));
        let without = testing::api().await;
        assert_eq!(testing::get(&without, "/openid/v1/jwks", "").await.0, 404);
    }
}
