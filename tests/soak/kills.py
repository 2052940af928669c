"""Processes that tune and store, killed at random points: nothing acknowledged is lost, and nothing is left behind."""
import os
import pathlib
import random
import signal
import time

from trial import judge


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
    """One run that nobody kills, which leaves nothing behind, nor what killed ones left; then the store. It searches again, since
    who is served from the store makes no temporary folder, and looks for no others."""
    wrong, code, out = trial.run(trial.tune(999, "--retune"))
    check.add(f"a tune {when}", wrong or (None if code == 0 else f"exit code {code}: {out}"))
    check.add(f"the store {when}", trial.check_store([*acknowledged, 999]))


def worker_of(process):
    """The worker that a command has now, or None."""
    try:
        pids = [int(pid) for task in pathlib.Path(f"/proc/{process.pid}/task").iterdir() for pid in (task / "children").read_text().split()]
        return next((pid for pid in pids if os.readlink(f"/proc/{pid}/exe").endswith("/tuneonce_worker")), None)
    except OSError:
        return None


def worker_kills(report, make_trial, points, seed):
    """The code is compiled once: what is killed is a search that tries candidates, or the worker in which it does."""
    check = report.check("kill -9 of isolated searches and of their workers")
    trial = make_trial("workers")
    chance = random.Random(seed)
    tune = trial.tune(1000)
    wrong, code, out = trial.run(tune)
    check.add("the first tune", wrong or (None if code == 0 else f"exit code {code}: {out}"))
    began = time.monotonic()
    trial.run([*tune, "--retune"])
    tune_s = time.monotonic() - began
    workers = 0
    for point in range(points):
        process = trial.start([*tune, "--retune"])
        victim = chance.choice(["command", "worker"])
        worker = None
        while victim == "worker" and worker is None and process.poll() is None:
            worker = worker_of(process)
        time.sleep(chance.uniform(0, tune_s))
        try:
            os.kill(worker or process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass  # It was faster.
        err = process.communicate(timeout=1200)[1].decode(errors="replace")
        # The search goes on with another worker, or here; a baseline that is killed with its worker is one clear line.
        wrong = judge(process.returncode, err) if worker or process.returncode != -9 else None
        workers += worker is not None
        check.add(f"point {point}, {victim}", wrong, f"{'worker' if worker else 'command'} killed, exit code {process.returncode}")
        wrong = trial.left_behind(with_folders=False)
        if wrong:
            check.add(f"after point {point}", wrong)
    check.add("workers", None if workers > points // 4 else f"only {workers} were found, and killed")
    check.add("the store", trial.check_store([1000]))
