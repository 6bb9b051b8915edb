//! The packets of a file that may be damaged.

use super::messages::Packet;
use super::wire::{field, varint, BadPacket};

/// Key of a packet: field 1, with a length.
pub const KEY: u8 = 0x0a;
const MOST_PACKET_BYTES: u64 = 64 << 20;
/// Numbers of fields with which a packet may begin, where one is looked for behind damage.
const PACKET_FIELDS: [u64; 25] = [
    1, 2, 6, 8, 9, 10, 11, 12, 13, 33, 35, 36, 41, 42, 43, 44, 45, 50, 52, 53, 58, 59, 60, 87, 89,
];
const FIELDS_LOOKED_AT: usize = 64;
const MOST_VARINT: usize = 10;

/// A packet, or what was lost.
pub enum Taken<'t, 'a> {
    Packet {
        place: u64,
        bytes: u64,
        packet: &'t Packet<'a>,
    },
    Loss {
        place: u64,
        bytes: u64,
        kind: Lost,
        /// Several packets may have been lost.
        wide: bool,
    },
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Lost {
    BadPacket,
    Oversized,
    Truncated,
}

/// What is at a place, and the place behind it; or more must be read.
enum Next<'a> {
    Packet(usize),
    Lost(Taken<'a, 'a>, usize),
    More,
}

enum Length {
    Known(u64, usize),
    None,
    More,
}

/// The packets of a file that comes in pieces of any size.
#[derive(Default)]
pub struct Frames {
    data: Vec<u8>,
    offset: u64,
    searching: bool,
}

impl Frames {
    /// Gives what ends in this piece; `last` when none follows.
    pub fn feed(&mut self, piece: &[u8], last: bool, mut give: impl FnMut(Taken)) {
        self.data.extend_from_slice(piece);
        let data = std::mem::take(&mut self.data);
        let mut packet = Packet::default();
        let mut at = 0;
        while at < data.len() {
            if self.searching {
                let (next, found) = search(&data, at, last);
                at = next;
                if !found {
                    break;
                }
                self.searching = false;
            }
            match self.next(&data, at, last, &mut packet) {
                Next::Packet(behind) => {
                    give(Taken::Packet {
                        place: self.offset + at as u64,
                        bytes: (behind - at) as u64,
                        packet: &packet,
                    });
                    at = behind;
                }
                Next::Lost(taken, behind) => {
                    at = behind;
                    give(taken);
                }
                Next::More => break,
            }
        }
        self.offset += at as u64;
        self.data = data;
        self.data.drain(..at);
    }

    #[inline(always)]
    fn next<'a>(
        &mut self,
        data: &'a [u8],
        at: usize,
        last: bool,
        packet: &mut Packet<'a>,
    ) -> Next<'a> {
        let (length, start) = match if data[at] == KEY {
            length(data, at)
        } else {
            Length::None
        } {
            Length::None => return self.lost(at, Lost::BadPacket),
            Length::More if last => return self.cut(data, at),
            Length::More => return Next::More,
            Length::Known(length, start) => (length, start),
        };
        if length > MOST_PACKET_BYTES {
            return self.lost(at, Lost::Oversized);
        }
        let end = start + length as usize;
        if end > data.len() {
            return if last { self.cut(data, at) } else { Next::More };
        }
        match packet.read(&data[start..end]) {
            Ok(()) => Next::Packet(end),
            Err(BadPacket) if end == data.len() && !last => Next::More,
            Err(BadPacket) if end < data.len() && data[end] != KEY => {
                self.lost(at, Lost::BadPacket)
            }
            Err(BadPacket) => {
                let taken = Taken::Loss {
                    place: self.offset + at as u64,
                    bytes: (end - at) as u64,
                    kind: Lost::BadPacket,
                    wide: false,
                };
                Next::Lost(taken, end)
            }
        }
    }

    /// The packet at `at` has no end that could be trusted.
    #[cold]
    fn lost<'a>(&mut self, at: usize, kind: Lost) -> Next<'a> {
        self.searching = true;
        let taken = Taken::Loss {
            place: self.offset + at as u64,
            bytes: 1,
            kind,
            wide: true,
        };
        Next::Lost(taken, at + 1)
    }

    /// The packet at `at` goes on behind the end of the file: cut, or its length is wrong.
    #[cold]
    fn cut<'a>(&mut self, data: &[u8], at: usize) -> Next<'a> {
        if search(data, at + 1, true).1 {
            return self.lost(at, Lost::BadPacket);
        }
        let taken = Taken::Loss {
            place: self.offset + at as u64,
            bytes: (data.len() - at) as u64,
            kind: Lost::Truncated,
            wide: true,
        };
        Next::Lost(taken, data.len())
    }
}

/// The length behind the key at `at`, and where the packet starts.
fn length(data: &[u8], at: usize) -> Length {
    match varint(data, at + 1, data.len()) {
        Ok((length, start)) => Length::Known(length, start),
        Err(BadPacket) if data.len() - at > MOST_VARINT => Length::None,
        Err(BadPacket) => Length::More,
    }
}

/// Where a packet begins from `at` on, or from where to look when more is read.
fn search(data: &[u8], mut at: usize, last: bool) -> (usize, bool) {
    loop {
        match data
            .get(at..)
            .and_then(|rest| rest.iter().position(|&byte| byte == KEY))
        {
            None => return (data.len(), false),
            Some(distance) => at += distance,
        }
        match seems_packet(data, at, last) {
            None => return (at, false),
            Some(true) => return (at, true),
            Some(false) => at += 1,
        }
    }
}

/// Whether a packet begins at `at`; None where more must be read to tell.
fn seems_packet(data: &[u8], at: usize, last: bool) -> Option<bool> {
    let (length, start) = match length(data, at) {
        Length::None => return Some(false),
        Length::More => return if last { Some(false) } else { None },
        Length::Known(length, start) => (length, start),
    };
    if length == 0 || length > MOST_PACKET_BYTES {
        return Some(false);
    }
    let end = start + length as usize;
    if end >= data.len() && !last {
        return None;
    }
    if end > data.len() || (end < data.len() && data[end] != KEY) {
        return Some(false);
    }
    let mut at = start;
    for count in 0..FIELDS_LOOKED_AT {
        if at >= end {
            break;
        }
        match field(data, at, end) {
            Err(BadPacket) => return Some(false),
            Ok((found, _)) if count == 0 && !PACKET_FIELDS.contains(&found.number) => {
                return Some(false)
            }
            Ok((_, behind)) => at = behind,
        }
    }
    Some(true)
}
