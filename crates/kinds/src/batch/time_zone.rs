//! Names of time zones.

use crate::common::faults::Faults;
use serde_json::Value;
use stowplan_apimachinery::View;
use stowplan_apimachinery::field::{ErrorList, Path};

const PART_BYTES_MAX: usize = 14;

pub(super) fn validate(spec: &Value, path: &Path<'_>, errors: &mut ErrorList) {
    if !spec.has("timeZone") {
        return;
    }
    let zone = spec.text("timeZone");
    if zone.is_empty() {
        errors.invalid(path, zone, "timeZone must be nil or non-empty string");
        return;
    }
    let known = |c: char| c.is_ascii_alphanumeric() || ".-_+".contains(c);
    let well_formed = |part: &str| {
        !matches!(part, "" | "." | "..")
            && !part.starts_with('-')
            && part.len() <= PART_BYTES_MAX
            && part.chars().all(known)
    };
    let unknown = format!("unknown time zone {zone}");
    if !zone.split('/').all(well_formed) {
        errors.invalid(path, zone, unknown);
        return;
    }
    if zone.eq_ignore_ascii_case("local") {
        errors.invalid(
            path,
            zone,
            "timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones",
        );
    }
    if stowplan_cron::time_zone(zone).is_none() {
        errors.invalid(path, zone, unknown);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn zones_are_known_by_their_exact_names() {
        let faults = |zone: &str| {
            let mut errors = ErrorList::new();
            let spec = json!({"timeZone": zone});
            validate(&spec, &Path::new("z"), &mut errors);
            errors.into_iter().map(|e| e.detail).collect::<Vec<_>>()
        };
        assert_eq!(faults("Europe/Berlin"), [""; 0]);
        assert_eq!(faults("Etc/UTC"), [""; 0]);
        assert_eq!(faults("Mars/Phobos"), ["unknown time zone Mars/Phobos"]);
        assert_eq!(faults("europe/berlin"), ["unknown time zone europe/berlin"]);
        assert_eq!(
            faults(" Europe/Berlin"),
            ["unknown time zone  Europe/Berlin"]
        );
        assert_eq!(faults("Local").len(), 1);
        assert_eq!(faults("local").len(), 2);
        assert_eq!(faults("").len(), 1);
    }
}
