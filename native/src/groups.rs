//! Sums and ranks of values by group, and the rows of each name in order of time.
//!
//! The references are `tb_plugin/base/group_sums.py` and `tb_plugin/analysis/timeline/build/slices.py`.

/// Adds each value to the sum of its group, and one to its count.
pub fn sums(code: &[i32], value: &[i64], sum: &mut [i64], count: &mut [i64]) {
    for (&code, &value) in code.iter().zip(value) {
        let at = code as usize;
        sum[at] = sum[at].wrapping_add(value);
        count[at] += 1;
    }
}

/// What is written of each group, one value per group.
pub struct Ranks<'a> {
    pub least: &'a mut [i64],
    pub median: &'a mut [i64],
    pub p95: &'a mut [i64],
    pub most: &'a mut [i64],
    /// Place of the first of the largest values.
    pub longest: &'a mut [i64],
}

/// Ranks within each group, by nearest rank; groups without values stay as they are. `count` is how
/// many values each group has, `room` is as long as `value` and holds anything afterwards.
pub fn ranks(code: &[i32], value: &[i64], count: &[i64], room: &mut [i64], found: &mut Ranks) {
    let mut next: Vec<usize> = Vec::with_capacity(count.len());
    let mut begin = 0;
    for &count in count {
        next.push(begin);
        begin += count as usize;
    }
    let mut seen = vec![false; count.len()];
    for (place, (&code, &value)) in code.iter().zip(value).enumerate() {
        let at = code as usize;
        room[next[at]] = value;
        next[at] += 1;
        if !seen[at] || value > found.most[at] {
            seen[at] = true;
            found.most[at] = value;
            found.longest[at] = place as i64;
        }
    }
    for (at, &count) in count.iter().enumerate() {
        let count = count as usize;
        if count == 0 {
            continue;
        }
        let values = &mut room[next[at] - count..next[at]];
        let high = rank(count, 95, 100);
        let (below, &mut p95, _) = values.select_nth_unstable(high);
        found.p95[at] = p95;
        let middle = rank(count, 1, 2);
        found.median[at] = if middle < high {
            *below.select_nth_unstable(middle).1
        } else {
            p95
        };
        found.least[at] = *values.iter().min().unwrap_or(&p95);
    }
}

/// The value in the middle of each group, and where there are two, both; groups without values stay as
/// they are. `room` is as long as `value` and holds anything afterwards.
pub fn middles(
    code: &[i32],
    value: &[i64],
    room: &mut [i64],
    lower: &mut [i64],
    upper: &mut [i64],
) {
    let mut next = vec![0; lower.len() + 1];
    for &code in code {
        next[code as usize + 1] += 1;
    }
    for at in 1..next.len() {
        next[at] += next[at - 1];
    }
    for (&code, &value) in code.iter().zip(value) {
        let at = &mut next[code as usize]; // becomes the end of the group
        room[*at] = value;
        *at += 1;
    }
    let mut begin = 0;
    for (at, &end) in next[..lower.len()].iter().enumerate() {
        let values = &mut room[begin..end];
        let count = values.len();
        begin = end;
        if count == 0 {
            continue;
        }
        let (below, &mut middle, _) = values.select_nth_unstable(count / 2);
        upper[at] = middle;
        lower[at] = if count % 2 == 1 {
            middle
        } else {
            *below.iter().max().unwrap_or(&middle)
        };
    }
}

/// The place of the first of the largest values of each group, into `found`; groups without values
/// stay as they are. `most` ends as those values.
pub fn first_largest(code: &[i32], value: &[i64], most: &mut [i64], found: &mut [i64]) {
    most.fill(i64::MIN);
    for (place, (&code, &value)) in code.iter().zip(value).enumerate() {
        let at = code as usize;
        if value > most[at] || (value == i64::MIN && found[at] < 0) {
            most[at] = value;
            found[at] = place as i64;
        }
    }
}

/// Place of the least value that a share of the values does not exceed.
fn rank(count: usize, part: usize, whole: usize) -> usize {
    ((count * part + whole - 1) / whole).max(1) - 1
}

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
    use super::*;

    #[test]
    fn groups_are_apart() {
        let code = [1, 0, 1, 1, 3];
        let value = [5, 7, 9, 1, -2];
        let (mut sum, mut count) = ([0; 4], [0; 4]);
        sums(&code, &value, &mut sum, &mut count);
        assert_eq!((sum, count), ([7, 15, 0, -2], [1, 3, 0, 1]));
        let (mut least, mut median, mut p95) = ([0; 4], [0; 4], [0; 4]);
        let (mut most, mut longest, mut room) = ([0; 4], [0; 4], [0; 5]);
        let mut found = Ranks {
            least: &mut least,
            median: &mut median,
            p95: &mut p95,
            most: &mut most,
            longest: &mut longest,
        };
        ranks(&code, &value, &count, &mut room, &mut found);
        assert_eq!(least, [7, 1, 0, -2]);
        assert_eq!(median, [7, 5, 0, -2]);
        assert_eq!(p95, [7, 9, 0, -2]);
        assert_eq!(most, [7, 9, 0, -2]);
        assert_eq!(longest, [1, 2, 0, 4]);
    }

    #[test]
    fn ranks_are_the_nearest() {
        assert_eq!([1, 2, 3, 4, 100].map(|n| rank(n, 1, 2)), [0, 0, 1, 1, 49]);
        assert_eq!(
            [1, 2, 19, 20, 21, 100].map(|n| rank(n, 95, 100)),
            [0, 1, 18, 18, 19, 94]
        );
    }

    #[test]
    fn one_middle_or_two() {
        let (code, value) = ([1, 0, 1, 1, 3, 1], [5, 7, 9, 1, -2, 6]);
        let (mut lower, mut upper, mut room) = ([0; 4], [0; 4], [0; 6]);
        middles(&code, &value, &mut room, &mut lower, &mut upper);
        assert_eq!((lower, upper), ([7, 5, 0, -2], [7, 6, 0, -2]));
    }

    #[test]
    fn the_first_of_the_largest() {
        let (code, value) = ([1, 0, 1, 1, 3], [5, i64::MIN, 9, 9, -2]);
        let (mut most, mut found) = ([0; 4], [-1; 4]);
        first_largest(&code, &value, &mut most, &mut found);
        assert_eq!(found, [1, 2, -1, 4]);
    }

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
