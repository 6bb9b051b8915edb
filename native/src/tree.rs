//! What rows take over from the row around them, and what they add up to; parents come before their rows.
//!
//! The references are in `tb_plugin/analysis/call_tree/paths.py`.

/// What stands for nothing, and for no parent.
const NONE: i32 = -1;

/// Gives each row that has nothing what its parent has.
pub fn inherit(parent: &[i32], own: &mut [i32]) {
    for row in 0..own.len() {
        if own[row] == NONE && parent[row] != NONE {
            own[row] = own[before(parent[row], row)];
        }
    }
}

/// Adds to each row what is below it.
pub fn sum_up(parent: &[i32], value: &mut [i64]) {
    for row in (0..value.len()).rev() {
        if parent[row] != NONE {
            let above = before(parent[row], row);
            value[above] = value[above].wrapping_add(value[row]);
        }
    }
}

/// The parent as a place, which is before the row's.
#[inline(always)]
fn before(parent: i32, row: usize) -> usize {
    let above = parent as usize;
    assert!(above < row, "a parent behind its row");
    above
}

#[cfg(test)]
mod tests {
    use super::*;

    //  0 ─ 1 ─ 2     4 ─ 5
    //    └ 3
    const PARENT: [i32; 6] = [-1, 0, 1, 0, -1, 4];

    #[test]
    fn the_innermost_counts() {
        let mut own = [7, -1, 8, -1, -1, 9];
        inherit(&PARENT, &mut own);
        assert_eq!(own, [7, 7, 8, 7, -1, 9]);
    }

    #[test]
    fn sums_reach_the_root() {
        let mut value = [1, 10, 100, 1000, -1, 3];
        sum_up(&PARENT, &mut value);
        assert_eq!(value, [1111, 110, 100, 1000, 2, 3]);
    }

    #[test]
    #[should_panic]
    fn a_parent_comes_first() {
        inherit(&[1, -1], &mut [-1, 0]);
    }
}
