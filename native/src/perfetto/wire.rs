//! Protobuf's wire format: the fields of a message.

use std::borrow::Cow;

/// The bytes are no message, or none of the form that they should have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BadPacket;

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Wire {
    Varint,
    Fixed64,
    Bytes,
    Fixed32,
}

#[derive(Clone, Copy)]
pub struct Field {
    pub number: u64,
    /// An integer, or where the bytes start, up to `end`.
    pub value: u64,
    pub end: u32, // a packet is smaller
    pub wire: Wire,
}

const NO_FIELD: Field = Field {
    number: 0,
    value: 0,
    end: 0,
    wire: Wire::Fixed32,
};
/// Most messages have fewer fields: they need no memory of their own.
const FEW: usize = 4;

/// An integer of at most ten bytes, and the place behind it.
#[inline(always)]
pub fn varint(data: &[u8], at: usize, end: usize) -> Result<(u64, usize), BadPacket> {
    // Keys and lengths are mostly a byte.
    match data.get(at) {
        Some(&byte) if byte < 0x80 && at < end => Ok((u64::from(byte), at + 1)),
        _ => long_varint(data, at, end),
    }
}

fn long_varint(data: &[u8], mut at: usize, end: usize) -> Result<(u64, usize), BadPacket> {
    let mut value = 0u64;
    let mut shift = 0u32;
    loop {
        if at >= end || shift > 63 {
            return Err(BadPacket);
        }
        let byte = data[at];
        at += 1;
        value |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Ok((value, at));
        }
        shift += 7;
    }
}

/// The field at `at`, and the place behind it.
#[inline(always)]
pub fn field(data: &[u8], at: usize, end: usize) -> Result<(Field, usize), BadPacket> {
    let (key, at) = varint(data, at, end)?;
    let number = key >> 3;
    if number == 0 {
        return Err(BadPacket);
    }
    let (wire, length, at) = match key & 7 {
        0 => {
            let (value, at) = varint(data, at, end)?;
            let found = Field {
                number,
                wire: Wire::Varint,
                value,
                end: 0,
            };
            return Ok((found, at));
        }
        2 => {
            let (length, at) = varint(data, at, end)?;
            (Wire::Bytes, length, at)
        }
        1 => (Wire::Fixed64, 8, at),
        5 => (Wire::Fixed32, 4, at),
        _ => return Err(BadPacket),
    };
    if length > (end - at) as u64 {
        return Err(BadPacket);
    }
    let behind = at + length as usize;
    let found = Field {
        number,
        wire,
        value: at as u64,
        end: behind as u32,
    };
    Ok((found, behind))
}

/// Calls `take` with each field of a message, which needs no memory.
#[inline]
pub fn each_field(data: &[u8], mut take: impl FnMut(&Field)) -> Result<(), BadPacket> {
    let mut at = 0;
    while at < data.len() {
        let (found, behind) = field(data, at, data.len())?;
        take(&found);
        at = behind;
    }
    Ok(())
}

impl Field {
    /// The bytes of the field.
    pub fn bytes<'a>(&self, data: &'a [u8]) -> &'a [u8] {
        &data[self.value as usize..self.end as usize]
    }
}

/// The number in eight fixed bytes.
pub fn double_of(bytes: &[u8]) -> f64 {
    let mut eight = [0; 8];
    eight.copy_from_slice(bytes);
    f64::from_le_bytes(eight)
}

/// The last bytes with the numbers 1 and 2.
#[inline]
pub fn pair(data: &[u8]) -> Result<(&[u8], &[u8]), BadPacket> {
    let mut found: [&[u8]; 2] = [&[], &[]];
    each_field(data, |one| {
        if one.wire == Wire::Bytes && (one.number == 1 || one.number == 2) {
            found[one.number as usize - 1] = one.bytes(data);
        }
    })?;
    Ok((found[0], found[1]))
}

/// All bytes with a number in a message whose fields have been read before.
pub struct Parts<'a> {
    data: &'a [u8],
    at: usize,
    number: u64,
}

impl<'a> Parts<'a> {
    pub fn new(data: &'a [u8], number: u64) -> Parts<'a> {
        let at = 0;
        Parts { data, at, number }
    }
}

impl<'a> Iterator for Parts<'a> {
    type Item = &'a [u8];

    #[inline(always)]
    fn next(&mut self) -> Option<&'a [u8]> {
        while self.at < self.data.len() {
            let (found, behind) = field(self.data, self.at, self.data.len()).ok()?;
            self.at = behind;
            if found.number == self.number && found.wire == Wire::Bytes {
                return Some(found.bytes(self.data));
            }
        }
        None
    }
}

/// The fields of a message.
pub struct Message<'a> {
    data: &'a [u8],
    few: [Field; FEW],
    count: usize,
    many: Vec<Field>,
}

impl<'a> Message<'a> {
    pub fn new(data: &'a [u8], at: usize, end: usize) -> Result<Message<'a>, BadPacket> {
        // Places count from the start of the message, so that they are small.
        let data = &data[at..end];
        let mut made = Message {
            data,
            few: [NO_FIELD; FEW],
            count: 0,
            many: Vec::new(),
        };
        let mut at = 0;
        while at < data.len() {
            let (found, behind) = field(data, at, data.len())?;
            if made.count < FEW {
                made.few[made.count] = found;
            } else {
                if made.count == FEW {
                    made.many.reserve(32);
                    made.many.extend_from_slice(&made.few);
                }
                made.many.push(found);
            }
            made.count += 1;
            at = behind;
        }
        Ok(made)
    }

    #[inline]
    fn fields(&self) -> &[Field] {
        if self.count > FEW {
            &self.many
        } else {
            &self.few[..self.count]
        }
    }

    fn with(&self, number: u64, wire: Wire) -> impl DoubleEndedIterator<Item = &Field> + '_ {
        self.fields()
            .iter()
            .filter(move |one| one.number == number && one.wire == wire)
    }

    /// The last integer with this number.
    pub fn int(&self, number: u64) -> Option<u64> {
        self.with(number, Wire::Varint)
            .next_back()
            .map(|one| one.value)
    }

    /// The same, 0 where there is none.
    pub fn number(&self, number: u64) -> u64 {
        self.int(number).unwrap_or(0)
    }

    /// The number in the last eight fixed bytes with this number.
    pub fn double(&self, number: u64) -> Option<f64> {
        self.with(number, Wire::Fixed64)
            .next_back()
            .map(|one| double_of(one.bytes(self.data)))
    }

    /// Whether there are bytes with this number.
    pub fn has(&self, number: u64) -> bool {
        self.with(number, Wire::Bytes).next().is_some()
    }

    /// All bytes with this number.
    pub fn parts(&self, number: u64) -> impl DoubleEndedIterator<Item = &'a [u8]> + '_ {
        let data = self.data;
        self.with(number, Wire::Bytes)
            .map(move |one| &data[one.value as usize..one.end as usize])
    }

    /// The numbers of all fields with bytes.
    pub fn part_numbers(&self) -> impl Iterator<Item = u64> + '_ {
        self.fields()
            .iter()
            .filter(|one| one.wire == Wire::Bytes)
            .map(|one| one.number)
    }

    /// The last text with this number; bytes that are no UTF-8 become U+FFFD.
    pub fn text(&self, number: u64) -> Cow<'a, str> {
        self.parts(number)
            .next_back()
            .map_or(Cow::Borrowed(""), String::from_utf8_lossy)
    }

    /// The messages with this number, each parsed when it is reached.
    pub fn messages(
        &self,
        number: u64,
    ) -> impl Iterator<Item = Result<Message<'a>, BadPacket>> + '_ {
        let data = self.data;
        self.with(number, Wire::Bytes)
            .map(move |one| Message::new(data, one.value as usize, one.end as usize))
    }

    /// All integers with this number, packed ones too.
    pub fn numbers(&self, number: u64) -> Result<Vec<u64>, BadPacket> {
        let mut found: Vec<u64> = self
            .with(number, Wire::Varint)
            .map(|one| one.value)
            .collect();
        for part in self.parts(number) {
            let mut at = 0;
            while at < part.len() {
                let (value, behind) = varint(part, at, part.len())?;
                found.push(value);
                at = behind;
            }
        }
        Ok(found)
    }
}
