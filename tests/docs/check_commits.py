#!/usr/bin/env python3
"""check_commits.py ROOT: the form of the commit messages since the rule holds.

A subject is imperative, has at most 72 characters and no full stop. A commit that changes more than 50 lines has a body
that says why. Merges are not read. Exits with 77 (skipped) where there is no git history.
"""
import re
import subprocess
import sys
from typing import Iterator, List, NamedTuple

SINCE = 1795788000  # 2026-11-27 14:00 UTC, in seconds since 1970, by the author's date.
MOST_COLUMNS = 72
MOST_LINES_WITHOUT_BODY = 50


class Commit(NamedTuple):
    name: str
    subject: str
    body: str
    changed_lines: int


def commits(root: str) -> Iterator[Commit]:
    log = subprocess.run(["git", "-C", root, "log", "--no-merges", "-M", "--numstat", "--format=%x01%h%x02%at%x02%s%x02%b%x02"],
                         capture_output=True, text=True, check=True, errors="replace").stdout
    for text in log.split("\x01")[1:]:
        name, seconds, subject, body, numbers = text.split("\x02")
        if int(seconds) >= SINCE:
            counts = re.findall(r"^(\d+)\t(\d+)\t", numbers, re.MULTILINE)
            yield Commit(name, subject, body.strip(), sum(int(added) + int(removed) for added, removed in counts))


def mistakes(commit: Commit) -> List[str]:
    found = []
    if len(commit.subject) > MOST_COLUMNS:
        found.append(f"the subject has {len(commit.subject)} characters, more than {MOST_COLUMNS}")
    if commit.subject.endswith("."):
        found.append("the subject ends with a full stop")
    first = commit.subject.split(" ", 1)[0]
    if not first[:1].isupper() or re.search(r"(?<!e)ed$|ing$", first) or first in ("A", "The", "Lines"):
        found.append(f"the subject begins with '{first}', which is not a capitalized verb in the imperative")
    if commit.changed_lines > MOST_LINES_WITHOUT_BODY and not commit.body:
        found.append(f"{commit.changed_lines} lines are changed without a body that says why")
    return found


def main() -> int:
    root = sys.argv[1]
    if subprocess.run(["git", "-C", root, "rev-parse", "HEAD"], capture_output=True, check=False).returncode != 0:
        print("SKIPPED: there is no git history here")
        return 77
    lines = [f"{commit.name} '{commit.subject}': {mistake}" for commit in commits(root) for mistake in mistakes(commit)]
    print("\n".join(lines))
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main())
