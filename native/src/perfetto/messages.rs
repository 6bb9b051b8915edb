//! The messages of which a file has most, each found in one look at its fields and without memory of its own.
//! Of a field that comes several times the last counts.

use super::wire::{double_of, each_field, BadPacket, Wire};

/// A packet: most have one event and nothing else, which is found without memory.
#[derive(Clone, Copy, Default)]
pub struct Packet<'a> {
    pub data: &'a [u8],
    pub ts: u64,
    pub sequence: u64,
    pub flags: u64,
    pub clock: Option<u64>,
    /// The number and the bytes of its event.
    pub event: Option<(u64, &'a [u8])>,
    /// There are other bytes in it.
    pub more: bool,
}

impl<'a> Packet<'a> {
    #[inline(always)]
    pub fn read(&mut self, data: &'a [u8]) -> Result<(), BadPacket> {
        *self = Packet {
            data,
            ..Packet::default()
        };
        each_field(data, |one| match (one.number, one.wire) {
            (8, Wire::Varint) => self.ts = one.value,
            (10, Wire::Varint) => self.sequence = one.value,
            (13, Wire::Varint) => self.flags = one.value,
            (58, Wire::Varint) => self.clock = Some(one.value),
            (11 | 52 | 53, Wire::Bytes) if self.event.is_none() => {
                self.event = Some((one.number, one.bytes(data)));
            }
            (_, Wire::Bytes) => self.more = true,
            _ => {}
        })
    }
}

/// An event of a track, found without memory.
#[derive(Clone, Copy, Default)]
pub struct TrackEvent<'a> {
    pub data: &'a [u8],
    pub kind: u64,
    pub track: u64,
    pub name_iid: Option<u64>,
    pub name: Option<&'a [u8]>,
    pub whole: Option<u64>,
    pub real: Option<f64>,
    /// Its only category, by its number.
    pub category: Option<u64>,
    /// It has several, or others.
    pub more_categories: bool,
}

impl<'a> TrackEvent<'a> {
    /// `track` is that of an event that names none.
    #[inline(always)]
    pub fn new(data: &'a [u8], track: u64) -> Result<TrackEvent<'a>, BadPacket> {
        let mut made = TrackEvent {
            data,
            track,
            ..TrackEvent::default()
        };
        each_field(data, |one| match (one.number, one.wire) {
            (4, Wire::Bytes) => {}
            (9, Wire::Varint) => made.kind = one.value,
            (11, Wire::Varint) => made.track = one.value,
            (10, Wire::Varint) => made.name_iid = Some(one.value),
            (3, Wire::Varint) => {
                made.more_categories |= made.category.is_some();
                made.category = Some(one.value);
            }
            (3 | 22, Wire::Bytes) => made.more_categories = true,
            (23, Wire::Bytes) => made.name = Some(one.bytes(data)),
            (30, Wire::Varint) => made.whole = Some(one.value),
            (44, Wire::Fixed64) => made.real = Some(double_of(one.bytes(data))),
            _ => {}
        })?;
        Ok(made)
    }
}

/// Work of a device, found without memory.
#[derive(Clone, Copy, Default)]
pub struct Stage<'a> {
    pub data: &'a [u8],
    pub event: u64,
    pub dur: u64,
    pub gpu: u64,
    pub lane: u64,
    pub stage: u64,
    pub name_iid: Option<u64>,
    pub kernel_iid: Option<u64>,
    pub launched: bool,
    /// Whether it waited for other work.
    pub waited: bool,
}

impl<'a> Stage<'a> {
    #[inline(always)]
    pub fn new(data: &'a [u8]) -> Result<Stage<'a>, BadPacket> {
        let mut made = Stage {
            data,
            ..Stage::default()
        };
        each_field(data, |one| match (one.number, one.wire) {
            (1, Wire::Varint) => made.event = one.value,
            (2, Wire::Varint) => made.dur = one.value,
            (11, Wire::Varint) => made.gpu = one.value,
            (13, Wire::Varint) => made.lane = one.value,
            (14, Wire::Varint) => made.stage = one.value,
            (19, Wire::Varint) => made.kernel_iid = Some(one.value),
            (20, Wire::Varint) => made.name_iid = Some(one.value),
            (21, Wire::Bytes) => made.launched = true,
            (18, Wire::Varint | Wire::Bytes) => made.waited = true,
            _ => {}
        })?;
        Ok(made)
    }
}

/// Values of counters of a device.
#[derive(Clone, Copy, Default)]
pub struct Counters<'a> {
    pub data: &'a [u8],
    pub descriptor: Option<u64>,
    pub gpu: u64,
    /// It brings a descriptor of its own.
    pub described: bool,
}

impl<'a> Counters<'a> {
    #[inline(always)]
    pub fn new(data: &'a [u8]) -> Result<Counters<'a>, BadPacket> {
        let mut made = Counters {
            data,
            ..Counters::default()
        };
        each_field(data, |one| match (one.number, one.wire) {
            (1, Wire::Bytes) => made.described = true,
            (3, Wire::Varint) => made.gpu = one.value,
            (4, Wire::Varint) => made.descriptor = Some(one.value),
            _ => {}
        })?;
        Ok(made)
    }
}

/// One of them.
#[derive(Clone, Copy, Default)]
pub struct CounterValue {
    pub counter: u64,
    pub whole: Option<u64>,
    pub real: Option<f64>,
}

impl CounterValue {
    #[inline(always)]
    pub fn new(data: &[u8]) -> Result<CounterValue, BadPacket> {
        let mut made = CounterValue::default();
        each_field(data, |one| match (one.number, one.wire) {
            (1, Wire::Varint) => made.counter = one.value,
            (2, Wire::Varint) => made.whole = Some(one.value),
            (3, Wire::Fixed64) => made.real = Some(double_of(one.bytes(data))),
            _ => {}
        })?;
        Ok(made)
    }
}
