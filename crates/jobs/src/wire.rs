//! Numbers and texts as bytes of a record.

/// A record cannot be read: the log is not one of ours, or of a later version.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("a record that cannot be read")]
pub struct BadRecord;

pub(crate) struct Writer<'a>(pub(crate) &'a mut Vec<u8>);

impl Writer<'_> {
    pub(crate) fn u8(&mut self, n: u8) -> &mut Self {
        self.0.push(n);
        self
    }

    /// Small numbers take one byte, any at most ten.
    pub(crate) fn num(&mut self, mut n: u64) -> &mut Self {
        while n >= 0x80 {
            self.0.push(n as u8 | 0x80);
            n >>= 7;
        }
        self.0.push(n as u8);
        self
    }

    pub(crate) fn int(&mut self, n: i64) -> &mut Self {
        self.num((n.cast_unsigned() << 1) ^ (n >> 63).cast_unsigned())
    }

    pub(crate) fn word(&mut self, n: u64) -> &mut Self {
        self.0.extend_from_slice(&n.to_le_bytes());
        self
    }

    pub(crate) fn bytes(&mut self, bytes: &[u8]) -> &mut Self {
        self.num(bytes.len() as u64);
        self.0.extend_from_slice(bytes);
        self
    }

    pub(crate) fn text(&mut self, text: &str) -> &mut Self {
        self.bytes(text.as_bytes())
    }
}

/// Reads from the front.
pub(crate) struct Reader<'a>(pub(crate) &'a [u8]);

impl<'a> Reader<'a> {
    pub(crate) fn u8(&mut self) -> Result<u8, BadRecord> {
        let (first, rest) = self.0.split_first().ok_or(BadRecord)?;
        self.0 = rest;
        Ok(*first)
    }

    pub(crate) fn num(&mut self) -> Result<u64, BadRecord> {
        let mut n = 0_u64;
        for shift in (0..64).step_by(7) {
            let byte = self.u8()?;
            n |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(n);
            }
        }
        Err(BadRecord)
    }

    pub(crate) fn n32(&mut self) -> Result<u32, BadRecord> {
        u32::try_from(self.num()?).map_err(|_| BadRecord)
    }

    pub(crate) fn int(&mut self) -> Result<i64, BadRecord> {
        let n = self.num()?;
        Ok((n >> 1).cast_signed() ^ -(n & 1).cast_signed())
    }

    pub(crate) fn word(&mut self) -> Result<u64, BadRecord> {
        let (word, rest) = self.0.split_first_chunk().ok_or(BadRecord)?;
        self.0 = rest;
        Ok(u64::from_le_bytes(*word))
    }

    pub(crate) fn bytes(&mut self) -> Result<&'a [u8], BadRecord> {
        let len = usize::try_from(self.num()?).map_err(|_| BadRecord)?;
        let (bytes, rest) = self.0.split_at_checked(len).ok_or(BadRecord)?;
        self.0 = rest;
        Ok(bytes)
    }

    pub(crate) fn text(&mut self) -> Result<&'a str, BadRecord> {
        std::str::from_utf8(self.bytes()?).map_err(|_| BadRecord)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let mut bytes = Vec::new();
        let mut w = Writer(&mut bytes);
        for n in [0, 1, 127, 128, u64::MAX] {
            w.num(n);
        }
        for n in [0, -1, 1, i64::MIN, i64::MAX] {
            w.int(n);
        }
        w.text("é").word(7).u8(3);
        let mut r = Reader(&bytes);
        for n in [0, 1, 127, 128, u64::MAX] {
            assert_eq!(r.num(), Ok(n));
        }
        for n in [0, -1, 1, i64::MIN, i64::MAX] {
            assert_eq!(r.int(), Ok(n));
        }
        assert_eq!((r.text(), r.word(), r.u8()), (Ok("é"), Ok(7), Ok(3)));
        assert_eq!(r.u8(), Err(BadRecord));
    }
}
