//! What a request costs: time of the processor, peak of memory.

use crate::PEAK;
use crate::attack::{Attack, Request};
use crate::server::Server;
use cpu_time::ProcessTime;
use std::time::Duration;

/// What the last request of an attack cost.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cost {
    pub(crate) time: Duration,
    /// The most memory that was in use while it was answered, beyond what was in use before.
    pub(crate) peak_bytes: usize,
    /// Of all its requests: an object that is changed was sent before. Of the last alone if that is
    /// somebody else's.
    pub(crate) sent_bytes: usize,
    pub(crate) code: u16,
}

/// The least of several runs: what others do on the machine only adds. An attack that sets a scene has
/// a server of its own. Nothing if its scene is refused.
pub(crate) fn cost(attack: &Attack, shared: &Server, n: usize, runs: usize) -> Option<Cost> {
    let requests = (attack.make)(n);
    let (last, scene) = requests.split_last().expect("an attack has a request");
    let once = || {
        let own = (!scene.is_empty()).then(Server::new);
        let server = own.as_ref().unwrap_or(shared);
        if !server.set_scene(scene) {
            return None;
        }
        let before = PEAK.current_usage();
        PEAK.reset_peak_usage();
        let start = ProcessTime::now();
        let code = server.send(last);
        Some(Cost {
            time: start.elapsed(),
            peak_bytes: PEAK.peak_usage().saturating_sub(before),
            sent_bytes: match attack.by_bystander {
                true => last.bytes(),
                false => requests.iter().map(Request::bytes).sum(),
            },
            code,
        })
    };
    let all = (0..runs.max(1)).map(|_| once());
    all.flatten().min_by_key(|cost| cost.time)
}
