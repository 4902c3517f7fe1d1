//! Pods in a list: those that wait, or those of a node.

use super::View;
use super::theme::{Theme, cut, shown};
use crate::top::model::{PodRow, PodState};
use crate::top::view::Page;
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Borders, Paragraph, Wrap};
use stowplan_report::amount;

/// Lines for the whole message of the pod that is chosen.
const MESSAGE: u16 = 6;

pub(super) fn draw(view: &View, theme: &Theme, frame: &mut Frame<'_>, area: Rect) {
    let pods = view.pods();
    let below = match view.page {
        Page::Pending if !pods.is_empty() => MESSAGE.min(area.height / 2),
        _ => 0,
    };
    let [head, list, message] = Layout::vertical([
        Constraint::Length(1),
        Constraint::Fill(1),
        Constraint::Length(below),
    ])
    .areas(area);
    let width = usize::from(area.width);
    frame.render_widget(Line::styled(title(view, width), theme.head), head);
    if pods.is_empty() {
        let text = match view.page {
            Page::Pending => "\n Nothing waits.",
            _ => "\n No pods.",
        };
        frame.render_widget(Paragraph::new(text).style(theme.faint), list);
        return;
    }
    let chosen = view.row();
    let height = usize::from(list.height);
    let from = (chosen + 1).saturating_sub(height);
    let rows = pods.iter().enumerate().skip(from).take(height);
    let lines: Vec<Line<'_>> = rows
        .map(|(at, pod)| line(view, pod, at == chosen, width, theme))
        .collect();
    frame.render_widget(Paragraph::new(lines), list);
    if below > 0 {
        let block = Block::new().borders(Borders::TOP);
        let text = match &*pods[chosen].message {
            "" => "The scheduler has not said anything yet.".to_owned(),
            text => shown(text),
        };
        let text = Paragraph::new(text).wrap(Wrap { trim: true }).block(block);
        frame.render_widget(text, message);
    }
}

/// Columns beside the name and the last one.
const FIXED: usize = 17;

fn name_width(width: usize) -> usize {
    width.saturating_sub(FIXED).clamp(8, 44).min(width)
}

fn title(view: &View, width: usize) -> String {
    let names = name_width(width);
    let (what, last) = match &view.node {
        Some(node) if view.page == Page::Node => (format!("PODS ON {node}"), "STATE"),
        _ => ("PENDING POD".to_owned(), "WHY"),
    };
    format!(
        " {:>5} {:>8} {:<names$} {last}",
        "AGE",
        "PRIORITY",
        cut(&what, names)
    )
}

fn line<'v>(view: &View, pod: &PodRow, is_chosen: bool, width: usize, theme: &Theme) -> Line<'v> {
    let names = name_width(width);
    let (last, style) = match view.page {
        Page::Pending => (reason(&pod.message), theme.faint),
        _ => (state(pod), state_style(pod.state, theme)),
    };
    let rest = width.saturating_sub(FIXED + names);
    let marker = if is_chosen { "▸" } else { " " };
    let name_style = if is_chosen { theme.chosen } else { theme.plain };
    Line::from(vec![
        Span::raw(format!(
            "{marker}{:>5} {:>8} ",
            age(view.now - pod.since),
            pod.priority
        )),
        Span::styled(format!("{:<names$}", cut(&pod.title(), names)), name_style),
        Span::styled(format!(" {}", cut(&last, rest)), style),
    ])
}

fn state(pod: &PodRow) -> String {
    let mut text = format!(
        "{:<9} cpu {}",
        pod.state.word(),
        amount("cpu", pod.asks.cpu_m)
    );
    if pod.asks.memory > 0 {
        text += &format!("  mem {}", amount("memory", pod.asks.memory));
    }
    if pod.asks.gpus > 0 {
        text += &format!("  gpu {}", pod.asks.gpus);
    }
    text
}

fn state_style(state: PodState, theme: &Theme) -> ratatui::style::Style {
    match state {
        PodState::Ready => theme.plain,
        PodState::Waiting | PodState::Starting | PodState::Leaving => theme.waits,
        PodState::Succeeded => theme.faint,
        PodState::Failed => theme.bad,
    }
}

/// The reasons of a message of the scheduler, the one that holds for most nodes first.
pub(super) fn reason(message: &str) -> String {
    let told = message.split_once(" nodes are available: ");
    let told = told.map_or(message, |(_, told)| told);
    let told = told.split(". ").next().unwrap_or_default();
    let count = |reason: &str| -> u64 {
        let number = reason.split(' ').next().and_then(|word| word.parse().ok());
        number.unwrap_or(0)
    };
    let mut reasons: Vec<&str> = told.trim_end_matches('.').split(", ").collect();
    reasons.sort_by_key(|reason| std::cmp::Reverse(count(reason)));
    reasons.join(", ")
}

/// As kubectl writes ages, a little shorter.
pub(super) fn age(seconds: i64) -> String {
    match seconds.max(0) {
        seconds @ 0..120 => format!("{seconds}s"),
        seconds @ 120..7_200 => format!("{}m", seconds / 60),
        seconds @ 7_200..172_800 => format!("{}h", seconds / 3_600),
        seconds => format!("{}d", seconds / 86_400),
    }
}
