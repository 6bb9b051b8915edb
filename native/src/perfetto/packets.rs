//! What do the packets of a file say? Names, clocks and tracks, resolved packet by packet.

use std::collections::HashMap;

use super::json_values::{put, quoted, OnLost};
use super::wire::{BadPacket, Message};

const BOOT: u64 = 6;
const REAL: u64 = 1;
const CLEARED: u64 = 1;
/// Names of the render stages 1 to 6 in a file that torch wrote, and in no other.
pub const STAGES: [&str; 6] = [
    "Kernel",
    "Memcpy",
    "Memset",
    "Annotation",
    "EventRecord",
    "HostNode",
];
const HOUSEKEEPING: [u64; 18] = [
    2, 6, 9, 12, 33, 34, 35, 36, 41, 42, 43, 44, 45, 59, 60, 69, 87, 89,
];

/// Interned texts by their numbers. Writers count from 1, so most are in a list.
#[derive(Default)]
pub struct Table<T> {
    dense: Vec<Option<T>>,
    sparse: HashMap<u64, T>,
}

impl<T> Table<T> {
    pub fn get(&self, iid: u64) -> Option<&T> {
        match self.dense.get(iid as usize) {
            Some(found) if iid < self.dense.len() as u64 => found.as_ref(),
            _ => self.sparse.get(&iid),
        }
    }

    pub fn set(&mut self, iid: u64, value: T) {
        let next = self.dense.len() as u64;
        if iid < next {
            self.dense[iid as usize] = Some(value);
        } else if iid <= next + 64 {
            // What is between may have come before as sparse.
            while (self.dense.len() as u64) < iid {
                let moved = self.sparse.remove(&(self.dense.len() as u64));
                self.dense.push(moved);
            }
            self.sparse.remove(&iid);
            self.dense.push(Some(value));
        } else {
            self.sparse.insert(iid, value);
        }
    }
}

impl Table<Vec<u8>> {
    /// Appends the text, or # and its number.
    pub fn put(&self, out: &mut Vec<u8>, iid: u64, on_lost: OnLost) {
        match self.get(iid) {
            Some(text) => out.extend_from_slice(text),
            None => {
                on_lost(iid);
                put(out, format_args!("\"#{}\"", iid));
            }
        }
    }
}

#[derive(Clone, Copy)]
struct Clock {
    offset: i64,
    unit_ns: i64,
    incremental: bool,
    value: i64,
}

/// The counters of a device: quoted names by their ids.
pub struct CounterNames {
    pub gpu: u64,
    pub names: Table<Vec<u8>>,
}

/// What a writer has said so far. Texts are quoted, but for specs and launch arguments.
#[derive(Default)]
pub struct Sequence {
    pub event_names: Table<Vec<u8>>,
    pub categories: Table<Vec<u8>>,
    pub arg_names: Table<Vec<u8>>,
    pub arg_texts: Table<Vec<u8>>,
    pub kernels: Table<Vec<u8>>,
    pub specs: Table<String>,
    pub launch_args: Table<String>,
    pub counters: HashMap<u64, CounterNames>,
    pub own_counters: Option<CounterNames>,
    clocks: HashMap<u64, Clock>,
    track: u64,
    clock: Option<u64>,
}

/// A track as its descriptor says it; −1: not said.
#[derive(Clone)]
pub struct Track {
    pub name: String,
    pub parent: u64,
    pub pid: i64,
    pub tid: i64,
    pub process: String,
    pub thread: String,
    pub unit: String,
    pub unit_factor: u64,
    pub incremental: bool,
}

impl Default for Track {
    fn default() -> Track {
        Track {
            name: String::new(),
            parent: 0,
            pid: -1,
            tid: -1,
            process: String::new(),
            thread: String::new(),
            unit: String::new(),
            unit_factor: 1,
            incremental: false,
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Track,
    Begin,
    End,
    Instant,
    Value,
    Stage,
    Counters,
    /// A packet that is not read; `track` is the highest number of a field with bytes.
    Other,
}

/// Something that happened at `ts`, on a track or on a device.
pub struct Event<'a> {
    pub kind: Kind,
    pub ts: i64,
    pub track: u64,
    pub message: Option<Message<'a>>,
}

/// Makes events of packets, in the order of the file.
#[derive(Default)]
pub struct Packets {
    pub from_torch: bool,
    pub tracks: HashMap<u64, Track>,
    pub sequences: HashMap<u64, Sequence>,
    offsets: HashMap<u64, i64>,
    begun: bool,
    equal_clocks: bool,
}

impl Packets {
    /// Appends the events of a packet to `events`; the number of its sequence.
    pub fn read<'a>(
        &mut self,
        message: &Message<'a>,
        events: &mut Vec<Event<'a>>,
    ) -> Result<u64, BadPacket> {
        let number = message.number(10);
        let sequence = self.sequences.entry(number).or_default();
        if message.number(13) & CLEARED > 0 {
            let clocks = std::mem::take(&mut sequence.clocks);
            *sequence = Sequence {
                clocks,
                ..Sequence::default()
            };
        }
        let first = !self.begun;
        self.begun = true;
        for part in message.messages(59) {
            let part = part?;
            sequence.clock = part.int(58);
            sequence.track = 0;
            for one in part.messages(11) {
                if let Some(track) = one?.int(11) {
                    sequence.track = track;
                    break;
                }
            }
        }
        for part in message.messages(6) {
            snapshot(
                sequence,
                &mut self.offsets,
                &part?,
                first.then_some(&mut self.equal_clocks),
            )?;
        }
        for part in message.messages(12) {
            interned(sequence, &part?)?;
            if self.equal_clocks && !self.from_torch {
                self.from_torch = STAGES.iter().enumerate().all(|(iid, name)| {
                    sequence.specs.get(iid as u64 + 1).map(String::as_str) == Some(name)
                });
            }
        }
        for part in message.messages(60) {
            let (uuid, track) = described(&part?)?;
            self.tracks.insert(uuid, track);
            events.push(Event {
                kind: Kind::Track,
                ts: 0,
                track: uuid,
                message: None,
            });
        }
        if message
            .part_numbers()
            .all(|one| HOUSEKEEPING.contains(&one))
        {
            return Ok(number);
        }
        let ts = time(sequence, &self.offsets, message)?;
        let mut known = false;
        for part in message.messages(11) {
            let part = part?;
            let kind = match part.number(9) {
                1 => Kind::Begin,
                2 => Kind::End,
                3 => Kind::Instant,
                4 => Kind::Value,
                _ => continue,
            };
            known = true;
            let track = part.int(11).unwrap_or(sequence.track);
            events.push(Event {
                kind,
                ts,
                track,
                message: Some(part),
            });
        }
        for (field, kind) in [(53, Kind::Stage), (52, Kind::Counters)] {
            for part in message.messages(field) {
                known = true;
                events.push(Event {
                    kind,
                    ts,
                    track: 0,
                    message: Some(part?),
                });
            }
        }
        if !known {
            events.push(Event {
                kind: Kind::Other,
                ts,
                track: message.part_numbers().max().unwrap_or(0),
                message: None,
            });
        }
        Ok(number)
    }
}

fn snapshot(
    sequence: &mut Sequence,
    offsets: &mut HashMap<u64, i64>,
    part: &Message,
    equal: Option<&mut bool>,
) -> Result<(), BadPacket> {
    let mut order = Vec::new();
    let mut clocks: HashMap<u64, Clock> = HashMap::new();
    for one in part.messages(1) {
        let one = one?;
        let clock = Clock {
            offset: 0,
            unit_ns: one.number(4).max(1) as i64,
            incremental: one.number(3) > 0,
            value: one.number(2) as i64,
        };
        if clocks.insert(one.number(1), clock).is_none() {
            order.push(one.number(1));
        }
    }
    let boot = match clocks.get(&BOOT) {
        Some(clock) => clock.value,
        None => return Ok(()),
    };
    if let Some(equal) = equal {
        *equal = clocks.get(&REAL).map_or(false, |real| real.value == boot);
    }
    for number in order {
        let mut clock = clocks[&number];
        clock.offset = boot.wrapping_sub(clock.value.wrapping_mul(clock.unit_ns));
        if (64..128).contains(&number) {
            sequence.clocks.insert(number, clock);
        } else if number != BOOT {
            offsets.entry(number).or_insert(clock.offset);
        }
    }
    Ok(())
}

fn time(
    sequence: &mut Sequence,
    offsets: &HashMap<u64, i64>,
    message: &Message,
) -> Result<i64, BadPacket> {
    let ts = message.number(8);
    if ts >= 1 << 63 {
        return Err(BadPacket);
    }
    let ts = ts as i64;
    let number = message.int(58).or(sequence.clock).unwrap_or(BOOT);
    match sequence.clocks.get_mut(&number) {
        None => Ok(ts.wrapping_add(offsets.get(&number).copied().unwrap_or(0))),
        Some(clock) => {
            let mut ts = ts;
            if clock.incremental {
                clock.value = clock.value.wrapping_add(ts);
                ts = clock.value;
            }
            Ok(clock.offset.wrapping_add(ts.wrapping_mul(clock.unit_ns)))
        }
    }
}

fn interned(sequence: &mut Sequence, part: &Message) -> Result<(), BadPacket> {
    let tables = [
        (1, &mut sequence.categories, 2),
        (2, &mut sequence.event_names, 2),
        (3, &mut sequence.arg_names, 2),
        (29, &mut sequence.arg_texts, 2),
        (1000, &mut sequence.kernels, 3),
    ];
    for (number, table, text) in tables {
        for one in part.messages(number) {
            let one = one?;
            table.set(one.number(1), quoted(&one.text(text)));
        }
    }
    for (number, table) in [(24, &mut sequence.specs), (1001, &mut sequence.launch_args)] {
        for one in part.messages(number) {
            let one = one?;
            table.set(one.number(1), one.text(2).into_owned());
        }
    }
    for one in part.messages(47) {
        let one = one?;
        let names = counter_names(&one, 2)?;
        let gpu = one.number(3);
        sequence
            .counters
            .insert(one.number(1), CounterNames { gpu, names });
    }
    Ok(())
}

/// The quoted names of counters by their ids, from the descriptors with this number.
pub fn counter_names(message: &Message, number: u64) -> Result<Table<Vec<u8>>, BadPacket> {
    let mut names = Table::default();
    for descriptor in message.messages(number) {
        for spec in descriptor?.messages(1) {
            let spec = spec?;
            names.set(spec.number(1), quoted(&spec.text(2)));
        }
    }
    Ok(names)
}

fn described(part: &Message) -> Result<(u64, Track), BadPacket> {
    let mut track = Track {
        name: part.text(10).into_owned(),
        parent: part.number(5),
        ..Track::default()
    };
    if track.name.is_empty() {
        track.name = part.text(2).into_owned();
    }
    for one in part.messages(3) {
        let one = one?;
        track.pid = one.number(1) as i64;
        track.process = one.text(6).into_owned();
    }
    for one in part.messages(4) {
        let one = one?;
        track.pid = one.number(1) as i64;
        track.tid = one.number(2) as i64;
        track.thread = one.text(5).into_owned();
    }
    for one in part.messages(8) {
        let one = one?;
        track.unit = one.text(6).into_owned();
        track.unit_factor = one.number(4).max(1);
        track.incremental = one.number(5) > 0;
    }
    Ok((part.number(1), track))
}
