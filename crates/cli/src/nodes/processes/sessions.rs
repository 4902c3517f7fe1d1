//! What is said between a client and a process.

use super::provider::copy;
use bytes::Bytes;
use std::fs::File;
use std::io::{Read, Write};
use std::sync::Arc;
use std::time::Duration;
use stowplan_base::Env;
use stowplan_processes::{Execution, LogWanted, Processes, set_size};
use stowplan_server::{Attached, Outcome, PIECE_BYTES_MAX, Status, TerminalSize};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::sync::mpsc;

/// How often it is looked whether a container that was joined is over.
const LOOK: Duration = Duration::from_millis(100);

/// Serves a command until it is over, or the client is gone.
pub(super) async fn run(execution: Execution, attached: Attached) {
    let Execution {
        mut child,
        terminal,
    } = execution;
    let Attached {
        stdin,
        stdout,
        stderr,
        resize,
        mut outcome,
    } = attached;
    let outputs = match terminal {
        Some(terminal) => talk_by_terminal(terminal, stdin, stdout, resize),
        None => {
            if let (Some(pipe), Some(said)) = (child.stdin.take(), stdin) {
                tokio::spawn(feed(said, pipe));
            }
            let first = child
                .stdout
                .take()
                .map(|pipe| tokio::spawn(hand_on(pipe, stdout)));
            let second = child
                .stderr
                .take()
                .map(|pipe| tokio::spawn(hand_on(pipe, stderr)));
            first.into_iter().chain(second).collect()
        }
    };
    let ended = tokio::select! {
        ended = child.wait() => ended,
        // When the client is gone, so is the command.
        () = outcome.closed() => {
            let _ = child.kill().await;
            return;
        }
    };
    for output in outputs {
        let _ = output.await;
    }
    let outcome_is = match ended {
        Ok(status) => Outcome::Exited(status.code().unwrap_or(137)),
        Err(error) => Outcome::Failed(Status::internal(format!(
            "error executing command in container: {error}"
        ))),
    };
    let _ = outcome.send(outcome_is);
}

type Task = tokio::task::JoinHandle<()>;

/// A terminal can only be read and written by threads that wait.
fn talk_by_terminal(
    terminal: File,
    stdin: Option<mpsc::Receiver<Bytes>>,
    stdout: Option<mpsc::Sender<Bytes>>,
    resize: Option<mpsc::Receiver<TerminalSize>>,
) -> Vec<Task> {
    if let (Some(sizes), Ok(terminal)) = (resize, terminal.try_clone()) {
        tokio::spawn(follow_size(sizes, terminal));
    }
    if let (Some(mut said), Ok(mut terminal)) = (stdin, terminal.try_clone()) {
        tokio::task::spawn_blocking(move || {
            while let Some(piece) = said.blocking_recv() {
                if terminal.write_all(&piece).is_err() {
                    return;
                }
            }
            // The end of what is said, as a terminal knows it.
            let _ = terminal.write_all(&[4]);
        });
    }
    let mut terminal = terminal;
    vec![tokio::task::spawn_blocking(move || {
        let mut buffer = vec![0; PIECE_BYTES_MAX];
        // It fails when nobody has it open any more.
        while let Ok(count) = terminal.read(&mut buffer) {
            let piece = Bytes::copy_from_slice(buffer.get(..count).unwrap_or_default());
            let Some(stdout) = stdout.as_ref().filter(|_| count > 0) else {
                return;
            };
            if stdout.blocking_send(piece).is_err() {
                return;
            }
        }
    })]
}

/// A terminal is as large as that of the client.
async fn follow_size(mut sizes: mpsc::Receiver<TerminalSize>, terminal: File) {
    while let Some(size) = sizes.recv().await {
        let _ = set_size(&terminal, size.width, size.height);
    }
}

/// What the client says goes to the command.
async fn feed(mut said: mpsc::Receiver<Bytes>, mut pipe: impl AsyncWrite + Unpin) {
    while let Some(piece) = said.recv().await {
        if pipe.write_all(&piece).await.is_err() || pipe.flush().await.is_err() {
            return;
        }
    }
}

/// What the command says goes to the client; or nowhere, if it is not wanted.
async fn hand_on(mut pipe: impl AsyncRead + Unpin, sender: Option<mpsc::Sender<Bytes>>) {
    let mut buffer = vec![0; PIECE_BYTES_MAX];
    while let Ok(count) = pipe.read(&mut buffer).await {
        if count == 0 {
            return;
        }
        let piece = Bytes::copy_from_slice(buffer.get(..count).unwrap_or_default());
        if let Some(sender) = &sender
            && sender.send(piece).await.is_err()
        {
            return;
        }
    }
}

/// Joins the process of a container, until it is over or the client is gone.
pub(super) async fn join(
    processes: Processes,
    env: Arc<dyn Env>,
    uid: String,
    container: String,
    attached: Attached,
) {
    let Attached {
        stdin,
        stdout,
        stderr,
        resize,
        mut outcome,
    } = attached;
    if let (Some(sizes), Some(terminal)) = (resize, processes.terminal(&uid, &container)) {
        tokio::spawn(follow_size(sizes, terminal));
    }
    // From now on.
    let since = Some(env.now());
    let outputs = [("stdout", stdout), ("stderr", stderr)];
    let mut tasks = Vec::new();
    for (stream, sender) in outputs {
        let wanted = LogWanted {
            since,
            stream: Some(stream),
            ..LogWanted::default()
        };
        if let (Some(sender), Some(read)) = (sender, processes.log(&uid, &container, false, wanted))
        {
            tasks.push(tokio::spawn(copy(
                read,
                processes.clone(),
                env.clone(),
                true,
                sender,
            )));
        }
    }
    if let (Some(said), Some(pipe)) = (stdin, processes.stdin(&uid, &container)) {
        tokio::spawn(say(said, pipe, env.clone()));
    }
    loop {
        if !processes.is_running(&uid, &container) {
            break;
        }
        tokio::select! {
            () = env.sleep(LOOK) => {}
            () = outcome.closed() => return,
        }
    }
    for task in tasks {
        let _ = task.await;
    }
    // How the container ended is in the pod's status; to have been there until then is a success.
    let _ = outcome.send(Outcome::Exited(0));
}

/// What the client says goes to the container, which reads it when it likes.
async fn say(mut said: mpsc::Receiver<Bytes>, mut pipe: File, env: Arc<dyn Env>) {
    while let Some(piece) = said.recv().await {
        let mut rest = &piece[..];
        while !rest.is_empty() {
            match pipe.write(rest) {
                Ok(count) => rest = rest.get(count..).unwrap_or_default(),
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {
                    env.sleep(LOOK / 10).await;
                }
                Err(_) => return,
            }
        }
    }
}
