//! Measures wall time and CPU time.
//!
//! CPU time is read from `/proc`, so it does not include other processes on the machine. Its resolution is 10 ms for a
//! process, and a nanosecond for a thread.

use std::fs;
use std::time::Instant;

/// Ticks per second of the times in `/proc`, the same on every Linux platform.
const TICKS_PER_SECOND: f64 = 100.0;

/// A measurement that has started.
#[derive(Debug)]
pub struct Clock {
    wall: Instant,
    own: f64,
    children: f64,
}

/// The result of a measurement.
#[derive(Clone, Copy, Debug)]
pub struct Elapsed {
    /// Wall time in seconds.
    pub wall: f64,
    /// CPU time of all threads of this process, in seconds.
    pub own: f64,
    /// CPU time of child processes that have ended and were waited for, in seconds.
    pub children: f64,
}

impl Clock {
    /// Starts measuring.
    pub fn start() -> Self {
        let (own, children) = cpu_seconds();
        Self {
            wall: Instant::now(),
            own,
            children,
        }
    }

    /// Returns the times since the measurement started.
    pub fn elapsed(&self) -> Elapsed {
        let (own, children) = cpu_seconds();
        Elapsed {
            wall: self.wall.elapsed().as_secs_f64(),
            own: own - self.own,
            children: children - self.children,
        }
    }
}

/// Returns the CPU seconds of the calling thread, to the nanosecond; 0 if the system does not report them.
pub fn thread_seconds() -> f64 {
    let stat = fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanoseconds = stat.split(' ').next().and_then(|field| field.parse::<f64>().ok());
    nanoseconds.unwrap_or_default() / 1e9
}

/// Returns the median of the values, the upper of the two middle ones if their number is even. Returns 0 without
/// values.
pub fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or_default()
}

/// Returns the percentiles of the values at the given shares (0.5 is the median). Returns zeros without values.
pub fn percentiles<const N: usize>(mut values: Vec<f64>, shares: [f64; N]) -> [f64; N] {
    values.sort_by(f64::total_cmp);
    shares.map(|share| {
        let at = (values.len() as f64 * share) as usize;
        values.get(at).copied().unwrap_or_default()
    })
}

/// Returns the CPU seconds of this process and of its children; 0 if the system does not report them.
fn cpu_seconds() -> (f64, f64) {
    let stat = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    parse(&stat).unwrap_or_default()
}

fn parse(stat: &str) -> Option<(f64, f64)> {
    // In `/proc/…/stat`, the command's name may contain spaces and brackets. The fields begin after the last bracket.
    let (_, fields) = stat.rsplit_once(") ")?;
    let times: Vec<f64> = fields
        .split(' ')
        .skip(11)
        .take(4)
        .map_while(|field| field.parse().ok())
        .collect();
    match *times.as_slice() {
        [user, system, child_user, child_system] => Some((
            (user + system) / TICKS_PER_SECOND,
            (child_user + child_system) / TICKS_PER_SECOND,
        )),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_parsed_for_any_name_of_the_command() {
        let stat = "7 (a) b) R 1 7 7 0 -1 0 1 2 3 4 150 50 30 20 20 0 1 0 5";
        assert_eq!(parse(stat), Some((2.0, 0.5)));
        assert_eq!(parse("7 (a"), None);
    }

    #[test]
    fn the_median_is_the_middle() {
        assert_eq!(median(vec![3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(vec![]), 0.0);
        assert_eq!(percentiles(vec![3.0, 1.0, 2.0, 4.0], [0.5, 0.99]), [3.0, 4.0]);
    }
}
