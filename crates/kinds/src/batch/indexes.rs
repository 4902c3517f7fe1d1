//! Lists of indexes: `1,3-5,7`.

use stowplan_apimachinery::go;

/// How many there are, of so many completions; they come in order.
pub(super) fn count(text: &str, completions: i64) -> Result<i64, String> {
    if text.is_empty() {
        return Ok(0);
    }
    let mut last: Option<i64> = None;
    let mut total = 0;
    for interval in text.split(',') {
        let (first, end) = parse(interval, completions)?;
        if let Some(last) = last.filter(|last| *last >= first) {
            return Err(format!(
                "non-increasing order, previous: {last}, current: {first}"
            ));
        }
        total += end - first + 1;
        last = Some(end);
    }
    Ok(total)
}

fn parse(interval: &str, completions: i64) -> Result<(i64, i64), String> {
    let mut parts = interval.split('-');
    let (first, second) = (parts.next().unwrap_or_default(), parts.next());
    if parts.next().is_some() {
        return Err(format!(
            "the fragment {} violates the requirement that an index interval can have at most two parts separated by '-'",
            go::quote(interval)
        ));
    }
    let number = |text: &str| -> Result<i64, String> {
        let number: i64 = text.parse().map_err(|_| {
            format!(
                "cannot convert string to integer for index: {}",
                go::quote(text)
            )
        })?;
        match number >= completions {
            true => Err(format!("too large index: {}", go::quote(text))),
            false => Ok(number),
        }
    };
    let first = number(first)?;
    let Some(second) = second else {
        return Ok((first, first));
    };
    let second = number(second)?;
    match first >= second {
        true => Err(format!(
            "non-increasing order, previous: {first}, current: {second}"
        )),
        false => Ok((first, second)),
    }
}

/// The first index that is in both lists, as far as they can be read.
pub(super) fn overlap(completed: &str, failed: &str, completions: i64) -> Option<i64> {
    let read = |text: &str| -> Vec<(i64, i64)> {
        let intervals = text.split(',').filter(|interval| !interval.is_empty());
        intervals
            .filter_map(|interval| parse(interval, completions).ok())
            .collect()
    };
    let (completed, failed) = (read(completed), read(failed));
    let (mut c, mut f) = (completed.iter().peekable(), failed.iter().peekable());
    while let (Some((c_first, c_last)), Some((f_first, f_last))) = (c.peek(), f.peek()) {
        if c_first <= f_last && f_first <= c_last {
            return Some(*c_first.max(f_first));
        }
        if c_first <= f_first {
            c.next();
        } else {
            f.next();
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_in_order_and_within_bounds() {
        assert_eq!(count("", 5), Ok(0));
        assert_eq!(count("0,2-4", 5), Ok(4));
        for (text, fault) in [
            ("2,1", "non-increasing order, previous: 2, current: 1"),
            ("3-2", "non-increasing order, previous: 3, current: 2"),
            ("x", "cannot convert string to integer for index: \"x\""),
            ("5", "too large index: \"5\""),
        ] {
            assert_eq!(count(text, 5), Err(fault.to_owned()), "{text}");
        }
        assert!(
            count("1-2-3", 5)
                .unwrap_err()
                .starts_with("the fragment \"1-2-3\"")
        );
    }

    #[test]
    fn lists_overlap() {
        assert_eq!(overlap("0-2,5", "3,5", 9), Some(5));
        assert_eq!(overlap("0-2", "3-4", 9), None);
        assert_eq!(overlap("0,x,4", "4", 9), Some(4));
        assert_eq!(overlap("", "4", 9), None);
    }
}
