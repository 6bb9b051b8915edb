//! Where blocks of a deflate stream begin, found in its middle (RFC 1951, 3.2).
//!
//! A stream can be entered at the begin of a block by who knows the 32 KB of text before it. What a block begins
//! with is seldom found elsewhere: its codes use up all bits there are, or it tells its length twice. Who asks
//! inflates from there, and so sees whether a block really begins.

use crate::scan::bytes::word;

/// Bits before the lengths of the codes: last, kind, three counts.
const COUNTS_BITS: usize = 17;
/// Of a word from any bit on, so many are sure to be there.
const SURE_BITS: usize = 57;
/// Places looked at together: the bits of the word behind each that are asked for.
const TOGETHER: usize = 40;
/// Codes of code lengths have up to 7 bits, others up to 15.
const LENGTH_BITS: usize = 7;
const MOST_BITS: usize = 15;
const END_OF_BLOCK: usize = 256;
const CODE_LENGTH_ORDER: [usize; 19] = [
    16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15,
];
/// Where each symbol stands in `CODE_LENGTH_ORDER`.
const PLACE_OF_LENGTH: [usize; 19] = {
    let mut places = [0; 19];
    let mut place = 0;
    while place < places.len() {
        places[CODE_LENGTH_ORDER[place]] = place;
        place += 1;
    }
    places
};
/// What part of all codes of 7 bits four lengths of 3 bits each take up together.
const SHARE_OF_FOUR: [u16; 4096] = {
    let mut shares = [0; 4096];
    let mut lengths = 0;
    while lengths < 4096 {
        let mut left = lengths;
        while left > 0 {
            if left % 8 > 0 {
                shares[lengths] += 1 << (LENGTH_BITS - left % 8);
            }
            left /= 8;
        }
        lengths += 1;
    }
    shares
};

/// The first bit of `data`, from its beginning on, at which a block seems to begin, with its first bytes all there.
///
/// The last block of a stream is not found, nor one with fixed codes.
pub fn first_block(data: &[u8]) -> Option<usize> {
    (0..8 * data.len()).step_by(TOGETHER).find_map(|first| {
        let bits = word(data, first / 8);
        // Not the last one, codes of its own, and no more codes than there may be.
        let many_lengths = (bits >> 4) & (bits >> 5) & (bits >> 6) & (bits >> 7);
        let many_distances = (bits >> 9) & (bits >> 10) & (bits >> 11) & (bits >> 12);
        let mut places = !bits & !(bits >> 1) & (bits >> 2) & !many_lengths & !many_distances;
        places &= (1 << TOGETHER) - 1;
        while places != 0 {
            let at = first + places.trailing_zeros() as usize;
            if has_codes(data, at) {
                return Some(at);
            }
            places &= places - 1;
        }
        (first..first + TOGETHER)
            .step_by(8)
            .find(|at| is_stored(data, at / 8))
    })
}

/// Whether a block of bytes as they are begins at byte `at`, as behind another one or where the stream was flushed.
fn is_stored(data: &[u8], at: usize) -> bool {
    let head = word(data, at);
    let length = head >> 8 & 0xffff;
    let again = head >> 24 & 0xffff;
    head & 0xff == 0 && length > 0 && length ^ again == 0xffff && at + 5 <= data.len()
}

/// The bits from `at` on, at least 57; zeros behind the end.
fn bits(data: &[u8], at: usize) -> u64 {
    word(data, at / 8) >> (at % 8)
}

/// Whether codes are described at `at` of which none is left over.
fn has_codes(data: &[u8], at: usize) -> bool {
    let counts = bits(data, at + 3);
    let literals = (counts & 31) as usize + 257;
    let distances = (counts >> 5 & 31) as usize + 1;
    let count = (counts >> 10 & 15) as usize + 4;
    debug_assert!(3 * CODE_LENGTH_ORDER.len() <= SURE_BITS);
    let packed = bits(data, at + COUNTS_BITS) & ((1 << (3 * count)) - 1);
    let share: u16 = (0..CODE_LENGTH_ORDER.len())
        .step_by(4)
        .map(|first| SHARE_OF_FOUR[(packed >> (3 * first)) as usize % 4096])
        .sum();
    let lengths = at + COUNTS_BITS + 3 * count;
    share == 1 << LENGTH_BITS
        && code_lengths(data, lengths, packed, literals + distances).map_or(false, |found| {
            let (literals, others) = found.split_at(literals);
            let distances = &others[..distances];
            literals[END_OF_BLOCK] > 0
                && all_used(literals)
                && (all_used(distances) || at_most_one(distances))
        })
}

/// The lengths of `count` codes from bit `at` on, in a code that `packed` describes.
fn code_lengths(data: &[u8], mut at: usize, packed: u64, count: usize) -> Option<[u8; 320]> {
    let code = length_code(packed);
    let mut lengths = [0; 320];
    let mut have = 0;
    while have < count {
        let next = bits(data, at);
        let (symbol, size) = code[next as usize % (1 << LENGTH_BITS)];
        let extra = next >> size;
        let (length, times, extra_bits) = match symbol {
            16 => (*lengths.get(have.checked_sub(1)?)?, 3 + (extra & 3), 2),
            17 => (0, 3 + (extra & 7), 3),
            18 => (0, 11 + (extra & 127), 7),
            _ => (symbol, 1, 0),
        };
        let end = have + times as usize;
        if end > count {
            return None;
        }
        lengths[have..end].fill(length);
        have = end;
        at += size as usize + extra_bits;
    }
    (at <= 8 * data.len()).then_some(lengths)
}

/// Symbol and bits of the code of code lengths, by the next 7 bits; it uses up all of them.
fn length_code(packed: u64) -> [(u8, u8); 1 << LENGTH_BITS] {
    let size_of = |place: usize| (packed >> (3 * place)) as usize % 8;
    let mut counts = [0; LENGTH_BITS + 1];
    for place in 0..CODE_LENGTH_ORDER.len() {
        counts[size_of(place)] += 1;
    }
    counts[0] = 0;
    // Shorter codes go before longer ones, and those of one size in the order of their symbols.
    let mut next = [0usize; LENGTH_BITS + 1];
    for size in 1..=LENGTH_BITS {
        next[size] = (next[size - 1] + counts[size - 1]) << 1;
    }
    let mut table = [(0, 0); 1 << LENGTH_BITS];
    for (symbol, &place) in PLACE_OF_LENGTH.iter().enumerate() {
        let size = size_of(place);
        if size == 0 {
            continue;
        }
        // A code has its highest bit first.
        let first = next[size].reverse_bits() >> (usize::BITS as usize - size);
        next[size] += 1;
        for entry in table[first..].iter_mut().step_by(1 << size) {
            *entry = (symbol as u8, size as u8);
        }
    }
    table
}

/// Whether codes of these lengths use up all bits.
fn all_used(lengths: &[u8]) -> bool {
    let used = |&length: &u8| 1u32 << MOST_BITS >> length;
    let lengths = lengths.iter().filter(|&&length| length > 0);
    lengths.map(used).sum::<u32>() == 1 << MOST_BITS
}

/// Where there is but one distance, or none, its code has a bit that is not needed.
fn at_most_one(lengths: &[u8]) -> bool {
    let mut others = lengths.iter().filter(|&&length| length > 0);
    matches!((others.next(), others.next()), (None | Some(1), None))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bits one after the other, each value from its lowest one on.
    struct Bits(Vec<bool>);

    impl Bits {
        fn put(mut self, value: u64, count: usize) -> Bits {
            self.0.extend((0..count).map(|bit| value >> bit & 1 == 1));
            self
        }

        fn bytes(&self) -> Vec<u8> {
            let byte = |bits: &[bool]| {
                let bits = bits.iter().enumerate();
                bits.map(|(place, &bit)| u8::from(bit) << place).sum()
            };
            self.0.chunks(8).map(byte).collect()
        }
    }

    /// A block in which two texts and the end have codes of 1, 2 and 2 bits, and one distance one of `distance` bits.
    fn block(before: usize, last: u64, end: u64, distance: u64) -> Bits {
        let counts = Bits(vec![true; before]) // no header in it
            .put(last, 1)
            .put(2, 2)
            .put(0, 5)
            .put(0, 5)
            .put(14, 4);
        // Lengths 0 (for runs of 18), 1, 2 and 18 itself have codes of 2 bits.
        let lengths = CODE_LENGTH_ORDER[..18].iter().fold(counts, |bits, symbol| {
            bits.put(if [0, 1, 2, 18].contains(symbol) { 2 } else { 0 }, 3)
        });
        // Codes 00, 01, 10 and 11, their highest bit first.
        let [one, two, run] = [0b10, 0b01, 0b11];
        lengths
            .put(run, 2)
            .put(97 - 11, 7)
            .put(one, 2)
            .put(two, 2)
            .put(run, 2)
            .put(138 - 11, 7)
            .put(run, 2)
            .put(19 - 11, 7)
            .put(end, 2)
            .put(distance, 2)
            .put(u64::MAX, 64)
    }

    #[test]
    fn a_block_is_found_at_any_bit() {
        for before in 0..200 {
            let data = block(before, 0, 0b01, 0b10).bytes();
            assert_eq!(first_block(&data), Some(before));
        }
    }

    #[test]
    fn what_is_no_begin_of_a_block() {
        let found = |bits: Bits| first_block(&bits.bytes());
        assert_eq!(found(block(3, 0, 0b01, 0b00)), Some(3), "no distance");
        assert_eq!(found(block(3, 1, 0b01, 0b10)), None, "the last one");
        assert_eq!(found(block(3, 0, 0b00, 0b10)), None, "without an end");
        assert_eq!(found(block(3, 0, 0b10, 0b10)), None, "too many codes");
        assert_eq!(found(block(3, 0, 0b01, 0b01)), None, "half the distances");
        assert_eq!(first_block(&[]), None);
        assert_eq!(first_block(&[0; 1000]), None);
        assert_eq!(first_block(&[0xff; 1000]), None);
        let whole = block(3, 0, 0b01, 0b10).bytes();
        for length in 0..whole.len() - 9 {
            assert_eq!(first_block(&whole[..length]), None, "{length}");
        }
    }

    #[test]
    fn bytes_as_they_are_begin_with_their_number() {
        let mut data = vec![0xff; 29];
        data.extend([0, 3, 0, 0xfc, 0xff, 1, 2, 3]);
        assert_eq!(first_block(&data), Some(8 * 29));
        assert_eq!(first_block(&data[..33]), None);
        data[29] = 1;
        assert_eq!(first_block(&data), None, "the last one");
    }

    #[test]
    fn shares_of_lengths() {
        assert_eq!(SHARE_OF_FOUR[0o0000], 0);
        assert_eq!(SHARE_OF_FOUR[0o2213], 64 + 32 + 32 + 16);
        assert_eq!(SHARE_OF_FOUR[0o7777], 4);
    }
}
