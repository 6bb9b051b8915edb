//! Texts as codes: equal texts have equal codes, which count the texts in the order in which they came.

use super::bytes::Key;

/// A text that an event has, by its bytes in the file.
#[derive(Clone, Copy, Debug, Default)]
pub struct Text {
    pub start: usize,
    pub end: usize,
    pub hash: u64,
    pub form: Form,
}

impl Text {
    /// The same, its code known.
    pub fn with_code(self, code: u32) -> Text {
        Text {
            hash: u64::from(code),
            form: Form::Coded,
            ..self
        }
    }

    #[inline(always)]
    pub fn moved(self, by: usize) -> Text {
        Text {
            start: self.start + by,
            end: self.end + by,
            ..self
        }
    }

    pub fn counted_from(self, at: usize) -> Text {
        Text {
            start: self.start - at,
            end: self.end - at,
            ..self
        }
    }
}

/// What the bytes of a text are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Form {
    /// The text itself; also that of an event without one.
    #[default]
    Plain,
    /// The inside of a string with escapes.
    Escaped,
    /// An array or object.
    Nested,
    /// The args of a counter: an object that hardly comes twice.
    Args,
    /// A text whose code is known: it is in `hash`.
    Coded,
}

#[derive(Clone, Copy)]
struct Entry {
    start: usize,
    len: u32,
}

/// The texts of a trace. Code 0 is the empty text.
pub struct Texts {
    arena: Vec<u8>,
    entries: Vec<Entry>,
    table: Table,
    key: Key,
}

impl Texts {
    pub fn new(key: Key) -> Texts {
        let mut texts = Texts {
            arena: Vec::new(),
            entries: Vec::new(),
            table: Table::new(),
            key,
        };
        texts.code(b"");
        texts
    }

    pub fn code(&mut self, text: &[u8]) -> u32 {
        self.code_hashed(text, self.key.hash(text))
    }

    /// The code of a text whose hash is known.
    #[inline(always)]
    pub fn code_hashed(&mut self, text: &[u8], hash: u64) -> u32 {
        match self.table.find(hash, |code| self.get(code) == text) {
            Some(code) => code,
            None => self.add(text, hash),
        }
    }

    /// The code of a text that has one.
    #[inline(always)]
    pub fn find(&self, text: &[u8], hash: u64) -> Option<u32> {
        self.table.find(hash, |code| self.get(code) == text)
    }

    #[inline(never)]
    fn add(&mut self, text: &[u8], hash: u64) -> u32 {
        let code = self.entries.len() as u32;
        self.entries.push(Entry {
            start: self.arena.len(),
            len: text.len() as u32,
        });
        self.arena.extend_from_slice(text);
        self.table.add(hash, code);
        code
    }

    #[inline(always)]
    pub fn get(&self, code: u32) -> &[u8] {
        let entry = self.entries[code as usize];
        &self.arena[entry.start..entry.start + entry.len as usize]
    }

    pub fn len(&self) -> usize {
        self.entries.len()
    }

    pub fn is_empty(&self) -> bool {
        false
    }

    /// The texts from the code `first` on; that of the empty text is among them where the others are.
    pub fn behind(&self, first: usize) -> NewTexts {
        let entries = &self.entries[first..];
        let start = entries
            .first()
            .map_or(self.arena.len(), |entry| entry.start);
        NewTexts {
            first,
            arena: self.arena[start..].to_vec(),
            lens: entries.iter().map(|entry| entry.len).collect(),
        }
    }

    /// All texts, one behind the other.
    pub fn arena(&self) -> &[u8] {
        &self.arena
    }

    /// Where each text ends in `arena`.
    pub fn ends(&self) -> impl Iterator<Item = i64> + '_ {
        self.entries
            .iter()
            .map(|entry| (entry.start + entry.len as usize) as i64)
    }
}

/// Texts from a code on, apart from those that have them.
pub struct NewTexts {
    pub first: usize,
    arena: Vec<u8>,
    lens: Vec<u32>,
}

impl NewTexts {
    pub fn iter(&self) -> impl Iterator<Item = &[u8]> {
        let mut rest = &self.arena[..];
        self.lens.iter().map(move |&len| {
            let (text, others) = rest.split_at(len as usize);
            rest = others;
            text
        })
    }
}

/// What texts mean that are not what they stand for: escaped strings, nested values with white space.
pub struct Meanings {
    raw: Texts,
    meaning: Vec<u32>,
}

/// Bytes and entries after which everything is forgotten.
const MAX_RAW_BYTES: usize = 64 << 20;
const MAX_RAW_TEXTS: usize = 500_000;

impl Meanings {
    pub fn new(key: Key) -> Meanings {
        Meanings {
            raw: Texts::new(key),
            meaning: vec![0],
        }
    }

    #[inline(always)]
    pub fn find(&self, raw: &[u8], hash: u64) -> Option<u32> {
        let raw_code = self
            .raw
            .table
            .find(hash, |code| self.raw.get(code) == raw)?;
        Some(self.meaning[raw_code as usize])
    }

    /// Remembers a raw text that is not known yet.
    pub fn add(&mut self, raw: &[u8], hash: u64, code: u32) {
        if self.raw.arena.len() + raw.len() > MAX_RAW_BYTES || self.meaning.len() > MAX_RAW_TEXTS {
            *self = Meanings::new(self.raw.key);
        }
        self.raw.add(raw, hash);
        self.meaning.push(code);
    }
}

/// Hash → code. A slot holds the upper half of the hash, which also says where it lies, and the code plus one.
struct Table {
    slots: Vec<u64>,
    used: usize,
}

const UPPER: u64 = !0xffff_ffff;

impl Table {
    fn new() -> Table {
        Table {
            slots: vec![0; 1024],
            used: 0,
        }
    }

    #[inline(always)]
    fn find(&self, hash: u64, same: impl Fn(u32) -> bool) -> Option<u32> {
        let mask = self.slots.len() - 1;
        let mut at = (hash >> 32) as usize & mask;
        loop {
            let slot = self.slots[at & mask];
            if slot == 0 {
                return None;
            }
            if (slot ^ hash) & UPPER == 0 && same(slot as u32 - 1) {
                return Some(slot as u32 - 1);
            }
            at += 1;
        }
    }

    fn add(&mut self, hash: u64, code: u32) {
        if self.used * 2 >= self.slots.len() {
            let slots = vec![0; self.slots.len() * 2];
            for slot in std::mem::replace(&mut self.slots, slots) {
                if slot != 0 {
                    self.put(slot);
                }
            }
        }
        self.used += 1;
        self.put(hash & UPPER | u64::from(code + 1));
    }

    fn put(&mut self, slot: u64) {
        let mask = self.slots.len() - 1;
        let mut at = (slot >> 32) as usize & mask;
        while self.slots[at] != 0 {
            at = (at + 1) & mask;
        }
        self.slots[at] = slot;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_count_texts_in_the_order_in_which_they_come() {
        let mut texts = Texts::new(Key(5));
        assert_eq!(texts.code(b""), 0);
        for round in 0..2 {
            for number in 0..5000u32 {
                assert_eq!(
                    texts.code(format!("text {number}").as_bytes()),
                    number + 1,
                    "{round}"
                );
            }
        }
        assert_eq!(texts.len(), 5001);
        assert_eq!(texts.get(18), b"text 17");
        assert_eq!(texts.ends().last(), Some(texts.arena().len() as i64));
    }

    #[test]
    fn meanings_are_found_again_until_there_are_too_many() {
        let key = Key(5);
        let mut meanings = Meanings::new(key);
        let hash = key.hash(b"[1, 2]");
        assert_eq!(meanings.find(b"[1, 2]", hash), None);
        meanings.add(b"[1, 2]", hash, 7);
        assert_eq!(meanings.find(b"[1, 2]", hash), Some(7));
        let large = vec![b' '; MAX_RAW_BYTES];
        meanings.add(&large, key.hash(&large), 8);
        assert_eq!(meanings.find(b"[1, 2]", hash), None);
        assert_eq!(meanings.find(&large, key.hash(&large)), Some(8));
    }
}
