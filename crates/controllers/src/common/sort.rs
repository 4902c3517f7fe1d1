//! Sorting by what is not quite an order.

/// Sorted by merging, which comes to an end even if `before` is no order. The library's sort may panic.
pub fn sorted<T>(mut items: Vec<T>, before: &impl Fn(&T, &T) -> bool) -> Vec<T> {
    if items.len() < 2 {
        return items;
    }
    let count = items.len();
    let right = items.split_off(count / 2);
    let mut left = sorted(items, before).into_iter().peekable();
    let mut right = sorted(right, before).into_iter().peekable();
    let mut merged = Vec::with_capacity(count);
    while let (Some(one), Some(two)) = (left.peek(), right.peek()) {
        merged.extend(match before(two, one) {
            true => right.next(),
            false => left.next(),
        });
    }
    merged.extend(left);
    merged.extend(right);
    merged
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sorting_ends_even_without_an_order() {
        // Everybody goes before everybody else in turn.
        let cyclic = sorted((0..1000).collect(), &|a: &i32, b: &i32| {
            (a + 1) % 3 == b % 3
        });
        assert_eq!(cyclic.len(), 1000);
        let ordered = sorted(vec![3, 1, 2, 5, 4, 0], &|a: &i32, b: &i32| a < b);
        assert_eq!(ordered, [0, 1, 2, 3, 4, 5]);
    }
}
