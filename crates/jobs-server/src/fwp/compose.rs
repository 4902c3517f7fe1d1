//! A job as a worker gets it.

use crate::clock;
use stowplan_base::Time;
use stowplan_jobs::{BadRecord, FailureRecord, JobRecord, Record};

/// What is in the log, as JSON. `queued` is left out for jobs that do not wait in a queue.
pub(super) fn job(
    to: &mut Vec<u8>,
    record: &[u8],
    failure: Option<&[u8]>,
    queued: Option<Time>,
    token: Option<u64>,
) -> Result<(), BadRecord> {
    let job = job_record(record)?;
    to.push(b'{');
    to.extend_from_slice(job.body);
    if let Some(queued) = queued {
        to.extend_from_slice(b",\"enqueued_at\":\"");
        clock::write(to, queued);
        to.push(b'"');
    }
    if let Some(token) = token {
        to.extend_from_slice(format!(",\"lease\":\"{token}\"").as_bytes());
    }
    if let Some(bytes) = failure {
        let (Record::Failure(failure), _) = Record::decode(bytes)? else {
            return Err(BadRecord);
        };
        to.extend_from_slice(b",\"failure\":");
        write_failure(to, &failure);
    }
    to.push(b'}');
    Ok(())
}

pub(super) fn job_record(record: &[u8]) -> Result<JobRecord<'_>, BadRecord> {
    match Record::decode(record)? {
        (Record::Job(job), _) => Ok(job),
        _ => Err(BadRecord),
    }
}

/// A failure as a JSON object.
pub(super) fn write_failure(to: &mut Vec<u8>, failure: &FailureRecord<'_>) {
    let counts = format!(
        "{{\"retry_count\":{},\"remaining\":{}",
        failure.count, failure.remaining
    );
    to.extend_from_slice(counts.as_bytes());
    to.extend_from_slice(b",\"failed_at\":\"");
    clock::write(to, failure.first);
    to.push(b'"');
    if let Some(next) = failure.next {
        to.extend_from_slice(b",\"next_at\":\"");
        clock::write(to, next);
        to.push(b'"');
    }
    to.push(b',');
    to.extend_from_slice(failure.error);
    to.push(b'}');
}
