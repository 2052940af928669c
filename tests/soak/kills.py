"""Processes that tune and store, killed at random points: nothing acknowledged is lost, and nothing is left behind."""
import random
import time


def kill_loop(report, make_trial, seconds, seed):
    check = report.check("kill -9 while tuning and storing")
    trial = make_trial("kills")
    chance = random.Random(seed)
    start = time.monotonic()
    acknowledged, extent, tune_s = [], 1000, 1.0
    while time.monotonic() < start + seconds:
        # Two at a time on one store: one may wait for the other's lock when it is killed.
        running = [(extent + i, time.monotonic(), trial.start(trial.tune(extent + i))) for i in range(2)]
        extent += 2
        for shape, began, process in running:
            try:
                process.wait(timeout=chance.uniform(0, 1.3 * tune_s))
            except Exception:  # noqa: BLE001: subprocess.TimeoutExpired
                process.kill()
            process.communicate()
            if process.returncode == 0:
                acknowledged.append(shape)
                tune_s = 0.8 * tune_s + 0.2 * (time.monotonic() - began)
            wrong = None if process.returncode in (0, -9) else f"exit code {process.returncode}"
            check.add(f"N={shape}", wrong, "acknowledged" if process.returncode == 0 else "killed")
        wrong = trial.left_behind(with_folders=False)
        if wrong:
            check.add(f"after N={extent - 1}", wrong)
        if extent % 20 == 0:
            look(check, trial, acknowledged, f"after N={extent - 1}")
    look(check, trial, acknowledged, "at the end")


def look(check, trial, acknowledged, when):
    """One run that nobody kills, which says itself what it leaves behind; then the store."""
    wrong, code, out = trial.run(trial.tune(999))
    check.add(f"a tune {when}", wrong or (None if code == 0 else f"exit code {code}: {out}"))
    check.add(f"the store {when}", trial.check_store([*acknowledged, 999]))
