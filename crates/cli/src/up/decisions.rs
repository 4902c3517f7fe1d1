//! The scheduler within tells the API's clients what it decided.

use futures::future::BoxFuture;
use stowplan_live::{Asker, Told as Answer};
use stowplan_server::{Decisions, Told};

/// The scheduler of this process.
pub(super) struct Within(pub(super) Asker);

impl Decisions for Within {
    fn tell(&self, namespace: String, name: String, whole: bool) -> BoxFuture<'static, Told> {
        let asker = self.0.clone();
        Box::pin(async move {
            let told = match whole {
                true => asker.tournament(&namespace, &name).await,
                false => asker.decision(&namespace, &name).await,
            };
            match told {
                Answer::Found(object) => Told::Found(object),
                Answer::Unknown => Told::Unknown,
                Answer::Busy => Told::Busy,
            }
        })
    }
}
