//! How much of a document its aliases repeat.
//!
//! Upstream: `allowedAliasRatio` in `go.yaml.in/yaml/v2/decode.go`.

/// Up to here nearly all of a document may come from aliases.
const SMALL: u32 = 400_000;
/// From here on, a tenth.
const LARGE: u32 = 4_000_000;

/// Counts what was read.
#[derive(Default)]
pub(super) struct Aliases {
    all: u32,
    /// What stands before something that was read already. Texts that are not written as they are
    /// (escapes, blocks) and what is in no text are not told from what is new, so that this is a
    /// little low; what documents may become in all is bounded elsewhere.
    repeated: u32,
    /// Where the last scalar stands that was read.
    furthest: Option<usize>,
    /// Too much was repeated.
    pub(super) are_excessive: bool,
}

impl Aliases {
    /// Counts a value. False if too many were repeated.
    pub(super) fn count(&mut self, offset: Option<usize>) -> bool {
        self.all = self.all.saturating_add(1);
        if let Some(offset) = offset {
            match self.furthest {
                Some(furthest) if offset <= furthest => {
                    self.repeated = self.repeated.saturating_add(1);
                }
                _ => self.furthest = Some(offset),
            }
        }
        let (all, repeated) = (f64::from(self.all), f64::from(self.repeated));
        self.are_excessive =
            self.repeated > 100 && self.all > 1000 && repeated / all > self.allowed();
        !self.are_excessive
    }

    /// Which part of all may be repeated.
    fn allowed(&self) -> f64 {
        match self.all {
            ..=SMALL => 0.99,
            LARGE.. => 0.10,
            all => 0.99 - 0.89 * f64::from(all - SMALL) / f64::from(LARGE - SMALL),
        }
    }
}
