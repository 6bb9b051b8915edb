//! Pieces of text that are expected to come again, compared eight bytes at a time.

use super::bytes::word;

/// Where a piece lies among the words of its `Literals`.
#[derive(Clone, Copy, Debug, Default)]
pub struct Literal {
    first: u32,
    len: u32,
}

/// Keeps pieces of text; the last word of each is filled up with zeros.
#[derive(Default)]
pub struct Literals {
    words: Vec<u64>,
}

impl Literals {
    /// Keeps the bytes from `start` to `end`, which are not none.
    pub fn add(&mut self, data: &[u8], start: usize, end: usize) -> Literal {
        let first = self.words.len() as u32;
        let mut at = start;
        while at < end {
            let beyond = 8 * (at + 8).saturating_sub(end);
            self.words.push(word(data, at) & (u64::MAX >> beyond));
            at += 8;
        }
        Literal {
            first,
            len: (end - start) as u32,
        }
    }

    /// Behind `literal`, if it is what comes at `at`; else 0.
    #[inline(always)]
    pub fn behind(&self, literal: Literal, data: &[u8], at: usize) -> usize {
        let len = literal.len as usize;
        let first = literal.first as usize;
        let mut place = at;
        for &expected in &self.words[first..first + len / 8] {
            if word(data, place) != expected {
                return 0;
            }
            place += 8;
        }
        let rest = !(u64::MAX << (8 * (len % 8)));
        if rest != 0 && (word(data, place) ^ self.words[first + len / 8]) & rest != 0 {
            return 0;
        }
        at + len
    }

    pub fn len(&self) -> usize {
        self.words.len()
    }

    pub fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    pub fn clear(&mut self) {
        self.words.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_piece_is_found_where_it_is() {
        let data = b"before, \"args\": {\"External id\": 7";
        for end in 7..data.len() {
            let mut literals = Literals::default();
            literals.add(data, 0, 5);
            let literal = literals.add(data, 6, end);
            assert_eq!(literals.behind(literal, data, 6), end);
            assert_eq!(literals.behind(literal, data, 5), 0);
            assert_eq!(literals.behind(literal, &data[..end], 6), end);
            assert_eq!(literals.behind(literal, &data[..end - 1], 6), 0);
        }
    }
}
