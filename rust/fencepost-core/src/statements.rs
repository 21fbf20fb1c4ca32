//! The named statements of `python/fencepost/sql`, one file a table, as the Python
//! engine reads them. An operation names its statements in constants, so a name that
//! no file has is found by the compiler.

use std::collections::HashMap;
use std::sync::LazyLock;

const MARK: &[u8] = b"-- name: ";

/// The tables of the shared format.
pub const SCHEMA: &str = include_str!("../../../python/fencepost/sql/schema.sql");
/// What fencepost adds to them.
pub const ADDITIONS: &str = include_str!("../../../python/fencepost/sql/additions.sql");

/// The statements of a connection.
pub const CONNECTION: &str = include_str!("../../../python/fencepost/sql/connection.sql");
/// The shared tables as they stand.
pub const DUMP: &str = include_str!("../../../python/fencepost/sql/dump.sql");
/// The statements on `effects`.
pub const EFFECTS: &str = include_str!("../../../python/fencepost/sql/effects.sql");
/// The statements on `events`.
pub const EVENTS: &str = include_str!("../../../python/fencepost/sql/events.sql");
/// The statements on `run_events` and `session_watermarks`.
pub const FEED: &str = include_str!("../../../python/fencepost/sql/feed.sql");
/// The questions about a file's layout.
pub const LAYOUT: &str = include_str!("../../../python/fencepost/sql/layout.sql");
/// The deletion of what is over.
pub const PRUNE: &str = include_str!("../../../python/fencepost/sql/prune.sql");
/// The statements on `queue`.
pub const QUEUE: &str = include_str!("../../../python/fencepost/sql/queue.sql");
/// The statements on `workflow_requests`.
pub const REQUESTS: &str = include_str!("../../../python/fencepost/sql/requests.sql");
/// The statements on `resources`.
pub const RESOURCES: &str = include_str!("../../../python/fencepost/sql/resources.sql");
/// The statements on `workflow_run_queue`.
pub const RUNS: &str = include_str!("../../../python/fencepost/sql/runs.sql");
/// The counts of everything.
pub const STATS: &str = include_str!("../../../python/fencepost/sql/stats.sql");

/// Every file by its name.
pub const FILES: [(&str, &str); 14] = [
    ("additions", ADDITIONS),
    ("connection", CONNECTION),
    ("dump", DUMP),
    ("effects", EFFECTS),
    ("events", EVENTS),
    ("feed", FEED),
    ("layout", LAYOUT),
    ("prune", PRUNE),
    ("queue", QUEUE),
    ("requests", REQUESTS),
    ("resources", RESOURCES),
    ("runs", RUNS),
    ("schema", SCHEMA),
    ("stats", STATS),
];

/// The statement called `name` in one of the files above, for use in a constant.
///
/// # Panics
///
/// Where the file has no such statement; in a constant that stops the compiler.
#[must_use]
#[expect(clippy::panic, reason = "evaluated by the compiler, in constants")]
pub const fn named(file: &'static str, name: &str) -> &'static str {
    let mut rest = file;
    while let Some((found, text, after)) = next(rest) {
        if starts_with(found.as_bytes(), name.as_bytes()) && found.len() == name.len() {
            return text;
        }
        rest = after;
    }
    panic!("no statement of this name")
}

/// The statement called `"table.name"`.
#[must_use]
pub fn find(name: &str) -> Option<&'static str> {
    static ALL: LazyLock<HashMap<String, &'static str>> = LazyLock::new(|| all().collect());
    ALL.get(name).copied()
}

/// Every named statement: `"table.name"` and its text.
pub fn all() -> impl Iterator<Item = (String, &'static str)> {
    FILES.into_iter().flat_map(|(table, file)| {
        let mut rest = file;
        std::iter::from_fn(move || {
            let (name, text, after) = next(rest)?;
            rest = after;
            Some((format!("{table}.{name}"), text))
        })
    })
}

/// The next statement of a file: its name, its text, and what follows it.
const fn next(file: &'static str) -> Option<(&'static str, &'static str, &'static str)> {
    let start = find_mark(file.as_bytes());
    if start == file.len() {
        return None;
    }
    let (_, marked) = file.split_at(start + MARK.len());
    let (name, body) = marked.split_at(line_length(marked.as_bytes()));
    let (text, rest) = body.split_at(find_mark(body.as_bytes()));
    Some((name.trim_ascii(), skip_comments(text), rest))
}

/// Where the next `-- name: ` line begins, or the length of the text.
const fn find_mark(mut text: &[u8]) -> usize {
    let mut at = 0;
    while !text.is_empty() {
        if starts_with(text, MARK) {
            break;
        }
        let line = line_length(text);
        at += line;
        (_, text) = text.split_at(line);
    }
    at
}

/// The text without the comment lines that lead it; they need not be hashed at each call.
const fn skip_comments(text: &'static str) -> &'static str {
    let mut text = text.trim_ascii();
    while starts_with(text.as_bytes(), b"--") {
        (_, text) = text.split_at(line_length(text.as_bytes()));
        text = text.trim_ascii();
    }
    text
}

/// The length of the first line, with its line feed.
const fn line_length(mut text: &[u8]) -> usize {
    let mut length = 0;
    while let [first, rest @ ..] = text {
        length += 1;
        text = rest;
        if *first == b'\n' {
            break;
        }
    }
    length
}

const fn starts_with(mut text: &[u8], mut prefix: &[u8]) -> bool {
    while let [wanted, prefix_rest @ ..] = prefix {
        match text {
            [first, rest @ ..] if *first == *wanted => text = rest,
            _ => return false,
        }
        prefix = prefix_rest;
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn splits_at_the_names() {
        const FILE: &str = "-- head\n\n-- name: a\n-- why\nSELECT 1;\n\n-- name: ab\nSELECT 2;\n";
        assert_eq!(named(FILE, "a"), "SELECT 1;");
        assert_eq!(named(FILE, "ab"), "SELECT 2;");
        assert_eq!(next("SELECT 3;"), None);
    }

    #[test]
    fn finds_by_table_and_name() {
        assert_eq!(find("runs.verify"), Some(named(RUNS, "verify")));
        assert_eq!(find("runs.nothing"), None);
        assert_eq!(find("verify"), None);
    }
}
