//! The first pass over a file: what stands behind the place where it is used.

use std::collections::BTreeMap;

use super::frames::{Frames, Lost, Taken};
use super::packets::{Event, Happened, Known, Packets};
use super::slices::{Groups, Slices, Stacks};
use super::wire::BadPacket;

/// Kinds of what is odd, in the order in which they are told.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Odd {
    BadPacket,
    Oversized,
    Truncated,
    OtherPacket,
    UnpairedEnd,
    LostIid,
}

pub const ODD: [Odd; 6] = [
    Odd::BadPacket,
    Odd::Oversized,
    Odd::Truncated,
    Odd::OtherPacket,
    Odd::UnpairedEnd,
    Odd::LostIid,
];

/// What was odd: how often, and the place and a number of the first.
#[derive(Default)]
pub struct Notes(BTreeMap<Odd, (u64, i64, u64)>);

impl Notes {
    pub fn add(&mut self, odd: Odd, place: i64, value: u64, count: u64) {
        let known = self.0.entry(odd).or_insert((0, place, value));
        known.0 += count;
        let first = (known.1, known.2).min((place, value));
        known.1 = first.0;
        known.2 = first.1;
    }

    pub fn get(&self, odd: Odd) -> (u64, i64, u64) {
        self.0.get(&odd).copied().unwrap_or((0, -1, 0))
    }

    pub fn merge(&mut self, other: &Notes) {
        for (&odd, &(count, place, value)) in &other.0 {
            self.add(odd, place, value, count);
        }
    }
}

/// Where work of a device ended: event id, ns, and which lane of which device.
struct End {
    event: u64,
    ns: i64,
    gpu: u64,
    lane: u64,
}

#[derive(Default)]
pub struct Survey {
    frames: Frames,
    pub packets: Packets,
    pub found: Found,
}

/// What the packets said.
#[derive(Default)]
pub struct Found {
    pub slices: Option<Slices>,
    pub notes: Notes,
    pub rows: u64,
    pub event_bytes: u64,
    lost_before: bool,
    ends: Vec<End>,
}

impl Survey {
    /// Takes the next bytes of the file; `last` when none follow.
    pub fn feed(&mut self, piece: &[u8], last: bool) {
        let Survey {
            frames,
            packets,
            found,
        } = self;
        frames.feed(piece, last, |taken| match taken {
            Taken::Loss {
                place,
                bytes,
                kind,
                wide,
            } => found.loss(place, bytes, kind, wide),
            Taken::Packet { bytes, packet, .. } => {
                let before = found.rows;
                if packets.read(packet, found).is_err() {
                    found.lost(false);
                    return;
                }
                found.lost_before = false;
                if found.rows > before {
                    found.event_bytes += bytes;
                }
            }
        });
        if last {
            self.found.finish();
        }
    }
}

impl Happened for Found {
    #[inline(always)]
    fn take(&mut self, event: Event, known: Known) -> Result<(), BadPacket> {
        match event {
            Event::Track(_) | Event::Other(_) => return Ok(()),
            Event::Begin(event) => self.slices(&known).begin(known.ts, event.track),
            Event::End(event) => self.slices(&known).end(known.ts, event.track),
            Event::Stage(work) if known.from_torch => self.ends.push(End {
                event: work.event,
                ns: known.ts.wrapping_add(work.dur as i64),
                gpu: work.gpu,
                lane: known.sequence.lane(work.lane).0,
            }),
            _ => {}
        }
        self.rows += 1;
        Ok(())
    }
}

impl Found {
    fn loss(&mut self, place: u64, bytes: u64, kind: Lost, wide: bool) {
        let odd = match kind {
            Lost::BadPacket => Odd::BadPacket,
            Lost::Oversized => Odd::Oversized,
            Lost::Truncated => Odd::Truncated,
        };
        self.notes.add(odd, place as i64, bytes, 1);
        self.lost(wide);
    }

    fn lost(&mut self, wide: bool) {
        self.lost_before = true;
        if let Some(slices) = &mut self.slices {
            slices.lost(wide);
        }
    }

    #[inline]
    fn slices(&mut self, known: &Known) -> &mut Slices {
        let (torch, lost) = (known.from_torch, self.lost_before);
        self.slices.get_or_insert_with(|| {
            let mut made = if torch {
                Slices::Groups(Groups::default())
            } else {
                Slices::Stacks(Stacks::default())
            };
            if lost {
                made.lost(false);
            }
            made
        })
    }

    fn finish(&mut self) {
        if let Some(slices) = &mut self.slices {
            let unpaired = slices.finish();
            if unpaired > 0 {
                self.notes.add(Odd::UnpairedEnd, -1, 0, unpaired);
            }
        }
        self.ends.sort_by_key(|end| end.event);
    }

    /// End in ns, GPU and lane of the last work with this event id.
    pub fn end_of(&self, event: u64) -> Option<(i64, u64, u64)> {
        let behind = self.ends.partition_point(|end| end.event <= event);
        let found = self.ends.get(behind.checked_sub(1)?)?;
        if found.event != event {
            return None;
        }
        Some((found.ns, found.gpu, found.lane))
    }
}
