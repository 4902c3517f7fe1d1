use super::*;
use crate::top::testing::view;
use crate::top::view::Key;
use expect_test::expect_file;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use std::sync::Arc;

fn text(view: &View, width: u16, height: u16) -> String {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal.draw(|frame| draw(view, frame)).unwrap();
    let buffer = terminal.backend().buffer();
    let row = |y| -> String { (0..width).map(|x| buffer[(x, y)].symbol()).collect() };
    let rows = (0..height).map(|y| row(y).trim_end().to_owned() + "\n");
    rows.collect()
}

fn check(view: &View, (width, height): (u16, u16), expected: expect_test::ExpectFile) {
    expected.assert_eq(&text(view, width, height));
}

fn pressed(keys: &str) -> View {
    let mut view = view();
    for key in keys.chars() {
        view.press(Key::Char(key));
    }
    view
}

#[test]
fn the_cluster_fits_a_terminal_of_the_usual_size() {
    check(&view(), (80, 24), expect_file!["goldens/cluster-80.txt"]);
}

#[test]
fn the_cluster_has_its_bars_where_there_is_room() {
    check(&view(), (132, 40), expect_file!["goldens/cluster-132.txt"]);
}

#[test]
fn the_cluster_is_still_to_be_read_on_a_very_small_terminal() {
    check(&view(), (40, 12), expect_file!["goldens/cluster-40.txt"]);
}

#[test]
fn pending_pods_say_why() {
    check(
        &pressed("gp"),
        (80, 24),
        expect_file!["goldens/pending-80.txt"],
    );
}

#[test]
fn a_node_shows_its_pods() {
    let mut view = pressed("j");
    view.press(Key::Enter);
    check(&view, (80, 12), expect_file!["goldens/node-80.txt"]);
}

#[test]
fn a_decision_is_what_explain_says() {
    let mut view = pressed("gt");
    check(&view, (80, 8), expect_file!["goldens/decision-asked.txt"]);
    let told = "\u{1b}[1mshop/web\u{1b}[0m  pending\n\nNODE  TOTAL\n★ a     633\n";
    view.decision = Decision::Told(told.to_owned());
    check(&view, (80, 8), expect_file!["goldens/decision-told.txt"]);
    view.decision = Decision::Failed("the scheduler knows no pod shop/web".to_owned());
    check(&view, (80, 8), expect_file!["goldens/decision-failed.txt"]);
}

#[test]
fn help_lists_the_keys() {
    check(&pressed("?"), (80, 24), expect_file!["goldens/help-80.txt"]);
}

#[test]
fn a_cluster_that_is_not_known_yet_says_whom_it_asks() {
    let mut view = view();
    view.is_synced = false;
    view.cluster = Arc::default();
    check(&view, (80, 5), expect_file!["goldens/asking-80.txt"]);
}

#[test]
fn no_size_is_too_small_and_no_name_is_obeyed() {
    for keys in ["", "gp", "gt", "?", "/web"] {
        let view = pressed(keys);
        for (width, height) in [(1, 1), (3, 2), (10, 3), (24, 4), (79, 5), (300, 90)] {
            let text = text(&view, width, height);
            assert!(!text.contains('\u{1b}'), "{text:?}");
        }
    }
}

#[test]
fn without_colours_there_are_none() {
    let check = |has_colors: bool| {
        let mut view = view();
        view.has_colors = has_colors;
        let mut terminal = Terminal::new(TestBackend::new(80, 24)).unwrap();
        terminal.draw(|frame| draw(&view, frame)).unwrap();
        let cells = terminal.backend().buffer().content().to_vec();
        cells
            .iter()
            .any(|cell| cell.fg != ratatui::style::Color::Reset)
    };
    assert!(check(true));
    assert!(!check(false));
}

#[test]
fn ages_are_short() {
    let ages = [-5, 7, 119, 120, 7_199, 7_200, 172_799, 172_800].map(super::pods::age);
    assert_eq!(ages, ["0s", "7s", "119s", "2m", "119m", "2h", "47h", "2d"]);
}

#[test]
fn the_reason_of_most_nodes_comes_first() {
    let message =
        "0/12 nodes are available: 2 Insufficient cpu, 10 node(s) had taints. preemption: no.";
    assert_eq!(
        super::pods::reason(message),
        "10 node(s) had taints, 2 Insufficient cpu"
    );
    assert_eq!(super::pods::reason(""), "");
}
