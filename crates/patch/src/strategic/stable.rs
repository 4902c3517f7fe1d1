//! Go's stable sort.
//!
//! Where the order is none (elements without a place come before everything), the outcome depends on
//! the algorithm. Upstream: `stable_func` in Go's `sort/zsortfunc.go`.

const BLOCK: usize = 20;

/// Sorts blocks by insertion, and merges them.
pub(super) fn stable_sort<T>(list: &mut [T], before: &impl Fn(&T, &T) -> bool) {
    list.chunks_mut(BLOCK)
        .for_each(|b| insertion_sort(b, before));
    let mut size = BLOCK;
    while size < list.len() {
        for pair in list.chunks_mut(2 * size) {
            if pair.len() > size {
                merge(pair, size, before);
            }
        }
        size *= 2;
    }
}

fn insertion_sort<T>(list: &mut [T], before: &impl Fn(&T, &T) -> bool) {
    for i in 1..list.len() {
        let mut j = i;
        while j > 0 && before(&list[j], &list[j - 1]) {
            list.swap(j, j - 1);
            j -= 1;
        }
    }
}

/// The first of so many places for which it is false.
fn first_not(mut from: usize, mut to: usize, holds: impl Fn(usize) -> bool) -> usize {
    while from < to {
        let middle = (from + to) / 2;
        match holds(middle) {
            true => from = middle + 1,
            false => to = middle,
        }
    }
    from
}

/// Merges what comes before `middle` with what comes from there on: Go's `symMerge`.
fn merge<T>(list: &mut [T], middle: usize, before: &impl Fn(&T, &T) -> bool) {
    let length = list.len();
    if middle == 1 {
        let end = first_not(1, length, |at| before(&list[at], &list[0]));
        return list[..end].rotate_left(1);
    }
    if length - middle == 1 {
        let start = first_not(0, middle, |at| !before(&list[middle], &list[at]));
        return list[start..].rotate_right(1);
    }
    let half = length / 2;
    let sum = half + middle;
    let (from, to) = match middle > half {
        true => (sum - length, half),
        false => (0, middle),
    };
    let start = first_not(from, to, |at| !before(&list[sum - 1 - at], &list[at]));
    let end = sum - start;
    if start < middle && middle < end {
        list[start..end].rotate_left(middle - start);
    }
    if 0 < start && start < half {
        merge(&mut list[..half], start, before);
    }
    if half < end && end < length {
        merge(&mut list[half..], end - half, before);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    #[test]
    fn lists_are_sorted_and_equals_stay() {
        for length in [0_usize, 1, 19, 20, 21, 40, 41, 63, 500] {
            let mut list: Vec<(usize, usize)> = (0..length).map(|i| (i * 7 % 10, i)).collect();
            let mut expected = list.clone();
            expected.sort_by_key(|(key, _)| *key);
            stable_sort(&mut list, &|a, b| a.0 < b.0);
            assert_eq!(list, expected);
        }
    }

    /// What `sort.SliceStable` makes of the same.
    #[test]
    fn without_an_order_the_outcome_is_gos() {
        let mut list: Vec<usize> = (0..70).map(|i| i * 31 % 70).collect();
        stable_sort(&mut list, &|a, b| match a % 7 != 0 && b % 7 != 0 {
            true => a < b,
            false => a % 2 == 0,
        });
        let expected = [
            56, 2, 42, 1, 3, 4, 8, 10, 28, 6, 11, 16, 18, 24, 26, 32, 34, 52, 60, 14, 0, 21, 5, 12,
            13, 15, 20, 22, 23, 30, 31, 36, 38, 40, 43, 46, 54, 62, 7, 29, 37, 44, 45, 50, 57, 65,
            49, 9, 17, 25, 33, 41, 63, 39, 47, 48, 51, 53, 55, 59, 61, 66, 67, 68, 35, 19, 27, 58,
            64, 69,
        ];
        assert_eq!(list, expected);
    }

    #[test]
    fn without_an_order_it_takes_no_longer() {
        let asked = Cell::new(0_u64);
        let mut list: Vec<usize> = (0..100_000).collect();
        stable_sort(&mut list, &|_, _| {
            asked.set(asked.get() + 1);
            true
        });
        assert!(asked.get() < 20_000_000, "{}", asked.get());
    }
}
