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

#[cfg(test)]
mod tests {
    use super::*;

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
