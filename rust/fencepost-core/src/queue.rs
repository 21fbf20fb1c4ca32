//! The reconcile queue: one row a key, claimed by one worker at a time.

use std::cmp::Ordering;

use rusqlite::named_params;

use crate::connection::Store;
use crate::error::{Refusal, Result};
use crate::resources;
use crate::session::Session;
use crate::statements::{QUEUE, named};
use crate::time::lease_end;
use crate::value::{Row, Value};

const ENQUEUE: &str = named(QUEUE, "enqueue");
const READY: &str = named(QUEUE, "ready");
const EXPIRED_SOME: &str = named(QUEUE, "expired_some");
const EXPIRED: &str = named(QUEUE, "expired");
const CLAIM: &str = named(QUEUE, "claim");
const CLAIMED: &str = named(QUEUE, "claimed");
const RENEW: &str = named(QUEUE, "renew");
const SETTLE: &str = named(QUEUE, "settle");
const RELEASE: &str = named(QUEUE, "release");
const REQUEUE: &str = named(QUEUE, "requeue");

/// Up to so many expired claims are compared one by one; more are walked in claim order.
pub(crate) const EXPIRED_LIMIT: u8 = 64;

/// Controller, key and claim token.
pub type Claim = (String, String, String);

/// What became of one item of an enqueue.
pub type Enqueued = std::result::Result<(), Refusal>;

/// A row that may be claimed, in claim order.
struct Candidate<'a> {
    available_at: Value,
    controller: &'a str,
    key: String,
}

impl Candidate<'_> {
    fn order(&self, other: &Self) -> Ordering {
        self.available_at
            .order(&other.available_at)
            .then_with(|| self.controller.cmp(other.controller))
            .then_with(|| self.key.cmp(&other.key))
    }
}

impl Store {
    /// Enqueue keys, each at its time or now. A key without resource is refused in its place.
    pub fn enqueue(
        &self,
        items: Vec<(String, String, Option<i64>)>,
        now: Option<i64>,
    ) -> Result<Vec<Enqueued>> {
        self.write(move |session| {
            let now = session.now(now)?;
            items
                .iter()
                .map(|(controller, key, available_at)| {
                    if !resources::exists(session, controller, key)? {
                        let subject = [controller.as_str().into(), key.as_str().into()];
                        return Ok(Err(Refusal::new("resource_not_found", subject)));
                    }
                    enqueue_row(session, controller, key, available_at.unwrap_or(now))?;
                    Ok(Ok(()))
                })
                .collect()
        })
    }

    /// Claim up to as many rows as there are tokens, in claim order.
    pub fn claim_next(
        &self,
        controllers: Vec<String>,
        claim_tokens: Vec<String>,
        lease_ms: i64,
        now: Option<i64>,
    ) -> Result<Vec<Row>> {
        self.write(move |session| {
            let now = session.now(now)?;
            let claim_expires_at = lease_end(now, lease_ms)?;
            let mut claims = Vec::new();
            let found = claimable(session, &controllers, now, claim_tokens.len())?;
            for (first, claim_token) in found.iter().zip(&claim_tokens) {
                session.execute(
                    CLAIM,
                    named_params! {
                        ":controller": first.controller, ":key": first.key,
                        ":claim_token": claim_token, ":claim_expires_at": claim_expires_at,
                        ":now": now,
                    },
                )?;
                claims.push(session.one(
                    CLAIMED,
                    named_params! { ":controller": first.controller, ":key": first.key },
                )?);
            }
            Ok(claims)
        })
    }

    /// Extend live claims.
    pub fn renew_claims(
        &self,
        claims: Vec<Claim>,
        lease_ms: i64,
        now: Option<i64>,
    ) -> Result<Vec<bool>> {
        self.write(move |session| {
            let now = session.now(now)?;
            let claim_expires_at = lease_end(now, lease_ms)?;
            claims
                .iter()
                .map(|(controller, key, claim_token)| {
                    session.changes(
                        RENEW,
                        named_params! {
                            ":controller": controller, ":key": key, ":claim_token": claim_token,
                            ":claim_expires_at": claim_expires_at, ":now": now,
                        },
                    )
                })
                .collect()
        })
    }

    /// End claims whose key is reconciled; a key that was enqueued meanwhile stays, due.
    pub fn settle_claims(&self, claims: Vec<Claim>, now: Option<i64>) -> Result<Vec<bool>> {
        self.write(move |session| {
            let now = session.now(now)?;
            claims
                .iter()
                .map(|(controller, key, claim_token)| {
                    let settled = session.changes(
                        SETTLE,
                        named_params! {
                            ":controller": controller, ":key": key, ":claim_token": claim_token,
                        },
                    )?;
                    if settled {
                        return Ok(true);
                    }
                    session.changes(
                        RELEASE,
                        named_params! {
                            ":controller": controller, ":key": key, ":claim_token": claim_token,
                            ":now": now,
                        },
                    )
                })
                .collect()
        })
    }

    /// Lift a claim and make the row due at `available_at`.
    pub fn requeue_claim(
        &self,
        controller: String,
        key: String,
        claim_token: String,
        available_at: i64,
        error: Option<String>,
    ) -> Result<bool> {
        self.write(move |session| {
            session.changes(
                REQUEUE,
                named_params! {
                    ":controller": controller, ":key": key, ":claim_token": claim_token,
                    ":available_at": available_at, ":error": error,
                },
            )
        })
    }
}

/// Enqueue a key whose resource is there.
pub(crate) fn enqueue_row(
    session: &Session<'_>,
    controller: &str,
    key: &str,
    available_at: i64,
) -> Result<()> {
    session.execute(
        ENQUEUE,
        named_params! { ":controller": controller, ":key": key, ":available_at": available_at },
    )?;
    Ok(())
}

/// The first rows of these controllers that may be claimed, by (`available_at`, controller, key).
///
/// A claim makes no other row claimable, so many are found at once as well as one by one.
fn claimable<'a>(
    session: &Session<'_>,
    controllers: &'a [String],
    now: i64,
    most: usize,
) -> Result<Vec<Candidate<'a>>> {
    let mut found = Vec::new();
    for controller in controllers {
        let params = named_params! { ":controller": controller, ":now": now };
        let rows = session.some(READY, params, most, has_name)?;
        found.extend(candidates(controller, rows));
        found.extend(candidates(
            controller,
            expired(session, controller, now, most)?,
        ));
    }
    found.sort_by(Candidate::order);
    found.truncate(most);
    Ok(found)
}

fn expired(session: &Session<'_>, controller: &str, now: i64, most: usize) -> Result<Vec<Row>> {
    let some = session.all(
        EXPIRED_SOME,
        named_params! {
            ":controller": controller, ":now": now, ":limit": EXPIRED_LIMIT + 1,
        },
    )?;
    if some.len() > usize::from(EXPIRED_LIMIT) {
        let params = named_params! { ":controller": controller, ":now": now };
        return session.some(EXPIRED, params, most, has_name);
    }
    let due = Value::Integer(now);
    let is_due = |row: &Row| {
        let available_at = row.first();
        available_at.is_some_and(|available_at| available_at.order(&due) != Ordering::Greater)
    };
    Ok(some.into_iter().filter(is_due).collect())
}

/// A row whose key is no text can't be named, nor claimed.
fn has_name(row: &Row) -> bool {
    row.get(1).and_then(Value::as_text).is_some()
}

fn candidates(controller: &str, rows: Vec<Row>) -> impl Iterator<Item = Candidate<'_>> {
    rows.into_iter().filter_map(move |row| {
        let mut columns = row.into_iter();
        let available_at = columns.next()?;
        match columns.next()? {
            Value::Text(key) => Some(Candidate {
                available_at,
                controller,
                key,
            }),
            _ => None,
        }
    })
}
