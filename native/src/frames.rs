//! Which frame of the user's code runs, by the rows that belong to it, and who was called by whom.
//!
//! The references are in `tb_plugin/analysis/patterns/host_code.py` and `tb_plugin/analysis/idle/names.py`.

/// Rows of a thread: whether each counts, the row of the frame it belongs to, and the code of its name.
#[derive(Clone, Copy)]
pub struct Owned<'a> {
    pub mask: &'a [u8],
    pub owner: &'a [i32],
    pub name: &'a [i32],
}

impl Owned<'_> {
    /// The code of the name of the frame that a row belongs to; None where the row does not count.
    #[inline(always)]
    fn frame(&self, row: usize) -> Option<usize> {
        (self.mask[row] != 0).then(|| self.name[self.owner[row] as usize] as usize)
    }
}

/// Adds the own time of each row to the name of its frame.
pub fn sums(rows: Owned, own: &[i64], total: &mut [i64]) {
    for (row, own) in own.iter().enumerate() {
        if let Some(frame) = rows.frame(row) {
            total[frame] += own;
        }
    }
}

/// The number of the name of each row's frame, 0 where it does not count; and around each row with
/// another number the one of its parent.
pub fn numbers(rows: Owned, parent: &[i32], of_name: &[u8], number: &mut [u8], around: &mut [u8]) {
    for (row, &parent) in parent.iter().enumerate() {
        let own = rows.frame(row).map_or(0, |frame| of_name[frame]);
        number[row] = own;
        if parent >= 0 {
            assert!((parent as usize) < row, "a parent behind its row");
            let above = number[parent as usize];
            around[row] = if above == own { 0 } else { above };
        }
    }
}

/// Time that some events held, each under one of several causes.
#[derive(Clone, Copy)]
pub struct Holds<'a> {
    pub row: &'a [i32],
    pub cause: &'a [i8],
    pub idle: &'a [i64],
}

/// The label of each entry: 0 where the mark of its row is set, else 1 + name · causes + cause; and the
/// time and the number of entries of each label.
pub fn labels(
    holds: Holds,
    marker: &[u8],
    name: &[i32],
    causes: i32,
    label: &mut [i32],
    total: &mut [i64],
    count: &mut [i64],
) {
    for (at, to) in label.iter_mut().enumerate() {
        let row = holds.row[at] as usize;
        *to = if marker[row] != 0 {
            0
        } else {
            1 + name[row] * causes + i32::from(holds.cause[at])
        };
        total[*to as usize] += holds.idle[at];
        count[*to as usize] += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_by_name() {
        // frame 5, in it a call, in that frame 6, in it a call; and one that does not count
        let (mask, owner, name) = ([1, 1, 1, 1, 0], [0, 0, 2, 2, -1], [5, 1, 6, 1, 1]);
        let rows = Owned {
            mask: &mask,
            owner: &owner,
            name: &name,
        };
        let mut total = [0; 7];
        sums(rows, &[1, 2, 4, 8, 16], &mut total);
        assert_eq!(total, [0, 0, 0, 0, 0, 3, 12]);
        let (mut number, mut around) = ([9; 5], [0; 5]);
        let of_name = [0, 0, 0, 0, 0, 1, 2];
        numbers(rows, &[-1, 0, 1, 2, 0], &of_name, &mut number, &mut around);
        assert_eq!(number, [1, 1, 2, 2, 0]);
        assert_eq!(around, [0, 0, 1, 0, 1]);
    }

    #[test]
    fn labels_of_what_is_no_mark() {
        let holds = Holds {
            row: &[0, 1, 2, 0],
            cause: &[1, 0, 1, 1],
            idle: &[5, 6, 7, 8],
        };
        let (mut label, mut total, mut count) = ([9; 4], [0; 7], [0; 7]);
        labels(
            holds,
            &[0, 1, 0],
            &[2, 0, 0],
            2,
            &mut label,
            &mut total,
            &mut count,
        );
        assert_eq!(label, [6, 0, 2, 6]);
        assert_eq!(total, [6, 0, 7, 0, 0, 0, 13]);
        assert_eq!(count, [1, 0, 1, 0, 0, 0, 2]);
    }
}
