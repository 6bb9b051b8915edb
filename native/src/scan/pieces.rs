//! The text in memory: pieces, one behind the other, as they were inflated.

use std::ops::Range;

use super::bytes::{blanks, byte};

/// Places count from the beginning of the first piece.
pub struct Pieces<'a> {
    pieces: Vec<&'a [u8]>,
    /// Where each piece begins, then where the last one ends.
    starts: Vec<usize>,
}

impl<'a> Pieces<'a> {
    pub fn new(pieces: Vec<&'a [u8]>) -> Pieces<'a> {
        let mut starts = vec![0];
        for piece in &pieces {
            starts.push(starts[starts.len() - 1] + piece.len());
        }
        Pieces { pieces, starts }
    }

    pub fn len(&self) -> usize {
        self.starts[self.pieces.len()]
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The bytes of `range`, as far as there are any; in `joined` where they are of several pieces.
    pub fn view<'b>(&'b self, range: Range<usize>, joined: &'b mut Vec<u8>) -> &'b [u8] {
        let range = range.start..range.end.min(self.len());
        let first = self.rest(range.start);
        if range.len() <= first.len() {
            return &first[..range.len()];
        }
        joined.clear();
        while joined.len() < range.len() {
            let rest = self.rest(range.start + joined.len());
            let left = range.len() - joined.len();
            joined.extend_from_slice(&rest[..left.min(rest.len())]);
        }
        joined
    }

    /// The place of the next event: behind white space, and behind a comma in it.
    pub fn behind_comma(&self, at: usize) -> usize {
        let at = self.blanks(at);
        if byte(self.rest(at), 0) == b',' {
            return self.blanks(at + 1);
        }
        at
    }

    /// Behind the white space at `at`.
    pub fn blanks(&self, mut at: usize) -> usize {
        loop {
            let rest = self.rest(at);
            let skipped = blanks(rest, 0);
            at += skipped;
            if skipped < rest.len() || rest.is_empty() {
                return at;
            }
        }
    }

    /// Where the piece ends in which `at` lies.
    pub fn end_of_piece(&self, at: usize) -> usize {
        at + self.rest(at).len()
    }

    /// The bytes from `at` on of the piece in which it lies; none at the end.
    fn rest(&self, at: usize) -> &'a [u8] {
        match self.starts[1..].iter().position(|&end| at < end) {
            Some(piece) => &self.pieces[piece][at - self.starts[piece]..],
            None => &[],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_are_as_one_text() {
        let text = b"{} ,  {\n}  \t ,{}   ";
        let whole = Pieces::new(vec![text]);
        for first in 0..=text.len() {
            for second in first..=text.len() {
                let (one, rest) = text.split_at(first);
                let (two, three) = rest.split_at(second - first);
                let pieces = Pieces::new(vec![one, two, three]);
                assert_eq!(pieces.len(), text.len());
                let mut joined = Vec::new();
                for at in 0..=text.len() {
                    assert_eq!(pieces.blanks(at), whole.blanks(at));
                    assert_eq!(pieces.behind_comma(at), whole.behind_comma(at));
                    let ends = [first, second, text.len()];
                    let end = ends.into_iter().find(|&end| at < end);
                    assert_eq!(pieces.end_of_piece(at), end.unwrap_or(at));
                    for end in at..text.len() + 3 {
                        let expected = &text[at..end.min(text.len())];
                        assert_eq!(pieces.view(at..end, &mut joined), expected);
                    }
                }
            }
        }
        assert_eq!(whole.behind_comma(2), 6);
        assert_eq!(whole.behind_comma(9), 14);
        assert!(Pieces::new(Vec::new()).is_empty());
    }

    #[test]
    fn what_lies_in_one_piece_is_not_copied() {
        let mut joined = Vec::new();
        let pieces = Pieces::new(vec![b"abc", b"def"]);
        assert_eq!(pieces.view(3..6, &mut joined), b"def");
        assert_eq!(pieces.view(0..3, &mut joined), b"abc");
        assert!(joined.is_empty());
        assert_eq!(pieces.view(2..4, &mut joined), b"cd");
        assert_eq!(joined, b"cd");
    }
}
