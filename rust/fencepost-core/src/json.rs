//! Canonical JSON's scalars and the order of its members, as `python/fencepost/canonical.py`
//! has them, which is the reference.

use std::cmp::Ordering;
use std::fmt::Write as _;

/// 2^53 - 1, beyond which ECMAScript's numbers skip integers.
pub const MAX_SAFE_INTEGER: i64 = (1 << 53) - 1;

const MAX_ARRAY_INDEX: u64 = 4_294_967_294;

/// Append a string in quotes.
pub fn write_quoted(text: &str, to: &mut String) {
    to.push('"');
    let mut rest = text;
    while let Some(at) = rest.bytes().position(is_escaped) {
        let (plain, escaped) = rest.split_at(at);
        to.push_str(plain);
        let mut characters = escaped.chars();
        if let Some(character) = characters.next() {
            write_escaped(character, to);
        }
        rest = characters.as_str();
    }
    to.push_str(rest);
    to.push('"');
}

fn is_escaped(byte: u8) -> bool {
    byte < b' ' || byte == b'"' || byte == b'\\'
}

fn write_escaped(character: char, to: &mut String) {
    match character {
        '"' => to.push_str("\\\""),
        '\\' => to.push_str("\\\\"),
        '\n' => to.push_str("\\n"),
        '\r' => to.push_str("\\r"),
        '\t' => to.push_str("\\t"),
        '\u{c}' => to.push_str("\\f"),
        '\u{8}' => to.push_str("\\b"),
        // Writing to a String can't fail.
        _ => drop(write!(to, "\\u{:04x}", u32::from(character))),
    }
}

/// Append an integer.
pub fn write_integer(number: i64, to: &mut String) {
    let _ = write!(to, "{number}");
}

/// Append a finite number as ECMAScript's `Number::toString` writes it.
pub fn write_number(number: f64, to: &mut String) {
    // `format!` rounds a tie up where ECMAScript wants the even digit.
    to.push_str(ryu_js::Buffer::new().format_finite(number));
}

/// Which of two member names comes first: array indexes by number, then UTF-16 code units.
#[must_use]
pub fn member_order(a: &str, b: &str) -> Ordering {
    match (array_index(a), array_index(b)) {
        (Some(a), Some(b)) => a.cmp(&b),
        (Some(_), None) => Ordering::Less,
        (None, Some(_)) => Ordering::Greater,
        (None, None) => utf16_order(a, b),
    }
}

fn array_index(name: &str) -> Option<u64> {
    let first = *name.as_bytes().first()?;
    if !first.is_ascii_digit() || name.len() > 10 || (first == b'0' && name.len() > 1) {
        return None;
    }
    let digits = name.bytes().all(|byte| byte.is_ascii_digit());
    let index = digits.then(|| name.parse().ok())??;
    (index <= MAX_ARRAY_INDEX).then_some(index)
}

/// Surrogates, which UTF-16 has for what lies beyond U+FFFF, come before U+E000.
fn utf16_order(a: &str, b: &str) -> Ordering {
    let unequal = a.bytes().zip(b.bytes()).find(|(a, b)| a != b);
    match unequal {
        None => a.len().cmp(&b.len()),
        Some((a, b)) => place(a).cmp(&place(b)),
    }
}

/// The place of a byte of UTF-8 among those that may stand where it stands.
fn place(byte: u8) -> u8 {
    match byte {
        0xee | 0xef => byte + 0x10,
        _ => byte,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(number: f64) -> String {
        let mut text = String::new();
        write_number(number, &mut text);
        text
    }

    #[test]
    fn numbers_are_ecmascripts() {
        for (value, text) in [
            (0.0, "0"),
            (-0.0, "0"),
            (1.0, "1"),
            (-1.5, "-1.5"),
            (0.1, "0.1"),
            (123.456, "123.456"),
            (1e20, "100000000000000000000"),
            (562_949_953_421_312.2, "562949953421312.2"),
            (1e21, "1e+21"),
            (1.5e21, "1.5e+21"),
            (123_456_789_012_345_680_000.0, "123456789012345680000"),
            (1e-6, "0.000001"),
            (1e-7, "1e-7"),
            (1.25e-7, "1.25e-7"),
            (-1e-7, "-1e-7"),
            (5e-324, "5e-324"),
            (f64::MAX, "1.7976931348623157e+308"),
        ] {
            assert_eq!(number(value), text);
        }
    }

    #[test]
    fn strings_are_escaped_where_they_must() {
        let mut text = String::new();
        write_quoted("a\"\\\n\r\t\u{8}\u{c}\u{1f}\u{7f}é\u{1f600}", &mut text);
        assert_eq!(text, "\"a\\\"\\\\\\n\\r\\t\\b\\f\\u001f\u{7f}é\u{1f600}\"");
    }

    #[test]
    fn members_are_in_order() {
        let sorted = [
            "0",
            "9",
            "10",
            "4294967294",
            "",
            "-1",
            "01",
            "4294967295",
            "99999999999",
            "A",
            "a",
            "aa",
            "é",
            "\u{d7ff}",
            "\u{10000}",
            "\u{10ffff}",
            "\u{e000}",
            "\u{ffff}",
            "\u{ffff}a",
        ];
        for pair in sorted.windows(2) {
            assert_eq!(member_order(pair[0], pair[1]), Ordering::Less, "{pair:?}");
            assert_eq!(member_order(pair[1], pair[0]), Ordering::Greater);
        }
        assert_eq!(member_order("é", "é"), Ordering::Equal);
    }
}
