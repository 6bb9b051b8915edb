//! Which argument goes to which column, as `raw.py` says.

use super::bytes::Key;

/// What an argument becomes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Int,
    Float,
    Text,
}

/// The column of an argument; columns are numbered from the integers over the floats to the texts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    pub kind: Kind,
    pub column: u8,
}

/// How many columns there are of each kind. The first integer column holds the ids of flows, the first text column
/// those that are no integers, the last text column the args of counters.
#[derive(Clone, Copy, Debug)]
pub struct Widths {
    pub ints: usize,
    pub floats: usize,
    pub texts: usize,
}

/// Which columns an event has, a bit each.
pub type ColumnSet = u128;
pub const MAX_COLUMNS: usize = ColumnSet::BITS as usize;

impl Widths {
    pub fn all(&self) -> usize {
        self.ints + self.floats + self.texts
    }

    pub fn id_int(&self) -> u8 {
        0
    }

    pub fn id_text(&self) -> u8 {
        (self.ints + self.floats) as u8
    }

    pub fn counter_args(&self) -> u8 {
        (self.all() - 1) as u8
    }

    pub fn kind(&self, column: usize) -> Kind {
        if column < self.ints {
            Kind::Int
        } else if column < self.ints + self.floats {
            Kind::Float
        } else {
            Kind::Text
        }
    }
}

const SLOTS: usize = 512;

/// Keys of args by hash; all others are nobody's.
pub struct Keys {
    slots: Vec<Option<(u64, Vec<u8>, Place)>>,
}

impl Keys {
    /// `table` has one line per key: the number of its column, a tab, the key.
    pub fn new(table: &[u8], widths: Widths, key: Key) -> Option<Keys> {
        let mut keys = Keys {
            slots: vec![None; SLOTS],
        };
        let lines = table
            .split(|&byte| byte == b'\n')
            .filter(|line| !line.is_empty());
        for (count, line) in lines.enumerate() {
            let tab = line.iter().position(|&byte| byte == b'\t')?;
            let column: usize = std::str::from_utf8(&line[..tab]).ok()?.parse().ok()?;
            if column >= widths.all() || count >= SLOTS / 2 {
                return None;
            }
            let text = line[tab + 1..].to_vec();
            let hash = key.hash(&text);
            let mut slot = hash as usize % SLOTS;
            while keys.slots[slot].is_some() {
                slot = (slot + 1) % SLOTS;
            }
            let place = Place {
                kind: widths.kind(column),
                column: column as u8,
            };
            keys.slots[slot] = Some((hash, text, place));
        }
        Some(keys)
    }

    #[inline(always)]
    pub fn find(&self, text: &[u8], hash: u64) -> Option<Place> {
        let mut slot = hash as usize % SLOTS;
        while let Some((known, key, place)) = &self.slots[slot] {
            if *known == hash && key == text {
                return Some(*place);
            }
            slot = (slot + 1) % SLOTS;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_has_its_column() {
        let key = Key(3);
        let widths = Widths {
            ints: 2,
            floats: 1,
            texts: 2,
        };
        let keys = Keys::new(
            b"1\tExternal id\n1\texternal id\n2\tblocks per SM\n4\tgrid\n",
            widths,
            key,
        )
        .unwrap();
        let find = |text: &str| keys.find(text.as_bytes(), key.hash(text.as_bytes()));
        assert_eq!(
            find("external id"),
            Some(Place {
                kind: Kind::Int,
                column: 1
            })
        );
        assert_eq!(
            find("blocks per SM"),
            Some(Place {
                kind: Kind::Float,
                column: 2
            })
        );
        assert_eq!(
            find("grid"),
            Some(Place {
                kind: Kind::Text,
                column: 4
            })
        );
        assert_eq!(find("Ev Idx"), None);
        assert!(Keys::new(b"5\tgrid\n", widths, key).is_none());
    }
}
