//! When a CronJob is due, and what becomes of what it missed.

use crate::common::{annotation, name, namespace};
use jiff::tz::TimeZone;
use k8s_openapi::api::batch::v1::CronJob;
use stowplan_apimachinery::go;
use stowplan_cron::{Dst, Schedule, time_zone};

pub(super) const SCHEDULE: &str = "stowplan.dev/schedule";
pub(super) const CATCH_UP: &str = "stowplan.dev/catch-up";
pub(super) const DST: &str = "stowplan.dev/dst";

/// What becomes of times that passed while nobody launched anything.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum CatchUp {
    /// They are not made up for: a Job is launched at its time, or a little later, or not at all.
    Skip,
    /// The last of them is made up for. Upstream's way.
    Latest,
    /// Each of them is made up for, in order, with a Job of its own.
    All,
}

/// What a CronJob says about time.
pub(super) struct Options {
    /// The schedule as it is written.
    pub(super) text: String,
    pub(super) schedule: Schedule,
    /// Whether the schedule names its zone itself.
    pub(super) names_zone: bool,
    /// The zone that times are shown in.
    pub(super) zone: TimeZone,
    zone_name: String,
    pub(super) catch_up: CatchUp,
}

/// Why a CronJob launches nothing.
pub(super) struct Fault {
    pub(super) reason: &'static str,
    pub(super) message: String,
}

/// As Go's `%q`.
pub(super) fn quoted(text: &str) -> String {
    go::quote(text)
}

impl Options {
    pub(super) fn of(cron_job: &CronJob) -> Result<Self, Fault> {
        let zone_name = cron_job.spec.time_zone.as_deref().unwrap_or_default();
        let zone = time_zone(zone_name).ok_or_else(|| Fault {
            reason: "UnknownTimeZone",
            message: format!(
                "invalid timeZone: {}: unknown time zone {zone_name}",
                quoted(zone_name)
            ),
        })?;
        let unparseable = |text: &str, fault: String| Fault {
            reason: "UnparseableSchedule",
            message: format!("unparseable schedule: {} : {fault}", quoted(text)),
        };
        let (text, schedule) = match annotation(cron_job, SCHEDULE) {
            Some(text) => {
                let seed = format!("{}/{}", namespace(cron_job), name(cron_job));
                (text, Schedule::parse_hashed(text, &seed))
            }
            None => {
                let text = cron_job.spec.schedule.as_str();
                (text, Schedule::parse(text))
            }
        };
        let mut schedule = schedule.map_err(|fault| unparseable(text, fault))?;
        let names_zone = text.contains("TZ");
        if !names_zone {
            schedule = schedule.in_zone(zone.clone());
        }
        Ok(Self {
            text: text.to_owned(),
            schedule: schedule.with_dst(dst(cron_job)?),
            names_zone,
            zone,
            zone_name: zone_name.to_owned(),
            catch_up: catch_up(cron_job)?,
        })
    }

    /// Differs when what is due differs.
    pub(super) fn fingerprint(&self) -> String {
        format!("{} {}", self.zone_name, self.text)
    }
}

fn unknown(key: &str, value: &str, known: &str) -> Fault {
    Fault {
        reason: "InvalidSchedule",
        message: format!(
            "invalid schedule: annotation {key} is {}: {known}",
            quoted(value)
        ),
    }
}

fn dst(cron_job: &CronJob) -> Result<Dst, Fault> {
    match annotation(cron_job, DST) {
        None | Some("twice") => Ok(Dst::Twice),
        Some("once") => Ok(Dst::Once),
        Some("skip") => Ok(Dst::Skip),
        Some(value) => Err(unknown(DST, value, "must be once, twice or skip")),
    }
}

fn catch_up(cron_job: &CronJob) -> Result<CatchUp, Fault> {
    match annotation(cron_job, CATCH_UP) {
        None | Some("latest") => Ok(CatchUp::Latest),
        Some("skip") => Ok(CatchUp::Skip),
        Some("all") => Ok(CatchUp::All),
        Some(value) => Err(unknown(CATCH_UP, value, "must be skip, latest or all")),
    }
}
