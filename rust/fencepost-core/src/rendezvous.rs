//! Waking other processes that have the same file open, by sockets in a folder beside it.
//!
//! Keeps to the names of `python/fencepost/rendezvous.py`, which says why it is so.

use std::ffi::{OsStr, OsString};
use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::DirBuilderExt;
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};
use std::process;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::time::{ClockId, clock_gettime};

const LONGEST_ADDRESS: usize = 100;
const BIND_ATTEMPTS: u32 = 10;

static SERIAL: AtomicU64 = AtomicU64::new(0);

/// The folder for one purpose beside a database.
pub(crate) fn folder(path: &Path, purpose: &str) -> PathBuf {
    let mut folder = path.as_os_str().to_owned();
    folder.push("-fencepost");
    Path::new(&folder).join(purpose)
}

/// What one tells another by waking it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum News {
    /// It is the first in the line now.
    First,
    /// It is its turn, and whoever says so comes back to the line.
    Turn,
}

impl News {
    fn byte(self) -> u8 {
        match self {
            Self::First => b'!',
            Self::Turn => b'>',
        }
    }
}

/// Who waits in a folder, in the order of their arrival.
pub(crate) fn names(folder: &Path) -> Vec<OsString> {
    let Ok(entries) = fs::read_dir(folder) else {
        return Vec::new();
    };
    let mut names: Vec<_> = entries.flatten().map(|entry| entry.file_name()).collect();
    names.sort_unstable();
    names
}

/// Wake the first of these that is alive, and clear away those before it that are dead.
///
/// Gives its name, None where nobody was.
pub(crate) fn wake_first<'a>(
    folder: &Path,
    names: impl IntoIterator<Item = &'a OsString>,
    news: News,
) -> Option<&'a OsString> {
    names.into_iter().find(|name| wake(folder, name, news))
}

/// Wake the one under this name; false where it is dead, or gone.
fn wake(folder: &Path, name: &OsStr, news: News) -> bool {
    let sent = UnixDatagram::unbound().and_then(|sender| {
        sender.set_nonblocking(true)?;
        at_address(folder, name, |address| {
            sender.send_to(&[news.byte()], address)
        })
    });
    match sent.map_err(|error| error.kind()) {
        // Who is full has been woken already.
        Ok(_) | Err(io::ErrorKind::WouldBlock) => true,
        Err(io::ErrorKind::ConnectionRefused) => {
            let _ = fs::remove_file(folder.join(name));
            remove(folder);
            false
        }
        Err(_) => false,
    }
}

/// A place in a folder: a bound socket, named by the time of its arrival.
pub(crate) struct Place {
    folder: PathBuf,
    name: OsString,
    /// None where sockets do not work: then it is never woken.
    socket: Option<UnixDatagram>,
}

impl Place {
    /// Take a place; its name sorts after those that came before, in any process.
    pub(crate) fn take(folder: &Path) -> Self {
        let now = clock_gettime(ClockId::Monotonic);
        let arrival = i128::from(now.tv_sec) * 1_000_000_000 + i128::from(now.tv_nsec);
        let serial = SERIAL.fetch_add(1, Ordering::Relaxed);
        let name = OsString::from(format!("{arrival:020}-{}-{serial}", process::id()));
        let socket = bind(folder, &name);
        Self {
            folder: folder.to_owned(),
            name,
            socket,
        }
    }

    /// Whether nobody in the line came before.
    pub(crate) fn is_first(&self, names: &[OsString]) -> bool {
        names.first().is_none_or(|first| *first >= self.name)
    }

    /// Sleep until woken, or for so long; what it was told, if woken.
    pub(crate) fn sleep(&self, time: Duration) -> Option<News> {
        let Some(socket) = &self.socket else {
            thread::sleep(time);
            return None;
        };
        // A receive timeout of the socket itself would be counted in ticks of milliseconds.
        let timeout = Timespec::try_from(time).ok();
        let mut waiting = [PollFd::new(socket, PollFlags::IN)];
        if !poll(&mut waiting, timeout.as_ref()).is_ok_and(|ready| ready > 0) {
            return None;
        }
        // Who was woken twice wakes once more: to see that nothing is left takes as long.
        let mut news = [0];
        let got = socket.recv(&mut news).ok()?;
        Some(if got == 1 && news[0] == News::Turn.byte() {
            News::Turn
        } else {
            News::First
        })
    }
}

impl Drop for Place {
    /// Give the place up. The folder stays for the next one.
    fn drop(&mut self) {
        if self.socket.take().is_some() {
            let _ = fs::remove_file(self.folder.join(&self.name));
        }
    }
}

fn bind(folder: &Path, name: &OsStr) -> Option<UnixDatagram> {
    let mut private = DirBuilder::new();
    private.recursive(true).mode(0o700);
    // Somebody may remove the folder at any time, also between the two steps.
    for _ in 0..BIND_ATTEMPTS {
        match at_address(folder, name, |address| UnixDatagram::bind(address)) {
            Ok(socket) => return socket.set_nonblocking(true).ok().map(|()| socket),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(_) => return None,
        }
        match private.create(folder) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(_) => return None,
        }
    }
    None
}

/// Use a socket's address, by way of the folder's descriptor where its path is too long.
fn at_address<T>(
    folder: &Path,
    name: &OsStr,
    work: impl FnOnce(&Path) -> io::Result<T>,
) -> io::Result<T> {
    let address = folder.join(name);
    if address.as_os_str().len() <= LONGEST_ADDRESS {
        return work(&address);
    }
    let opened = File::open(folder)?;
    let short = Path::new("/proc/self/fd").join(opened.as_raw_fd().to_string());
    work(&short.join(name))
}

/// Remove a folder where nobody is in it, and the one around it.
pub(crate) fn remove(folder: &Path) {
    if let (Ok(()), Some(parent)) = (fs::remove_dir(folder), folder.parent()) {
        // Another purpose may still have waiters.
        let _ = fs::remove_dir(parent);
    }
}
