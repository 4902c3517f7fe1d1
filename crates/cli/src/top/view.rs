//! What is on the screen, and what keys make of it. Pure: a key in, a view out, and what has to be asked.

use super::model::{Cluster, NodeRow, PodRow};
use std::sync::Arc;

/// Which picture is shown.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) enum Page {
    #[default]
    Cluster,
    Pending,
    /// The pods of the node that is chosen.
    Node,
    /// The decision about the pod that is chosen.
    Decision,
}

/// A key, as far as it matters.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Key {
    Char(char),
    Up,
    Down,
    Left,
    Right,
    PageUp,
    PageDown,
    Home,
    End,
    Enter,
    Backspace,
    Escape,
    Interrupt,
}

/// What a key asks for, beyond another view.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Wish {
    Nothing,
    /// The decision about a pod.
    Decision {
        namespace: String,
        name: String,
    },
    Quit,
}

/// What is known of a decision.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) enum Decision {
    #[default]
    None,
    Asked,
    /// As `stowplan explain pod` shows it, with its styles.
    Told(String),
    Failed(String),
}

/// What is on the screen.
#[derive(Clone, Debug, Default)]
pub(super) struct View {
    pub(super) cluster: Arc<Cluster>,
    /// Where it is: the server's address.
    pub(super) server: String,
    /// The time, in seconds; ages are reckoned by it.
    pub(super) now: i64,
    /// Whether all objects are known.
    pub(super) is_synced: bool,
    pub(super) page: Page,
    pub(super) shows_help: bool,
    /// What names have to contain.
    pub(super) search: String,
    pub(super) is_searching: bool,
    /// A `g` was typed.
    pub(super) goes: bool,
    /// The row that is chosen, of the page's.
    pub(super) chosen: usize,
    pub(super) node: Option<String>,
    pub(super) pod: Option<(String, String)>,
    pub(super) decision: Decision,
    /// The first line that is shown of a decision.
    pub(super) scroll: usize,
    /// Without colours, states are words and marks only.
    pub(super) has_colors: bool,
}

impl View {
    /// The nodes that are shown.
    pub(super) fn nodes(&self) -> Vec<&NodeRow> {
        let all = self.cluster.nodes.iter();
        all.filter(|node| node.name.contains(&self.search) || node.zone == self.search)
            .collect()
    }

    /// The pods that are shown in a list.
    pub(super) fn pods(&self) -> Vec<&PodRow> {
        let mut pods = match (self.page, &self.node) {
            (Page::Node, Some(node)) => self.cluster.on(node),
            _ => self.cluster.pending(),
        };
        pods.retain(|pod| pod.title().contains(&self.search));
        pods
    }

    fn rows(&self) -> usize {
        match self.page {
            Page::Cluster => self.nodes().len(),
            Page::Pending | Page::Node => self.pods().len(),
            Page::Decision => 0,
        }
    }

    /// The row that is chosen, while there are so many.
    pub(super) fn row(&self) -> usize {
        self.chosen.min(self.rows().saturating_sub(1))
    }

    /// What a key makes of it.
    pub(super) fn press(&mut self, key: Key) -> Wish {
        if key == Key::Interrupt {
            return Wish::Quit;
        }
        if self.is_searching {
            self.type_in(key);
            return Wish::Nothing;
        }
        if std::mem::take(&mut self.goes) {
            return self.go(key);
        }
        if self.shows_help {
            self.shows_help = false;
            return match key {
                Key::Char('q') => Wish::Quit,
                _ => Wish::Nothing,
            };
        }
        match key {
            Key::Char('q') => return Wish::Quit,
            Key::Char('?') => self.shows_help = true,
            Key::Char('/') => (self.is_searching, self.search) = (true, String::new()),
            Key::Char('g') => self.goes = true,
            Key::Escape => self.back(),
            Key::Enter => return self.enter(),
            _ => self.walk(key),
        }
        Wish::Nothing
    }

    fn type_in(&mut self, key: Key) {
        match key {
            Key::Char(c) => self.search.push(c),
            Key::Backspace => drop(self.search.pop()),
            Key::Escape => (self.is_searching, self.search) = (false, String::new()),
            Key::Enter => self.is_searching = false,
            _ => {}
        }
        self.chosen = 0;
    }

    fn go(&mut self, key: Key) -> Wish {
        match key {
            Key::Char('c') => self.open(Page::Cluster),
            Key::Char('p') => self.open(Page::Pending),
            Key::Char('t') => {
                if self.pod.is_none() || self.page != Page::Decision {
                    let at = self.row();
                    let pods = self.pods();
                    let pod = pods.get(at).or(pods.first());
                    let found = pod.map(|pod| (pod.namespace.clone(), pod.name.clone()));
                    self.pod = found.or(self.pod.take());
                }
                return self.ask();
            }
            Key::Char('g') => (self.chosen, self.scroll) = (0, 0),
            _ => {}
        }
        Wish::Nothing
    }

    fn open(&mut self, page: Page) {
        (self.page, self.chosen, self.scroll) = (page, 0, 0);
    }

    /// One step back: from a search, a decision, a node.
    fn back(&mut self) {
        if !self.search.is_empty() {
            self.search.clear();
            return;
        }
        match (self.page, &self.node) {
            (Page::Decision, Some(_)) => self.open(Page::Node),
            (Page::Decision, None) => self.open(Page::Pending),
            _ => {
                self.node = None;
                self.open(Page::Cluster);
            }
        }
    }

    fn enter(&mut self) -> Wish {
        let at = self.row();
        match self.page {
            Page::Cluster => {
                let node = self.nodes().get(at).map(|node| node.name.clone());
                if node.is_some() {
                    self.node = node;
                    self.search.clear();
                    self.open(Page::Node);
                }
                Wish::Nothing
            }
            Page::Pending | Page::Node => {
                let pods = self.pods();
                let pod = pods.get(at);
                let found = pod.map(|pod| (pod.namespace.clone(), pod.name.clone()));
                if self.page == Page::Pending {
                    self.node = None;
                }
                match found {
                    Some(pod) => {
                        self.pod = Some(pod);
                        self.ask()
                    }
                    None => Wish::Nothing,
                }
            }
            Page::Decision => self.ask(),
        }
    }

    /// Shows the decision about the pod that is chosen, once it is told.
    fn ask(&mut self) -> Wish {
        self.open(Page::Decision);
        let Some((namespace, name)) = self.pod.clone() else {
            self.decision = Decision::None;
            return Wish::Nothing;
        };
        self.decision = Decision::Asked;
        Wish::Decision { namespace, name }
    }

    fn walk(&mut self, key: Key) {
        const PAGE: isize = 10;
        let steps: isize = match key {
            Key::Up | Key::Left | Key::Char('k' | 'h') => -1,
            Key::Down | Key::Right | Key::Char('j' | 'l') => 1,
            Key::PageUp => -PAGE,
            Key::PageDown | Key::Char(' ') => PAGE,
            Key::Home => isize::MIN / 2,
            Key::End | Key::Char('G') => isize::MAX / 2,
            _ => return,
        };
        if self.page == Page::Decision {
            let lines = match &self.decision {
                Decision::Told(text) => text.lines().count(),
                _ => 0,
            };
            let last = lines.saturating_sub(1);
            self.scroll = self.scroll.saturating_add_signed(steps).min(last);
        } else {
            let last = self.rows().saturating_sub(1);
            self.chosen = self.row().saturating_add_signed(steps).min(last);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{cluster, view};
    use super::*;

    fn press(view: &mut View, keys: &str) -> Wish {
        let mut wish = Wish::Nothing;
        for key in keys.chars() {
            wish = view.press(match key {
                '\n' => Key::Enter,
                '\x1b' => Key::Escape,
                key => Key::Char(key),
            });
        }
        wish
    }

    #[test]
    fn g_and_a_letter_open_a_page() {
        let mut view = view();
        press(&mut view, "gp");
        assert_eq!(view.page, Page::Pending);
        press(&mut view, "gc");
        assert_eq!(view.page, Page::Cluster);
        let wish = press(&mut view, "gt");
        let Wish::Decision { name, .. } = wish else {
            panic!("{wish:?}")
        };
        assert_eq!((&*name, view.page), ("pretrain-xl-0", Page::Decision));
    }

    #[test]
    fn enter_goes_deeper_and_escape_comes_back() {
        let mut view = view();
        press(&mut view, "j\n");
        assert_eq!(
            (view.page, view.node.as_deref()),
            (Page::Node, Some("node-a-2"))
        );
        let wish = press(&mut view, "\n");
        assert!(matches!(wish, Wish::Decision { .. }), "{wish:?}");
        press(&mut view, "\x1b");
        assert_eq!(view.page, Page::Node);
        press(&mut view, "\x1b");
        assert_eq!((view.page, view.node), (Page::Cluster, None));
    }

    #[test]
    fn a_search_narrows_what_is_shown_until_escape() {
        let mut view = view();
        press(&mut view, "/q-b");
        // Letters are letters now, and no commands.
        assert_eq!(view.search, "q-b");
        press(&mut view, "\x1b/-b-\n");
        assert_eq!(view.nodes().len(), 4);
        press(&mut view, "\x1b");
        assert_eq!(view.nodes().len(), cluster().nodes.len());
    }

    #[test]
    fn the_choice_stays_within_what_there_is() {
        let mut view = view();
        press(&mut view, "G");
        assert_eq!(view.row(), 11);
        view.cluster = Arc::default();
        assert_eq!(view.row(), 0);
        assert_eq!(press(&mut view, "\n"), Wish::Nothing);
        press(&mut view, "gp\n");
        assert_eq!(view.page, Page::Pending);
        assert_eq!(press(&mut view, "gt"), Wish::Nothing);
        assert_eq!(press(&mut view, "q"), Wish::Quit);
    }

    #[test]
    fn a_long_decision_can_be_read_to_its_end() {
        let mut view = view();
        press(&mut view, "gt");
        view.decision = Decision::Told("a\nb\nc\n".to_owned());
        press(&mut view, "jjjj");
        assert_eq!(view.scroll, 2);
        press(&mut view, "gg");
        assert_eq!(view.scroll, 0);
        press(&mut view, "?");
        assert!(view.shows_help);
        press(&mut view, "\x1b");
        assert!(!view.shows_help && view.page == Page::Decision);
    }
}
