//! Raw reads from a file, to compare lookups from disk with.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Barrier, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use fastrand::Rng;

/// The size of a raw read in bytes.
const READ_BYTES: usize = 4096;

/// Removes a file from the system's cache. Pages that a program has mapped stay there.
///
/// # Errors
/// GNU dd is missing or fails.
pub fn evict(path: &Path) -> io::Result<()> {
    let mut file = std::ffi::OsString::from("if=");
    file.push(path);
    let run = Command::new("dd")
        .args(["iflag=nocache", "count=0", "status=none"])
        .arg(file)
        .status()?;
    run.success()
        .then_some(())
        .ok_or_else(|| io::Error::other("dd failed"))
}

/// Threads that each read 4 KiB at a random place of a file, all at the same time.
#[derive(Debug)]
pub struct RawReads {
    start: Arc<Barrier>,
    end: Arc<Barrier>,
    places: Arc<Mutex<Vec<Option<u64>>>>,
    threads: Vec<JoinHandle<io::Result<()>>>,
    pages: u64,
    rng: Rng,
}

impl RawReads {
    /// Starts `depth` threads that read a file.
    ///
    /// # Errors
    /// The file cannot be opened, or is shorter than a read.
    pub fn new(path: &Path, depth: usize) -> io::Result<Self> {
        let [start, end] = [(); 2].map(|()| Arc::new(Barrier::new(depth + 1)));
        let places = Arc::new(Mutex::new(vec![None; depth]));
        let pages = File::open(path)?.metadata()?.len() / READ_BYTES as u64;
        if pages == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let threads = (0..depth).map(|i| {
            let (start, end, places) = (Arc::clone(&start), Arc::clone(&end), Arc::clone(&places));
            let path: PathBuf = path.to_owned();
            std::thread::spawn(move || {
                let file = File::open(path);
                let mut bytes = [0; READ_BYTES];
                let mut result = Ok(());
                loop {
                    start.wait();
                    let place = places.lock().unwrap_or_else(PoisonError::into_inner)[i];
                    let Some(place) = place else {
                        return result;
                    };
                    let read = match &file {
                        Ok(file) => file.read_exact_at(&mut bytes, place),
                        Err(error) => Err(error.kind().into()),
                    };
                    result = result.and(read);
                    end.wait();
                }
            })
        });
        Ok(Self {
            threads: threads.collect(),
            start,
            end,
            places,
            pages,
            rng: Rng::with_seed(3),
        })
    }

    /// Reads once with every thread, and returns the time from the first start to the last end.
    pub fn round(&mut self) -> Duration {
        for place in &mut *self.places.lock().unwrap_or_else(PoisonError::into_inner) {
            *place = Some(self.rng.u64(..self.pages) * READ_BYTES as u64);
        }
        let clock = Instant::now();
        self.start.wait();
        self.end.wait();
        clock.elapsed()
    }

    /// Ends the threads.
    ///
    /// # Errors
    /// The first error of a read.
    pub fn finish(self) -> io::Result<()> {
        self.places
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .fill(None);
        self.start.wait();
        for thread in self.threads {
            thread
                .join()
                .map_err(|_| io::Error::other("a thread panicked"))??;
        }
        Ok(())
    }
}
