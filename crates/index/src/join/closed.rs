//! Closed rows: rows whose pairs with one another a caller does not need.
//!
//! In a crowd of m similar rows nearly all of the m²/2 pairs are within the radius. A caller closes the rows that have
//! too many neighbours while the join runs. Pairs of two closed rows are not emitted. Where there are many closed rows,
//! they are not even compared with one another, so the work for a crowd is not quadratic.

use twinprint_fingerprint::{Width, kernel};

/// Returns true if a row is closed, given by its number. An answer may change from false to true during the join, but
/// never back.
pub(super) type IsClosed<'c> = dyn Fn(u32) -> bool + Sync + 'c;

/// The minimum number of rows that are separated into open and closed ones. With fewer rows the copies would cost more
/// than the comparisons.
const MIN_SEPARATED_ROWS: usize = 64;

/// Rows of a join: their fingerprints, and their numbers.
#[derive(Clone, Copy)]
pub(super) struct NumberedRows<'r, W> {
    pub(super) rows: &'r [W],
    pub(super) ids: &'r [u32],
}

/// Some of the rows of a slice, with their positions in it.
struct Selection<W> {
    rows: Vec<W>,
    positions: Vec<u32>,
}

impl<W: Width> Selection<W> {
    fn of(all: NumberedRows<'_, W>, chosen: impl Fn(u32) -> bool) -> Self {
        let mut selection = Self {
            rows: Vec::new(),
            positions: Vec::new(),
        };
        for (position, (&row, &id)) in (0u32..).zip(all.rows.iter().zip(all.ids)) {
            if chosen(id) {
                selection.rows.push(row);
                selection.positions.push(position);
            }
        }
        selection
    }
}

/// Calls `hit` with the positions of every pair of a row of `a` and a row of `b` within the radius. May leave out pairs
/// of two closed rows.
pub(super) fn compare<W: Width>(
    a: NumberedRows<'_, W>,
    b: NumberedRows<'_, W>,
    k: u32,
    is_closed: Option<&IsClosed<'_>>,
    hit: &mut dyn FnMut(u32, u32, u8),
) {
    let (Some(is_closed), true) = (is_closed, a.rows.len().min(b.rows.len()) >= MIN_SEPARATED_ROWS) else {
        return kernel::hamming_many_to_many(a.rows, b.rows, k, &mut |i, j, d| hit(i, j, d));
    };
    let open = Selection::of(a, |id| !is_closed(id));
    if open.rows.len() == a.rows.len() {
        return kernel::hamming_many_to_many(a.rows, b.rows, k, &mut |i, j, d| hit(i, j, d));
    }
    kernel::hamming_many_to_many(&open.rows, b.rows, k, &mut |i, j, d| {
        hit(open.positions[i as usize], j, d);
    });
    // A row that was closed in the meantime is in neither selection of `a`, or in both; a pair would be lost or come
    // twice. So the second selection of `a` is the complement of the first.
    let mut is_open = vec![false; a.rows.len()];
    for &position in &open.positions {
        is_open[position as usize] = true;
    }
    let closed: Vec<u32> = (0..a.rows.len() as u32)
        .filter(|&position| !is_open[position as usize])
        .collect();
    let closed_rows: Vec<W> = closed.iter().map(|&position| a.rows[position as usize]).collect();
    let others = Selection::of(b, |id| !is_closed(id));
    kernel::hamming_many_to_many(&closed_rows, &others.rows, k, &mut |i, j, d| {
        hit(closed[i as usize], others.positions[j as usize], d);
    });
}

/// Calls `hit` with the positions of every pair of `rows` within the radius, each once. May leave out pairs of two closed
/// rows.
pub(super) fn compare_within<W: Width>(
    all: NumberedRows<'_, W>,
    k: u32,
    is_closed: Option<&IsClosed<'_>>,
    hit: &mut dyn FnMut(u32, u32, u8),
) {
    let (Some(is_closed), true) = (is_closed, all.rows.len() >= MIN_SEPARATED_ROWS) else {
        return kernel::hamming_within(all.rows, k, &mut |i, j, d| hit(i, j, d));
    };
    let flags: Vec<bool> = all.ids.iter().map(|&id| is_closed(id)).collect();
    let select = |closed: bool| -> (Vec<u32>, Vec<W>) {
        let chosen = (0u32..).zip(&flags).filter(|&(_, &flag)| flag == closed);
        chosen
            .map(|(position, _)| (position, all.rows[position as usize]))
            .unzip()
    };
    let ((open, open_rows), (closed, closed_rows)) = (select(false), select(true));
    kernel::hamming_within(&open_rows, k, &mut |i, j, d| {
        hit(open[i as usize], open[j as usize], d);
    });
    kernel::hamming_many_to_many(&open_rows, &closed_rows, k, &mut |i, j, d| {
        hit(open[i as usize], closed[j as usize], d);
    });
}
