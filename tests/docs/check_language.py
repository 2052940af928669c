#!/usr/bin/env python3
"""check_language.py ROOT: phrases that a reader would stumble over, in public headers, sources, messages and pages.

Prints each place with the rule that it breaks. A heuristic: a text without a hit is not yet a good text. The budget of
places is zero; what needs one of these phrases is rewritten.
"""
import pathlib
import re
import subprocess
import sys
from typing import Iterator, List, NamedTuple, Pattern

COMMENT = r"^\s*(?:///?<?|\*|#)\s*"


class Rule(NamedTuple):
    name: str
    where: str  # "line" of code, "comment", "page", or "text": comments, messages and pages.
    pattern: Pattern[str]


def rule(name: str, where: str, pattern: str) -> Rule:
    return Rule(name, where, re.compile(pattern))


RULES = [
    rule("a name with its_", "line", r"\bits_[a-z]\w*"),
    rule("an older name of the API", "line",
         r"\b[Ss]tand_ins?\b|\bkTuneInBackground\b|\bkBaselineOnly\b|\bAtSafePoint\b|\bSeal(?:ed)?\b|\bsealed_\w+|\bkNowhere\b|\bIsLethal\b"),
    rule("a comment that begins with 'Of'", "comment",
         COMMENT + r"Of (?:a|an|the|all|both|each|those|these|this|that|what|one|two|its|it|k[A-Z])\b"),
    rule("a comment that begins with 'The same'", "comment", COMMENT + r"The same\b"),
    rule("'is no X' as a predicate", "text",
         r"\b(?:is|are|was|were|be) no (?!(?:longer|more|less|such|matter|way|need|doubt|guarantee|reason|point|slower|faster"
         r"|larger|smaller|better|worse)\b)[a-z]+"),
    rule("'is none'", "text", r"\b(?:is|are|was|were) none\b"),
    rule("'who' for a program or a caller", "text",
         r"\b[Ff]or who\b|\b[Tt]o who\b|(?:^|[.:;] )Who (?:does|wants|needs|has|is|asks|calls|makes|reads|waits|knows)\b|\bwhoever\b"),
    rule("a stock phrase", "text",
         r"\bin words\b|\bin vain\b|\bfor ever\b|\bas it stands\b|\b(?:is|are) told\b|\bhears\b|\bamidst\b|\bas a rule\b"
         r"|\bby and by\b|\bso to say\b|\bsaid (?:once|so)\b|\b(?:is|are) said\b|\bsays so\b|\bin turn with\b|\bhowever it\b"
         r"|\bwhat is left\b|\bwhat is there\b|\bwhat it was\b|\bwhat was asked\b"),
    rule("a word with another in its place (glossary)", "text", r"\bstand-ins?\b|\bsafe points?\b|\bseal(?:s|ed|ing)?\b|\blethal\b"),
    rule("'behind' for 'after'", "text", r"\bbehind (?:it|that|them|the (?:race|tune|search|last|others?))\b"),
    rule("a sentence that begins with a clause of 'what'", "page",
         r"(?:^|\. )What (?:is|was|has|cannot|can|no|a|an|the|one|it|they|others?) [a-z]+"),
    rule("a heading that is a riddle", "page", r"^#+ (?:What|Who|Somebody|Else|More of|Of|By|With|Ask)\b"),
    rule("'beside'", "page", r"\bbeside\b"),
]
CODE = re.compile(r"(include|lib|tools|bindings|components|cpu_device)/.*\.(h|cc|cu|py|js|sh)$")
PAGE = re.compile(r"(README|CONTRIBUTING)\.md$|docs/.*\.md$")


def applies(of: Rule, path: str, line: str) -> bool:
    if PAGE.match(path):
        return of.where in ("page", "text") and bool(of.pattern.search(line))
    if of.where == "line":
        return bool(of.pattern.search(line))
    comment = re.search(r"(?:^|[^:\"'])(//+.*|#\s.*)$", line)
    texts = [comment.group(1)] if comment else []
    if of.where == "text":
        texts += [text for text in re.findall(r'"((?:[^"\\]|\\.)*)"', line) if " " in text]
    return of.where != "page" and any(of.pattern.search(text) for text in texts)


def places(root: pathlib.Path) -> Iterator[str]:
    listed = subprocess.run(["git", "-C", str(root), "ls-files"], capture_output=True, text=True, check=False).stdout.split("\n")
    paths: List[str] = [path for path in listed if path] or [str(p.relative_to(root)) for p in sorted(root.rglob("*")) if p.is_file()]
    for path in paths:
        if "third_party" in path or not (CODE.match(path) or PAGE.match(path)) or not (root / path).is_file():
            continue
        for number, line in enumerate((root / path).read_text(encoding="utf-8", errors="replace").split("\n"), 1):
            for of in RULES:
                if applies(of, path, line):
                    yield f"{path}:{number}: {of.name}: {line.strip()[:120]}"


def main() -> int:
    found = list(places(pathlib.Path(sys.argv[1])))
    print("\n".join(found) if found else "no place found")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
