//! Connections that become streams: `exec` and `attach` over WebSocket.
//!
//! `handshake` agrees on a protocol and answers 101, `channels` is how bytes of several streams share one
//! connection, `carry` takes them between the client and the [`Session`](crate::Session).
//!
//! Upstream: `k8s.io/streaming/pkg/httpstream/wsstream`, `k8s.io/cri-streaming/pkg/streaming/remotecommand`
//! and `k8s.io/apiserver/pkg/util/proxy`.

mod carry;
mod channels;
mod handshake;
mod outcome;

pub(crate) use channels::Protocol;
pub(crate) use handshake::{Handshake, Upgrade, wants_upgrade};

use crate::api::Api;
use crate::flowcontrol::Held;
use crate::provider::{Session, StreamOptions};
use std::sync::Arc;
use stowplan_auth::ConnectionGuards;

/// A session whose client has been told that it begins.
pub(crate) struct Stream {
    pub(crate) agreed: Handshake,
    pub(crate) options: StreamOptions,
    pub(crate) session: Session,
    /// Its place among all streams.
    pub(crate) room: Held,
    /// What others want to last as long.
    pub(crate) guards: ConnectionGuards,
}

impl Stream {
    /// Carries it to its end, beside whatever else there is to do.
    pub(crate) fn start(self, api: &Arc<Api>) {
        let api = Arc::clone(api);
        tokio::spawn(async move {
            let mut stopping = api.stopping();
            let (_room, _guards) = (self.room, self.guards);
            let mut agreed = self.agreed;
            let Some(socket) = agreed.socket().await else {
                return;
            };
            let carried = carry::carry(
                socket,
                agreed.protocol,
                &self.options,
                self.session,
                api.env(),
            );
            tokio::select! {
                () = carried => {}
                _ = stopping.wait_for(|stops| *stops) => {}
            }
        });
    }
}
