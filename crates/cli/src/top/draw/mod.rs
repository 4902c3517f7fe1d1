//! A view as a frame. Pure: the same view and size, the same frame.

mod cluster;
mod pods;
mod theme;

use super::ansi;
use super::view::{Decision, Page, View};
use crate::output::count;
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Margin, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Clear, Paragraph, Wrap};
use theme::Theme;

/// Draws everything.
pub(super) fn draw(view: &View, frame: &mut Frame<'_>) {
    let theme = Theme::of(view);
    let [head, body, foot] = Layout::vertical([
        Constraint::Length(1),
        Constraint::Fill(1),
        Constraint::Length(1),
    ])
    .areas(frame.area());
    frame.render_widget(headline(view, &theme), head);
    match view.page {
        Page::Cluster => cluster::draw(view, &theme, frame, body),
        Page::Pending | Page::Node => pods::draw(view, &theme, frame, body),
        Page::Decision => decision(view, &theme, frame, body),
    }
    frame.render_widget(footline(view, &theme), foot);
    if view.shows_help {
        help(frame, &theme);
    }
}

/// What one sees first: how many nodes and pods there are, and what is wrong.
fn headline<'v>(view: &View, theme: &Theme) -> Line<'v> {
    let cluster = &view.cluster;
    let mut spans = vec![Span::styled(" stowplan top  ", theme.head)];
    if !view.is_synced {
        spans.push(Span::styled(
            format!("asking {} …", view.server),
            theme.faint,
        ));
        return Line::from(spans);
    }
    let nodes = cluster.nodes.len();
    spans.push(Span::raw(format!("{}, ", count(nodes, "node"))));
    let pods = cluster.pods.len();
    spans.push(Span::raw(format!("{}, ", count(pods, "pod"))));
    let pending = cluster.pending().len();
    let style = if pending > 0 {
        theme.waits
    } else {
        theme.plain
    };
    spans.push(Span::styled(format!("{pending} pending"), style));
    let silent = cluster.nodes.iter().filter(|node| !node.is_ready).count();
    if silent > 0 {
        let text = format!(", {} not ready", count(silent, "node"));
        spans.push(Span::styled(text, theme.bad));
    }
    spans.push(Span::styled(format!("   {}", view.server), theme.faint));
    Line::from(spans)
}

fn footline(view: &View, theme: &Theme) -> Line<'static> {
    if view.is_searching {
        return Line::from(format!(" /{}▏", view.search));
    }
    let mut text = match view.page {
        Page::Cluster => " ↑↓ choose  Enter its pods  ",
        Page::Pending | Page::Node => " ↑↓ choose  Enter why  Esc back  ",
        Page::Decision => " ↑↓ scroll  Enter ask again  Esc back  ",
    }
    .to_owned();
    text += match view.goes {
        true => "g: c cluster, p pending, t decision",
        false => "g c/p/t go  / search  ? help  q quit",
    };
    if !view.search.is_empty() {
        text = format!(" only /{}  Esc all {text}", view.search);
    }
    Line::styled(text, theme.faint)
}

fn decision(view: &View, theme: &Theme, frame: &mut Frame<'_>, area: Rect) {
    let area = area.inner(Margin::new(1, 0));
    let say = |text: String, style| Paragraph::new(text).style(style).wrap(Wrap { trim: false });
    let widget = match &view.decision {
        Decision::None => say(
            "\nNo pod is chosen: choose one under g p, or on a node, and press Enter.".to_owned(),
            theme.faint,
        ),
        Decision::Asked => {
            let (namespace, name) = view.pod.clone().unwrap_or_default();
            say(
                format!(
                    "\nasking for {} …",
                    theme::shown(&format!("{namespace}/{name}"))
                ),
                theme.faint,
            )
        }
        Decision::Failed(why) => say(format!("\n{}", theme::shown(why)), theme.bad),
        Decision::Told(text) => {
            let lines = ansi::lines(text, view.has_colors);
            let from = view.scroll.min(lines.len());
            Paragraph::new(lines[from..].to_vec())
        }
    };
    frame.render_widget(widget, area);
}

const HELP: [(&str, &str); 10] = [
    ("g c", "the cluster: zones, nodes, how full they are"),
    ("g p", "the pods that wait, the oldest first"),
    ("g t", "the decision about the chosen pod"),
    ("Enter", "deeper: a node's pods, a pod's decision"),
    ("Esc", "back"),
    ("↑ ↓ k j", "choose, scroll; PgUp PgDn Home End, too"),
    ("g g  G", "first, last"),
    ("/", "search names; Enter keeps, Esc ends it"),
    ("?", "this help"),
    ("q", "quit"),
];

fn help(frame: &mut Frame<'_>, theme: &Theme) {
    let all = frame.area();
    let (width, height) = (58.min(all.width), 12.min(all.height));
    let area = Rect {
        x: (all.width - width) / 2,
        y: (all.height - height) / 2,
        width,
        height,
    };
    let line = |(key, what): (&'static str, &'static str)| {
        Line::from(vec![
            Span::styled(format!(" {key:<9}"), theme.head),
            Span::raw(what),
        ])
    };
    let lines: Vec<Line<'_>> = HELP.into_iter().map(line).collect();
    frame.render_widget(Clear, area);
    let block = Block::bordered().title(" Keys ");
    frame.render_widget(Paragraph::new(lines).block(block), area);
}

#[cfg(test)]
mod tests;
