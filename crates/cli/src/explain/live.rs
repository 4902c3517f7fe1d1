//! A pod of a live cluster: whoever scheduled it is asked; where nobody can be, the tournament is
//! played here.

use super::find::workload_kind;
use super::leader;
use crate::address;
use crate::args::Explain;
use crate::input;
use anyhow::{Context, Result, bail};
use http::{Request, StatusCode, Uri};
use kube::Client;
use std::path::Path;
use std::time::Duration;
use stowplan_manifest::Input;
use stowplan_report::{Moment, Report};

/// How often a scheduler that has no time is asked again, and how long to wait before.
const TRIES: usize = 10;
const PAUSE: Duration = Duration::from_secs(1);

/// What a tournament is played with, as lists of the API.
const LISTS: [&str; 15] = [
    "/api/v1/namespaces",
    "/api/v1/nodes",
    "/api/v1/pods",
    "/api/v1/services",
    "/api/v1/persistentvolumes",
    "/api/v1/persistentvolumeclaims",
    "/api/v1/replicationcontrollers",
    "/apis/apps/v1/replicasets",
    "/apis/apps/v1/statefulsets",
    "/apis/policy/v1/poddisruptionbudgets",
    "/apis/scheduling.k8s.io/v1/priorityclasses",
    "/apis/storage.k8s.io/v1/storageclasses",
    "/apis/storage.k8s.io/v1/csinodes",
    "/apis/storage.k8s.io/v1/csidrivers",
    "/apis/storage.k8s.io/v1/csistoragecapacities",
];

/// What is read besides for a pod that a workload would make.
const WORKLOADS: [&str; 2] = ["/apis/apps/v1/deployments", "/apis/batch/v1/jobs"];

/// The tournament of a pod of the cluster.
pub(super) fn tournament(args: &Explain) -> Result<Report> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("cannot start the runtime")?;
    runtime.block_on(ask(args))
}

async fn ask(args: &Explain) -> Result<Report> {
    let config = connection(args.kubeconfig.as_deref()).await?;
    if is_workload(args) {
        let namespace = args.namespace.clone();
        let namespace = namespace.unwrap_or_else(|| config.default_namespace.clone());
        let client = Client::try_from(config).context("cannot make a client")?;
        return one_more(args, &client, &namespace).await;
    }
    let (namespace, name) = pod(args, &config.default_namespace)?;
    let config = match &args.scheduler {
        Some(scheduler) => at_scheduler(config, scheduler, args.insecure_skip_tls_verify),
        None => config,
    };
    let asked = config.cluster_url.clone();
    let client = Client::try_from(config.clone()).context("cannot make a client")?;
    if args.config.is_some() {
        return here(args, &client, &namespace, &name).await;
    }
    let path = tournament_path(&namespace, &name);
    let told = tell(&client, &path).await;
    match told.with_context(|| format!("cannot ask {asked}"))? {
        Answer::Report(report) => Ok(*report),
        Answer::NoSuchPod => bail!("the scheduler knows no pod {namespace}/{name}"),
        Answer::NobodyThere if args.scheduler.is_some() => {
            bail!("what answers there is no scheduler of ours")
        }
        Answer::NobodyThere => {
            match ask_leader(args.lease.as_deref(), &config, &client, &path).await {
                Ok(Some(report)) => Ok(*report),
                Ok(None) => bail!("the scheduler knows no pod {namespace}/{name}"),
                Err(why) => {
                    crate::output::warn(format_args!(
                        "the scheduler is not asked: {why}. Say where it is with --scheduler \
                     https://HOST:PORT, or which Lease it holds with --lease NAMESPACE/NAME"
                    ));
                    here(args, &client, &namespace, &name).await
                }
            }
        }
    }
}

/// What the scheduler of a cluster decided about a pod, as far as it or the leader by its usual Lease tells.
pub(crate) async fn decision(config: &kube::Config, namespace: &str, name: &str) -> Result<Report> {
    let client = Client::try_from(config.clone()).context("cannot make a client")?;
    let path = tournament_path(namespace, name);
    let unknown = || anyhow::anyhow!("the scheduler knows no pod {namespace}/{name}");
    match tell(&client, &path).await? {
        Answer::Report(report) => Ok(*report),
        Answer::NoSuchPod => Err(unknown()),
        Answer::NobodyThere => match ask_leader(None, config, &client, &path).await {
            Ok(Some(report)) => Ok(*report),
            Ok(None) => Err(unknown()),
            Err(why) => bail!("the scheduler is not asked: {why}"),
        },
    }
}

fn tournament_path(namespace: &str, name: &str) -> String {
    format!("/apis/stowplan.dev/v1/namespaces/{namespace}/decisions/{name}/tournament")
}

/// What the leader says, whom its Lease tells; nothing if it knows no such pod. An error says what
/// was tried.
async fn ask_leader(
    lease: Option<&str>,
    config: &kube::Config,
    client: &Client,
    path: &str,
) -> Result<Option<Box<Report>>, String> {
    let leader = leader::find(lease, config, client).await?;
    let title = leader.title;
    let told = async { tell(&Client::try_from(leader.config)?, path).await };
    match told.await {
        Ok(Answer::Report(report)) => Ok(Some(report)),
        Ok(Answer::NoSuchPod) => Ok(None),
        Ok(Answer::NobodyThere) => Err(format!("{title}, is no scheduler of ours")),
        Err(error) => {
            let why = crate::told(&error);
            Err(format!("{title}, does not answer: {why}"))
        }
    }
}

/// How to reach a scheduler of the cluster.
pub(crate) fn at_scheduler(
    mut config: kube::Config,
    scheduler: &Uri,
    trusts_anybody: bool,
) -> kube::Config {
    config.cluster_url = scheduler.clone();
    config.accept_invalid_certs = trusts_anybody;
    let own = &mut config.auth_info;
    let has_token = own.token.is_some()
        || own.token_file.is_some()
        || own.exec.is_some()
        || own.auth_provider.is_some();
    // A certificate whose CA it was not told breaks the connection; a token never does.
    if has_token {
        (own.client_certificate, own.client_certificate_data) = (None, None);
        (own.client_key, own.client_key_data) = (None, None);
    }
    config
}

/// How to reach the cluster.
pub(crate) async fn connection(kubeconfig: Option<&Path>) -> Result<kube::Config> {
    let hint = "say with -f which files to read, or with --kubeconfig which cluster to ask";
    address::checked(match kubeconfig {
        Some(file) => address::read(file).await?,
        None => kube::Config::infer().await.context(hint)?,
    })
}

/// Whether a workload is meant, and not a pod of a namespace that is called like a kind of workloads.
fn is_workload(args: &Explain) -> bool {
    let wanted = args.pod();
    let kind = wanted.split_once('/').map(|(kind, _)| kind);
    kind.is_some_and(|kind| {
        workload_kind(kind).is_some() && args.namespace.as_deref() != Some(kind)
    })
}

/// The namespace and the name of the pod.
fn pod(args: &Explain, default_namespace: &str) -> Result<(String, String)> {
    let wanted = args.pod();
    let namespace = args.namespace.as_deref();
    let (first, name) = match wanted.split_once('/') {
        Some(("pod" | "pods" | "po", name)) => (namespace, name),
        Some((first, name)) if namespace.is_none_or(|given| given == first) => (Some(first), name),
        Some((first, _)) => bail!("{wanted:?} names the namespace {first:?}, and -n another one"),
        None => (namespace, &*wanted),
    };
    let is_plain = |text: &str| {
        let mut bytes = text.bytes();
        bytes.all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'.') && !text.is_empty()
    };
    let namespace = first.unwrap_or(default_namespace);
    if !is_plain(name) || !is_plain(namespace) {
        bail!("{wanted:?} is no pod's name, expected NAME or NAMESPACE/NAME");
    }
    Ok((namespace.to_owned(), name.to_owned()))
}

/// What came of a question.
enum Answer {
    Report(Box<Report>),
    /// The scheduler does not know the pod.
    NoSuchPod,
    /// No scheduler of ours answers there.
    NobodyThere,
}

async fn tell(client: &Client, path: &str) -> Result<Answer> {
    let mut tries = 0;
    loop {
        tries += 1;
        let request = Request::get(path).body(Vec::new())?;
        match client.request_text(request).await {
            Ok(text) => {
                let report = serde_json::from_str(&text);
                let report = report.context("the answer is no explanation")?;
                return Ok(Answer::Report(Box::new(report)));
            }
            Err(kube::Error::Api(status)) if status.code == 404 => {
                return Ok(match status.message.starts_with("decisions.stowplan.dev") {
                    true => Answer::NoSuchPod,
                    false => Answer::NobodyThere,
                });
            }
            // A real API server knows no decisions, and says first that one may not read them.
            Err(kube::Error::Api(status))
                if status.code == 403 && status.message.starts_with("decisions.stowplan.dev") =>
            {
                return Ok(Answer::NobodyThere);
            }
            Err(kube::Error::Api(status))
                if status.code == StatusCode::TOO_MANY_REQUESTS.as_u16() && tries < TRIES =>
            {
                tokio::time::sleep(PAUSE).await;
            }
            Err(kube::Error::Api(status)) => bail!("{}", status.message),
            Err(error) => return Err(error.into()),
        }
    }
}

/// What is in the cluster now, as far as scheduling reads it.
pub(crate) async fn read_cluster(client: &Client) -> Result<Input> {
    let mut given = Input::default();
    for path in LISTS {
        read_list(client, path, &mut given).await?;
    }
    Ok(given)
}

async fn read_list(client: &Client, path: &str, into: &mut Input) -> Result<()> {
    let request = Request::get(path).body(Vec::new())?;
    let list = client.request_text(request).await;
    let list = list.with_context(|| format!("cannot list {path}"))?;
    into.read_text(path, list);
    Ok(())
}

/// One more pod of a workload: that is nobody's decision, so it is played here.
async fn one_more(args: &Explain, client: &Client, namespace: &str) -> Result<Report> {
    let mut given = read_cluster(client).await?;
    for path in WORKLOADS {
        read_list(client, path, &mut given).await?;
    }
    let mut simulation = input::of(given, args.config.as_deref())?.into_simulation()?;
    let found = super::find::find(&mut simulation, &args.pod(), Some(namespace))?;
    let mut report = super::tournament(&simulation, &found)?;
    report.moment = Some(Moment {
        at_decision: false,
        last_attempt: None,
        note: "this was played here, over the cluster as it is now".to_owned(),
    });
    Ok(report)
}

/// Plays the tournament in this process, over what the API says now.
async fn here(args: &Explain, client: &Client, namespace: &str, name: &str) -> Result<Report> {
    let given = read_cluster(client).await?;
    let mut simulation = input::of(given, args.config.as_deref())?.into_simulation()?;
    let found = super::find::find(&mut simulation, name, Some(namespace))?;
    let (hint, note) = match &args.config {
        None => (
            "the cluster's scheduler could not be asked: play here by its configuration with \
             --config FILE",
            "the cluster's scheduler does not tell: this was played here, with the default \
             profile, over the cluster as it is now",
        ),
        Some(_) => (
            "--config says nothing of it",
            "this was played here, by --config, over the cluster as it is now",
        ),
    };
    let mut report = super::tournament(&simulation, &found).context(hint)?;
    report.moment = Some(Moment {
        at_decision: false,
        last_attempt: None,
        note: note.to_owned(),
    });
    Ok(report)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scheduler_is_not_shown_a_certificate_where_a_token_will_do() {
        let mut config = kube::Config::new(Uri::from_static("https://cluster:6443"));
        config.auth_info.client_certificate = Some("crt".to_owned());
        config.auth_info.client_key = Some("key".to_owned());
        let scheduler = Uri::from_static("https://scheduler:10259");
        let kept = at_scheduler(config.clone(), &scheduler, false);
        assert_eq!(kept.cluster_url, scheduler);
        assert!(!kept.accept_invalid_certs);
        assert_eq!(kept.auth_info.client_certificate.as_deref(), Some("crt"));
        config.auth_info.token_file = Some("token".to_owned());
        let dropped = at_scheduler(config, &scheduler, true).auth_info;
        assert_eq!(
            (dropped.client_certificate, dropped.client_key),
            (None, None)
        );
        assert_eq!(dropped.token_file.as_deref(), Some("token"));
    }
}
