"""A run pauses once its test loss is low enough, and can be continued."""

from tests.unit.live_runs import PATIENCE, finished
from tests.unit.small_experiments import small

# Learning goes on for all of these steps, and every tenth of them is tested.
EASY = small(steps=200, learning_rate=0.05, data="fresh", test_size=2_000)
TARGET = 1.03


def test_a_run_pauses_at_the_first_test_below_its_target(live):
    tests = finished(live(EASY)).history.tests
    first = next(step for step, test in tests if test.nll <= TARGET)
    assert 0 < first < EASY.training.steps
    run = live(EASY)
    run.stop_at(TARGET)
    seen = finished(run)
    assert (seen.state, seen.step) == ("paused", first)
    assert f"reached {TARGET:.3f} nats at step {first}" in seen.message


def test_it_goes_on_to_the_end_although_the_target_is_asked_for_again(live):
    run = live(EASY)
    run.stop_at(TARGET)
    assert finished(run).state == "paused"
    run.stop_at(TARGET)
    run.start()
    run.stop_at(TARGET)
    assert run.wait(PATIENCE)
    assert run.snapshot().state == "done"


def test_it_goes_on_to_the_end_although_the_loss_was_above_the_target_again(live):
    tests = finished(live(EASY)).history.tests
    losses = [test.nll for _, test in tests]
    # First reached there, left at the next test, and reached again later.
    place = next(
        i for i in range(1, len(losses) - 2)
        if min(losses[:i]) > losses[i] < losses[i + 1] and min(losses[i + 2 :]) <= losses[i]
    )  # fmt: skip
    run = live(EASY)
    run.stop_at(losses[place])
    assert finished(run).step == tests[place][0]
    for _ in range(tests[place + 1][0] - tests[place][0]):
        run.step()
    assert run.wait(PATIENCE)
    assert run.snapshot().latest.evaluation.nll > losses[place]
    run.stop_at(losses[place])
    run.start()
    assert run.wait(PATIENCE)
    assert run.snapshot().state == "done"


def test_without_a_target_or_with_one_out_of_reach_it_trains_to_the_last_step(live):
    for target in (None, 0.1):
        run = live(EASY)
        run.stop_at(target)
        assert finished(run).state == "done"
