//! Levels of detail of a timeline: sums of the small slices by lane and bucket, and the other slices.
//!
//! The rule, and the reference, is `tb_plugin/analysis/timeline/build/levels_of_detail.py`. A slice is small at a
//! level, or a rect of it.

/// Slices by (lane, ts): their ids, where each lane begins, and the times of each id.
pub struct Slices<'a> {
    pub order: &'a [i32],
    pub lane_first: &'a [i64],
    pub ts: &'a [i64],
    pub dur: &'a [i64],
}

/// One level, lane by lane: records of buckets, and rects.
pub struct Level<'a> {
    pub bucket_first: &'a [i64],
    pub bucket: &'a [i64],
    pub count: &'a [i64],
    pub sum_ns: &'a [i64],
    pub longest: &'a [i32],
    pub rect_first: &'a [i64],
    pub rect: &'a [i32],
}

/// Room for one level, as much as `count` said.
pub struct Room<'a> {
    pub bucket_first: &'a mut [i64],
    pub bucket: &'a mut [i64],
    pub count: &'a mut [i64],
    pub sum_ns: &'a mut [i64],
    pub longest: &'a mut [i32],
    pub rect_first: &'a mut [i64],
    pub rect: &'a mut [i32],
}

/// How many small slices each level has, and in how many buckets they are.
pub fn count(slices: &Slices, small: &mut [i64], records: &mut [i64]) {
    let levels = small.len();
    small.fill(0);
    records.fill(0);
    for lane in slices.lane_first.windows(2) {
        // Per level the start of the last small slice. It is never later than that of a coarser
        // level, so what is in its bucket there is in its bucket on all coarser ones.
        let mut last = vec![i64::MIN; levels];
        for &id in &slices.order[lane[0] as usize..lane[1] as usize] {
            let (ts, dur) = (slices.ts[id as usize], slices.dur[id as usize]);
            let from = bits(dur).min(levels);
            for level in from..levels {
                if last[level] != i64::MIN && last[level] >> level == ts >> level {
                    break;
                }
                records[level] += 1;
            }
            last[from..].fill(ts);
            if from < levels {
                small[from] += 1;
            }
        }
    }
    for level in 1..levels {
        small[level] += small[level - 1];
    }
}

/// A level from the slices themselves.
pub fn first(slices: &Slices, level: u32, room: &mut Room) {
    let mut made = Making::new();
    for (lane, bounds) in slices.lane_first.windows(2).enumerate() {
        made.begin_lane(room, lane);
        for &id in &slices.order[bounds[0] as usize..bounds[1] as usize] {
            let (ts, dur) = (slices.ts[id as usize], slices.dur[id as usize]);
            if bits(dur) <= level as usize {
                made.add(room, ts >> level, (1, dur), (id, dur));
            } else {
                made.rect(room, id);
            }
        }
        made.end_lane(room);
    }
    made.begin_lane(room, slices.lane_first.len() - 1);
}

/// A level from the one below it: buckets in pairs, and the rects that are small now.
pub fn next(below: &Level, slices: &Slices, level: u32, room: &mut Room) {
    let mut made = Making::new();
    let lanes = below.bucket_first.len() - 1;
    for lane in 0..lanes {
        made.begin_lane(room, lane);
        let mut record = below.bucket_first[lane] as usize;
        let records = below.bucket_first[lane + 1] as usize;
        let rects = below.rect_first[lane] as usize..below.rect_first[lane + 1] as usize;
        for &id in &below.rect[rects] {
            let (ts, dur) = (slices.ts[id as usize], slices.dur[id as usize]);
            if bits(dur) > level as usize {
                made.rect(room, id);
                continue;
            }
            // Of one bucket its records come first.
            while record < records && below.bucket[record] >> 1 <= ts >> level {
                made.add_record(room, below, record, slices.dur);
                record += 1;
            }
            made.add(room, ts >> level, (1, dur), (id, dur));
        }
        while record < records {
            made.add_record(room, below, record, slices.dur);
            record += 1;
        }
        made.end_lane(room);
    }
    made.begin_lane(room, lanes);
}

/// How many bits a duration has: it is small from the level of this number on.
fn bits(dur: i64) -> usize {
    (i64::BITS - dur.max(0).leading_zeros()) as usize
}

/// Where the next record and the next rect go, and the record that is not finished.
struct Making {
    records: usize,
    rects: usize,
    open: Option<Open>,
}

struct Open {
    bucket: i64,
    count: i64,
    sum_ns: i64,
    longest: (i32, i64),
}

impl Making {
    fn new() -> Self {
        Making {
            records: 0,
            rects: 0,
            open: None,
        }
    }

    fn begin_lane(&mut self, room: &mut Room, lane: usize) {
        room.bucket_first[lane] = self.records as i64;
        room.rect_first[lane] = self.rects as i64;
    }

    fn end_lane(&mut self, room: &mut Room) {
        if let Some(open) = self.open.take() {
            self.write(room, open);
        }
    }

    fn rect(&mut self, room: &mut Room, id: i32) {
        room.rect[self.rects] = id;
        self.rects += 1;
    }

    fn add_record(&mut self, room: &mut Room, below: &Level, record: usize, dur: &[i64]) {
        let longest = below.longest[record];
        let sums = (below.count[record], below.sum_ns[record]);
        self.add(
            room,
            below.bucket[record] >> 1,
            sums,
            (longest, dur[longest as usize]),
        );
    }

    /// Buckets ascend within a lane; `longest` is an id and its duration.
    fn add(&mut self, room: &mut Room, bucket: i64, sums: (i64, i64), longest: (i32, i64)) {
        match &mut self.open {
            Some(open) if open.bucket == bucket => {
                open.count += sums.0;
                open.sum_ns += sums.1;
                if longest.1 > open.longest.1 {
                    open.longest = longest;
                }
            }
            _ => {
                let (count, sum_ns) = sums;
                let opened = Open {
                    bucket,
                    count,
                    sum_ns,
                    longest,
                };
                if let Some(open) = self.open.replace(opened) {
                    self.write(room, open);
                }
            }
        }
    }

    fn write(&mut self, room: &mut Room, open: Open) {
        let at = self.records;
        room.bucket[at] = open.bucket;
        room.count[at] = open.count;
        room.sum_ns[at] = open.sum_ns;
        room.longest[at] = open.longest.0;
        self.records += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A lane: starts and durations.
    fn counted(lane: &[(i64, i64)], levels: usize) -> (Vec<i64>, Vec<i64>) {
        let (ts, dur): (Vec<i64>, Vec<i64>) = lane.iter().copied().unzip();
        let order: Vec<i32> = (0..lane.len() as i32).collect();
        let slices = Slices {
            order: &order,
            lane_first: &[0, lane.len() as i64],
            ts: &ts,
            dur: &dur,
        };
        let (mut small, mut records) = (vec![0; levels], vec![0; levels]);
        count(&slices, &mut small, &mut records);
        (small, records)
    }

    #[test]
    fn small_slices_by_level_and_their_buckets() {
        // At level 0 instants are small, at level 1 what lasts 1, at level 2 what lasts up to 3.
        let (small, records) = counted(&[(0, 0), (1, 1), (2, 3), (5, 1), (6, 8)], 4);
        assert_eq!(small, [1, 3, 4, 4]);
        assert_eq!(records, [1, 2, 2, 1]);
    }
}
