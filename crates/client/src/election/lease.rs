//! A Lease of the API, read and written.

use super::address::{LeaderAddress, note};
use super::{Answer, Record, Request};
use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use kube::Api;
use kube::api::PostParams;
use stowplan_base::Time;

/// One Lease, with what was last seen of it.
pub(super) struct LeaseLock {
    leases: Api<Lease>,
    name: String,
    /// What others wrote into it stays there.
    seen: Option<Lease>,
    /// Where whoever writes it listens.
    address: Option<LeaderAddress>,
}

impl LeaseLock {
    pub(super) fn new(leases: Api<Lease>, name: &str, address: Option<LeaderAddress>) -> Self {
        Self {
            leases,
            name: name.to_owned(),
            seen: None,
            address,
        }
    }

    /// The Lease as it was last seen.
    pub(super) fn seen(&self) -> Option<&Lease> {
        self.seen.as_ref()
    }

    /// Sends a request and waits for the answer.
    pub(super) async fn ask(&mut self, request: &Request) -> Answer {
        let name = self.name.clone();
        let answer = match request {
            Request::Get => match self.leases.get_opt(&name).await {
                Ok(None) => return Answer::NotFound,
                Ok(Some(lease)) => Ok(lease),
                Err(error) => Err(error),
            },
            Request::Create(record) => {
                let mut lease = Lease::default();
                lease.metadata.name = Some(name.clone());
                lease.spec = Some(spec(record, None));
                note(&mut lease, &record.holder, self.address.as_ref());
                self.leases.create(&PostParams::default(), &lease).await
            }
            Request::Update(record, version) => {
                let mut lease = self.seen.clone().unwrap_or_default();
                lease.metadata.name = Some(name.clone());
                lease.metadata.resource_version = Some(version.clone());
                lease.metadata.managed_fields = None;
                lease.spec = Some(spec(record, lease.spec.take()));
                note(&mut lease, &record.holder, self.address.as_ref());
                let parameters = PostParams::default();
                self.leases.replace(&name, &parameters, &lease).await
            }
        };
        match answer {
            Ok(lease) => {
                let version = lease.metadata.resource_version.clone().unwrap_or_default();
                let record = record(lease.spec.as_ref());
                self.seen = Some(lease);
                Answer::Lease(record, version)
            }
            // Somebody else was faster.
            Err(kube::Error::Api(status)) if status.code == 409 => {
                tracing::debug!(
                    lease = name,
                    error = status.message,
                    "the lease is not to be had"
                );
                Answer::Failed
            }
            Err(error) => {
                tracing::warn!(lease = name, %error, "a request for the lease failed");
                Answer::Failed
            }
        }
    }
}

fn record(spec: Option<&LeaseSpec>) -> Record {
    let Some(spec) = spec else {
        return Record::default();
    };
    let time = |time: &Option<MicroTime>| {
        let nanos = i64::try_from(time.as_ref()?.0.as_nanosecond()).ok()?;
        Some(Time::from_nanos(nanos))
    };
    Record {
        holder: spec.holder_identity.clone().unwrap_or_default(),
        lease_duration_seconds: spec.lease_duration_seconds.unwrap_or_default(),
        acquired: time(&spec.acquire_time),
        renewed: time(&spec.renew_time),
        transitions: spec.lease_transitions.unwrap_or_default(),
    }
}

fn spec(record: &Record, before: Option<LeaseSpec>) -> LeaseSpec {
    let time = |time: Option<Time>| {
        let nanos = i128::from(time?.as_nanos());
        Timestamp::from_nanosecond(nanos).ok().map(MicroTime)
    };
    LeaseSpec {
        holder_identity: Some(record.holder.clone()),
        lease_duration_seconds: Some(record.lease_duration_seconds),
        acquire_time: time(record.acquired),
        renew_time: time(record.renewed),
        lease_transitions: Some(record.transitions),
        ..before.unwrap_or_default()
    }
}
