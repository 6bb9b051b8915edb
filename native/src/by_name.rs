//! Rows of each name in order of time.
//!
//! The reference is `tb_plugin/analysis/timeline/build/slices.py`.

/// `first` holds the rows before each name: the bounds of its part of `rows`, one more than names.
/// Writes the rows of each name by (ts, row), and the sum of their durations.
pub fn index(
    name: &[i32],
    ts: &[i64],
    dur: &[i64],
    first: &[i64],
    rows: &mut [i32],
    sum_ns: &mut [i64],
) {
    sum_ns.fill(0);
    let mut next: Vec<usize> = first.iter().map(|&at| at as usize).collect();
    for (row, (&name, &dur)) in name.iter().zip(dur).enumerate() {
        let name = name as usize;
        rows[next[name]] = row as i32;
        next[name] += 1;
        sum_ns[name] += dur;
    }
    for bounds in first.windows(2) {
        // Sorted already but for the borders of threads: the sort merges its few runs.
        rows[bounds[0] as usize..bounds[1] as usize].sort_by_key(|&row| ts[row as usize]);
    }
}

#[cfg(test)]
mod tests {
    use super::index;

    #[test]
    fn each_name_in_order_of_time() {
        let (mut rows, mut sums) = ([0; 5], [0; 2]);
        index(
            &[1, 0, 1, 0, 1],
            &[5, 5, 3, 9, 5],
            &[1, 2, 3, 4, 5],
            &[0, 2, 5],
            &mut rows,
            &mut sums,
        );
        assert_eq!(rows, [1, 3, 2, 0, 4]);
        assert_eq!(sums, [6, 9]);
    }
}
