//! Stored times: milliseconds since the epoch, and their text in UTC.

use crate::error::{Error, Result};

/// The first millisecond of the year 1.
pub const MIN_TIME_MS: i64 = -62_135_596_800_000;

/// The last millisecond of the year 9999, the end of the stored time format.
pub const MAX_TIME_MS: i64 = 253_402_300_799_999;

const DAY_MS: i64 = 86_400_000;

/// The text of a time, `YYYY-MM-DDTHH:MM:SS.mmmZ`.
///
/// `ms` lies between [`MIN_TIME_MS`] and [`MAX_TIME_MS`], so that the year has four digits
/// and text order is time order.
#[must_use]
pub fn iso(ms: i64) -> String {
    let (year, month, day) = civil(ms.div_euclid(DAY_MS));
    let in_day = ms.rem_euclid(DAY_MS);
    let (hour, minute) = (in_day / 3_600_000, in_day / 60_000 % 60);
    let (second, milli) = (in_day / 1000 % 60, in_day % 1000);
    // Digit by digit: every write and every record has a time, and `format!` takes far longer.
    #[rustfmt::skip]
    let text = [
        digit(year / 1000), digit(year / 100), digit(year / 10), digit(year), b'-',
        digit(month / 10), digit(month), b'-',
        digit(day / 10), digit(day), b'T',
        digit(hour / 10), digit(hour), b':',
        digit(minute / 10), digit(minute), b':',
        digit(second / 10), digit(second), b'.',
        digit(milli / 100), digit(milli / 10), digit(milli), b'Z',
    ];
    String::from_utf8_lossy(&text).into_owned()
}

/// The last decimal digit of a number.
fn digit(number: i64) -> u8 {
    b'0' + u8::try_from(number % 10).unwrap_or(0)
}

/// When a lease that begins at `now` ends.
pub(crate) fn lease_end(now: i64, lease_ms: i64) -> Result<i64> {
    match now.checked_add(lease_ms) {
        Some(end) if end <= MAX_TIME_MS => Ok(end),
        _ => Err(Error::refused("lease_out_of_range", [lease_ms.into()])),
    }
}

/// Year, month and day of a day counted from the epoch, in the proleptic Gregorian calendar.
///
/// Counted in years that begin in March, where the leap day is the last day: see Hinnant,
/// "chrono-Compatible Low-Level Date Algorithms".
fn civil(days: i64) -> (i64, i64, i64) {
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let day_of_era = shifted.rem_euclid(146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let march_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * march_month + 2) / 5 + 1;
    let month = if march_month < 10 {
        march_month + 3
    } else {
        march_month - 9
    };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    (year, month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writes_known_times() {
        for (ms, text) in [
            (0, "1970-01-01T00:00:00.000Z"),
            (-1, "1969-12-31T23:59:59.999Z"),
            (951_782_400_000, "2000-02-29T00:00:00.000Z"),
            (1_785_801_600_123, "2026-08-04T00:00:00.123Z"),
            (4_107_542_399_999, "2100-02-28T23:59:59.999Z"),
            (4_107_542_400_000, "2100-03-01T00:00:00.000Z"),
            (MIN_TIME_MS, "0001-01-01T00:00:00.000Z"),
            (MAX_TIME_MS, "9999-12-31T23:59:59.999Z"),
        ] {
            assert_eq!(iso(ms), text);
        }
    }

    #[test]
    fn every_part_has_its_digits() {
        for ms in (MIN_TIME_MS..MAX_TIME_MS).step_by(3_155_695_201_789) {
            let (year, month, day) = civil(ms.div_euclid(DAY_MS));
            let in_day = ms.rem_euclid(DAY_MS);
            let (hour, minute) = (in_day / 3_600_000, in_day / 60_000 % 60);
            let (second, milli) = (in_day / 1000 % 60, in_day % 1000);
            let text = format!(
                "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{milli:03}Z"
            );
            assert_eq!(iso(ms), text);
        }
    }

    #[test]
    fn days_follow_each_other() {
        let (mut year, mut month, mut day) = (1, 1, 1);
        for days in MIN_TIME_MS / DAY_MS..=MAX_TIME_MS.div_euclid(DAY_MS) {
            assert_eq!(civil(days), (year, month, day));
            let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
            let length = match month {
                2 => 28 + i64::from(leap),
                4 | 6 | 9 | 11 => 30,
                _ => 31,
            };
            day += 1;
            if day > length {
                (month, day) = (month + 1, 1);
            }
            if month > 12 {
                (year, month) = (year + 1, 1);
            }
        }
    }
}
