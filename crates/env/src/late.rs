//! Waits that end.

use std::fmt;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;
use stowplan_base::{Env, Time};

/// Something took longer than one would wait.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Late;

impl fmt::Display for Late {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("deadline has elapsed")
    }
}

impl std::error::Error for Late {}

/// What a future comes to, if that takes no longer than this.
pub fn timeout<F: Future>(
    env: &dyn Env,
    span: Duration,
    future: F,
) -> impl Future<Output = Result<F::Output, Late>> + use<F> {
    timeout_at(env, env.monotonic() + span, future)
}

/// What a future comes to, if it does until this time.
pub fn timeout_at<F: Future>(
    env: &dyn Env,
    at: Time,
    future: F,
) -> impl Future<Output = Result<F::Output, Late>> + use<F> {
    let mut sleep = env.sleep_until(at);
    async move {
        let mut future = pin!(future);
        poll_fn(|cx| match future.as_mut().poll(cx) {
            Poll::Ready(output) => Poll::Ready(Ok(output)),
            Poll::Pending => sleep.as_mut().poll(cx).map(|()| Err(Late)),
        })
        .await
    }
}
