//! The best of many candidates, where one changes at a time.

use crate::cast::narrow;

/// A winner tree over numbered entrants. When one of them changes, only its own matches are played again.
#[derive(Clone, Debug, Default)]
pub(super) struct WinnerTree {
    entrants: usize,
    /// The winner of every match: match 1 is the final, matches 2n and 2n + 1 come before match n.
    /// Numbers from `entrants` on are no matches but the entrants themselves.
    winners: Vec<u32>,
}

impl WinnerTree {
    /// Plays all matches. `better` says which of two wins.
    pub(super) fn play(&mut self, entrants: usize, better: impl Fn(u32, u32) -> u32) {
        self.entrants = entrants;
        self.winners.clear();
        self.winners.resize(entrants, 0);
        for game in (1..entrants).rev() {
            self.play_game(game, &better);
        }
    }

    /// Plays the matches of one entrant again.
    pub(super) fn replay(&mut self, entrant: usize, better: impl Fn(u32, u32) -> u32) {
        let mut game = (self.entrants + entrant) / 2;
        while game > 0 {
            self.play_game(game, &better);
            game /= 2;
        }
    }

    /// Who wins the final.
    pub(super) fn winner(&self) -> Option<usize> {
        (self.entrants > 0).then(|| self.winner_of(1) as usize)
    }

    fn play_game(&mut self, game: usize, better: impl Fn(u32, u32) -> u32) {
        self.winners[game] = better(self.winner_of(2 * game), self.winner_of(2 * game + 1));
    }

    fn winner_of(&self, game: usize) -> u32 {
        match game.checked_sub(self.entrants) {
            Some(entrant) => narrow(entrant),
            None => self.winners[game],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use stowplan_base::Rng;

    #[test]
    fn the_least_wins_whoever_changes() {
        let mut rng = Rng::new(5);
        for entrants in 0..40 {
            let mut values: Vec<usize> = (0..entrants).map(|_| rng.below(9)).collect();
            let mut winner_tree = WinnerTree::default();
            for round in 0..50 {
                let better = |a: u32, b: u32| {
                    let value = |i: u32| (values[i as usize], i);
                    if value(a) < value(b) { a } else { b }
                };
                match round {
                    0 => winner_tree.play(entrants, better),
                    _ => winner_tree.replay(round % entrants.max(1), better),
                }
                let least = (0..entrants).min_by_key(|&i| (values[i], i));
                assert_eq!(winner_tree.winner(), least);
                if entrants > 0 {
                    values[(round + 1) % entrants] = rng.below(9);
                }
            }
        }
    }
}
