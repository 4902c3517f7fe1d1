//! What makes the server the same server after a restart: its CA, the key that signs tokens, and
//! the admin's token. Kept in the data folder, readable by the owner only.

use anyhow::{Context, Result, bail};
use std::fs::{self, OpenOptions};
use std::io::{ErrorKind, Write};
use std::path::Path;
use stowplan_access::token;
use stowplan_transport::Pki;

/// The secrets of a server.
pub(super) struct Identity {
    pub(super) pki: Pki,
    /// PKCS #8.
    pub(super) token_key: Vec<u8>,
    pub(super) admin_token: String,
}

const CA: &str = "ca.crt";
const CA_KEY: &str = "ca.key";
const TOKEN_KEY: &str = "service-account.key";
const ADMIN_TOKEN: &str = "admin.token";

impl Identity {
    /// Secrets that are kept nowhere.
    pub(super) fn generate() -> Result<Self> {
        Ok(Self {
            pki: Pki::generate()?,
            token_key: token::Key::generate()?,
            admin_token: token::random_text()?,
        })
    }

    /// The secrets kept in a folder; made there if it has none of them.
    pub(super) fn open(folder: &Path) -> Result<Self> {
        let read = |name: &str| match fs::read(folder.join(name)) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => {
                Err(error).with_context(|| format!("cannot read {}", folder.join(name).display()))
            }
        };
        let kept = (
            read(CA)?,
            read(CA_KEY)?,
            read(TOKEN_KEY)?,
            read(ADMIN_TOKEN)?,
        );
        match kept {
            (Some(ca), Some(ca_key), Some(token_key), Some(admin_token)) => Ok(Self {
                pki: Pki {
                    ca_pem: text(ca, folder, CA)?,
                    ca_key_pem: text(ca_key, folder, CA_KEY)?,
                },
                token_key,
                admin_token: text(admin_token, folder, ADMIN_TOKEN)?.trim().to_owned(),
            }),
            (None, None, None, None) => {
                let new = Self::generate()?;
                write_private(&folder.join(CA_KEY), new.pki.ca_key_pem.as_bytes())?;
                write_private(&folder.join(TOKEN_KEY), &new.token_key)?;
                write_private(&folder.join(ADMIN_TOKEN), new.admin_token.as_bytes())?;
                write_private(&folder.join(CA), new.pki.ca_pem.as_bytes())?;
                Ok(new)
            }
            _ => bail!(
                "{} holds some of {CA}, {CA_KEY}, {TOKEN_KEY} and {ADMIN_TOKEN}, but not all: put \
                 the missing ones back, or remove the others to start with new ones",
                folder.display()
            ),
        }
    }
}

fn text(bytes: Vec<u8>, folder: &Path, name: &str) -> Result<String> {
    let broken = || format!("{} is not text", folder.join(name).display());
    String::from_utf8(bytes).with_context(broken)
}

/// Writes a file that only its owner can read, whole or not at all.
pub(super) fn write_private(path: &Path, bytes: &[u8]) -> Result<()> {
    let part = path.with_extension("part");
    let write = || -> std::io::Result<()> {
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let mut file = options.open(&part)?;
        #[cfg(unix)]
        file.set_permissions(std::os::unix::fs::PermissionsExt::from_mode(0o600))?;
        file.write_all(bytes)?;
        file.sync_all()?;
        fs::rename(&part, path)
    };
    write().with_context(|| format!("cannot write {}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_second_start_finds_the_same_secrets_and_nobody_else_can_read_them() {
        let folder = std::env::temp_dir().join(format!("stowplan-identity-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).unwrap();
        let first = Identity::open(&folder).unwrap();
        let second = Identity::open(&folder).unwrap();
        assert!(first.pki == second.pki && first.token_key == second.token_key);
        assert_eq!(first.admin_token, second.admin_token);
        for name in [CA_KEY, TOKEN_KEY, ADMIN_TOKEN] {
            let mode = fs::metadata(folder.join(name))
                .unwrap()
                .permissions()
                .mode();
            assert_eq!(mode & 0o777, 0o600, "{name}");
        }
        fs::remove_file(folder.join(CA)).unwrap();
        let error = Identity::open(&folder).err().unwrap().to_string();
        assert!(error.contains("but not all"), "{error}");
        fs::remove_dir_all(&folder).unwrap();
    }
}
