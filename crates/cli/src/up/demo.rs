//! `stowplan up --demo`: a small company lives in the cluster.

use crate::args::Up;
use crate::output::{self, FAINT, HEAD, styled};
use anyhow::Result;
use clap::Args;
use http::HeaderValue;
use serde_json::Value;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};
use stowplan_base::{Env, Time};
use stowplan_client::in_process;
use stowplan_demo::{Demo, HOPELESS, Scene};
use stowplan_env::{Scaled, System, wall_clock};
use stowplan_server::{Api, User};
use stowplan_store::Store;
use tokio::task::AbortHandle;

/// How fast time may go: beyond that, nodes seem dead whenever this machine takes a breath.
const SPEED_MAX: f64 = 100.0;
/// For so long, fast time does not overtake the machine's.
const BEHIND: Duration = Duration::from_secs(12 * 3_600);
/// Nodes renew their Leases every ten seconds: nothing that is stored is younger than the last one and this.
const HEARTBEAT: Duration = Duration::from_secs(15);

/// The demo.
#[derive(Args, Debug, Default)]
#[command(next_help_heading = "Demo")]
pub(crate) struct DemoArgs {
    /// Bring a small company to life: twelve nodes in three zones, a shop, a data team, a research team,
    /// and a story of releases, queues, preemptions and nodes that fail. All is in memory, unless
    /// --data-dir is given.
    #[arg(long, conflicts_with_all = [
        "nodes", "no_nodes", "zones", "cpu", "node_memory", "max_pods", "gpus", "taint", "prefix",
        "runtime", "no_controllers", "no_scheduler",
    ])]
    pub(crate) demo: bool,

    /// Which story is told: the same seed, the same story [default: 1, or the story that the data folder
    /// is in the middle of].
    #[arg(long, value_name = "NUMBER", requires = "demo")]
    seed: Option<u64>,

    /// Let time go so many times faster, for everything in the cluster.
    #[arg(long, value_name = "FACTOR", value_parser = speed, requires = "demo")]
    speed: Option<f64>,

    /// Say no more than where the kubeconfig and the page are.
    #[arg(long)]
    pub(crate) quiet: bool,
}

fn speed(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(speed) if (0.1..=SPEED_MAX).contains(&speed) => Ok(speed),
        _ => Err(format!("expected a number from 0.1 to {SPEED_MAX}")),
    }
}

/// The clock of everything in this process.
pub(super) fn clock(args: &DemoArgs, store: &Store) -> Arc<dyn Env> {
    let speed = args.speed.unwrap_or(1.0);
    let last = args.demo.then(|| last_heartbeat(store)).flatten();
    let next = last.map(|last| last + HEARTBEAT);
    // What is stored may be from the future, if time went fast when it was.
    let is_ahead = next.is_some_and(|next| next > wall_clock());
    if speed == 1.0 && !is_ahead {
        return Arc::new(System::new());
    }
    let behind = Scaled::behind(speed, BEHIND);
    Arc::new(match next {
        Some(next) if next > behind.begin() => Scaled::new(next, speed),
        _ => behind,
    })
}

/// A time as HTTP has it.
pub(super) fn date(time: Time) -> HeaderValue {
    let seconds = u64::try_from(time.as_millis() / 1_000).unwrap_or_default();
    let text = httpdate::fmt_http_date(UNIX_EPOCH + Duration::from_secs(seconds));
    HeaderValue::from_str(&text).unwrap_or(HeaderValue::from_static(""))
}

/// When nodes were last heard of.
fn last_heartbeat(store: &Store) -> Option<Time> {
    let leases = store.range(b"/registry/leases/kube-node-lease/", None, None, None);
    let renewed = |value: &[u8]| {
        let lease: Value = serde_json::from_slice(value).ok()?;
        let at: jiff::Timestamp = lease["spec"]["renewTime"].as_str()?.parse().ok()?;
        Some(Time::from_millis(at.as_millisecond()))
    };
    let entries = leases.ok()?.entries;
    entries
        .iter()
        .filter_map(|entry| renewed(&entry.value))
        .max()
}

/// Brings the company to life. It ends when this is dropped.
pub(super) struct Playing(AbortHandle);

impl Drop for Playing {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Starts the demo, if that is wanted.
pub(super) fn start(
    args: &Up,
    api: &Arc<Api>,
    env: &Arc<dyn Env>,
    kubeconfig: &Path,
) -> Option<Playing> {
    let DemoArgs {
        demo: true,
        seed,
        quiet,
        ..
    } = args.demo
    else {
        return None;
    };
    let admin = User::new("stowplan-demo", &["system:masters", "system:authenticated"]);
    let demo = Demo::new(in_process(api.service(admin)), env.clone(), seed);
    let hints = hints(&kubeconfig.to_string_lossy());
    let playing = tokio::spawn(async move {
        if let Err(error) = demo.set_the_scene().await {
            output::error(format_args!("{:#}", anyhow::Error::from(error)));
            return;
        }
        let say = move |text: &str| {
            if !quiet {
                let _ = output::print(text);
            }
        };
        say(&hints);
        demo.play(|scene| say(&told(scene))).await;
    });
    Some(Playing(playing.abort_handle()))
}

/// What to try.
fn hints(kubeconfig: &str) -> String {
    let kubeconfig = match kubeconfig.contains(|c: char| c.is_whitespace() || "'\"$&;*".contains(c))
    {
        true => format!("'{}'", kubeconfig.replace('\'', r"'\''")),
        false => kubeconfig.to_owned(),
    };
    let (namespace, pod) = HOPELESS;
    let tries = [
        (
            "Why does this pod wait?",
            format!("explain pod {pod} -n {namespace}"),
        ),
        (
            "What would come of it if a node were drained?",
            "drain node-a-1 --dry-run --ignore-daemonsets".to_owned(),
        ),
        (
            "And if a whole zone failed?",
            "node fail --zone c".to_owned(),
        ),
    ];
    let mut text = format!("\n{}\n", styled(HEAD, "Three things to try:"));
    for (question, command) in tries {
        let question = styled(FAINT, format_args!("# {question}"));
        text += &format!("  {question}\n  stowplan {command} --kubeconfig {kubeconfig}\n");
    }
    text += &format!(
        "\nkubectl works as well: export KUBECONFIG={kubeconfig}\nCtrl-C ends it. What happens:\n"
    );
    text
}

fn told(scene: &Scene) -> String {
    let seconds = scene.at.as_secs();
    let (hours, minutes) = (seconds / 3_600, seconds / 60 % 60);
    let at = format!("{hours:02}:{minutes:02}:{:02}", seconds % 60);
    format!("{}  {}\n", styled(FAINT, at), scene.act)
}

#[cfg(test)]
mod tests {
    use super::*;
    use stowplan_store::{Expect, Options, Txn};

    fn stored(renewed: Time) -> Store {
        let store = Store::in_memory(Options::default());
        let at = jiff::Timestamp::from_millisecond(renewed.as_millis()).unwrap();
        for (node, at) in [("a", at), ("b", jiff::Timestamp::UNIX_EPOCH)] {
            let lease = format!(r#"{{"spec":{{"renewTime":"{at}"}}}}"#);
            let key = format!("/registry/leases/kube-node-lease/{node}");
            let txn = Txn::new().put(key, lease, Expect::Absent);
            store.commit_blocking(txn).unwrap();
        }
        store
    }

    fn of_speed(speed: f64) -> DemoArgs {
        DemoArgs {
            demo: true,
            speed: Some(speed),
            ..DemoArgs::default()
        }
    }

    #[tokio::test]
    async fn time_never_goes_back_behind_what_is_stored() {
        let hour = Duration::from_secs(3_600);
        let last = Time::from_millis((wall_clock() + hour).as_millis());
        let store = stored(last);
        for speed in [0.5, 1.0, 60.0] {
            let passed = clock(&of_speed(speed), &store).now().since(last);
            assert!((HEARTBEAT..2 * HEARTBEAT).contains(&passed), "{passed:?}");
        }
        // What was stored before is no reason to be in the past.
        let store = stored(wall_clock() - hour);
        let now = clock(&of_speed(1.0), &store).now();
        assert!(now.since(wall_clock()) + wall_clock().since(now) < hour / 60);
    }

    #[tokio::test]
    async fn fast_time_does_not_overtake_the_clocks_of_clients_for_half_a_day() {
        let store = Store::in_memory(Options::default());
        let begin = clock(&of_speed(60.0), &store).now();
        let behind = wall_clock().since(begin).as_secs();
        assert_eq!(
            behind / 3_600,
            12 * 59 - u64::from(!behind.is_multiple_of(3_600))
        );
    }

    #[test]
    fn dates_are_those_of_http() {
        let date = date(Time::from_secs(1_767_323_045));
        assert_eq!(date, "Fri, 02 Jan 2026 03:04:05 GMT");
    }

    #[test]
    fn a_path_with_blanks_is_one_word_in_a_shell() {
        assert!(hints("/a b/kubeconfig").contains("--kubeconfig '/a b/kubeconfig'\n"));
        assert!(hints("/a/kubeconfig").contains("--kubeconfig /a/kubeconfig\n"));
    }
}
