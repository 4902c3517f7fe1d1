//! Probes: a command, a request or a connection. Upstream: `pkg/probe`.

use super::start::container_of;
use super::{Inner, uid_of};
use crate::expand::expand_all;
use crate::shim::NOT_STARTED;
use k8s_openapi::api::core::v1::{Container, HTTPGetAction, Pod, Probe};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use std::sync::Arc;
use std::time::Duration;
use stowplan_base::Env;
use stowplan_env::timeout;
use stowplan_nodes::{Answer, ProbeKind, Report, RunId};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// How much of an answer is read.
const ANSWER_BYTES: u64 = 10 << 10;

/// Asks a container, and tells what it answered.
pub(super) async fn ask(inner: Arc<Inner>, pod: Arc<Pod>, run: RunId, kind: ProbeKind) {
    let container = container_of(&pod, &run.container).unwrap_or_default();
    let probe = match kind {
        ProbeKind::Startup => &container.startup_probe,
        ProbeKind::Readiness => &container.readiness_probe,
        ProbeKind::Liveness => &container.liveness_probe,
    };
    let answer = match probe {
        Some(probe) => inner.probe(&pod, &run, &container, probe).await,
        None => Ok(()),
    };
    let answer = match answer {
        Ok(()) => Answer::Good,
        Err(Problem::Bad(why)) => Answer::Bad(why),
        Err(Problem::NotAsked(why)) => Answer::NotAsked(why),
    };
    inner.tell(uid_of(&pod), Report::Probed(run, kind, answer));
}

/// Why a container is not known to be well.
enum Problem {
    /// It is not.
    Bad(String),
    /// It could not be asked.
    NotAsked(String),
}

/// A command as a probe has it: with variables that the container sets by a plain value, and no others.
/// Upstream's `ExpandContainerCommandOnlyStatic`.
fn expanded(command: &[String], container: &Container) -> Result<Vec<String>, String> {
    let value = |name: &str| {
        let mut all = container.env.iter().flatten().rev();
        let found = all.find(|one| one.name == name)?;
        Some(found.value.clone().unwrap_or_default())
    };
    expand_all(command, &value)
}

impl Inner {
    async fn probe(
        &self,
        pod: &Pod,
        run: &RunId,
        container: &Container,
        probe: &Probe,
    ) -> Result<(), Problem> {
        let seconds = u64::try_from(probe.timeout_seconds.unwrap_or(1)).unwrap_or(1);
        let longest = Duration::from_secs(seconds.max(1));
        if let Some(exec) = &probe.exec {
            let argv = expanded(exec.command.as_deref().unwrap_or_default(), container);
            let argv = argv.map_err(Problem::NotAsked)?;
            let folder = self.state.run(uid_of(pod), run);
            return match self.run_in(&folder, &argv, longest).await {
                Ok(Some((status, _))) if status.success() => Ok(()),
                Ok(Some((status, said))) => Err(match status.code() {
                    Some(NOT_STARTED) if said.starts_with("exec") => Problem::NotAsked(said),
                    _ => Problem::Bad(said),
                }),
                Ok(None) => {
                    let command = argv.join(" ");
                    Err(Problem::Bad(format!(
                        "command timed out: {command:?} timed out after {seconds}s"
                    )))
                }
                Err(error) => Err(Problem::NotAsked(error.to_string())),
            };
        }
        let pod_ip = self.place(pod).pod_ip;
        if let Some(get) = &probe.http_get {
            let asked = Asked::of(get, container, &pod_ip).map_err(Problem::NotAsked)?;
            let answered = http_get(&*self.settings.env, &asked, longest).await;
            return answered.map_err(Problem::Bad);
        }
        if let Some(tcp) = &probe.tcp_socket {
            let host = tcp
                .host
                .as_deref()
                .filter(|host| !host.is_empty())
                .unwrap_or(&pod_ip);
            let port = port(&tcp.port, container).map_err(Problem::NotAsked)?;
            let address = format!("{host}:{port}");
            let connected =
                timeout(&*self.settings.env, longest, TcpStream::connect(&address)).await;
            return match connected {
                Ok(Ok(_)) => Ok(()),
                Ok(Err(error)) => Err(Problem::Bad(format!(
                    "dial tcp {address}: {}",
                    in_go(&error)
                ))),
                Err(_) => Err(Problem::Bad(format!("dial tcp {address}: i/o timeout"))),
            };
        }
        Err(Problem::NotAsked(
            "probes of this kind are not supported for processes".to_owned(),
        ))
    }
}

/// What went wrong with a connection, as Go says it.
fn in_go(error: &std::io::Error) -> String {
    match error.kind() {
        std::io::ErrorKind::ConnectionRefused => "connect: connection refused".to_owned(),
        std::io::ErrorKind::ConnectionReset => "read: connection reset by peer".to_owned(),
        _ => error.to_string(),
    }
}

/// A request.
pub(super) struct Asked {
    host: String,
    port: u16,
    path: String,
    headers: Vec<(String, String)>,
}

impl Asked {
    pub(super) fn of(
        get: &HTTPGetAction,
        container: &Container,
        pod_ip: &str,
    ) -> Result<Self, String> {
        if get.scheme.as_deref() == Some("HTTPS") {
            return Err("probes by HTTPS are not supported for processes".to_owned());
        }
        let host = get.host.as_deref().filter(|host| !host.is_empty());
        let path = get.path.as_deref().unwrap_or("/");
        let headers = get.http_headers.iter().flatten();
        Ok(Self {
            host: host.unwrap_or(pod_ip).to_owned(),
            port: port(&get.port, container)?,
            path: match path.starts_with('/') {
                true => path.to_owned(),
                false => format!("/{path}"),
            },
            headers: headers
                .map(|one| (one.name.clone(), one.value.clone()))
                .collect(),
        })
    }
}

/// A port by number, or by the name that the container gave to it.
fn port(wanted: &IntOrString, container: &Container) -> Result<u16, String> {
    let number = match wanted {
        IntOrString::Int(number) => *number,
        IntOrString::String(name) => {
            let mut ports = container.ports.iter().flatten();
            let named = ports.find(|port| port.name.as_ref() == Some(name));
            let named = named
                .map(|port| port.container_port)
                .or_else(|| name.parse().ok());
            named.ok_or_else(|| format!("couldn't find port: {name:?}"))?
        }
    };
    u16::try_from(number)
        .ok()
        .filter(|port| *port > 0)
        .ok_or_else(|| format!("invalid port number: {number}"))
}

/// Whether a request is answered with a code from 200 to 399.
async fn http_get(env: &dyn Env, asked: &Asked, longest: Duration) -> Result<(), String> {
    let url = format!("http://{}:{}{}", asked.host, asked.port, asked.path);
    match timeout(env, longest, code_of(asked)).await {
        Ok(Ok(200..=399)) => Ok(()),
        Ok(Ok(code)) => Err(format!("HTTP probe failed with statuscode: {code}")),
        Ok(Err(error)) => Err(match error.kind() {
            std::io::ErrorKind::ConnectionRefused => {
                let (host, port) = (&asked.host, asked.port);
                format!("Get {url:?}: dial tcp {host}:{port}: {}", in_go(&error))
            }
            _ => format!("Get {url:?}: {}", in_go(&error)),
        }),
        Err(_) => Err(format!(
            "Get {url:?}: context deadline exceeded (Client.Timeout exceeded while awaiting headers)"
        )),
    }
}

pub(super) async fn code_of(asked: &Asked) -> std::io::Result<u16> {
    let (host, port) = (&asked.host, asked.port);
    let mut stream = TcpStream::connect((host.as_str(), port)).await?;
    let mut request = format!("GET {} HTTP/1.1\r\n", asked.path);
    let has = |name: &str| {
        asked
            .headers
            .iter()
            .any(|(one, _)| one.eq_ignore_ascii_case(name))
    };
    for (name, value) in [
        ("Host", format!("{host}:{port}")),
        ("User-Agent", "kube-probe/1.36".to_owned()),
        ("Accept", "*/*".to_owned()),
        ("Connection", "close".to_owned()),
    ] {
        if !has(name) {
            request += &format!("{name}: {value}\r\n");
        }
    }
    for (name, value) in &asked.headers {
        request += &format!("{name}: {value}\r\n");
    }
    request += "\r\n";
    stream.write_all(request.as_bytes()).await?;
    let mut answer = Vec::new();
    let mut limited = stream.take(ANSWER_BYTES);
    loop {
        let count = limited.read_buf(&mut answer).await?;
        if count == 0 || answer.contains(&b'\n') {
            break;
        }
    }
    let line = answer
        .split(|byte| *byte == b'\n')
        .next()
        .unwrap_or_default();
    let line = String::from_utf8_lossy(line).into_owned();
    let code = line
        .split(' ')
        .nth(1)
        .and_then(|code| code.trim().parse().ok());
    let wrong = || std::io::Error::other(format!("malformed HTTP response {:?}", line.trim()));
    code.filter(|_| line.starts_with("HTTP/")).ok_or_else(wrong)
}
