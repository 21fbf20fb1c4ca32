use super::*;

use std::os::unix::net::UnixDatagram;
use std::path::Path;
use std::sync::Barrier;
use std::thread;

fn line(path: &Path) -> PathBuf {
    let mut folder = path.as_os_str().to_owned();
    folder.push("-fencepost");
    PathBuf::from(folder).join("line")
}

/// Several connections write at once; how many events there are in the end.
fn crowd(fixture: &Fixture) -> Value {
    let start = Barrier::new(4);
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let store = Store::open(&fixture.path, OPTIONS, Box::new(SystemClock)).unwrap();
                start.wait();
                for _ in 0..100 {
                    store
                        .record_run_event(
                            "r".into(),
                            "w".into(),
                            "tick".into(),
                            None,
                            "{}".into(),
                            None,
                        )
                        .unwrap();
                }
            });
        }
    });
    fixture.rows("feed.latest", &[])[0][0].clone()
}

#[test]
fn a_crowd_of_writers_leaves_no_line_behind() {
    let fixture = Fixture::new();
    assert_eq!(crowd(&fixture), Value::Integer(400));
    assert!(!line(&fixture.path).parent().unwrap().exists());
}

#[test]
fn a_path_that_is_too_long_for_a_socket_does() {
    let fixture = Fixture::in_folder(&"long".repeat(40));
    assert_eq!(crowd(&fixture), Value::Integer(400));
    assert!(!line(&fixture.path).parent().unwrap().exists());
}

#[test]
fn the_dead_are_cleared_from_the_line() {
    let fixture = Fixture::new();
    let folder = line(&fixture.path);
    std::fs::create_dir_all(&folder).unwrap();
    for name in ["00000000000000000001-1-0", "00000000000000000002-1-0"] {
        drop(UnixDatagram::bind(folder.join(name)).unwrap());
    }
    let store = Store::open(&fixture.path, OPTIONS, Box::new(SystemClock)).unwrap();
    store.set_watermark("s".into(), 1, None).unwrap();
    assert!(!folder.exists());
}

#[test]
fn the_first_in_the_line_is_woken() {
    let fixture = Fixture::new();
    let folder = line(&fixture.path);
    std::fs::create_dir_all(&folder).unwrap();
    let first = UnixDatagram::bind(folder.join("00000000000000000001-1-0")).unwrap();
    let second = UnixDatagram::bind(folder.join("00000000000000000002-1-0")).unwrap();
    for socket in [&first, &second] {
        socket.set_nonblocking(true).unwrap();
    }
    let store = Store::open(&fixture.path, OPTIONS, Box::new(SystemClock)).unwrap();
    store.set_watermark("s".into(), 1, None).unwrap();
    let mut news = [0];
    assert_eq!(first.recv(&mut news).unwrap(), 1);
    assert_eq!(&news, b">");
    assert!(second.recv(&mut [0]).is_err());
}
