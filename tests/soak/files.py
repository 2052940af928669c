"""Files that are not what they should be, as store, output and bundle; and disks without room."""
import contextlib
import hashlib
import os
import pathlib
import resource
import sqlite3
import stat
import subprocess

HINTED = pathlib.Path(__file__).parent.parent / "data" / "tile_ir" / "rms_norm.hinted.tileir"
BUNDLE = pathlib.Path(__file__).parent.parent.parent / "bundles" / "rms_norm"


def mark(path):
    """What of a file must not change."""
    info = os.lstat(path)
    content = b""
    if stat.S_ISREG(info.st_mode):
        with open(path, "rb") as file:
            content = file.read(1 << 20)
    return info.st_mode, info.st_ino, info.st_size, hashlib.sha256(content).hexdigest()


def sqlite_file(path, statements):
    database = sqlite3.connect(path)
    database.executescript(statements)
    database.close()


def foreign_files(folder):
    """(name, how to make it): each is somebody else's, and stays as it is."""
    def write(content):
        return lambda path: path.write_bytes(content)

    def sparse(path):
        with open(path, "wb") as file:
            file.truncate(1 << 34)
    yield "text", write(b"dear diary\n" * 100)
    yield "one byte", write(b"x")
    yield "ELF", write(pathlib.Path("/bin/true").read_bytes())
    yield "an SQLite header and rubbish", write(b"SQLite format 3\0" + bytes(range(256)) * 40)
    yield "sparse, 16 GiB", sparse
    yield "somebody's database", lambda path: sqlite_file(path, "CREATE TABLE mine(x); INSERT INTO mine VALUES(1);")
    yield "somebody's database with a user_version", lambda path: sqlite_file(path, "CREATE TABLE mine(x); PRAGMA user_version=1;")
    yield "somebody's database with tables of our names", lambda path: sqlite_file(
        path, "CREATE TABLE records(key, kernel_key, body); CREATE TABLE artifacts(key, size, used, body); PRAGMA application_id=7;")
    yield "a folder", lambda path: path.mkdir()
    yield "a pipe", os.mkfifo
    yield "a link to a text", lambda path: ((folder / "text-target").write_bytes(b"text"), path.symlink_to(folder / "text-target"))
    yield "a link to nothing", lambda path: path.symlink_to(folder / "nothing")
    if os.geteuid() == 0:
        yield "a device", lambda path: os.mknod(path, 0o666 | stat.S_IFCHR, os.makedev(1, 3))


def foreign_stores(report, make_trial):
    check = report.check("foreign files as a store")
    root = make_trial("foreign")
    for i, (name, make) in enumerate(foreign_files(root.folder)):
        for command in ("list", "verify", "tune"):
            trial = make_trial(f"foreign-{i}-{command}")
            trial.store.parent.mkdir(mode=0o700)
            make(trial.store)
            before = mark(trial.store)
            arguments = trial.tune(1000) if command == "tune" else ["records", command, "--store", str(trial.store)]
            wrong, code, _ = trial.run(arguments)
            if wrong is None and (not os.path.lexists(trial.store) or mark(trial.store) != before):
                wrong = "the file was changed or moved"
            if wrong is None and code == 0 and command != "tune":
                wrong = "it was taken for a store"
            check.add(f"{name}, {command}", wrong)
            with contextlib.suppress(FileNotFoundError):
                (root.folder / "text-target").unlink()


def outputs(report, make_trial):
    check = report.check("-o onto links, pipes and devices")
    trial = make_trial("outputs")
    target = trial.folder / "out"

    def write_to(path, prepare=None):
        return trial.run(["hints", "clear", str(HINTED), "-o", str(path)], prepare)

    def same_kind(name, make, code_wanted):
        make(target)
        kind = stat.S_IFMT(os.lstat(target).st_mode)
        wrong, code, _ = write_to(target)
        if wrong is None and stat.S_IFMT(os.lstat(target).st_mode) != kind:
            wrong = "it was replaced"
        if wrong is None and code != code_wanted:
            wrong = f"exit code {code}"
        check.add(name, wrong)
        target.rmdir() if target.is_dir() and not target.is_symlink() else target.unlink()

    same_kind("a folder", lambda path: path.mkdir(), 1)
    same_kind("a link", lambda path: ((trial.folder / "linked").write_bytes(b"old"), path.symlink_to("linked")), 0)
    same_kind("a link to nothing", lambda path: path.symlink_to("new"), 0)
    same_kind("a link to itself", lambda path: path.symlink_to(path), 1)
    same_kind("a link to a full device", lambda path: path.symlink_to("/dev/full"), 1)
    if os.geteuid() == 0:
        same_kind("a device", lambda path: os.mknod(path, 0o666 | stat.S_IFCHR, os.makedev(1, 3)), 0)
    target.write_bytes(b"old")
    before = mark(target)
    wrong, code, _ = write_to(target, lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (10, 10)))
    check.add("no room", wrong or (None if code == 1 and mark(target) == before else "the old file did not survive"))
    left = sorted(path.name for path in trial.folder.iterdir() if path.name.startswith(".tuneonce") or "partial" in path.name)
    check.add("temporary files", f"left: {left}" if left else None)


def bundles(report, make_trial):
    """Manifests that are no files, or too much of one."""
    check = report.check("foreign files as a bundle")
    good = (BUNDLE / "manifest.json").read_text()

    def text(content):
        return lambda path: path.write_text(content)

    def sparse(path):
        with open(path, "wb") as file:
            file.truncate(1 << 34)
    cases = [("empty", text("")), ("deep", text("[" * 100000)), ("deep, closed", text("[" * 100000 + "]" * 100000)),
             ("300 000 keys", text("{" + ",".join(f'"k{i}":0' for i in range(300000)) + "}")),
             ("4 MB of dims", text('{"tuneonce_bundle":1,"dims":[' + "0," * 2000000 + "0]}")),
             ("4 MB of axes", text(good.replace('"axes": [', '"axes": [' + '{"name":"X","values":[1]},' * 100000))),
             ("huge numbers", text(good.replace("1024", "9" * 400))), ("sparse, 16 GiB", sparse), ("a pipe", os.mkfifo),
             ("a folder", lambda path: path.mkdir()), ("a link to /dev/zero", lambda path: path.symlink_to("/dev/zero")),
             ("a link to itself", lambda path: path.symlink_to(path)), ("not UTF-8", lambda path: path.write_bytes(b'{"\xff":1}')),
             ("control characters", text('{"\\u001b[2J": 1}')),
             ("a file outside of it", text(good.replace("rms_norm.1024x0x1.tileir", "../../../../../../etc/passwd")))]
    for i, (name, make) in enumerate(cases):
        trial = make_trial(f"bundle-{i}")
        bundle = trial.folder / "bundle"
        bundle.mkdir()
        make(bundle / "manifest.json")
        wrong, code, out = trial.run(["tune", str(bundle), "--device", "cpu", "--quiet"])
        check.add(name, wrong or (None if code == 1 else "it was taken"))


def full_disk(report, make_trial):
    check = report.check("a full disk under the store and TMPDIR")
    if os.geteuid() != 0:
        return check.skip("a disk of our own is mounted by root only; RLIMIT_FSIZE is tried all the same")
    for what in ("store", "TMPDIR"):
        for room in (0, 16, 64, 256, 1024):
            trial = make_trial(f"full-{what}-{room}")
            disk = trial.folder / "disk"
            disk.mkdir()
            if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m,mode=700", "tmpfs", disk], capture_output=True, check=False).returncode:
                return check.skip("no disk can be mounted here; RLIMIT_FSIZE is tried all the same")
            try:
                fill_and_tune(check, trial, disk, what, room)
            finally:
                subprocess.run(["umount", "-l", disk], check=False)


def fill_and_tune(check, trial, disk, what, room):
    if what == "store":
        trial.store = disk / "store" / "store.db"
    else:
        trial.temporary = disk / "tmp"
        trial.temporary.mkdir()
    acknowledged = []
    for extent in (999, 1000, 1001):
        wrong, code, _ = trial.run(trial.tune(extent))
        acknowledged += [extent] if code == 0 else []
        check.add(f"{room} KiB left for {what}, N={extent}", wrong, "tuned" if code == 0 else "error")
        if extent == 999:
            (disk / "filler").write_bytes(b"x" * max(0, free(disk) - (room << 10)))
    (disk / "filler").unlink()
    check.add(f"{room} KiB left for {what}, the store after it", trial.check_store(acknowledged))


def free(disk):
    info = os.statvfs(disk)
    return info.f_bavail * info.f_frsize
