//! Reading bodies, within the room that there is for them.

use super::pool::Held;
use super::{Flow, FlowControl};
use crate::limits::{BODY_BYTES_MAX, BODY_TIME, LEFTOVER_BYTES_MAX, LEFTOVER_TIME};
use axum::body::Body;
use bytes::{Bytes, BytesMut};
use http_body::Body as _;
use http_body_util::BodyExt;
use std::sync::Arc;
use stowplan_apimachinery::Status;
use stowplan_env::timeout;

/// A whole body, and the room that it takes up.
pub(crate) type ReadBody = (Bytes, Held);

impl FlowControl {
    /// The whole body of a request with a header of so many bytes, if it is not too large and does not take forever; nothing if there is no room
    /// for it, or if its flow has taken up its share of it.
    pub(crate) async fn read(
        &self,
        body: &mut Body,
        header_bytes: usize,
        flow: &Flow,
    ) -> Result<Option<ReadBody>, Status> {
        let collect = self.collect(body, header_bytes, flow);
        match timeout(&*self.env, BODY_TIME, collect).await {
            Ok(read) => read,
            Err(_) => {
                let message = "Timeout: request did not complete within the allotted timeout";
                Err(Status::failure(504, "Timeout", message))
            }
        }
    }

    async fn collect(
        &self,
        body: &mut Body,
        header_bytes: usize,
        flow: &Flow,
    ) -> Result<Option<ReadBody>, Status> {
        let (mut first, mut rest) = (Bytes::new(), BytesMut::new());
        let mut held = self.bodies_kib.nothing(flow);
        // What waits for its body takes up room, too.
        if !held.grow(header_bytes.div_ceil(1024)) {
            return Ok(None);
        }
        while let Some(frame) = body.frame().await {
            let frame = frame.map_err(|error| Status::bad_request(error.to_string()))?;
            let Ok(data) = frame.into_data() else {
                continue;
            };
            let size = first.len() + rest.len() + data.len();
            if size > BODY_BYTES_MAX {
                let message = format!("Request entity too large: limit is {BODY_BYTES_MAX}");
                return Err(Status::failure(413, "RequestEntityTooLarge", message));
            }
            // Pieces may be tiny: they are paid for together.
            if !held.grow((header_bytes + size).div_ceil(1024)) {
                return Ok(None);
            }
            // Most bodies come in one piece.
            if first.is_empty() {
                first = data;
            } else {
                rest.extend_from_slice(&data);
            }
        }
        let whole = match rest.is_empty() {
            true => first,
            false => [first, rest.freeze()].concat().into(),
        };
        // Not every body knows that it has ended.
        *body = Body::empty();
        Ok(Some((whole, held)))
    }

    /// Takes in what a client still sends after it was answered. Otherwise HTTP/2 resets the stream and
    /// HTTP/1 closes the connection, and clients that are busy sending lose the answer with it.
    pub(crate) fn drain(&self, mut body: Body) {
        if body.is_end_stream() {
            return;
        }
        let Ok(place) = Arc::clone(&self.leftovers).try_acquire_owned() else {
            return;
        };
        let env = self.env.clone();
        tokio::spawn(async move {
            let rest = async {
                let mut taken = 0;
                while let Some(Ok(frame)) = body.frame().await {
                    taken += frame.data_ref().map_or(0, Bytes::len);
                    if taken > LEFTOVER_BYTES_MAX {
                        return;
                    }
                }
            };
            let _ = timeout(&*env, LEFTOVER_TIME, rest).await;
            drop(place);
        });
    }
}
