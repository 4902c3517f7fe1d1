//! A network between a client and the embedded server: requests and answers take their time, and what was
//! sent arrives even if its sender is dead by then.

use http::Request;
use kube::client::Body;
use std::sync::Arc;
use std::time::Duration;
use stowplan_base::Env;
use stowplan_client::in_process;
use stowplan_server::{Api, User};
use tokio::sync::oneshot;
use tower::{BoxError, ServiceExt, service_fn};

/// How long most messages take at most, and how long the others.
const USUALLY_MS: u64 = 200;
const SLOW_MS: u64 = 5_000;

/// A client of the server, which is some way off.
pub(crate) fn client(api: &Arc<Api>, env: &Arc<dyn Env>) -> kube::Client {
    let service = api.service(User::new("controllers", &["system:masters"]));
    let env = env.clone();
    in_process(service_fn(move |request: Request<Body>| {
        let (answer, answered) = oneshot::channel();
        let (env, service) = (env.clone(), service.clone());
        // Nobody can call back what is on its way.
        tokio::spawn(async move {
            pass(&*env).await;
            let came = service.oneshot(request).await;
            pass(&*env).await;
            let _ = answer.send(came);
        });
        async move {
            let answer = answered.await.map_err(BoxError::from)?;
            Ok::<_, BoxError>(infallible(answer))
        }
    }))
}

fn infallible<T>(answer: Result<T, std::convert::Infallible>) -> T {
    match answer {
        Ok(answer) => answer,
    }
}

async fn pass(env: &dyn Env) {
    let slowest_ms = match env.random() % 50 {
        0 => SLOW_MS,
        _ => USUALLY_MS,
    };
    let span = Duration::from_millis(env.random() % slowest_ms);
    env.sleep(span).await;
}
