//! The first pass over a file: what stands behind the place where it is used.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::packets::{Event, Kind, Packets, Sequence};
use super::slices::{Groups, Slices, Stacks};
use super::wire::{Frames, Lost, Taken};

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

/// A lane of a device in a file of torch's: number and label, from "[000007] stream 7".
pub fn lane_of(sequence: &Sequence, iid: u64) -> (u64, Cow<'_, str>) {
    let spec = sequence.specs.get(iid).map_or("", String::as_str);
    if let Some((number, label)) = spec
        .strip_prefix('[')
        .and_then(|rest| rest.split_once("] "))
    {
        let digits = number.bytes().all(|byte| byte.is_ascii_digit());
        if digits && (1..=9).contains(&number.len()) {
            if let Ok(lane) = number.parse::<u64>() {
                return (lane, Cow::Borrowed(label));
            }
        }
    }
    (iid, Cow::Owned(format!("lane {}", iid)))
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
        let mut frames = std::mem::take(&mut self.frames);
        frames.feed(piece, last, |taken| self.take(taken));
        self.frames = frames;
        if last {
            if let Some(slices) = &mut self.slices {
                let unpaired = slices.finish();
                if unpaired > 0 {
                    self.notes.add(Odd::UnpairedEnd, -1, 0, unpaired);
                }
            }
            self.ends.sort_by_key(|end| end.event);
        }
    }

    fn take(&mut self, taken: Taken) {
        match taken {
            Taken::Loss {
                place,
                bytes,
                kind,
                wide,
            } => {
                let odd = match kind {
                    Lost::BadPacket => Odd::BadPacket,
                    Lost::Oversized => Odd::Oversized,
                    Lost::Truncated => Odd::Truncated,
                };
                self.notes.add(odd, place as i64, bytes, 1);
                self.lost(wide);
            }
            Taken::Packet { bytes, message, .. } => {
                let mut events = Vec::new();
                match self.packets.read(&message, &mut events) {
                    Err(_) => self.lost(false),
                    Ok(sequence) => {
                        let before = self.rows;
                        for event in &events {
                            self.event(event, sequence);
                        }
                        self.lost_before = false;
                        if self.rows > before {
                            self.event_bytes += bytes;
                        }
                    }
                }
            }
        }
    }

    fn lost(&mut self, wide: bool) {
        self.lost_before = true;
        if let Some(slices) = &mut self.slices {
            slices.lost(wide);
        }
    }

    fn event(&mut self, event: &Event, sequence: u64) {
        match event.kind {
            Kind::Track | Kind::Other => return,
            Kind::Begin | Kind::End => {
                let (torch, lost) = (self.packets.from_torch, self.lost_before);
                let slices = self.slices.get_or_insert_with(|| {
                    let mut made = if torch {
                        Slices::Groups(Groups::default())
                    } else {
                        Slices::Stacks(Stacks::default())
                    };
                    if lost {
                        made.lost(false);
                    }
                    made
                });
                if event.kind == Kind::Begin {
                    slices.begin(event.ts, event.track);
                } else {
                    slices.end(event.ts, event.track);
                }
            }
            Kind::Stage if self.packets.from_torch => self.stage(event, sequence),
            _ => {}
        }
        self.rows += 1;
    }

    fn stage(&mut self, event: &Event, sequence: u64) {
        if let (Some(work), Some(sequence)) =
            (&event.message, self.packets.sequences.get(&sequence))
        {
            self.ends.push(End {
                event: work.number(1),
                ns: event.ts.wrapping_add(work.number(2) as i64),
                gpu: work.number(11),
                lane: lane_of(sequence, work.number(13)).0,
            });
        }
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
