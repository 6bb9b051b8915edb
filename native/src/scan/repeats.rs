//! Which values stand behind the same text again and again, and what they add to an event.

use super::bytes::Key;
use super::texts::Text;

/// What a value adds to its event. Places of texts count from where the value begins.
#[derive(Clone, Copy, Debug)]
pub enum Held {
    Phase(u8),
    Category(Text),
    Name(Text),
    Pid(Text),
    Tid(Text),
    Ts(i64),
    Dur(i64),
    Int(u8, i64),
    Float(u8, f64),
    Text(u8, Text),
    /// Here `args` open, or behind this they close.
    Opens,
    Closes,
}

/// One step of an event: from `start` along a branch to the value from `at` to `end`, which is none behind the last one.
#[derive(Clone, Copy, Debug)]
pub struct Step {
    pub node: u32,
    pub branch: u32,
    pub start: usize,
    pub at: usize,
    pub end: usize,
    pub held: Option<Held>,
}

const SLOTS: usize = 4096;
/// Longer values seldom repeat.
const MAX_LEN: usize = 100;
/// A value repeats when it was there so often, and each so many times.
const MIN_COUNT: u32 = 8;
const SHARE: u32 = 4;

/// Counts of values by the branch that leads to them. A count is too low where there are more values than room.
pub struct Repeats {
    key: Key,
    /// Hash of a value and its branch, and how often it was there.
    counts: Vec<(u64, u32)>,
    /// How many values there were, by branch.
    all: Vec<u32>,
}

impl Repeats {
    pub fn new(key: Key) -> Repeats {
        Repeats {
            key,
            counts: vec![(0, 0); SLOTS],
            all: Vec::new(),
        }
    }

    pub fn forget(&mut self) {
        self.counts.fill((0, 0));
        self.all.clear();
    }

    /// Counts `value`, to which the branch leads; whether it repeats.
    pub fn count(&mut self, branch: u32, value: &[u8]) -> bool {
        let number = branch as usize;
        if self.all.len() <= number {
            self.all.resize(number + 1, 0);
        }
        self.all[number] += 1;
        if value.len() > MAX_LEN {
            return false;
        }
        let hash = Key(self.key.0 ^ u64::from(branch)).hash(value);
        let slot = &mut self.counts[hash as usize % SLOTS];
        if slot.0 != hash {
            // Of values that share a slot the one that comes more often stays.
            if slot.1 > 0 {
                slot.1 -= 1;
                return false;
            }
            *slot = (hash, 0);
        }
        slot.1 += 1;
        slot.1 >= MIN_COUNT && slot.1 >= self.all[number] / SHARE
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_repeats_when_it_comes_often_behind_the_same_text() {
        let mut repeats = Repeats::new(Key(3));
        let counted = |repeats: &mut Repeats, branch: u32, value: &str, times: u32| {
            (0..times).fold(false, |_, _| repeats.count(branch, value.as_bytes()))
        };
        assert!(!counted(&mut repeats, 1, "0", MIN_COUNT - 1));
        assert!(counted(&mut repeats, 1, "0", 1));
        assert!(!counted(&mut repeats, 2, "0", 1));
        assert!(counted(&mut repeats, 1, "\"cpu_op\"", MIN_COUNT));
        // 16 values of one branch, and five times as many others.
        for number in 0..80 {
            assert!(!counted(&mut repeats, 1, &number.to_string(), 1) || number == 0);
        }
        assert!(!counted(&mut repeats, 1, "0", 1));
        assert!(!counted(&mut repeats, 3, &"long".repeat(MAX_LEN), 100));
        repeats.forget();
        assert!(!counted(&mut repeats, 1, "0", 1));
    }

    #[test]
    fn many_values_take_no_more_room() {
        let mut repeats = Repeats::new(Key(3));
        for number in 0..100_000u32 {
            repeats.count(0, &number.to_le_bytes());
        }
        assert_eq!(repeats.counts.len(), SLOTS);
    }
}
