//! INFO.

use super::bulk;
use super::verbs::{Answer, Core};
use crate::clock;
use crate::json::quote;
use std::fmt::Write;
use stowplan_base::Time;

/// Clients ask for a server of 1.8 or later; this is the one whose answers are the specification.
const VERSION: &str = "1.10.0";

impl Core {
    pub(super) fn info(&self, now: Time, reply: &mut Vec<u8>) -> Answer {
        let totals = self.machine.totals();
        let mut queues = b"{".to_vec();
        let (mut count, mut enqueued) = (0, 0);
        for (name, size) in self.machine.sizes() {
            if count > 0 {
                queues.push(b',');
            }
            quote(&mut queues, name);
            queues.extend_from_slice(format!(":{size}").as_bytes());
            count += 1;
            enqueued += size;
        }
        queues.push(b'}');
        let text = clock::text(now);
        let uptime = now.since(self.began).as_secs();
        let set = |size: u64| {
            format!("{{\"cycles\":0,\"enqueued\":0,\"size\":{size},\"wall_time_sec\":0}}")
        };
        let mut json = String::with_capacity(queues.len() + 1_000);
        let _ = write!(
            json,
            "{{\"faktory\":{{\"queues\":{},\"sets\":{{\"dead\":{},\"retries\":{},\"scheduled\":{},\"working\":{}}},\
             \"tasks\":{{\"Busy\":{{\"reaped\":{},\"size\":{}}},\"Dead\":{},\"Retries\":{},\"Scheduled\":{},\
             \"Workers\":{{\"reaped\":0,\"size\":{}}}}},\
             \"total_enqueued\":{enqueued},\"total_failures\":{},\"total_processed\":{},\"total_queues\":{count}}},\
             \"now\":\"{text}\",\
             \"server\":{{\"command_count\":{},\"connections\":{},\"description\":\"Stowplan\",\
             \"faktory_version\":\"{VERSION}\",\"uptime\":{uptime},\"used_memory_mb\":{}}},\
             \"server_utc_time\":\"{} UTC\"}}",
            String::from_utf8_lossy(&queues),
            totals.dead,
            totals.retries,
            totals.scheduled,
            totals.working,
            totals.reclaimed,
            totals.working,
            set(totals.dead),
            set(totals.retries),
            set(totals.scheduled),
            totals.workers,
            totals.failures,
            totals.processed,
            self.counters.commands,
            self.counters.connections,
            memory_mb(),
            text.get(11..19).unwrap_or_default(),
        );
        bulk(reply, json.as_bytes());
        Answer::Now
    }
}

/// What the process takes up; 0 where nobody says so.
fn memory_mb() -> u64 {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = statm
        .split(' ')
        .nth(1)
        .and_then(|pages| pages.parse::<u64>().ok());
    pages.unwrap_or(0) * 4_096 / 1_000_000
}
