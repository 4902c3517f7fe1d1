//! A file.

use super::guard::guarded;
use super::medium::{Medium, Trust};
use super::{Backend, Batch, Held, Loaded, WriteError, record, unfinished};
use crate::{OpenError, Revision};
use redb::backends::FileBackend;
use redb::{
    Builder, Database, DatabaseError, Durability, ReadableDatabase, ReadableTable,
    ReadableTableMetadata, StorageBackend, StorageError, TableDefinition, TableHandle,
};
use std::fs::{File, OpenOptions};
use std::io;
use std::ops::Bound;
use std::path::Path;

/// Revision → record.
const RECORDS: TableDefinition<'_, u64, &[u8]> = TableDefinition::new("records");
/// Facts about the file as a whole.
const META: TableDefinition<'_, &str, u64> = TableDefinition::new("meta");
const FORMAT: &str = "format";
const COMPACTED: &str = "compacted";
/// Of the two tables and the records in them.
const FORMAT_KNOWN: u64 = 1;
/// Everything is read once and held by the store; only the writer's way down the tree is read again.
const CACHE_BYTES: usize = 16 << 20;

/// A redb file. A batch is one transaction of redb with one sync.
pub struct Redb {
    /// There until it is dropped, or could not be opened again.
    database: Option<Database>,
    /// Opens it anew.
    open: Box<dyn Fn() -> Result<Database, OpenError> + Send>,
    trust: Box<dyn Trust>,
    name: String,
    buffer: Vec<u8>,
}

impl std::fmt::Debug for Redb {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Redb").field("name", &self.name).finish()
    }
}

impl Redb {
    /// Opens a file, or creates it, readable by its owner only.
    pub fn open(file: impl AsRef<Path>) -> Result<Self, OpenError> {
        let path = file.as_ref();
        let name = path.display().to_string();
        let opened = open_file(path).map_err(|source| io_error(&name, source))?;
        let storage = FileBackend::new(opened).map_err(|error| open_error(&name, error))?;
        Self::on_storage(storage, &name)
    }

    /// Opens what a storage holds: for tests that lose power.
    pub fn on_storage(storage: impl StorageBackend, name: &str) -> Result<Self, OpenError> {
        let medium = Medium::new(storage);
        unfinished::clear(&medium).map_err(|source| io_error(name, source))?;
        let (trust, file) = (Box::new(medium.clone()), name.to_owned());
        let open = move || open_database(medium.clone(), &file);
        let this = Self {
            database: Some(open()?),
            open: Box::new(open),
            trust,
            name: name.to_owned(),
            buffer: Vec::new(),
        };
        match guarded(|| this.prepare()) {
            Ok(Ok(prepared)) => prepared.map(|()| this),
            Ok(Err(error)) => Err(damaged(name, &error)),
            Err(panic) => Err(damaged(name, &panic)),
        }
    }

    fn database(&self) -> Result<&Database, redb::Error> {
        self.database.as_ref().ok_or(redb::Error::DatabaseClosed)
    }

    /// Lays out an empty file, and looks whether another one is ours.
    fn prepare(&self) -> Result<Result<(), OpenError>, redb::Error> {
        let read = self.database()?.begin_read()?;
        let tables: Vec<_> = read.list_tables()?.map(|t| t.name().to_owned()).collect();
        if tables.is_empty() {
            let write = self.database()?.begin_write()?;
            let mut meta = write.open_table(META)?;
            meta.insert(FORMAT, FORMAT_KNOWN)?;
            meta.insert(COMPACTED, Revision::FIRST.0)?;
            drop(meta);
            write.open_table(RECORDS)?;
            write.commit()?;
            return Ok(Ok(()));
        }
        let file = self.name.clone();
        if !tables.iter().any(|table| table == META.name()) {
            let problem = format!("it holds other tables: {}", tables.join(", "));
            return Ok(Err(OpenError::Foreign { file, problem }));
        }
        let found = read.open_table(META)?.get(FORMAT)?.map(|v| v.value());
        let found = found.unwrap_or_default();
        Ok(if found == FORMAT_KNOWN {
            Ok(())
        } else {
            Err(OpenError::Format {
                file,
                found,
                known: FORMAT_KNOWN,
            })
        })
    }

    fn read_all(&self) -> Result<Result<Loaded, OpenError>, redb::Error> {
        let read = self.database()?.begin_read()?;
        let compacted = read.open_table(META)?.get(COMPACTED)?.map(|v| v.value());
        let table = read.open_table(RECORDS)?;
        let count = table.len()?;
        let mut records = Vec::new();
        for item in table.iter()? {
            let (revision, bytes) = item?;
            let revision = Revision(revision.value());
            match record::decode(revision, bytes.value()) {
                Ok(record) => records.push(record),
                Err(problem) => {
                    let problem = format!("the record of revision {revision} {problem}");
                    return Ok(Err(damaged(&self.name, &problem)));
                }
            }
        }
        if records.len() as u64 != count {
            let problem = format!("{count} records expected, {} found", records.len());
            return Ok(Err(damaged(&self.name, &problem)));
        }
        Ok(Ok(Loaded {
            compacted: Revision(compacted.unwrap_or(Revision::FIRST.0)),
            records,
        }))
    }

    fn held(&self) -> Result<Held, redb::Error> {
        let read = self.database()?.begin_read()?;
        let compacted = read.open_table(META)?.get(COMPACTED)?.map(|v| v.value());
        let compacted = Revision(compacted.unwrap_or(Revision::FIRST.0));
        let records = read.open_table(RECORDS)?;
        let last = records.last()?;
        let last = last.map_or(compacted, |(revision, _)| Revision(revision.value()));
        Ok(Held {
            // The last write may be a deletion that is compacted away.
            revision: last.max(compacted),
            compacted,
        })
    }

    fn close(&mut self) {
        let database = self.database.take();
        drop(guarded(|| drop(database)));
    }

    fn try_write(&mut self, batch: &Batch<'_>) -> Result<(), redb::Error> {
        let database = self.database.as_ref();
        let mut write = database.ok_or(redb::Error::DatabaseClosed)?.begin_write()?;
        write.set_durability(Durability::Immediate)?;
        {
            let mut records = write.open_table(RECORDS)?;
            for revision in batch.remove {
                records.remove(revision.0)?;
            }
            let mut end = records.upper_bound_mut(Bound::<u64>::Unbounded)?;
            for event in batch.append {
                record::encode(event, &mut self.buffer);
                end.insert_before(event.revision.0, self.buffer.as_slice())?;
            }
            end.close()?;
        }
        if let Some(compacted) = batch.compacted {
            write.open_table(META)?.insert(COMPACTED, compacted.0)?;
        }
        write.commit()?;
        Ok(())
    }
}

impl Backend for Redb {
    fn name(&self) -> String {
        self.name.clone()
    }

    fn load(&mut self) -> Result<Loaded, OpenError> {
        match guarded(|| self.read_all()) {
            Ok(Ok(loaded)) => loaded,
            Ok(Err(error)) => Err(damaged(&self.name, &error)),
            Err(panic) => Err(damaged(&self.name, &panic)),
        }
    }

    fn write(&mut self, batch: &Batch<'_>) -> Result<(), WriteError> {
        let source = match guarded(|| self.try_write(batch)) {
            Ok(Ok(())) => return Ok(()),
            Ok(Err(redb::Error::Io(error))) => error.into(),
            Ok(Err(error)) => error.into(),
            Err(panic) => panic.into(),
        };
        Err(WriteError {
            file: self.name.clone(),
            source,
        })
    }

    /// What the system did not take is not there, and what it took is still to be synced: redb finds
    /// the last transaction that is whole. After a sync that failed nobody knows.
    fn reopen(&mut self) -> Result<Held, OpenError> {
        self.close();
        if self.trust.sync_failed() {
            return Err(damaged(&self.name, &"a sync failed"));
        }
        self.database = Some((self.open)()?);
        match guarded(|| self.held()) {
            Ok(Ok(held)) => Ok(held),
            Ok(Err(error)) => Err(damaged(&self.name, &error)),
            Err(panic) => Err(damaged(&self.name, &panic)),
        }
    }
}

impl Drop for Redb {
    fn drop(&mut self) {
        self.close();
    }
}

fn open_database(storage: impl StorageBackend, name: &str) -> Result<Database, OpenError> {
    let mut builder = Builder::new();
    builder.set_cache_size(CACHE_BYTES);
    match guarded(|| builder.create_with_backend(storage)) {
        Ok(opened) => opened.map_err(|error| open_error(name, error)),
        Err(panic) => Err(damaged(name, &panic)),
    }
}

fn damaged(name: &str, problem: &dyn std::fmt::Display) -> OpenError {
    OpenError::Damaged {
        file: name.to_owned(),
        problem: problem.to_string(),
    }
}

/// Opens or creates; a new file's name is made durable too.
fn open_file(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true);
    match options.open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        other => return other,
    }
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let file = options.create(true).truncate(false).open(path)?;
    #[cfg(unix)]
    if let Some(parent) = path.parent() {
        let folder = if parent.as_os_str().is_empty() {
            Path::new(".")
        } else {
            parent
        };
        File::open(folder)?.sync_all()?;
    }
    Ok(file)
}

fn open_error(name: &str, error: DatabaseError) -> OpenError {
    let file = name.to_owned();
    match error {
        DatabaseError::DatabaseAlreadyOpen => OpenError::InUse { file },
        DatabaseError::UpgradeRequired(version) => OpenError::Foreign {
            file,
            problem: format!("it has version {version} of redb's file format"),
        },
        DatabaseError::Storage(StorageError::Io(source)) => io_error(name, source),
        other => damaged(name, &other),
    }
}

fn io_error(name: &str, source: io::Error) -> OpenError {
    let file = name.to_owned();
    match source.kind() {
        io::ErrorKind::InvalidData => OpenError::Foreign {
            file,
            problem: source.to_string(),
        },
        io::ErrorKind::UnexpectedEof => damaged(name, &"it ends too early"),
        _ => OpenError::Io { file, source },
    }
}
