//! `stowplan top`: the cluster in a terminal, as it changes.

mod ansi;
mod clock;
mod draw;
mod model;
#[cfg(test)]
mod testing;
mod view;

use crate::explain::live;
use crate::{Verdict, output};
use anyhow::{Context, Result};
use clap::{Args, ValueHint};
use clock::{Clock, Sample};
use crossterm::event::{Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use model::Cluster;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use std::io::IsTerminal;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use stowplan_api::k8s::api::core::v1::{Node, Pod};
use stowplan_base::Env;
use stowplan_client::{Informer, Informers};
use stowplan_env::{System, timeout};
use tokio::sync::{Notify, mpsc};
use view::{Decision, Key, View, Wish};

const HELP: &str = "\
Keys:
  g c    the cluster: zones, nodes, how full they are
  g p    the pods that wait, the oldest first
  g t    the decision about the chosen pod, as `stowplan explain pod` shows it
  Enter  deeper; Esc back; arrows or h j k l choose and scroll
  /      search names
  ?      help; q quits

Where standard output is no terminal, it prints the cluster once.

Examples:
  stowplan top
  stowplan top --kubeconfig ~/.kube/config
  stowplan top | head -20";

/// Shows a cluster live in this terminal: its nodes, the pods that wait, and why.
#[derive(Args, Debug)]
#[command(after_help = HELP)]
pub(crate) struct Top {
    /// The cluster to look at [default: KUBECONFIG, ~/.kube/config].
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    kubeconfig: Option<PathBuf>,
}

/// Changes are shown this often at most.
const FRAME: Duration = Duration::from_millis(100);
/// Ages grow without anything else.
const TICK: Duration = Duration::from_secs(1);
/// How often the cluster is asked how late it is.
const ASK_TIME: Duration = Duration::from_secs(10);
/// How long the first list may take where it is printed once.
const PATIENCE: Duration = Duration::from_secs(30);
/// How wide a frame is that goes to a pipe.
const PIPE_WIDTH: usize = 100;

/// Runs the command.
pub(crate) fn run(args: &Top) -> Result<Verdict> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .context("cannot start the runtime")?;
    let shown = runtime.block_on(look(args));
    // The thread that waits for keys would be waited for.
    runtime.shutdown_background();
    shown?;
    Ok(Verdict::AllPlaced)
}

/// What is known of the cluster, and news of it.
struct Source {
    nodes: Informer<Node>,
    pods: Informer<Pod>,
    news: Arc<Notify>,
    _informers: Informers,
}

impl Source {
    fn new(client: kube::Client, env: Arc<dyn Env>) -> Self {
        let informers = Informers::new(client, env);
        let (nodes, pods) = (informers.of::<Node>(), informers.of::<Pod>());
        let news = Arc::new(Notify::new());
        let told = news.clone();
        nodes.add_handler(move |_| told.notify_one());
        let told = news.clone();
        pods.add_handler(move |_| told.notify_one());
        Self {
            nodes,
            pods,
            news,
            _informers: informers,
        }
    }

    async fn synced(&self) {
        self.nodes.synced().await;
        self.pods.synced().await;
    }

    fn cluster(&self) -> Cluster {
        Cluster::of(&self.nodes.store().all(), &self.pods.store().all())
    }
}

async fn look(args: &Top) -> Result<()> {
    let config = live::connection(args.kubeconfig.as_deref()).await?;
    let server = config.cluster_url.to_string();
    let client = kube::Client::try_from(config.clone()).context("cannot make a client")?;
    let env: Arc<dyn Env> = Arc::new(System::new());
    // Nobody who does not answer at all is waited for behind an empty picture.
    let asked = ask_time(&client, &*env).await;
    let sample = asked.with_context(|| format!("cannot ask {server}"))?;
    let mut clock = Clock::default();
    sample.into_iter().for_each(|sample| clock.learn(sample));
    let source = Source::new(client.clone(), env.clone());
    let choice = anstream::AutoStream::choice(&std::io::stdout());
    let view = View {
        server: server.trim_end_matches('/').to_owned(),
        now: seconds(&clock, &*env),
        has_colors: choice != anstream::ColorChoice::Never,
        ..View::default()
    };
    match std::io::stdout().is_terminal() && std::io::stdin().is_terminal() {
        true => {
            let asked = Asked {
                config,
                client,
                env,
                clock,
            };
            live_on_terminal(asked, &source, view).await
        }
        false => {
            let synced = timeout(&*env, PATIENCE, source.synced()).await;
            synced.with_context(|| format!("{server} does not list its nodes and pods"))?;
            once(&source, view)
        }
    }
}

/// Whom to ask, and how late it is there.
struct Asked {
    config: kube::Config,
    client: kube::Client,
    env: Arc<dyn Env>,
    clock: Clock,
}

fn seconds(clock: &Clock, env: &dyn Env) -> i64 {
    clock.there(env.now().as_millis()) / 1_000
}

/// How late it is there, if the answer says so.
async fn ask_time(client: &kube::Client, env: &dyn Env) -> Result<Option<Sample>> {
    let request = http::Request::get("/version").body(kube::client::Body::empty())?;
    let answer = client.send(request).await?;
    let date = answer.headers().get(http::header::DATE);
    let date = date.and_then(|date| httpdate::parse_http_date(date.to_str().ok()?).ok());
    let since = date.and_then(|date| date.duration_since(std::time::UNIX_EPOCH).ok());
    Ok(since.map(|since| Sample {
        here: env.now().as_millis(),
        there: i64::try_from(since.as_millis()).unwrap_or(i64::MAX),
    }))
}

/// Prints the cluster once, as plain text.
fn once(source: &Source, mut view: View) -> Result<()> {
    view.cluster = Arc::new(source.cluster());
    (view.is_synced, view.has_colors) = (true, false);
    let width = output::width().unwrap_or(PIPE_WIDTH).min(500) as u16;
    // Room for all nodes with their bars, and for what waits.
    let nodes = view.cluster.nodes.len().min(1_000) as u16;
    let mut terminal = Terminal::new(TestBackend::new(width, nodes * 4 + 16))?;
    terminal.draw(|frame| draw::draw(&view, frame))?;
    let buffer = terminal.backend().buffer();
    let rows = buffer.content().chunks(usize::from(width)).map(|row| {
        let text: String = row.iter().map(|cell| cell.symbol()).collect();
        text.trim_end().to_owned()
    });
    let mut rows: Vec<String> = rows.collect();
    // The keys mean nothing here.
    rows.pop();
    rows.dedup_by(|a, b| a.is_empty() && b.is_empty());
    output::print(&(rows.join("\n").trim_end().to_owned() + "\n"))
}

/// Shows it until somebody quits.
async fn live_on_terminal(asked: Asked, source: &Source, mut view: View) -> Result<()> {
    let mut terminal = ratatui::try_init().context("cannot use this terminal")?;
    let shown = follow(asked, source, &mut view, &mut terminal).await;
    ratatui::restore();
    shown
}

async fn follow(
    asked: Asked,
    source: &Source,
    view: &mut View,
    terminal: &mut ratatui::DefaultTerminal,
) -> Result<()> {
    let stop = crate::up::stop_signal()?;
    let mut stop = std::pin::pin!(stop);
    let Asked {
        config,
        client,
        env,
        mut clock,
    } = asked;
    let mut times = times(client, env.clone());
    let mut keys = keys();
    let (answers, mut answered) = mpsc::unbounded_channel();
    let mut is_stale = true;
    loop {
        if is_stale {
            view.cluster = Arc::new(source.cluster());
            view.is_synced = source.nodes.is_synced() && source.pods.is_synced();
        }
        view.now = seconds(&clock, &*env);
        terminal.draw(|frame| draw::draw(view, frame))?;
        is_stale = tokio::select! {
            biased;
            () = &mut stop => return Ok(()),
            event = keys.recv() => match event {
                None => return Ok(()),
                Some(None) => false,
                Some(Some(key)) => match view.press(key) {
                    Wish::Quit => return Ok(()),
                    Wish::Nothing => false,
                    Wish::Decision { namespace, name } => {
                        ask(config.clone(), namespace, name, answers.clone());
                        false
                    }
                },
            },
            Some((pod, decision)) = answered.recv() => {
                // Who chose another pod meanwhile does not want this answer.
                if view.pod.as_ref() == Some(&pod) {
                    view.decision = decision;
                }
                false
            }
            Some(sample) = times.recv() => {
                clock.learn(sample);
                false
            }
            () = source.news.notified() => {
                env.sleep(FRAME).await;
                true
            }
            () = env.sleep(TICK) => true,
        };
    }
}

/// Asks again and again how late it is there.
fn times(client: kube::Client, env: Arc<dyn Env>) -> mpsc::UnboundedReceiver<Sample> {
    let (sender, receiver) = mpsc::unbounded_channel();
    tokio::spawn(async move {
        loop {
            env.sleep(ASK_TIME).await;
            if let Ok(Some(sample)) = ask_time(&client, &*env).await
                && sender.send(sample).is_err()
            {
                return;
            }
        }
    });
    receiver
}

type Answer = ((String, String), Decision);

/// Asks for a decision as `stowplan explain pod` does.
fn ask(config: kube::Config, namespace: String, name: String, to: mpsc::UnboundedSender<Answer>) {
    tokio::spawn(async move {
        let decision = match live::decision(&config, &namespace, &name).await {
            Ok(report) => {
                // The margins on both sides.
                let width = output::width().map(|width| width.saturating_sub(2));
                Decision::Told(crate::explain::table(&report, width))
            }
            Err(error) => Decision::Failed(crate::told(&error)),
        };
        let _ = to.send(((namespace, name), decision));
    });
}

/// The keys that are pressed; `None` where only the size changed.
fn keys() -> mpsc::UnboundedReceiver<Option<Key>> {
    let (sender, receiver) = mpsc::unbounded_channel();
    std::thread::spawn(move || {
        while let Ok(event) = crossterm::event::read() {
            let told = match event {
                Event::Key(event) if event.kind != KeyEventKind::Release => key(&event).map(Some),
                Event::Resize(..) => Some(None),
                _ => None,
            };
            if let Some(told) = told
                && sender.send(told).is_err()
            {
                return;
            }
        }
    });
    receiver
}

fn key(event: &KeyEvent) -> Option<Key> {
    let has_control = event.modifiers.contains(KeyModifiers::CONTROL);
    Some(match event.code {
        KeyCode::Char('c') if has_control => Key::Interrupt,
        KeyCode::Char(_) if has_control => return None,
        KeyCode::Char(c) => Key::Char(c),
        KeyCode::Up => Key::Up,
        KeyCode::Down => Key::Down,
        KeyCode::Left => Key::Left,
        KeyCode::Right => Key::Right,
        KeyCode::PageUp => Key::PageUp,
        KeyCode::PageDown => Key::PageDown,
        KeyCode::Home => Key::Home,
        KeyCode::End => Key::End,
        KeyCode::Enter => Key::Enter,
        KeyCode::Backspace => Key::Backspace,
        KeyCode::Esc => Key::Escape,
        _ => return None,
    })
}
