//! Zones as columns, nodes as tiles in them, and what waits below.

use super::View;
use super::theme::{Theme, cut};
use crate::top::model::{NodeRow, PodRow};
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Borders, Paragraph};

/// A column is not narrower than this.
const COLUMN_LEAST: u16 = 24;
/// How many lines the pending strip takes at most.
const STRIP_MOST: u16 = 7;

/// One line of a column: a zone, or a part of a node's tile.
enum Row<'v> {
    Zone(&'v str),
    Name(usize, &'v NodeRow),
    Bar(usize, &'v NodeRow, &'static str),
}

impl Row<'_> {
    fn node(&self) -> Option<usize> {
        match self {
            Self::Zone(_) => None,
            Self::Name(at, _) | Self::Bar(at, _, _) => Some(*at),
        }
    }
}

pub(super) fn draw(view: &View, theme: &Theme, frame: &mut Frame<'_>, area: Rect) {
    let pending = view.cluster.pending();
    let strip = match pending.len() {
        0 => 0,
        count => (count as u16 + 1).min(STRIP_MOST).min(area.height / 3),
    };
    let [map, strip] =
        Layout::vertical([Constraint::Fill(1), Constraint::Length(strip)]).areas(area);
    draw_map(view, theme, frame, map);
    if strip.height > 0 {
        draw_strip(view, &pending, theme, frame, strip);
    }
}

fn draw_map(view: &View, theme: &Theme, frame: &mut Frame<'_>, area: Rect) {
    let nodes = view.nodes();
    if nodes.is_empty() {
        let text = match (view.is_synced, view.search.is_empty()) {
            (false, _) => "",
            (true, true) => "\n There are no nodes.",
            (true, false) => "\n No node is called so.",
        };
        frame.render_widget(Paragraph::new(text).style(theme.faint), area);
        return;
    }
    let columns = columns(&nodes, area);
    let width = area.width / columns.len() as u16;
    let chosen = view.row();
    // All columns are moved alike, so that the chosen node is to be seen.
    let line_of_chosen =
        |column: &Vec<Row<'_>>| column.iter().rposition(|row| row.node() == Some(chosen));
    let last = columns.iter().find_map(line_of_chosen).unwrap_or(0);
    let height = usize::from(area.height);
    let from = (last + 1).saturating_sub(height);
    for (i, column) in columns.iter().enumerate() {
        let place = Rect {
            x: area.x + i as u16 * width,
            width,
            ..area
        };
        let rows = column.iter().skip(from).take(height);
        let lines: Vec<Line<'_>> = rows
            .map(|row| line(row, row.node() == Some(chosen), usize::from(width), theme))
            .collect();
        frame.render_widget(Paragraph::new(lines), place);
    }
}

/// A column per zone where there is room for all of them; else columns that are filled one after the other.
/// Bars are left out where nodes are many.
fn columns<'v>(nodes: &[&'v NodeRow], area: Rect) -> Vec<Vec<Row<'v>>> {
    let mut zones: Vec<Vec<(usize, &NodeRow)>> = Vec::new();
    for (at, node) in nodes.iter().enumerate() {
        match zones.last_mut() {
            Some(zone) if zone[0].1.zone == node.zone => zone.push((at, node)),
            _ => zones.push(vec![(at, node)]),
        }
    }
    let height = usize::from(area.height);
    let fits = usize::from((area.width / COLUMN_LEAST).max(1));
    let by_zone = |has_bars| -> Vec<Vec<Row<'v>>> {
        zones.iter().map(|zone| zone_rows(zone, has_bars)).collect()
    };
    if zones.len() > fits {
        let all: Vec<Row<'_>> = by_zone(false).into_iter().flatten().collect();
        let mut all = all.into_iter().peekable();
        let total = all.len();
        let per_column = total.div_ceil(fits).max(height);
        let mut columns = Vec::new();
        while all.peek().is_some() {
            columns.push(all.by_ref().take(per_column).collect());
        }
        return columns;
    }
    let with_bars = by_zone(true);
    match with_bars.iter().all(|column| column.len() <= height) {
        true => with_bars,
        false => by_zone(false),
    }
}

fn zone_rows<'v>(zone: &[(usize, &'v NodeRow)], has_bars: bool) -> Vec<Row<'v>> {
    let mut rows = Vec::new();
    let name = zone.first().map_or("", |(_, node)| node.zone.as_str());
    if !name.is_empty() {
        rows.push(Row::Zone(name));
    }
    for (at, node) in zone {
        rows.push(Row::Name(*at, node));
        if has_bars {
            rows.push(Row::Bar(*at, node, "cpu"));
            rows.push(Row::Bar(*at, node, "mem"));
            if node.room.gpus > 0 {
                rows.push(Row::Bar(*at, node, "gpu"));
            }
        }
    }
    rows
}

fn line<'v>(row: &Row<'v>, is_chosen: bool, width: usize, theme: &Theme) -> Line<'v> {
    let width = width.saturating_sub(2);
    match row {
        Row::Zone(zone) => Line::styled(
            format!(" {}", cut(&format!("zone {zone}"), width)),
            theme.faint,
        ),
        Row::Name(_, node) => name_line(node, is_chosen, width, theme),
        Row::Bar(_, node, what) => {
            let (used, room) = share(node, what);
            let columns = width.saturating_sub(11);
            let mut spans = vec![Span::styled(format!("  {what} "), theme.faint)];
            spans.extend(bar(used, room, columns, node.is_ready, theme));
            Line::from(spans)
        }
    }
}

/// The name, what is wrong, and how many pods there are.
fn name_line<'v>(node: &NodeRow, is_chosen: bool, width: usize, theme: &Theme) -> Line<'v> {
    let (mark, style) = match (node.is_ready, node.is_cordoned) {
        (false, _) => (" NOT READY", theme.bad),
        (true, true) => (" cordoned", theme.waits),
        (true, false) => ("", theme.plain),
    };
    let (used, room) = share(node, "cpu");
    // What is wrong needs the room.
    let tail = match mark.is_empty() {
        true => format!(" {:>3}% {:>3}", percent(used, room), node.pods),
        false => format!(" {:>3}", node.pods),
    };
    let left = width.saturating_sub(mark.len() + tail.len());
    let name = format!("{:<left$}", cut(&node.name, left));
    let name_style = if is_chosen { theme.chosen } else { theme.head };
    let marker = if is_chosen { "▸" } else { " " };
    Line::from(vec![
        Span::raw(marker),
        Span::styled(name, name_style),
        Span::styled(mark, style),
        Span::styled(tail, theme.faint),
    ])
}

fn share(node: &NodeRow, what: &str) -> (i64, i64) {
    match what {
        "cpu" => (node.requested.cpu_m, node.room.cpu_m),
        "mem" => (node.requested.memory, node.room.memory),
        _ => (node.requested.gpus, node.room.gpus),
    }
}

fn percent(used: i64, room: i64) -> i64 {
    match room {
        ..=0 => 0,
        room => (used.max(0) as f64 / room as f64 * 100.0).round() as i64,
    }
}

fn bar<'v>(used: i64, room: i64, columns: usize, is_ready: bool, theme: &Theme) -> [Span<'v>; 3] {
    let percent = percent(used, room);
    let filled = (percent as usize * columns).div_ceil(100).min(columns);
    let (full, style) = match (is_ready, percent) {
        (false, _) => ("╌", theme.faint),
        (true, 95..) => ("█", theme.waits),
        (true, _) => ("█", theme.full),
    };
    [
        Span::styled(full.repeat(filled), style),
        Span::styled("░".repeat(columns - filled), theme.faint),
        Span::raw(format!(" {percent:>3}%")),
    ]
}

fn draw_strip(view: &View, pending: &[&PodRow], theme: &Theme, frame: &mut Frame<'_>, area: Rect) {
    let title = format!(" {} pending, g p ", pending.len());
    let block = Block::new()
        .borders(Borders::TOP)
        .title(Span::styled(title, theme.waits));
    let rows = usize::from(area.height.saturating_sub(1));
    let width = usize::from(area.width);
    let line = |pod: &&PodRow| {
        let age = super::pods::age(view.now - pod.since);
        let title = cut(&pod.title(), width.saturating_sub(8).min(36));
        let why = super::pods::reason(&pod.message);
        let rest = width.saturating_sub(9 + title.chars().count());
        Line::from(vec![
            Span::styled(format!(" {age:>5} "), theme.waits),
            Span::raw(title),
            Span::styled(format!("  {}", cut(&why, rest)), theme.faint),
        ])
    };
    let lines: Vec<Line<'_>> = pending.iter().take(rows).map(line).collect();
    frame.render_widget(Paragraph::new(lines).block(block), area);
}
