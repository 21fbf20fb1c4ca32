"""A plan is a function of its seed."""

from __future__ import annotations

from pathlib import Path

from fencepost_stress.plan import FAULTS, Plan, load, make_plan, save


def plan(seed: int, processes: int = 4) -> Plan:
    return make_plan(seed=seed, engine="python", processes=processes, seconds=8, faults=FAULTS)


def test_the_same_seed_gives_the_same_plan() -> None:
    assert plan(7) == plan(7)
    assert plan(7).faults != plan(8).faults


def test_a_plan_survives_its_file(tmp_path: Path) -> None:
    save(plan(7), tmp_path / "plan.json")
    assert load(tmp_path / "plan.json") == plan(7)


def test_faults_lie_between_warm_up_and_healing_and_never_overlap_on_a_process() -> None:
    for seed in range(50):
        busy_until = [0, 0, 0, 0]
        faults = plan(seed).faults
        assert {fault.kind for fault in faults} == set(FAULTS) - {"storm"}
        for fault in faults:
            assert 800 <= fault.at_ms < 8000
            if fault.kind in {"kill", "pause", "restart"}:
                assert fault.at_ms >= busy_until[fault.slot]
                busy_until[fault.slot] = fault.at_ms + fault.duration_ms


def test_clocks_go_wrong_within_the_declared_error() -> None:
    for seed in range(20):
        made = plan(seed)
        errors = [
            path.error_ms(elapsed_ms)
            for slot in range(made.processes)
            if (path := made.clock_path(slot)) is not None
            for elapsed_ms in range(0, made.load_ms + made.heal_limit_ms, 50)
        ]
        assert max(errors) - min(errors) <= made.clock_error_ms
        assert 300 < made.clock_error_ms < 5000
    assert make_plan(seed=1, engine="python", processes=4, seconds=8, faults=()).clock_error_ms == 0


def test_what_must_happen_follows_from_the_faults() -> None:
    none = make_plan(seed=1, engine="python", processes=4, seconds=8, faults=())
    assert none.faults == ()
    assert not {"worker killed", "worker paused past a lease"} & set(none.required)
    assert {"worker killed", "worker paused past a lease"} <= set(plan(1).required)
