//! How a run tells where it is.

/// What a stage counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Bytes of input.
    Bytes,
    /// Documents.
    Documents,
    /// Fingerprints.
    Fingerprints,
    /// Nothing that can be counted beforehand.
    Steps,
}

/// Receives the progress of a run. Calls come from one thread at a time.
pub trait Progress: Sync {
    /// A stage begins; it will count to about `total`.
    fn stage(&self, name: &'static str, total: u64, unit: Unit);
    /// So much more is done.
    fn advance(&self, done: u64);
    /// Something a user should know that is no error.
    fn warn(&self, message: &str);
}

/// Tells nobody.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl Progress for Silent {
    fn stage(&self, _: &'static str, _: u64, _: Unit) {}
    fn advance(&self, _: u64) {}
    fn warn(&self, _: &str) {}
}

/// The most memory this process has held so far, in bytes, where the system tells (Linux).
pub fn peak_memory() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    let kib: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kib * 1024)
}

/// Processor time this process has used so far, in seconds, where the system tells (Linux).
pub fn cpu_seconds() -> Option<f64> {
    let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
    // The name in parentheses may hold spaces; what follows it does not.
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    let ticks = |i: usize| fields.get(i)?.parse::<u64>().ok();
    // Ticks are 1/100 s on every Linux that Rust supports.
    Some((ticks(11)? + ticks(12)?) as f64 / 100.0)
}

/// Bytes this process has read and written so far by calls of the system, where the system tells (Linux).
pub fn bytes_moved() -> Option<(u64, u64)> {
    let io = std::fs::read_to_string("/proc/self/io").ok()?;
    let field = |name: &str| {
        let line = io.lines().find_map(|line| line.strip_prefix(name));
        line?.trim().parse::<u64>().ok()
    };
    Some((field("rchar:")?, field("wchar:")?))
}
