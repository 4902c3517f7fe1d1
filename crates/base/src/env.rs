//! What a component takes from outside: the time, sleep, and what nobody can foresee.

mod virtual_env;

pub use virtual_env::Virtual;

use crate::Time;
use std::future::Future;
use std::pin::Pin;

/// A wait that ends at some time.
pub type Sleep = Pin<Box<dyn Future<Output = ()> + Send>>;

/// The clock, timers, uids, name suffixes and randomness of a component.
///
/// The server, the client, the scheduler and every controller read the time and sleep through it and
/// through nothing else. So they all run on a [virtual clock](Virtual), too, on one thread, where one
/// seed gives one history.
pub trait Env: Send + Sync {
    /// The time of day. It may be set back.
    fn now(&self) -> Time;

    /// A time that never goes back, close to the time of day when the process began: for deadlines, and to
    /// measure by.
    fn monotonic(&self) -> Time;

    /// Waits until [`monotonic`](Self::monotonic) has come to this time.
    fn sleep_until(&self, at: Time) -> Sleep;

    /// 64 bits that nobody can foresee (or that a seed foresees).
    fn random(&self) -> u64;

    /// Waits for this long.
    fn sleep(&self, span: std::time::Duration) -> Sleep {
        self.sleep_until(self.monotonic() + span)
    }

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

/// Appends the last digits of a number. Every request has a uid of its own: `format!` takes five times as
/// long.
fn hex(text: &mut String, number: u64, digits: u32) {
    for place in (0..digits).rev() {
        let digit = (number >> (4 * place)) & 0xf;
        text.push(char::from(b"0123456789abcdef"[digit as usize]));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uids_are_version_4() {
        struct Fixed;
        impl Env for Fixed {
            fn now(&self) -> Time {
                Time::from_nanos(0)
            }
            fn monotonic(&self) -> Time {
                self.now()
            }
            fn sleep_until(&self, _: Time) -> Sleep {
                Box::pin(std::future::pending())
            }
            fn random(&self) -> u64 {
                0x0123_4567_89ab_cdef
            }
        }
        assert_eq!(Fixed.uid(), "01234567-89ab-4def-8123-456789abcdef");
        assert_eq!(Fixed.suffix().len(), 5);
    }
}
