//! The calendar: days since the epoch as dates in UTC.
//!
//! Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms". Years begin in March here, so that a leap
//! day is the last of its year.

const DAYS_PER_ERA: i64 = 146_097;
const DAYS_TO_EPOCH: i64 = 719_468;

/// Year, month and day of a day counted from 1970-01-01.
pub fn date(days: i64) -> (i64, i64, i64) {
    let days = days + DAYS_TO_EPOCH;
    let era = days.div_euclid(DAYS_PER_ERA);
    let day_of_era = days.rem_euclid(DAYS_PER_ERA);
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = (month_from_march + 2) % 12 + 1;
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    (year, month, day)
}

/// The day of a date, counted from 1970-01-01.
pub fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = year - i64::from(month <= 2);
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * DAYS_PER_ERA + day_of_era - DAYS_TO_EPOCH
}

/// Whole seconds since the epoch of an RFC 3339 time in UTC, as the API stores times:
/// `2026-01-02T03:04:05Z`, with or without a fraction. Whether the numbers are in range is not checked.
pub fn parse_seconds(text: &str) -> Option<i64> {
    let number = |range: std::ops::Range<usize>| text.get(range)?.parse::<i64>().ok();
    let (year, month, day) = (number(0..4)?, number(5..7)?, number(8..10)?);
    let (hour, minute, second) = (number(11..13)?, number(14..16)?, number(17..19)?);
    Some(days(year, month, day) * 86_400 + hour * 3_600 + minute * 60 + second)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_dates_and_back() {
        for (day, expected) in [
            (0, (1970, 1, 1)),
            (-1, (1969, 12, 31)),
            (11_015, (2000, 2, 28)),
            (11_016, (2000, 2, 29)),
            (11_017, (2000, 3, 1)),
            (20_455, (2026, 1, 2)),
            (-719_162, (1, 1, 1)),
        ] {
            assert_eq!(date(day), expected);
        }
        for day in (-800_000..3_000_000).step_by(97) {
            let (year, month, of_month) = date(day);
            assert_eq!(days(year, month, of_month), day);
        }
    }

    #[test]
    fn stored_times_are_read() {
        for (text, expected) in [
            ("1970-01-01T00:00:00Z", Some(0)),
            ("2000-02-29T00:00:00Z", Some(951_782_400)),
            ("2026-01-02T03:04:05.123456Z", Some(1_767_323_045)),
            ("yesterday", None),
        ] {
            assert_eq!(parse_seconds(text), expected, "{text}");
        }
    }
}
