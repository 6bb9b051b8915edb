//! A column that grows without being copied, and is handed over piece by piece.

/// Values of a full segment.
const FULL: usize = 1 << 17;

/// Values of one type, in the order in which they were added.
pub struct Segments<T> {
    full: Vec<Vec<T>>,
    last: Vec<T>,
}

impl<T> Default for Segments<T> {
    fn default() -> Self {
        Segments {
            full: Vec::new(),
            last: Vec::new(),
        }
    }
}

impl<T: Copy> Segments<T> {
    #[inline(always)]
    pub fn push(&mut self, value: T) {
        if self.last.len() == FULL {
            self.open();
        }
        self.last.push(value);
    }

    #[cold]
    fn open(&mut self) {
        let full = std::mem::replace(&mut self.last, Vec::with_capacity(FULL));
        self.full.push(full);
    }

    pub fn len(&self) -> usize {
        self.full.len() * FULL + self.last.len()
    }

    pub fn is_empty(&self) -> bool {
        self.last.is_empty()
    }

    /// The value added last.
    pub fn last(&self) -> Option<&T> {
        self.last.last()
    }

    /// Moves everything to `destination`, which is as long; each segment is freed when it is copied.
    pub fn take<U: From<T>>(&mut self, destination: &mut [U]) {
        let last = std::mem::take(&mut self.last);
        let mut rest = destination;
        for segment in self.full.drain(..).chain([last]) {
            let (here, behind) = rest.split_at_mut(segment.len());
            for (to, from) in here.iter_mut().zip(segment) {
                *to = U::from(from);
            }
            rest = behind;
        }
    }
}

/// Integers, in half the memory as long as they are small: a segment is wide only if one of its values must be.
#[derive(Default)]
pub struct Ints {
    full: Vec<Segment>,
    last: Segment,
}

enum Segment {
    Narrow(Vec<i32>),
    Wide(Vec<i64>),
}

impl Default for Segment {
    fn default() -> Self {
        Segment::Narrow(Vec::new())
    }
}

impl Ints {
    #[inline(always)]
    pub fn push(&mut self, value: i64) {
        match &mut self.last {
            Segment::Narrow(values) if values.len() < FULL && value == i64::from(value as i32) => {
                values.push(value as i32);
            }
            Segment::Wide(values) if values.len() < FULL => values.push(value),
            _ => self.push_further(value),
        }
    }

    /// Into a new segment, or a wider one.
    #[cold]
    #[inline(never)]
    fn push_further(&mut self, value: i64) {
        if self.last.len() == FULL {
            let segment = Segment::Narrow(Vec::with_capacity(FULL));
            self.full.push(std::mem::replace(&mut self.last, segment));
            self.push(value);
        } else if let Segment::Narrow(values) = &self.last {
            let mut wide: Vec<i64> = values.iter().map(|&value| value.into()).collect();
            wide.push(value);
            self.last = Segment::Wide(wide);
        }
    }

    pub fn len(&self) -> usize {
        self.full.len() * FULL + self.last.len()
    }

    pub fn is_empty(&self) -> bool {
        self.last.len() == 0
    }

    /// Whether all values fit 32 bits.
    pub fn is_narrow(&self) -> bool {
        self.full
            .iter()
            .chain([&self.last])
            .all(|segment| matches!(segment, Segment::Narrow(_)))
    }

    /// Moves everything to `destination`, which is as long; each segment is freed when it is copied.
    pub fn take(&mut self, destination: &mut [i64]) {
        let last = std::mem::take(&mut self.last);
        let mut rest = destination;
        for segment in self.full.drain(..).chain([last]) {
            let (here, behind) = rest.split_at_mut(segment.len());
            match segment {
                Segment::Narrow(values) => {
                    here.iter_mut()
                        .zip(values)
                        .for_each(|(to, from)| *to = from.into());
                }
                Segment::Wide(values) => here.copy_from_slice(&values),
            }
            rest = behind;
        }
    }

    /// As `take`, if `is_narrow`.
    pub fn take_narrow(&mut self, destination: &mut [i32]) {
        let last = std::mem::take(&mut self.last);
        let mut rest = destination;
        for segment in self.full.drain(..).chain([last]) {
            let (here, behind) = rest.split_at_mut(segment.len());
            if let Segment::Narrow(values) = segment {
                here.copy_from_slice(&values);
            }
            rest = behind;
        }
    }
}

impl Segment {
    fn len(&self) -> usize {
        match self {
            Segment::Narrow(values) => values.len(),
            Segment::Wide(values) => values.len(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_of_any_size() {
        for wide in [
            None,
            Some(0),
            Some(5),
            Some(FULL - 1),
            Some(FULL),
            Some(2 * FULL + 3),
        ] {
            let given: Vec<i64> = (0..2 * FULL as i64 + 5)
                .map(|value| {
                    if Some(value as usize) == wide {
                        i64::MIN + value
                    } else {
                        value - 3
                    }
                })
                .collect();
            let mut column = Ints::default();
            given.iter().for_each(|&value| column.push(value));
            assert_eq!(column.len(), given.len());
            assert_eq!(column.is_narrow(), wide.is_none());
            if column.is_narrow() {
                let mut out = vec![0; given.len()];
                column.take_narrow(&mut out);
                assert!(out
                    .iter()
                    .zip(&given)
                    .all(|(&out, &given)| i64::from(out) == given));
            } else {
                let mut out = vec![0; given.len()];
                column.take(&mut out);
                assert_eq!(out, given);
            }
            assert!(column.is_empty());
        }
        for value in [i64::from(i32::MIN) - 1, i64::from(i32::MAX) + 1, i64::MAX] {
            let mut column = Ints::default();
            column.push(value);
            assert!(!column.is_narrow());
        }
    }

    #[test]
    fn values_come_out_as_they_went_in() {
        for count in [0, 1, FULL - 1, FULL, FULL + 1, 2 * FULL, 2 * FULL + 5] {
            let mut column = Segments::default();
            for value in 0..count as i32 {
                column.push(value);
            }
            assert_eq!(column.len(), count);
            assert_eq!(column.is_empty(), count == 0);
            let mut out = vec![-1i64; count];
            column.take(&mut out);
            assert!(out
                .iter()
                .enumerate()
                .all(|(index, &value)| value == index as i64));
            assert!(column.is_empty());
        }
    }
}
