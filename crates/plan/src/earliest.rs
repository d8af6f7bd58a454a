//! A set of small numbers that gives back the least one first.

/// Numbers, a bit each; above them a bit for each word that has any, and so on until one word is left.
///
/// A binary heap would cost more the more it has: here adding and taking out touch one word a level, and there are four levels
/// for ten million numbers. All of it lies in the first caches.
#[derive(Debug)]
pub(crate) struct Earliest {
    levels: Vec<Vec<u64>>,
}

const BITS: usize = 64;

impl Earliest {
    /// Makes an empty set for numbers below `count`.
    pub(crate) fn below(count: usize) -> Self {
        let mut levels = vec![vec![0; count.div_ceil(BITS).max(1)]];
        while let Some(words) = levels.last().map(Vec::len).filter(|words| *words > 1) {
            levels.push(vec![0; words.div_ceil(BITS)]);
        }
        Self { levels }
    }

    /// Adds a number.
    pub(crate) fn insert(&mut self, mut number: usize) {
        for level in &mut self.levels {
            level[number / BITS] |= 1 << (number % BITS);
            number /= BITS;
        }
    }

    /// Takes the least number out.
    pub(crate) fn pop(&mut self) -> Option<usize> {
        let mut number = 0;
        for level in self.levels.iter().rev() {
            match level[number] {
                0 => return None,
                word => number = number * BITS + word.trailing_zeros() as usize,
            }
        }
        let mut at = number;
        for level in &mut self.levels {
            level[at / BITS] &= !(1 << (at % BITS));
            if level[at / BITS] != 0 {
                break;
            }
            at /= BITS;
        }
        Some(number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_comes_first_whenever_it_was_added() {
        for count in [1, 64, 65, 5_000, 300_000] {
            let mut set = Earliest::below(count);
            assert_eq!(set.pop(), None);
            let some: Vec<usize> = [0, 1, 63, 64, 4_095, 4_096, 4_999, 262_144, 299_999]
                .into_iter()
                .filter(|number| *number < count)
                .collect();
            some.iter().rev().for_each(|number| set.insert(*number));
            assert_eq!(set.pop(), Some(0));
            set.insert(0);
            assert_eq!(std::iter::from_fn(|| set.pop()).collect::<Vec<_>>(), some);
        }
    }
}
