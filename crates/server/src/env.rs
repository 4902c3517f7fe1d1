//! What a server takes from outside: the time, and names that nobody else has.

use std::sync::Mutex;
use std::time::{SystemTime, UNIX_EPOCH};
use stowplan_base::{Rng, Time};
use stowplan_registry::Stamps;

/// The clock, the uids and the name suffixes. A simulator brings its own.
pub trait Env: Send + Sync {
    /// Now.
    fn now(&self) -> Time;

    /// 64 bits that nobody can foresee (or that a seed foresees).
    fn random(&self) -> u64;

    /// A new uid: a version 4 UUID.
    fn uid(&self) -> String {
        let (a, b) = (self.random(), self.random());
        let (version, variant) = ((a & !0xf000) | 0x4000, (b & !(0b11 << 62)) | (0b10 << 62));
        let mut uid = String::with_capacity(36);
        hex(&mut uid, version >> 32, 8);
        for (number, digits) in [
            (version >> 16, 4),
            (version, 4),
            (variant >> 48, 4),
            (variant, 12),
        ] {
            uid.push('-');
            hex(&mut uid, number, digits);
        }
        uid
    }

    /// The five characters that end a generated name.
    fn suffix(&self) -> String {
        // No vowels and nothing that looks like one: upstream's `util/rand`.
        const LETTERS: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";
        let mut bits = self.random();
        let mut suffix = String::with_capacity(5);
        for _ in 0..5 {
            let letter = LETTERS[(bits % LETTERS.len() as u64) as usize];
            suffix.push(char::from(letter));
            bits /= LETTERS.len() as u64;
        }
        suffix
    }
}

impl Stamps for &dyn Env {
    fn uid(&self) -> String {
        (**self).uid()
    }

    fn suffix(&self) -> String {
        (**self).suffix()
    }

    fn random(&self) -> u64 {
        (**self).random()
    }
}

/// Appends the last digits of a number. Every request has a uid of its own: `format!` takes five times as
/// long.
fn hex(text: &mut String, number: u64, digits: u32) {
    for place in (0..digits).rev() {
        let digit = (number >> (4 * place)) & 0xf;
        text.push(char::from(b"0123456789abcdef"[digit as usize]));
    }
}

/// The machine's clock, and randomness from the operating system's seed.
pub struct System {
    rng: Mutex<Rng>,
}

impl System {
    /// Seeded anew.
    pub fn new() -> Self {
        use std::hash::{BuildHasher, Hasher, RandomState};
        // The only source of entropy in std; one draw per half of the seed.
        let seed = RandomState::new().build_hasher().finish();
        Self {
            rng: Mutex::new(Rng::new(seed ^ nanos().rotate_left(32) as u64)),
        }
    }
}

impl Default for System {
    fn default() -> Self {
        Self::new()
    }
}

fn nanos() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |d| i64::try_from(d.as_nanos()).unwrap_or(i64::MAX))
}

impl Env for System {
    fn now(&self) -> Time {
        Time::from_nanos(nanos())
    }

    fn random(&self) -> u64 {
        match self.rng.lock() {
            Ok(mut rng) => rng.next_u64(),
            Err(poisoned) => poisoned.into_inner().next_u64(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uids_are_version_4_and_differ() {
        let env = System::new();
        let (a, b) = (env.uid(), env.uid());
        assert_ne!(a, b);
        assert_eq!(a.len(), 36);
        assert_eq!(a.as_bytes()[14], b'4');
        assert!(matches!(a.as_bytes()[19], b'8' | b'9' | b'a' | b'b'));
        assert_eq!(env.suffix().len(), 5);
        struct Fixed;
        impl Env for Fixed {
            fn now(&self) -> Time {
                Time::from_nanos(0)
            }
            fn random(&self) -> u64 {
                0x0123_4567_89ab_cdef
            }
        }
        assert_eq!(Fixed.uid(), "01234567-89ab-4def-8123-456789abcdef");
    }
}
