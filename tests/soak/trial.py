"""Runs the command once under some hardship, and says what is wrong with how it ended."""
import ctypes
import json
import os
import pathlib
import shutil
import signal
import subprocess
import time

PR_SET_CHILD_SUBREAPER = 36
# What one run may take: a tune of vector_add takes a second or two; what takes this long hangs.
LIMIT_S = 600
# How soon what is left of a killed process must be gone.
CLEAN_UP_S = 120


def become_reaper():
    """Processes that lose their parent become children of this one, so that none is overlooked."""
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def children():
    found = set()
    for task in pathlib.Path("/proc/self/task").iterdir():
        try:
            found.update(int(pid) for pid in (task / "children").read_text().split())
        except OSError:
            pass
    return found


class Trial:
    """A place for runs: temporary files of theirs, a store, and a user to run as."""

    def __init__(self, command, folder, uid=None):
        self.command = str(command)
        self.folder = pathlib.Path(folder)
        self.uid = uid
        self.temporary = self.folder / "tmp"
        self.home = self.folder / "home"
        self.variables = {}
        self.store = self.folder / "store" / "store.db"
        for each in (self.folder, self.temporary, self.home):
            each.mkdir(mode=0o700, exist_ok=True)
            if uid is not None:
                os.chown(each, uid, uid)

    def environment(self):
        keep = {name: os.environ[name] for name in ("PATH", "LD_LIBRARY_PATH", "TUNEONCE_CXX", "ASAN_OPTIONS") if name in os.environ}
        return {**keep, "TMPDIR": str(self.temporary), "HOME": str(self.home), "TUNEONCE_CUDA_DRIVER": "/nowhere/libcuda.so",
                "TUNEONCE_CPU_DRIVER": str(pathlib.Path(self.command).parent / "libtuneonce_cpu_driver.so"), "TUNEONCE_CPU_MEMORY_MIB": "256",
                **self.variables}

    def start(self, arguments, prepare=None, **options):
        def before():
            if self.uid is not None:
                os.setgroups([])
                os.setgid(self.uid)
                os.setuid(self.uid)
            if prepare is not None:
                prepare()
        return subprocess.Popen([self.command, *arguments], env=self.environment(), cwd=self.folder, stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, preexec_fn=before, **options)

    def run(self, arguments, prepare=None):
        """What is wrong with the run's end, or None; and its exit code and stdout."""
        process = self.start(arguments, prepare)
        try:
            out, err = process.communicate(timeout=LIMIT_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            self.left_behind()
            return f"hangs: no end within {LIMIT_S} s", None, ""
        wrong = judge(process.returncode, err.decode(errors="replace"))
        return wrong or self.left_behind(), process.returncode, out.decode(errors="replace")

    def tune(self, extent, *more):
        return ["tune", "vector_add", "--device", "cpu", "--shape", f"N={extent}", "--quiet", "--store", str(self.store), *more]

    def folders(self):
        """Temporary folders with something in them. A process killed in the moment between making one and marking it as its own
        leaves an empty one, which nobody may then remove."""
        return [path for path in self.temporary.iterdir() if not path.is_dir() or {each.name for each in path.iterdir()} - {".tuneonce-owner.new"}]

    def left_behind(self, with_folders=True):
        """Processes and temporary folders of runs that have ended, once they had time to go; they are removed. Those of a
        killed process go with the next run: until then, without `with_folders`, they may stay."""
        deadline = time.monotonic() + CLEAN_UP_S
        while time.monotonic() < deadline:
            reap()
            if not children() and not (with_folders and self.folders()):
                return None
            time.sleep(0.01)
        left = [f"process {name_of(pid)}" for pid in children()] + [f"{path.name} in TMPDIR" for path in self.folders()]
        for pid in children():
            os.kill(pid, signal.SIGKILL)
        while children():
            reap()
            time.sleep(0.01)
        for path in self.temporary.iterdir():
            shutil.rmtree(path, ignore_errors=True)
        return "left behind: " + ", ".join(left) if left else None

    def check_store(self, acknowledged=()):
        """What is wrong with the store: damage, or an acknowledged extent that it does not hold."""
        wrong, code, out = self.run(["records", "verify", "--json", "--store", str(self.store)])
        if wrong or code != 0:
            return f"records verify: {wrong or out}"
        aside = [path.name for path in self.store.parent.iterdir() if "corrupt" in path.name]
        if aside:
            return f"a store was set aside as corrupt: {aside}"
        wrong, code, out = self.run(["records", "list", "--json", "--store", str(self.store)])
        if wrong or code != 0:
            return f"records list: {wrong or out}"
        there = {record["tuned_at"] for record in json.loads(out)["records"]}
        lost = sorted(extent for extent in acknowledged if f"N={extent}" not in there)
        return f"{len(lost)} acknowledged records are lost: {lost[:5]}" if lost else None


def reap():
    """Takes the exit status of orphans that this process has inherited. Popen's own are waited for by then."""
    while True:
        try:
            pid, _ = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if pid == 0:
            return


def name_of(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")[:60]
    except OSError:
        return "that is gone"


NOT_STARTED = "not started"


def judge(code, err):
    lines = err.splitlines()
    if "error while loading shared libraries" in err or "cannot allocate TLS" in err:
        return NOT_STARTED  # The system's loader could not even start it.
    if code < 0:
        return f"killed by {signal.Signals(-code).name}: {err[:200]!r}"
    if code not in (0, 1):
        return f"exit code {code}: {err[:200]!r}"
    # One of cause, and maybe one of what to do.
    clear = lines and lines[0].startswith("tuneonce: ") and (lines[1:] == [] or lines[1].startswith("  try: "))
    if code == 1 and (len(lines) > 2 or not clear):
        return f"{len(lines)} lines instead of one clear one: {err[:200]!r}"
    return None
