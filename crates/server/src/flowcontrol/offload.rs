//! Long work off the threads that serve everybody.

use std::future::Future;
use tokio::runtime::{Handle, RuntimeFlavor};

/// Runs a future to its end without keeping the reactor's thread from others. Where there is one thread
/// only, there is nowhere else to go.
pub(crate) async fn off_the_reactor<F: Future>(work: F) -> F::Output {
    let handle = Handle::try_current();
    match handle {
        Ok(handle) if handle.runtime_flavor() == RuntimeFlavor::MultiThread => {
            tokio::task::block_in_place(|| handle.block_on(work))
        }
        _ => work.await,
    }
}
