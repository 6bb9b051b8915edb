//! Where the blocks of a deflate stream begin, and how much text is before them, without inflating.
//!
//! A stream can be entered at the begin of a block by who knows the 32 KB of text before it. Codes
//! are read (RFC 1951) and lengths are added up; what is copied from where is of no interest here.

use crate::deflate_codes::{Bits, Huffman, Invalid, Meaning};

/// No header of a block is longer, with what `refill` wants behind it.
const HEADER_BYTES: usize = 580;
/// No literal, and no pair of length and distance, has more bits.
const PAIR_BITS: usize = 48;

/// What stands for the end of a block, and for a byte; all others are lengths of copies.
const END: u16 = 0;
const BYTE: u16 = 1;
const MOST: u64 = 258;
/// No symbol of a stream means this.
const NOTHING: Meaning = Meaning {
    base: u16::MAX,
    extra: 0,
};
/// Lengths of the symbols from 257 on.
const LENGTHS: [Meaning; 29] = {
    let mut table = [NOTHING; 29];
    let (mut symbol, mut base) = (0, 3);
    while symbol < 28 {
        let extra = if symbol < 8 { 0 } else { symbol / 4 - 1 };
        table[symbol] = Meaning {
            base,
            extra: extra as u8,
        };
        base += 1 << extra;
        symbol += 1;
    }
    table[28] = Meaning {
        base: 258,
        extra: 0,
    };
    table
};
const CODE_LENGTH_ORDER: [usize; 19] = [
    16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15,
];

/// The begin of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Boundary {
    /// Its first bit in the file.
    pub bit: u64,
    /// Bytes of text before it.
    pub text: u64,
}

/// Walks over the members of a file as their bytes come in.
pub struct Walker {
    span: u64,
    next: u64,
    text: u64,
    /// Bytes that are not yet behind, up to `used` bits.
    input: Vec<u8>,
    used: usize,
    /// Of `input` in the file, in bits.
    place: u64,
    at: At,
}

enum At {
    Header,
    Stored { left: usize, last: bool },
    Codes { codes: Box<Codes>, last: bool },
    End,
}

struct Codes {
    lengths: Huffman,
    distances: Huffman,
}

impl Codes {
    fn new(lengths: &[u8], distances: &[u8]) -> Result<Self, Invalid> {
        let length = |symbol| match symbol {
            0..=255 => Meaning {
                base: BYTE,
                extra: 0,
            },
            256 => Meaning {
                base: END,
                extra: 0,
            },
            _ => LENGTHS.get(symbol - 257).copied().unwrap_or(NOTHING),
        };
        // Only the bits of distances are of interest.
        let distance = |symbol| match symbol {
            0..=29 => Meaning {
                base: 0,
                extra: (symbol as u8 / 2).saturating_sub(1),
            },
            _ => NOTHING,
        };
        Ok(Codes {
            lengths: Huffman::new(lengths, length)?,
            distances: Huffman::new(distances, distance)?,
        })
    }
}

impl Walker {
    /// In every `span` bytes of text one boundary is kept.
    pub fn new(span: u64) -> Self {
        Walker {
            span,
            next: span,
            text: 0,
            input: Vec::new(),
            used: 0,
            place: 0,
            at: At::End,
        }
    }

    /// The deflate stream of a member begins: at which bit of the file, and behind how much text.
    pub fn member(&mut self, bit: u64, text: u64) {
        self.text = text;
        self.input.clear();
        self.used = 0;
        self.place = bit;
        self.at = At::Header;
    }

    /// Walks on over the next bytes of the member. The last of them wait for those behind them;
    /// what follows the stream is passed over.
    pub fn feed(&mut self, data: &[u8], found: impl FnMut(Boundary)) -> Result<(), Invalid> {
        if matches!(self.at, At::End) {
            return Ok(());
        }
        let whole = self.used / 8;
        self.input.drain(..whole);
        self.input.extend_from_slice(data);
        self.place += 8 * whole as u64;
        let input = std::mem::take(&mut self.input);
        let mut bits = Bits::new(&input, self.used % 8);
        let walked = self.walk(&mut bits, found);
        self.used = bits.used();
        self.input = input;
        walked
    }

    fn walk(&mut self, bits: &mut Bits, mut found: impl FnMut(Boundary)) -> Result<(), Invalid> {
        loop {
            let last = match &mut self.at {
                At::End => return Ok(()),
                At::Header => {
                    if bits.bytes_left() < HEADER_BYTES {
                        return Ok(());
                    }
                    if self.text >= self.next {
                        self.next = self.text + self.span;
                        found(Boundary {
                            bit: self.place + bits.used() as u64,
                            text: self.text,
                        });
                    }
                    self.at = header(bits)?;
                    continue;
                }
                At::Stored { left, last } => {
                    let bytes = bits.skip_bytes(*left);
                    self.text += bytes as u64;
                    *left -= bytes;
                    if *left > 0 {
                        return Ok(());
                    }
                    *last
                }
                At::Codes { codes, last } => {
                    if !pass_codes(codes, bits, &mut self.text)? {
                        return Ok(());
                    }
                    *last
                }
            };
            self.at = if last { At::End } else { At::Header };
        }
    }
}

/// Reads the header of a block.
fn header(bits: &mut Bits) -> Result<At, Invalid> {
    bits.refill();
    let last = bits.take(1) == 1;
    match bits.take(2) {
        0 => {
            bits.align();
            bits.refill();
            let left = bits.take(16) as usize;
            if bits.take(16) as usize != left ^ 0xffff {
                return Err(Invalid);
            }
            Ok(At::Stored { left, last })
        }
        1 => {
            let mut lengths = [8; 288];
            lengths[144..256].fill(9);
            lengths[256..280].fill(7);
            let codes = Box::new(Codes::new(&lengths, &[5; 32])?);
            Ok(At::Codes { codes, last })
        }
        2 => {
            let codes = Box::new(read_codes(bits)?);
            Ok(At::Codes { codes, last })
        }
        _ => Err(Invalid),
    }
}

/// Reads the codes at the begin of a block that has its own (3.2.7).
fn read_codes(bits: &mut Bits) -> Result<Codes, Invalid> {
    let length_count = bits.take(5) as usize + 257;
    let distance_count = bits.take(5) as usize + 1;
    let code_count = bits.take(4) as usize + 4;
    let mut code_lengths = [0; 19];
    for &symbol in &CODE_LENGTH_ORDER[..code_count] {
        bits.refill();
        code_lengths[symbol] = bits.take(3) as u8;
    }
    let itself = |symbol| Meaning {
        base: symbol as u16,
        extra: 0,
    };
    let code = Huffman::new(&code_lengths, itself)?;
    let mut lengths = [0; 286 + 32 + 2];
    let wanted = length_count + distance_count;
    let mut have = 0;
    while have < wanted {
        bits.refill();
        let (length, times) = match code.read(bits)? {
            symbol @ 0..=15 => (symbol as u8, 1),
            16 => {
                let before = have.checked_sub(1).ok_or(Invalid)?;
                (lengths[before], 3 + bits.take(2) as usize)
            }
            17 => (0, 3 + bits.take(3) as usize),
            _ => (0, 11 + bits.take(7) as usize),
        };
        if have + times > wanted {
            return Err(Invalid);
        }
        lengths[have..have + times].fill(length);
        have += times;
    }
    Codes::new(&lengths[..length_count], &lengths[length_count..wanted])
}

/// Passes over codes to the end of a block; false: it needs more bytes first.
fn pass_codes(codes: &Codes, bits: &mut Bits, text: &mut u64) -> Result<bool, Invalid> {
    while bits.ready() >= PAIR_BITS || bits.refill() {
        let entry = codes.lengths.find(bits)?;
        let length = entry.base();
        if length == u64::from(END) {
            bits.pass(entry.all_bits());
            return Ok(true);
        }
        *text += length + bits.extra(entry);
        bits.pass(entry.all_bits());
        // Bytes and copies follow one another as nobody can foresee: so both are treated as copies,
        // and what would be the distance is passed over or not.
        let is_copy = length > u64::from(BYTE);
        let distance = match codes.distances.look(bits) {
            Some(entry) => entry,
            None if is_copy => codes.distances.find(bits)?,
            None => continue,
        };
        if is_copy && (length > MOST || distance.base() > 0) {
            return Err(Invalid);
        }
        bits.pass(if is_copy { distance.all_bits() } else { 0 });
    }
    Ok(false)
}

#[cfg(test)]
mod tests {
    use super::{Boundary, Walker, LENGTHS};
    use crate::deflate_codes::Invalid;

    /// Stored blocks of one byte each, and one more that is the last.
    fn stored(count: usize) -> Vec<u8> {
        let block = |last: u8| [last, 1, 0, 0xfe, 0xff, b'x'];
        let mut data: Vec<u8> = (0..count).flat_map(|_| block(0)).collect();
        data.extend(block(1));
        data.extend([0; 600]); // what follows the stream
        data
    }

    fn walk(data: &[u8], piece: usize, span: u64) -> Result<Vec<Boundary>, Invalid> {
        let mut walker = Walker::new(span);
        let mut found = Vec::new();
        walker.member(80, 0);
        for part in data.chunks(piece) {
            walker.feed(part, |boundary| found.push(boundary))?;
        }
        Ok(found)
    }

    #[test]
    fn one_boundary_is_kept_per_span() {
        let expected: Vec<Boundary> = (1..=4)
            .map(|n| Boundary {
                bit: 80 + n * 25 * 48,
                text: n * 25,
            })
            .collect();
        for piece in [1, 7, 64, 100_000] {
            assert_eq!(walk(&stored(100), piece, 25), Ok(expected.clone()));
        }
    }

    #[test]
    fn what_is_no_deflate_stream() {
        assert_eq!(walk(&[0x07; 1000], 1000, 1), Err(Invalid));
        assert_eq!(walk(&[0x00; 1000], 1000, 1), Err(Invalid));
    }

    #[test]
    fn the_lengths_of_the_rfc() {
        let lengths = [0, 8, 27, 28].map(|at| (LENGTHS[at].base, LENGTHS[at].extra));
        assert_eq!(lengths, [(3, 0), (11, 1), (227, 5), (258, 0)]);
    }
}
