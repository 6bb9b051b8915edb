//! The bits of a deflate stream, and the codes they are in (RFC 1951, 3.1 and 3.2).

/// It is no deflate stream.
#[derive(Debug, PartialEq, Eq)]
pub struct Invalid;

/// Codes of up to so many bits are looked up at once.
const QUICK_BITS: usize = 10;
const MAX_BITS: usize = 15;

/// Bytes as bits, the lowest of each byte first.
pub struct Bits<'a> {
    data: &'a [u8],
    /// The next byte that is not in `buffer`.
    next: usize,
    buffer: u64,
    /// How many bits of `buffer` are sure to be there.
    count: usize,
}

impl<'a> Bits<'a> {
    /// `used`: less than 8 bits that are behind already.
    pub fn new(data: &'a [u8], used: usize) -> Self {
        let mut bits = Bits {
            data,
            next: 0,
            buffer: 0,
            count: 0,
        };
        if used > 0 {
            bits.buffer = u64::from(data.first().copied().unwrap_or(0)) >> used;
            bits.count = 8 - used;
            bits.next = 1;
        }
        bits
    }

    /// Makes at least 56 bits ready; false where the data has none to spare.
    #[inline(always)]
    pub fn refill(&mut self) -> bool {
        match self.data.get(self.next..self.next + 8) {
            Some(bytes) => {
                let mut word = [0; 8];
                word.copy_from_slice(bytes);
                self.buffer |= u64::from_le_bytes(word) << self.count;
                self.next += (63 - self.count) / 8;
                self.count |= 56;
                true
            }
            None => false,
        }
    }

    /// Bits that are ready.
    #[inline(always)]
    pub fn ready(&self) -> usize {
        self.count
    }

    /// The next `n` bits as a number; `n` are ready.
    #[inline(always)]
    pub fn take(&mut self, n: usize) -> u64 {
        let value = self.buffer & ((1 << n) - 1);
        self.pass(n);
        value
    }

    /// Passes over the next `n` bits; they are ready.
    #[inline(always)]
    pub fn pass(&mut self, n: usize) {
        self.buffer >>= n;
        self.count -= n;
    }

    /// What follows a code that the next bits begin with.
    #[inline(always)]
    pub fn extra(&self, entry: Entry) -> u64 {
        (self.buffer & ((1 << entry.all_bits()) - 1)) >> entry.code_bits()
    }

    /// Bits that are behind, from the first of the data.
    pub fn used(&self) -> usize {
        8 * self.next - self.count
    }

    /// Whole bytes that are not yet behind.
    pub fn bytes_left(&self) -> usize {
        self.data.len() - (self.used() + 7) / 8
    }

    /// Passes over the rest of a byte.
    pub fn align(&mut self) {
        self.pass(self.count % 8);
    }

    /// Passes over up to `n` bytes from the begin of one; how many there were.
    pub fn skip_bytes(&mut self, n: usize) -> usize {
        let skipped = n.min(self.bytes_left());
        self.next = self.used() / 8 + skipped;
        self.buffer = 0;
        self.count = 0;
        skipped
    }
}

/// What a code stands for: a value, and how many more bits of it follow.
#[derive(Clone, Copy)]
pub struct Meaning {
    pub base: u16,
    pub extra: u8,
}

/// A code with its meaning, as one number that is not 0.
#[derive(Clone, Copy)]
pub struct Entry(u32);

impl Entry {
    fn new(bits: usize, meaning: Meaning) -> Self {
        let all = bits as u32 + u32::from(meaning.extra);
        Entry(u32::from(meaning.base) << 16 | (bits as u32) << 8 | all)
    }

    #[inline(always)]
    pub fn base(self) -> u64 {
        u64::from(self.0 >> 16)
    }

    #[inline(always)]
    fn code_bits(self) -> u32 {
        self.0 >> 8 & 0xff
    }

    /// Bits of the code and of what follows it.
    #[inline(always)]
    pub fn all_bits(self) -> usize {
        (self.0 & 0xff) as usize
    }
}

/// A code by the lengths of its symbols.
pub struct Huffman {
    /// By the next bits; 0 where the code is longer than they are, and where there is none.
    quick: [u32; 1 << QUICK_BITS],
    /// How many symbols have a code of a length.
    count: [u16; MAX_BITS + 1],
    /// Entries in the order of their codes.
    entries: Vec<Entry>,
}

impl Huffman {
    /// `lengths` in bits, 0 where a symbol does not occur; at most 15.
    pub fn new(lengths: &[u8], meaning: impl Fn(usize) -> Meaning) -> Result<Self, Invalid> {
        let mut count = [0; MAX_BITS + 1];
        for &length in lengths {
            count[usize::from(length)] += 1;
        }
        count[0] = 0;
        let mut starts = [0; MAX_BITS + 1];
        let mut codes = [0; MAX_BITS + 1];
        for length in 1..=MAX_BITS {
            starts[length] = starts[length - 1] + usize::from(count[length - 1]);
            codes[length] = (codes[length - 1] + usize::from(count[length - 1])) << 1;
            if codes[length] + usize::from(count[length]) > 1 << length {
                return Err(Invalid);
            }
        }
        let mut quick = [0; 1 << QUICK_BITS];
        let mut entries = vec![Entry(0); lengths.len()];
        for (symbol, &length) in lengths.iter().enumerate().filter(|(_, &bits)| bits > 0) {
            let length = usize::from(length);
            let entry = Entry::new(length, meaning(symbol));
            entries[starts[length]] = entry;
            starts[length] += 1;
            if length <= QUICK_BITS {
                // A code has its highest bit first.
                let reversed = codes[length].reverse_bits() >> (usize::BITS as usize - length);
                for place in quick[reversed..].iter_mut().step_by(1 << length) {
                    *place = entry.0;
                }
            }
            codes[length] += 1;
        }
        Ok(Huffman {
            quick,
            count,
            entries,
        })
    }

    /// The code that the next bits begin with, where it is short; 15 bits are ready.
    #[inline(always)]
    pub fn look(&self, bits: &Bits) -> Option<Entry> {
        let entry = self.quick[bits.buffer as usize % (1 << QUICK_BITS)];
        (entry != 0).then_some(Entry(entry))
    }

    /// The code that the next bits begin with; 15 bits are ready.
    #[inline(always)]
    pub fn find(&self, bits: &Bits) -> Result<Entry, Invalid> {
        match self.look(bits) {
            Some(entry) => Ok(entry),
            None => self.find_long(bits),
        }
    }

    #[cold]
    fn find_long(&self, bits: &Bits) -> Result<Entry, Invalid> {
        let (mut code, mut first, mut index) = (0, 0, 0);
        for length in 1..=MAX_BITS {
            code = code << 1 | (bits.buffer >> (length - 1) & 1) as usize;
            first <<= 1;
            let count = usize::from(self.count[length]);
            if code < first + count {
                return Ok(self.entries[index + code - first]);
            }
            first += count;
            index += count;
        }
        Err(Invalid)
    }

    /// The value of the next code; 15 bits and those that follow it are ready.
    #[inline(always)]
    pub fn read(&self, bits: &mut Bits) -> Result<u64, Invalid> {
        let entry = self.find(bits)?;
        let value = entry.base() + bits.extra(entry);
        bits.pass(entry.all_bits());
        Ok(value)
    }
}

#[cfg(test)]
mod tests {
    use super::{Bits, Huffman, Invalid, Meaning};

    fn symbol(symbol: usize) -> Meaning {
        Meaning {
            base: symbol as u16,
            extra: 0,
        }
    }

    #[test]
    fn the_example_of_the_rfc() {
        // A to H have the codes 010 011 100 101 110 00 1110 1111.
        let code = Huffman::new(&[3, 3, 3, 3, 3, 2, 4, 4], symbol).unwrap();
        let data = [0b1110_0010, 0b0000_1111, 0, 0, 0, 0, 0, 0, 0]; // 010 00 1111 1110
        let mut bits = Bits::new(&data, 0);
        assert!(bits.refill());
        let symbols: Vec<u64> = (0..4).map(|_| code.read(&mut bits).unwrap()).collect();
        assert_eq!(symbols, [0, 5, 7, 6]);
    }

    #[test]
    fn a_code_longer_than_the_quick_ones() {
        let lengths: Vec<u8> = (1..=15).chain([15]).collect();
        let code = Huffman::new(&lengths, symbol).unwrap();
        let data = [0xff, 0x7f, 0, 0, 0, 0, 0, 0, 0, 0, 0];
        let mut bits = Bits::new(&data, 0);
        assert!(bits.refill());
        assert_eq!(code.read(&mut bits), Ok(15));
        assert_eq!(code.read(&mut bits), Ok(0));
        assert_eq!(bits.used(), 16);
    }

    #[test]
    fn more_codes_than_there_is_room_for() {
        assert!(matches!(Huffman::new(&[1, 1, 1], symbol), Err(Invalid)));
        assert!(Huffman::new(&[1], symbol).is_ok());
    }
}
