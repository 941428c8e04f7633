//! Storage with faults: writes and syncs that fail after a number of calls, and a power cut, which drops, truncates or keeps each write
//! since the last sync.

use std::io;
use std::sync::{Arc, Mutex};

/// The synced bytes of a disk, and the writes after them.
#[derive(Debug, Default)]
struct Database {
    /// The bytes that survive a power cut.
    synced: Vec<u8>,
    /// The bytes that reads return.
    seen: Vec<u8>,
    /// Writes and changes of length since the last sync, in order.
    pending: Vec<Write>,
    /// The number of further writes and syncs that succeed; all, if `None`.
    calls_left: Option<u64>,
    failure: Option<io::ErrorKind>,
    calls: u64,
}

#[derive(Clone, Debug)]
enum Write {
    Bytes(usize, Vec<u8>),
    Length(usize),
}

/// A handle to the storage, which outlives the collections opened on it.
#[derive(Clone, Debug, Default)]
pub(super) struct FaultyStore(Arc<Mutex<Database>>);

impl FaultyStore {
    /// Storage with these bytes, all synced.
    pub(super) fn with_bytes(bytes: Vec<u8>) -> Self {
        let disk = Database {
            synced: bytes.clone(),
            seen: bytes,
            ..Database::default()
        };
        Self(Arc::new(Mutex::new(disk)))
    }

    /// Lets the next `calls` writes and syncs succeed, and all later ones fail.
    pub(super) fn fail_after(&self, calls: u64, failure: io::ErrorKind) {
        let mut disk = self.0.lock().unwrap();
        disk.calls_left = Some(calls);
        disk.failure = Some(failure);
    }

    /// The number of writes and syncs so far.
    pub(super) fn calls(&self) -> u64 {
        self.0.lock().unwrap().calls
    }

    /// The bytes as readers see them.
    pub(super) fn bytes(&self) -> Vec<u8> {
        self.0.lock().unwrap().seen.clone()
    }

    /// The bytes after a power cut: all synced bytes, and of each later write nothing, a part, or all. `random` decides for each write.
    pub(super) fn power_cut(&self, mut random: impl FnMut() -> u64) -> Vec<u8> {
        let disk = self.0.lock().unwrap();
        let mut bytes_left = disk.synced.clone();
        for write in &disk.pending {
            match write {
                Write::Length(length) if random().is_multiple_of(2) => bytes_left.resize(*length, 0),
                Write::Length(_) => {}
                Write::Bytes(at, bytes) => {
                    let kept = match random() % 4 {
                        0 => 0,
                        1 => (random() as usize) % (bytes.len() + 1),
                        _ => bytes.len(),
                    };
                    if bytes_left.len() < at + kept {
                        bytes_left.resize(at + kept, 0);
                    }
                    bytes_left[*at..at + kept].copy_from_slice(&bytes[..kept]);
                }
            }
        }
        bytes_left
    }
}

impl Database {
    fn attempt(&mut self) -> io::Result<()> {
        self.calls += 1;
        match &mut self.calls_left {
            Some(0) => Err(self.failure.unwrap_or(io::ErrorKind::Other).into()),
            Some(left) => {
                *left -= 1;
                Ok(())
            }
            None => Ok(()),
        }
    }
}

impl redb::StorageBackend for FaultyStore {
    fn len(&self) -> io::Result<u64> {
        Ok(self.0.lock().unwrap().seen.len() as u64)
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let disk = self.0.lock().unwrap();
        let at = offset as usize;
        let bytes = disk
            .seen
            .get(at..at + out.len())
            .ok_or(io::ErrorKind::UnexpectedEof)?;
        out.copy_from_slice(bytes);
        Ok(())
    }

    fn set_len(&self, length: u64) -> io::Result<()> {
        let mut disk = self.0.lock().unwrap();
        disk.attempt()?;
        disk.seen.resize(length as usize, 0);
        disk.pending.push(Write::Length(length as usize));
        Ok(())
    }

    fn sync_data(&self) -> io::Result<()> {
        let mut disk = self.0.lock().unwrap();
        disk.attempt()?;
        disk.synced = disk.seen.clone();
        disk.pending.clear();
        Ok(())
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        let mut disk = self.0.lock().unwrap();
        disk.attempt()?;
        let at = offset as usize;
        let end = at + data.len();
        if disk.seen.len() < end {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        disk.seen[at..end].copy_from_slice(data);
        disk.pending.push(Write::Bytes(at, data.to_vec()));
        Ok(())
    }
}
