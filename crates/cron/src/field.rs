//! The fields of a schedule, as sets of values.

use crate::hash::Hash;
use stowplan_apimachinery::go;

/// Set in a field that is not restricted: it was `*` or `?`.
pub(crate) const STAR: u64 = 1 << 63;

/// What a clock shows when something is due: a bit for each value.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Fields {
    pub(crate) second: u64,
    pub(crate) minute: u64,
    pub(crate) hour: u64,
    pub(crate) day_of_month: u64,
    pub(crate) month: u64,
    pub(crate) day_of_week: u64,
}

/// The lowest and the highest value of a field, and names that stand for values from the lowest on.
pub(crate) struct Bounds {
    pub(crate) min: u64,
    pub(crate) max: u64,
    /// The highest value that `H` stands for.
    hash_max: u64,
    names: &'static [&'static str],
}

pub(crate) const fn plain(min: u64, max: u64) -> Bounds {
    Bounds {
        min,
        max,
        hash_max: max,
        names: &[],
    }
}

pub(crate) const SECONDS: Bounds = plain(0, 59);
pub(crate) const MINUTES: Bounds = plain(0, 59);
pub(crate) const HOURS: Bounds = plain(0, 23);
pub(crate) const DAYS_OF_MONTH: Bounds = Bounds {
    // Every month has these.
    hash_max: 28,
    ..plain(1, 31)
};
pub(crate) const MONTHS: Bounds = Bounds {
    names: &[
        "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
    ],
    ..plain(1, 12)
};
pub(crate) const DAYS_OF_WEEK: Bounds = Bounds {
    names: &["sun", "mon", "tue", "wed", "thu", "fri", "sat"],
    ..plain(0, 6)
};

impl Bounds {
    /// All values.
    pub(crate) fn all(&self) -> u64 {
        bits(self.min, self.max, 1) | STAR
    }

    /// Only the lowest.
    pub(crate) fn first(&self) -> u64 {
        1 << self.min
    }

    /// The values of a list of ranges; with a hash, `H` may be among them. Upstream's `getField`.
    pub(crate) fn read(&self, text: &str, mut hash: Option<&mut Hash>) -> Result<u64, String> {
        let mut all = 0;
        for range in text.split(',').filter(|range| !range.is_empty()) {
            all |= match (range.strip_prefix('H'), &mut hash) {
                (Some(rest), Some(hash)) => self.read_hashed(range, rest, hash)?,
                _ => self.read_range(range)?,
            };
        }
        Ok(all)
    }

    /// `N`, `N-M`, `*`, `?`, and each of them with `/step`. Upstream's `getRange`.
    pub(crate) fn read_range(&self, text: &str) -> Result<u64, String> {
        let mut parts = text.split('/');
        let (range, step) = (parts.next().unwrap_or_default(), parts.next());
        let ends: Vec<&str> = range.split('-').collect();
        let mut star = 0;
        let (start, mut end) = match ends.as_slice() {
            ["*" | "?", ..] | [] => {
                star = STAR;
                (self.min, self.max)
            }
            [one] => {
                let value = self.value(one)?;
                (value, value)
            }
            [first, last] => (self.value(first)?, self.value(last)?),
            [first, ..] => {
                self.value(first)?;
                return Err(format!("too many hyphens: {text}"));
            }
        };
        let mut every = 1;
        if let Some(step) = step {
            if parts.next().is_some() {
                return Err(format!("too many slashes: {text}"));
            }
            every = number(step)?;
            // `N/step` begins at N and goes on to the end.
            if ends.len() == 1 {
                end = self.max;
            }
            if every > 1 {
                star = 0;
            }
        }
        self.check(start, end, every, text)?;
        Ok(bits(start, end, every) | star)
    }

    fn check(&self, start: u64, end: u64, step: u64, text: &str) -> Result<(), String> {
        let (min, max) = (self.min, self.max);
        if start < min {
            return Err(format!(
                "beginning of range ({start}) below minimum ({min}): {text}"
            ));
        }
        if end > max {
            return Err(format!(
                "end of range ({end}) above maximum ({max}): {text}"
            ));
        }
        if start > end {
            return Err(format!(
                "beginning of range ({start}) beyond end of range ({end}): {text}"
            ));
        }
        if step == 0 {
            return Err(format!("step of range should be a positive number: {text}"));
        }
        Ok(())
    }

    /// What comes after an `H`: nothing, `(N-M)`, `/step`, or both.
    fn read_hashed(&self, text: &str, rest: &str, hash: &mut Hash) -> Result<u64, String> {
        let (range, rest) = match rest.strip_prefix('(') {
            Some(rest) => {
                let (range, rest) = rest
                    .split_once(')')
                    .ok_or_else(|| format!("missing parenthesis: {text}"))?;
                let (first, last) = range
                    .split_once('-')
                    .ok_or_else(|| format!("missing hyphen: {text}"))?;
                ((self.value(first)?, self.value(last)?), rest)
            }
            None => ((self.min, self.hash_max), rest),
        };
        let step = match rest.strip_prefix('/') {
            Some(step) => number(step)?,
            None if rest.is_empty() => 1,
            None => return Err(format!("unexpected {} after H: {text}", go::quote(rest))),
        };
        let (start, end) = range;
        self.check(start, end, step, text)?;
        let size = end - start + 1;
        if step > size {
            return Err(format!(
                "step of range ({step}) beyond its size ({size}): {text}"
            ));
        }
        // As in Jenkins, `H/1` is `H`.
        Ok(match step {
            1 => 1 << (start + hash.below(size)),
            step => bits(start + hash.below(step), end, step),
        })
    }

    /// A number, or what a name stands for. Upstream's `parseIntOrName`.
    fn value(&self, text: &str) -> Result<u64, String> {
        let known = |name: &&str| name.eq_ignore_ascii_case(text);
        match (self.min..).zip(self.names).find(|(_, name)| known(name)) {
            Some((value, _)) => Ok(value),
            None => number(text),
        }
    }
}

/// Every so many values from `min` to `max`, which are below 63.
pub(crate) fn bits(min: u64, max: u64, step: u64) -> u64 {
    let step = usize::try_from(step).unwrap_or(usize::MAX).max(1);
    (min..=max).step_by(step).fold(0, |all, bit| all | 1 << bit)
}

fn number(text: &str) -> Result<u64, String> {
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    let why = match text.parse::<i64>() {
        Ok(value) if value < 0 => {
            return Err(format!("negative number ({value}) not allowed: {text}"));
        }
        Ok(value) => return Ok(value.unsigned_abs()),
        Err(_) if !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()) => {
            "value out of range"
        }
        Err(_) => "invalid syntax",
    };
    Err(format!(
        "failed to parse int from {text}: strconv.Atoi: parsing {}: {why}",
        go::quote(text)
    ))
}
