//! Wall and CPU time.
//!
//! CPU time is what `/proc` says, so other processes on the machine do not count in it: of a process in ticks of 10 ms, of
//! a thread in nanoseconds.

use std::fs;
use std::time::Instant;

/// Ticks of `/proc` times in a second, the same on every Linux platform.
const TICKS: f64 = 100.0;

/// A running measurement.
#[derive(Debug)]
pub struct Clock {
    wall: Instant,
    own: f64,
    children: f64,
}

/// What it took.
#[derive(Clone, Copy, Debug)]
pub struct Elapsed {
    /// Wall time in seconds.
    pub wall: f64,
    /// CPU time of this process, all threads, in seconds.
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

    /// What it took since.
    pub fn elapsed(&self) -> Elapsed {
        let (own, children) = cpu_seconds();
        Elapsed {
            wall: self.wall.elapsed().as_secs_f64(),
            own: own - self.own,
            children: children - self.children,
        }
    }
}

/// CPU seconds of the calling thread so far, to the nanosecond; 0 where the system does not tell.
pub fn thread_seconds() -> f64 {
    let stat = fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanoseconds = stat.split(' ').next().and_then(|field| field.parse::<f64>().ok());
    nanoseconds.unwrap_or_default() / 1e9
}

/// The middle of the values (the upper of two), 0 for none.
pub fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or_default()
}

/// The values below which these shares of all lie, 0 for none.
pub fn percentiles<const N: usize>(mut values: Vec<f64>, shares: [f64; N]) -> [f64; N] {
    values.sort_by(f64::total_cmp);
    shares.map(|share| {
        let at = (values.len() as f64 * share) as usize;
        values.get(at).copied().unwrap_or_default()
    })
}

/// CPU seconds of this process and of its children; 0 where the system does not tell.
fn cpu_seconds() -> (f64, f64) {
    let stat = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    parse(&stat).unwrap_or_default()
}

fn parse(stat: &str) -> Option<(f64, f64)> {
    // The name of the command may hold spaces, but nothing after its bracket does.
    let (_, fields) = stat.rsplit_once(") ")?;
    let times: Vec<f64> = fields
        .split(' ')
        .skip(11)
        .take(4)
        .map_while(|field| field.parse().ok())
        .collect();
    match *times.as_slice() {
        [user, system, child_user, child_system] => {
            Some(((user + system) / TICKS, (child_user + child_system) / TICKS))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_times_whatever_the_command_is_called() {
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
