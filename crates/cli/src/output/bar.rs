//! Small bars.

use super::{BAD, FAINT, GOOD, NOTE};

/// A bar of so many columns with the percentage behind it: what was there before, what was added,
/// what is free.
pub(crate) fn bar(kept: i64, now: i64, total: i64, columns: usize) -> String {
    if total <= 0 {
        return format!("{FAINT}{:>1$}{FAINT:#}", "-", columns + 5);
    }
    let share = |amount: i64| amount.max(0) as f64 / total as f64;
    let cells = |amount: i64| ((share(amount) * columns as f64).round() as usize).min(columns);
    // Whatever is in use shows, and whatever is free shows, if there is a bar at all.
    let mut filled = cells(now);
    if columns == 0 {
        filled = 0;
    } else if now > 0 && filled == 0 {
        filled = 1;
    } else if now < total && filled == columns {
        filled = columns - 1;
    }
    let kept = match cells(kept) {
        // A bar of one cell is old if most of it is.
        0 if 2 * kept > now => filled,
        kept => kept.min(filled),
    };
    let percent = (share(now) * 100.0).round();
    let style = match percent {
        p if p > 100.0 => BAD,
        p if p >= 90.0 => NOTE,
        _ => GOOD,
    };
    let (old, new) = ("█".repeat(kept), "▓".repeat(filled - kept));
    let free = "░".repeat(columns - filled);
    format!("{style}{old}{new}{style:#}{FAINT}{free}{FAINT:#} {percent:>3}%")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars() {
        let plain =
            |kept, now, total| anstream::adapter::strip_str(&bar(kept, now, total, 10)).to_string();
        assert_eq!(plain(0, 0, 100), "░░░░░░░░░░   0%");
        assert_eq!(plain(0, 1, 100), "▓░░░░░░░░░   1%");
        assert_eq!(plain(1, 1, 100), "█░░░░░░░░░   1%");
        assert_eq!(plain(1, 3, 100), "▓░░░░░░░░░   3%");
        assert_eq!(plain(30, 50, 100), "███▓▓░░░░░  50%");
        assert_eq!(plain(50, 30, 100), "███░░░░░░░  30%");
        assert_eq!(plain(0, 99, 100), "▓▓▓▓▓▓▓▓▓░  99%");
        assert_eq!(plain(100, 100, 100), "██████████ 100%");
        assert_eq!(plain(0, 250, 100), "▓▓▓▓▓▓▓▓▓▓ 250%");
        assert_eq!(plain(0, 0, 0), "              -");
        let bare = |now, total| anstream::adapter::strip_str(&bar(0, now, total, 0)).to_string();
        assert_eq!(
            [bare(1, 2), bare(2, 2), bare(0, 0)],
            ["  50%", " 100%", "    -"]
        );
    }
}
