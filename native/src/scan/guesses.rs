//! Where do blocks of events probably begin? Events of one recorder begin alike.

use super::bytes::{blanks, byte};
use super::pieces::Pieces;

/// So far behind the least place of a block its first event is looked for.
const REACH: usize = 64 << 10;
/// So far before an event the comma is looked for.
const BACK: usize = 1 << 10;
/// How often guesses were wrong of late, and how long it is not guessed therefore.
#[derive(Default)]
pub struct Trust {
    pub pause: u32,
    left: u32,
}

const MAX_PAUSE: u32 = 64;
/// Where blocks behind the one at `start` probably begin, before `stop`.
pub fn guesses(text: &Pieces, start: usize, block_bytes: usize, stop: usize) -> Vec<usize> {
    let mut joined = Vec::new();
    let mut found = Vec::new();
    let head = match head(text.view(start..start.saturating_add(BACK), &mut joined)) {
        Some(head) => head.to_vec(),
        None => return found,
    };
    let mut at = start;
    while let Some(next) = event_behind(text, at.saturating_add(block_bytes), &head, &mut joined) {
        if next >= stop {
            break;
        }
        found.push(next);
        at = next;
    }
    found
}

/// How the event begins: its bracket and first key.
fn head(event: &[u8]) -> Option<&[u8]> {
    let key = blanks(event, 1);
    if byte(event, 0) != b'{' || byte(event, key) != b'"' {
        return None;
    }
    let rest = &event[key + 1..event.len().min(key + 64)];
    let len = rest.iter().position(|&byte| byte == b'"')?;
    Some(&event[..key + 1 + len + 1])
}

/// The first place from `from` on where an event seems to begin.
fn event_behind(text: &Pieces, from: usize, head: &[u8], joined: &mut Vec<u8>) -> Option<usize> {
    let first = from.min(text.len()).saturating_sub(BACK);
    let view = text.view(first..from.saturating_add(REACH), joined);
    let mut at = from - first;
    loop {
        at += view.get(at..)?.iter().position(|&byte| byte == b'{')?;
        if view[at..].starts_with(head) && before(view, at) == b',' {
            return Some(first + at);
        }
        at += 1;
    }
}

/// The last byte before `at` that is no white space.
fn before(data: &[u8], at: usize) -> u8 {
    let blank = |byte: &&u8| !matches!(byte, b' ' | b'\t' | b'\r' | b'\n');
    data[..at].iter().rev().find(blank).copied().unwrap_or(0)
}

impl Trust {
    pub fn may_guess(&mut self) -> bool {
        let may = self.left == 0;
        self.left = self.left.saturating_sub(1);
        may
    }

    pub fn note(&mut self, right: bool) {
        self.pause = if right {
            0
        } else {
            MAX_PAUSE.min(2 * self.pause + 1)
        };
        self.left = self.pause;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_that_begin_alike_are_found_behind_each_block() {
        let event = r#"{"ph": "X", "name": "{\"ph\": "}, "#;
        let data = event.repeat(40).into_bytes();
        for bytes in [7, 100, data.len()] {
            let text = Pieces::new(data.chunks(bytes).collect());
            let found = guesses(&text, 0, 100, data.len() - 200);
            let behind = 100 / event.len() + 1;
            let expected: Vec<usize> = (1..)
                .map(|block| block * behind * event.len())
                .take_while(|&at| at < data.len() - 200)
                .collect();
            assert_eq!(found, expected);
        }
        assert_eq!(guesses(&Pieces::new(vec![b"[1, 2]"]), 0, 1, 6), []);
    }

    #[test]
    fn who_guesses_wrongly_pauses() {
        let mut trust = Trust::default();
        let mut guessed = Vec::new();
        for call in 0..20 {
            if trust.may_guess() {
                guessed.push(call);
                trust.note(false);
            }
        }
        assert_eq!(guessed, [0, 2, 6, 14]);
        trust.note(true);
        assert!(trust.may_guess());
    }
}
