//! Reports the progress of a run, and measures the memory, time and bytes that its process has used.

/// The unit in which the progress of a stage is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Bytes of input.
    Bytes,
    /// Documents.
    Documents,
    /// Fingerprints.
    Fingerprints,
    /// Steps whose total number is not known in advance.
    Steps,
}

/// Receives the progress of a run. Calls come from one thread at a time.
pub trait Progress: Sync {
    /// Reports that a stage begins. `total` is the approximate number of units that it will count.
    fn stage(&self, name: &'static str, total: u64, unit: Unit);
    /// Reports that `done` more units of the current stage are finished.
    fn advance(&self, done: u64);
    /// Reports a warning to the user. The run continues.
    fn warn(&self, message: &str);
}

/// A [`Progress`] that ignores all reports and warnings.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl Progress for Silent {
    fn stage(&self, _: &'static str, _: u64, _: Unit) {}
    fn advance(&self, _: u64) {}
    fn warn(&self, _: &str) {}
}

/// The peak memory of this process so far, in bytes (`VmHWM` in `/proc`), or `None` except on Linux.
pub fn peak_memory() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    let kib: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kib * 1024)
}

/// The processor time that all threads of this process have used so far, in seconds, or `None` except on Linux.
pub fn cpu_seconds() -> Option<f64> {
    let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
    // In `/proc/self/stat` the process name is in parentheses and may contain spaces. The fields after it contain none.
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    let ticks = |i: usize| fields.get(i)?.parse::<u64>().ok();
    // Linux reports processor time in ticks. A tick is 1/100 s on every Linux that Rust supports.
    Some((ticks(11)? + ticks(12)?) as f64 / 100.0)
}

/// The numbers of bytes that a process has read and written with system calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IoBytes {
    /// Bytes read.
    pub read: u64,
    /// Bytes written.
    pub written: u64,
}

/// The bytes that this process has read and written so far, or `None` except on Linux.
pub fn io_bytes() -> Option<IoBytes> {
    let io = std::fs::read_to_string("/proc/self/io").ok()?;
    let field = |name: &str| {
        let line = io.lines().find_map(|line| line.strip_prefix(name));
        line?.trim().parse::<u64>().ok()
    };
    Some(IoBytes {
        read: field("rchar:")?,
        written: field("wchar:")?,
    })
}
