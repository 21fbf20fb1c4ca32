"""Hand-made evidence of the tables beside runs and queue."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from evidence import Evidence

from fencepost_stress.model.effects import record as effect_record
from fencepost_stress.model.feed import run_event
from fencepost_stress.rows import (
    EFFECTS,
    FEED,
    RUNS,
    WATERMARKS,
    EffectRow,
    RunEventRow,
    WatermarkRow,
)
from fencepost_stress.times import text_of

UID = "uid"
SESSION = "session"


class Tables(Evidence):
    """Calls as a correct store answers them, unless a test says otherwise."""

    def reserve(
        self,
        process: str,
        key: str,
        fingerprint: str,
        *,
        created: bool | None = None,
        insert: bool | None = None,
    ) -> None:
        self.invoke(
            process,
            "effects.reserve",
            key=key,
            resource_uid=UID,
            generation=1,
            kind="call",
            request_fingerprint=fingerprint,
        )
        self.clock(process)
        present = self.tables[EFFECTS].get((key, UID))
        row = present
        if row is None or insert:
            row = EffectRow(
                key, UID, 1, "call", "pending", fingerprint, text_of(self.now), None, None, None
            )
            self.change(EFFECTS, (key, UID), row)
        assert isinstance(row, EffectRow)
        told = present is None if created is None else created
        self.ok(process, {"record": effect_record(row), "created": told})

    def update_effect(
        self, process: str, key: str, state: str, reference: str, refusal: str = ""
    ) -> None:
        self.invoke(
            process,
            "effects.update",
            resource_uid=UID,
            key=key,
            state=state,
            external_ref=reference,
        )
        self.clock(process)
        if refusal:
            self.fail(process, refusal)
            return
        before = self.tables[EFFECTS][key, UID]
        assert isinstance(before, EffectRow)
        final = state in {"applied", "rejected"}
        row = before._replace(
            state=state,
            external_ref=reference,
            completed_at=text_of(self.now) if final else None,
        )
        self.change(EFFECTS, (key, UID), row)
        self.ok(process, effect_record(row))

    def record(self, process: str, token: str, seq: int | None = None) -> None:
        self.invoke(
            process, "feed.record", run_id="r", workflow_ref="w", type="t", payload={"token": token}
        )
        self.clock(process)
        seq = len(self.tables[FEED]) + 1 if seq is None else seq
        row = RunEventRow(seq, text_of(self.now), "r", "w", "t", None, f'{{"token":"{token}"}}')
        self.change(FEED, (seq,), row)  # type: ignore[arg-type]
        self.ok(process, seq)

    def event(self, seq: int) -> dict[str, Any]:
        row = self.tables[FEED][(seq,)]  # type: ignore[index]
        assert isinstance(row, RunEventRow)
        return run_event(row)

    def read(self, process: str, place: int, limit: int, page: Sequence[int]) -> None:
        self.invoke(process, "feed.after", seq=place, limit=limit)
        self.ok(process, [self.event(seq) for seq in page])

    def watermark(self, process: str, seq: int, shown: int | None = None) -> None:
        self.invoke(process, "feed.set_watermark", session_id=SESSION, seq=seq)
        self.clock(process)
        before = self.tables[WATERMARKS].get((SESSION,))
        kept = before.last_event_seq if isinstance(before, WatermarkRow) else 0
        row = WatermarkRow(SESSION, max(seq, kept) if shown is None else shown, text_of(self.now))
        self.change(WATERMARKS, (SESSION,), row)
        self.ok(process, None)

    def read_watermark(self, process: str, told: int) -> None:
        self.invoke(process, "feed.watermark", session_id=SESSION)
        self.ok(process, told)

    def complete_many(
        self,
        process: str,
        claims: Sequence[tuple[str, str]],
        told: Sequence[bool],
        done: Sequence[bool],
    ) -> None:
        self.invoke(process, "runs.complete_many", claims=[list(claim) for claim in claims])
        self.clock(process)
        for (run_id, _), change in zip(claims, done, strict=True):
            if change:
                row = self.run(run_id)._replace(
                    status="done",
                    runner_id=None,
                    claim_token=None,
                    claim_expires_at=None,
                    updated_at=text_of(self.now),
                )
                self.change(RUNS, (run_id,), row)
        self.ok(process, list(told))
