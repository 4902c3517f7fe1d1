//! What makes the server the same server after a restart: its CA, the key that signs tokens, and
//! the admin's token. Kept in the data folder, readable by the owner only.

use super::folder::tighten;
use crate::output;
use anyhow::{Context, Result, bail};
use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use stowplan_auth::token;
use stowplan_transport::Pki;

/// The secrets of a server.
pub(super) struct Identity {
    pub(super) pki: Pki,
    /// PKCS #8.
    pub(super) token_key: Vec<u8>,
    pub(super) admin_token: String,
}

/// The folder, in the data folder.
const HOME: &str = "identity";
const CA: &str = "ca.crt";
const CA_KEY: &str = "ca.key";
const TOKEN_KEY: &str = "service-account.key";
const ADMIN_TOKEN: &str = "admin.token";

/// Where the secrets of a data folder are.
pub(super) fn home(folder: &Path) -> PathBuf {
    folder.join(HOME)
}

/// The files that nobody else may read.
pub(super) fn secrets(folder: &Path) -> Vec<PathBuf> {
    let home = home(folder);
    let names = [CA_KEY, TOKEN_KEY, ADMIN_TOKEN];
    names.iter().map(|name| home.join(name)).collect()
}

impl Identity {
    /// Secrets that are kept nowhere.
    pub(super) fn generate() -> Result<Self> {
        Ok(Self {
            pki: Pki::generate()?,
            token_key: token::Key::generate()?,
            admin_token: token::random_text()?,
        })
    }

    /// The secrets kept in a folder; made there if it has none yet.
    pub(super) fn open(folder: &Path) -> Result<Self> {
        let home = folder.join(HOME);
        if !home.exists() {
            return Self::make(folder, &home);
        }
        let read = |name: &str| {
            let path = home.join(name);
            fs::read(&path).with_context(|| {
                format!(
                    "cannot read {}: put it back, or remove {} to start with new secrets",
                    path.display(),
                    home.display()
                )
            })
        };
        let read = Self {
            pki: Pki {
                ca_pem: text(read(CA)?, &home, CA)?,
                ca_key_pem: text(read(CA_KEY)?, &home, CA_KEY)?,
            },
            token_key: read(TOKEN_KEY)?,
            admin_token: text(read(ADMIN_TOKEN)?, &home, ADMIN_TOKEN)?
                .trim()
                .to_owned(),
        };
        for file in secrets(folder) {
            tighten(&file)?;
        }
        read.checked(&home)?.renewed(&home)
    }

    /// With a new certificate of the CA, if that is due.
    fn renewed(mut self, home: &Path) -> Result<Self> {
        let Some(pki) = self.pki.renewed()? else {
            return Ok(self);
        };
        let file = home.join(CA);
        match write_private(&file, pki.ca_pem.as_bytes()) {
            Ok(()) => {
                let name = file.display();
                output::warn(format!(
                    "{name} was renewed, for ten years and with its key"
                ));
                self.pki = pki;
            }
            Err(error) => output::warn(format!("the CA's certificate is due: {error:#}")),
        }
        Ok(self)
    }

    /// Refuses what nobody could use: clients would be told of it, and not why.
    fn checked(self, home: &Path) -> Result<Self> {
        let instead = || {
            let home = home.display();
            format!("put back what it was, or remove {home} to start with new secrets")
        };
        let file = |name: &str| home.join(name).display().to_string();
        if self.admin_token.is_empty() {
            bail!("{} is empty: {}", file(ADMIN_TOKEN), instead());
        }
        if let Err(why) = token::Key::from_pkcs8(&self.token_key) {
            bail!("{}: {why}: {}", file(TOKEN_KEY), instead());
        }
        if let Err(why) = self.pki.check() {
            bail!("{} and {}: {why}: {}", file(CA), file(CA_KEY), instead());
        }
        Ok(self)
    }

    /// Written beside their place and moved there together: a start that is cut short leaves all of
    /// them or none.
    fn make(folder: &Path, home: &Path) -> Result<Self> {
        let new = Self::generate()?;
        let part = home.with_extension("part");
        let write = || -> Result<()> {
            if part.exists() {
                fs::remove_dir_all(&part)?;
            }
            fs::create_dir(&part)?;
            write_private(&part.join(CA), new.pki.ca_pem.as_bytes())?;
            write_private(&part.join(CA_KEY), new.pki.ca_key_pem.as_bytes())?;
            write_private(&part.join(TOKEN_KEY), &new.token_key)?;
            write_private(&part.join(ADMIN_TOKEN), new.admin_token.as_bytes())?;
            File::open(&part)?.sync_all()?;
            fs::rename(&part, home)?;
            Ok(File::open(folder)?.sync_all()?)
        };
        write().with_context(|| format!("cannot make {}", home.display()))?;
        Ok(new)
    }
}

fn text(bytes: Vec<u8>, folder: &Path, name: &str) -> Result<String> {
    let broken = || format!("{} is not text", folder.join(name).display());
    String::from_utf8(bytes).with_context(broken)
}

/// Writes a file that only its owner can read, whole or not at all.
pub(crate) fn write_private(path: &Path, bytes: &[u8]) -> Result<()> {
    // A name of its own beside it, so that nothing of anybody else's is in the way or overwritten.
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let part = path.with_file_name(format!(".{name}.{}", token::random_text()?));
    let write = || -> std::io::Result<()> {
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let mut file = options.open(&part)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        fs::rename(&part, path)
    };
    let written = write();
    if written.is_err() {
        // It is of no use to anybody; if it cannot be removed, the first error says why.
        let _ = fs::remove_file(&part);
    }
    written.with_context(|| format!("cannot write {}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_file_is_written_without_touching_its_neighbours() {
        let folder = std::env::temp_dir().join(format!("stowplan-private-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("notes.part"), "mine").unwrap();
        write_private(&folder.join("notes.yaml"), b"first").unwrap();
        write_private(&folder.join("notes.yaml"), b"second").unwrap();
        let mut names: Vec<_> = fs::read_dir(&folder)
            .unwrap()
            .map(|file| file.unwrap().file_name())
            .collect();
        names.sort();
        assert_eq!(names, ["notes.part", "notes.yaml"]);
        assert_eq!(
            fs::read_to_string(folder.join("notes.part")).unwrap(),
            "mine"
        );
        assert_eq!(
            fs::read_to_string(folder.join("notes.yaml")).unwrap(),
            "second"
        );
        fs::remove_dir_all(&folder).unwrap();
    }

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
            let mode = fs::metadata(folder.join(HOME).join(name))
                .unwrap()
                .permissions()
                .mode();
            assert_eq!(mode & 0o777, 0o600, "{name}");
        }
        fs::remove_file(folder.join(HOME).join(CA)).unwrap();
        let error = Identity::open(&folder).err().unwrap().to_string();
        assert!(error.contains("put it back"), "{error}");
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn secrets_that_nobody_could_use_are_refused_by_name() {
        let folder = std::env::temp_dir().join(format!("stowplan-rubbish-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).unwrap();
        Identity::open(&folder).unwrap();
        let other = Identity::generate().unwrap();
        for (name, rubbish) in [
            (ADMIN_TOKEN, "\n"),
            (TOKEN_KEY, "rubbish"),
            (CA, "rubbish"),
            (CA_KEY, &other.pki.ca_key_pem),
            (CA, &other.pki.ca_pem),
        ] {
            let path = folder.join(HOME).join(name);
            let whole = fs::read(&path).unwrap();
            fs::write(&path, rubbish).unwrap();
            let error = Identity::open(&folder).err().unwrap().to_string();
            assert!(
                error.contains(name) && error.contains("put back"),
                "{error}"
            );
            fs::write(&path, whole).unwrap();
        }
        assert!(Identity::open(&folder).is_ok());
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn what_a_start_that_was_cut_short_left_is_no_obstacle() {
        let folder = std::env::temp_dir().join(format!("stowplan-cut-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(folder.join("identity.part")).unwrap();
        fs::write(folder.join("identity.part").join(CA_KEY), "half").unwrap();
        let first = Identity::open(&folder).unwrap();
        assert!(first.pki == Identity::open(&folder).unwrap().pki);
        fs::remove_dir_all(&folder).unwrap();
    }
}
