//! The first process of a container, up to the moment when the container's command takes its place.

use super::namespaces;
use crate::isolation::Isolation;
use crate::record::{Limits, RunFolder, RunSpec};
use rustix::process::{Resource, Rlimit, Signal, set_parent_process_death_signal, setrlimit};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Becomes the container's command. Standard input is where an error is told; it ends when all went well.
pub(super) fn run(folder: &Path) -> io::Result<()> {
    let told = rustix::io::fcntl_dupfd_cloexec(io::stdin(), 3)?;
    let mut told = File::from(told);
    let error = become_command(&RunFolder(folder.to_owned()));
    let _ = write!(told, "{error}");
    Err(error)
}

/// Returns only if it failed.
fn become_command(folder: &RunFolder) -> io::Error {
    let prepared = || -> io::Result<RunSpec> {
        let spec = folder.spec()?;
        let _ = rustix::process::setsid();
        take_streams(folder, &spec)?;
        if let Some(cgroup) = &spec.cgroup {
            fs::write(cgroup.join("cgroup.procs"), "0")?;
        }
        if spec.isolation == Isolation::Namespaces {
            namespaces::enter(&spec, &folder.0)?;
            // As runc does. Where it cannot be made, the command cannot be there, and says so.
            let _ = fs::create_dir_all(&spec.cwd);
        }
        limit(spec.limits)?;
        if spec.isolation == Isolation::Namespaces {
            namespaces::give_up(spec.uid, spec.gid)?;
        }
        // If the shim is killed nobody would know of the container any more.
        set_parent_process_death_signal(Some(Signal::KILL))?;
        Ok(spec)
    };
    match prepared() {
        Ok(spec) => take_over(&spec.argv, &spec.env, &spec.cwd),
        Err(error) => error,
    }
}

fn take_streams(folder: &RunFolder, spec: &RunSpec) -> io::Result<()> {
    if spec.tty {
        let terminal = io::stdout();
        rustix::stdio::dup2_stdin(&terminal)?;
        let _ = rustix::process::ioctl_tiocsctty(&terminal);
        return Ok(());
    }
    let file = match spec.stdin {
        true => OpenOptions::new().read(true).open(folder.file("input"))?,
        false => File::open("/dev/null")?,
    };
    Ok(rustix::stdio::dup2_stdin(&file)?)
}

fn limit(limits: Limits) -> io::Result<()> {
    let _ = setrlimit(
        Resource::Core,
        Rlimit {
            current: Some(0),
            maximum: None,
        },
    );
    if let Some(bytes) = limits.data {
        let limit = Rlimit {
            current: Some(bytes),
            maximum: Some(bytes),
        };
        setrlimit(Resource::Data, limit)?;
    }
    Ok(())
}

/// Becomes a command, as runc does and says it. Returns only if it failed.
pub(super) fn take_over(argv: &[String], env: &[(String, String)], cwd: &Path) -> io::Error {
    let Some((program, args)) = argv.split_first() else {
        return io::Error::other("no command specified");
    };
    if let Err(error) = std::env::set_current_dir(cwd) {
        let cwd = cwd.display();
        return io::Error::other(format!(
            "chdir to cwd ({cwd:?}) set in config.json failed: {error}"
        ));
    }
    let path = env.iter().find(|(name, _)| name == "PATH");
    let path = path.map(|(_, value)| value.as_str()).unwrap_or_default();
    let found = match find(program, path) {
        Ok(found) => found,
        Err(why) => return io::Error::other(format!("exec: {program:?}: {why}")),
    };
    let mut command = Command::new(&found);
    command.arg0(program).args(args).env_clear();
    command.envs(env.iter().map(|(name, value)| (name, value)));
    let error = command.exec();
    io::Error::other(format!("exec {}: {error}", found.display()))
}

/// The file of a program, as a shell would find it; or why there is none.
pub(crate) fn find(program: &str, path: &str) -> Result<PathBuf, &'static str> {
    let is_program = |file: &Path| match fs::metadata(file) {
        Ok(meta) if meta.is_dir() => Err("is a directory"),
        Ok(meta) if meta.permissions().mode() & 0o111 == 0 => Err("permission denied"),
        Ok(_) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Err("permission denied"),
        Err(_) => Err("stat: no such file or directory"),
    };
    if program.contains('/') {
        let file = PathBuf::from(program);
        return is_program(&file).map(|()| file);
    }
    let folders = path.split(':').filter(|folder| !folder.is_empty());
    let mut files = folders.map(|folder| Path::new(folder).join(program));
    let found = files.find(|file| is_program(file).is_ok());
    found.ok_or("executable file not found in $PATH")
}
