//! The wire format: numbered fields, one after the other.

use crate::decode::DecodeError;

/// A message that is being read.
pub(super) struct Message<'a> {
    rest: &'a [u8],
}

/// What a field holds.
#[derive(Clone, Copy, Debug)]
pub(super) enum Payload<'a> {
    Varint(u64),
    Fixed64(u64),
    Bytes(&'a [u8]),
    Fixed32,
}

fn cut_off() -> DecodeError {
    DecodeError::text("unexpected EOF")
}

impl<'a> Message<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    fn take(&mut self, length: usize) -> Result<&'a [u8], DecodeError> {
        let (taken, rest) = self.rest.split_at_checked(length).ok_or_else(cut_off)?;
        self.rest = rest;
        Ok(taken)
    }

    pub(super) fn varint(&mut self) -> Result<u64, DecodeError> {
        let mut number = 0;
        for shift in (0..70).step_by(7) {
            let byte = *self.take(1)?.first().ok_or_else(cut_off)?;
            number |= u64::from(byte & 0x7f)
                .checked_shl(shift)
                .unwrap_or_default();
            if byte < 0x80 {
                return Ok(number);
            }
        }
        Err(DecodeError::text("proto: integer overflow"))
    }

    /// The next field and its number; nothing at the end.
    pub(super) fn next(&mut self) -> Result<Option<(u32, Payload<'a>)>, DecodeError> {
        if self.is_empty() {
            return Ok(None);
        }
        let tag = self.varint()?;
        let number = u32::try_from(tag >> 3).unwrap_or_default();
        let payload = match tag & 7 {
            0 => Payload::Varint(self.varint()?),
            1 => {
                let bytes = self.take(8)?.try_into().map_err(|_| cut_off())?;
                Payload::Fixed64(u64::from_le_bytes(bytes))
            }
            2 => {
                let length = usize::try_from(self.varint()?).map_err(|_| cut_off())?;
                Payload::Bytes(self.take(length)?)
            }
            5 => {
                self.take(4)?;
                Payload::Fixed32
            }
            kind => {
                let problem = format!("proto: illegal wireType {kind}");
                return Err(DecodeError::text(problem));
            }
        };
        Ok(Some((number, payload)))
    }
}

impl<'a> Payload<'a> {
    fn wrong(self) -> DecodeError {
        let kind = match self {
            Self::Varint(_) => 0,
            Self::Fixed64(_) => 1,
            Self::Bytes(_) => 2,
            Self::Fixed32 => 5,
        };
        DecodeError::text(format!("proto: wrong wireType = {kind}"))
    }

    pub(super) fn varint(self) -> Result<u64, DecodeError> {
        match self {
            Self::Varint(number) => Ok(number),
            other => Err(other.wrong()),
        }
    }

    pub(super) fn double(self) -> Result<f64, DecodeError> {
        match self {
            Self::Fixed64(bits) => Ok(f64::from_bits(bits)),
            other => Err(other.wrong()),
        }
    }

    pub(super) fn bytes(self) -> Result<&'a [u8], DecodeError> {
        match self {
            Self::Bytes(bytes) => Ok(bytes),
            other => Err(other.wrong()),
        }
    }

    pub(super) fn text(self) -> Result<String, DecodeError> {
        Ok(String::from_utf8_lossy(self.bytes()?).into_owned())
    }
}
