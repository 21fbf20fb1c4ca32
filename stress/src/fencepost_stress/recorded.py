"""A store for other people's code: it behaves like the real one, and every call is recorded.

Evidence needs each call to carry something that no other call carries (see `identity`).
Where code gives nothing of that kind, it is added here, as little as will do: a claim token
where there is none, a member `token` in a specification or payload, and a millisecond for
each renewal of a claim.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from . import identity
from .session import Session

_READS = frozenset(
    {"get", "get_by_uid", "get_by_id", "list", "iterate", "after", "latest_seq", "watermark"}
)
_MARKED = {
    "resources.put": "spec",
    "feed.record": "payload",
    "events.record": "payload",
}
_TOKENS = frozenset({"runs.enqueue", "runs.claim_next"})
_FACETS = frozenset({"resources", "queue", "effects", "requests", "events", "runs", "feed"})
_REMEMBERED = 4096


class NotRecordedError(TypeError):
    """The harness can't tell the effect of this call from that of another one."""


class RecordedStore:
    """The facets of a store. Not for threads: a worker is one process with one thread."""

    def __init__(self, session: Session, unique: Callable[[str], str]) -> None:
        self._session = session
        self._unique = unique
        self._renewals: OrderedDict[str, int] = OrderedDict()

    def __getattr__(self, name: str) -> RecordedFacet:
        if name not in _FACETS:
            raise AttributeError(f"a store under stress has no {name!r}: it has its facets only")
        return RecordedFacet(self, name)

    def call(self, name: str, args: dict[str, Any]) -> Any:
        """Make a call, with what it needs to be told apart; raises what the store raises."""
        if "now" in args:
            raise NotRecordedError(f"{name}: under stress the store reads the clock itself")
        args = self._told_apart(name, dict(args))
        answer = self._session.call(name, **args)
        if answer.error is not None:
            raise answer.error
        return answer.value

    def read(self, name: str) -> Any:
        """The real method: what only reads is not recorded."""
        facet, _, method = name.partition(".")
        return getattr(getattr(self._session.store, facet), method)

    def _told_apart(self, name: str, args: dict[str, Any]) -> dict[str, Any]:
        if name in _TOKENS and args.get("claim_token") is None:
            args["claim_token"] = self._unique("token")
        elif name == "runs.enqueue_many":
            args["items"] = [
                {"claim_token": self._unique("token"), **item} for item in args["items"]
            ]
        elif name == "queue.enqueue_many":
            raise NotRecordedError(f"{name}: enqueue keys one by one, with queue.enqueue")
        elif name in _MARKED:
            args[_MARKED[name]] = self._marked(name, args.get(_MARKED[name]))
        elif name in {"effects.update", "requests.update"}:
            own = args.get("external_ref" if name == "effects.update" else "run_id")
            if own is None and args.get("error") is None:
                raise NotRecordedError(
                    f"{name}: give each update something of its own, "
                    "an error or an external_ref (effects) or run_id (requests)"
                )
        elif name in {"runs.renew", "queue.renew"}:
            token = args["claim"].token if "claim" in args else args["claim_token"]
            args["lease_ms"] += self._renewed([token])
        elif name in {"runs.renew_many", "queue.renew_many"}:
            tokens = [getattr(claim, "token", None) or claim[1] for claim in args["claims"]]
            args["lease_ms"] += self._renewed(tokens)
        return args

    def _marked(self, name: str, value: Any) -> dict[str, Any]:
        if value is not None and not isinstance(value, dict):
            raise NotRecordedError(f"{name}: only an object can be told apart, not {value!r}")
        return {**(value or {}), "token": self._unique("mark")}

    def _renewed(self, tokens: list[str]) -> int:
        """The milliseconds to add, so that no token is renewed twice for the same lease."""
        most = 1 + max(self._renewals.get(token, 0) for token in tokens) if tokens else 0
        for token in tokens:
            self._renewals[token] = most
            self._renewals.move_to_end(token)
        while len(self._renewals) > _REMEMBERED:
            self._renewals.popitem(last=False)
        return most


class RecordedFacet:
    """One facet: what changes something is recorded, what only reads is passed on."""

    def __init__(self, store: RecordedStore, facet: str) -> None:
        self._store = store
        self._facet = facet

    def __getattr__(self, method: str) -> Callable[..., Any]:
        name = f"{self._facet}.{method}"
        if name in identity.RECORDED:
            return lambda **args: self._store.call(name, args)
        if method in _READS:
            found: Callable[..., Any] = self._store.read(name)
            return found
        raise AttributeError(f"{name} does not take part in a stress run")
