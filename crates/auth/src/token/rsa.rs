//! Tokens signed with an RSA key, as most clusters have one for their service accounts.

use super::{BASE64, KeyError};
use base64::Engine;
use ring::rand::SystemRandom;
use ring::signature::{KeyPair, RSA_PKCS1_SHA256 as RS256, RsaKeyPair};
use serde_json::{Value, json};

/// A key that signs with RS256.
pub struct RsaKey {
    pair: RsaKeyPair,
    random: SystemRandom,
}

impl RsaKey {
    /// A key as PKCS #8 (`PRIVATE KEY` in a PEM file).
    pub fn from_pkcs8(bytes: &[u8]) -> Result<Self, KeyError> {
        Self::of(RsaKeyPair::from_pkcs8(bytes).map_err(|_| KeyError)?)
    }

    /// A key as PKCS #1 (`RSA PRIVATE KEY` in a PEM file).
    pub fn from_pkcs1(bytes: &[u8]) -> Result<Self, KeyError> {
        Self::of(RsaKeyPair::from_der(bytes).map_err(|_| KeyError)?)
    }

    fn of(pair: RsaKeyPair) -> Result<Self, KeyError> {
        let random = SystemRandom::new();
        Ok(Self { pair, random })
    }

    /// A token with these claims.
    pub fn sign(&self, claims: &Value) -> Result<String, KeyError> {
        let header = json!({"alg": "RS256", "kid": self.id()});
        let encode = |value: &Value| BASE64.encode(value.to_string());
        let signed = format!("{}.{}", encode(&header), encode(claims));
        let mut signature = vec![0; self.pair.public().modulus_len()];
        self.pair
            .sign(&RS256, &self.random, signed.as_bytes(), &mut signature)
            .map_err(|_| KeyError)?;
        Ok(format!("{signed}.{}", BASE64.encode(signature)))
    }

    /// By what the key is known. Upstream: `keyIDFromPublicKey`, a digest of its DER form.
    fn id(&self) -> String {
        /// `rsaEncryption`, without parameters.
        const ALGORITHM: [u8; 15] = [
            0x30, 0x0d, 0x06, 0x09, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x01, 0x05, 0,
        ];
        // A bit string without unused bits.
        let key = [&[0], self.pair.public_key().as_ref()].concat();
        let der = tagged(0x30, &[&ALGORITHM[..], &tagged(3, &key)].concat());
        let digest = ring::digest::digest(&ring::digest::SHA256, &der);
        BASE64.encode(digest.as_ref())
    }
}

/// A DER value with its tag and its length.
fn tagged(tag: u8, value: &[u8]) -> Vec<u8> {
    let length = value.len().to_be_bytes();
    let digits: Vec<u8> = length.into_iter().skip_while(|byte| *byte == 0).collect();
    let mut der = vec![tag];
    match digits[..] {
        [] => der.push(0),
        [short] if short < 0x80 => der.push(short),
        _ => {
            der.push(0x80 | u8::try_from(digits.len()).unwrap_or(0x7f));
            der.extend(digits);
        }
    }
    der.extend(value);
    der
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_written_as_der_wants_them() {
        assert_eq!(tagged(4, &[7]), [4, 1, 7]);
        assert_eq!(tagged(4, &[0; 127])[..2], [4, 127]);
        assert_eq!(tagged(4, &[0; 128])[..3], [4, 0x81, 128]);
        assert_eq!(tagged(4, &[0; 300])[..4], [4, 0x82, 1, 44]);
        assert_eq!(tagged(4, &[]), [4, 0]);
    }

    #[test]
    fn tokens_name_their_key_and_can_be_checked() {
        // Made for this test by openssl, which also told the digest of its public key.
        let key = RsaKey::from_pkcs8(include_bytes!("rsa-for-tests.pk8")).unwrap();
        assert_eq!(key.id(), "FOb2BNnWVSuCsElVewecwp888GB7yA_UNlqvHgkkj3Y");
        let token = key.sign(&json!({"sub": "me"})).unwrap();
        let (signed, signature) = token.rsplit_once('.').unwrap();
        let public = ring::signature::UnparsedPublicKey::new(
            &ring::signature::RSA_PKCS1_2048_8192_SHA256,
            key.pair.public_key().as_ref(),
        );
        let signature = BASE64.decode(signature).unwrap();
        public.verify(signed.as_bytes(), &signature).unwrap();
    }

    #[test]
    fn what_is_no_key_is_refused() {
        assert!(RsaKey::from_pkcs8(b"no").is_err());
        assert!(RsaKey::from_pkcs1(b"no").is_err());
    }
}
