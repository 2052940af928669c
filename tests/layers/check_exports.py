#!/usr/bin/env python3
"""check_exports.py ROOT OBJECT...: what these object files take from the library is exported by a shared one.

Of each function that they leave undefined, the declaration in include/, lib/, tools/ or components/ must carry TUNEONCE_API, or its class.
A static build links without, so that only who builds a shared library would meet the mistake; nor does it see where the
word stands, which is an attribute in a shared one: before `static` and the like.
"""
import pathlib
import re
import subprocess
import sys
from typing import Dict, Iterable, Set

NAMESPACE = "tuneonce::v0::"


def headers(root: pathlib.Path) -> Dict[pathlib.Path, str]:
    """Their texts."""
    return {header: header.read_text()
            for folder in ("include", "lib", "tools", "components") for header in sorted((root / folder).rglob("*.h"))}


def exported(texts: Iterable[str]) -> Set[str]:
    """Names of functions and classes that are marked."""
    names = set()
    for text in texts:
        for declaration in re.split(r"[;{}]", text):
            if match := re.search(r"\b(?:class|struct) (?:\[\[nodiscard\]\] )?TUNEONCE_API (?:\[\[nodiscard\]\] )?(\w+)", declaration):
                names.add(match.group(1))
            elif match := re.search(r"TUNEONCE_API\b.*?(operator[^(\s]+|\w+)\s*\(", declaration, re.DOTALL):
                names.add(match.group(1))
    return names


def misplaced(texts: Dict[pathlib.Path, str]) -> Set[str]:
    """Declarations, as `file: words`, in which it is no attribute of what is declared."""
    word = re.compile(r"\b(?:static|inline|virtual|explicit|constexpr|friend) TUNEONCE_API\b")
    return {f"{header}: {match.group(0)}" for header, text in texts.items() for match in word.finditer(text)}


def undefined(objects: Set[str]) -> Set[str]:
    """Of our namespace, demangled, without what the objects define for each other."""
    def symbols(*option: str) -> Set[str]:
        return set(subprocess.run(["nm", "-C", *option, *objects], check=True, stdout=subprocess.PIPE,
                                  text=True).stdout.splitlines())
    def name(line: str) -> str:
        return line.split(maxsplit=1)[1] if line.startswith(" ") else line.split(maxsplit=2)[2]
    defined = {name(line) for line in symbols("--defined-only") if re.match(r"[0-9a-f]+ \w ", line)}
    wanted = {name(line) for line in symbols("-u") if re.match(r"\s+U ", line)}
    return {each for each in wanted - defined if each.startswith(NAMESPACE)}


def main() -> int:
    texts = headers(pathlib.Path(sys.argv[1]))
    names, wanted = exported(texts.values()), undefined(set(sys.argv[2:]))
    missing = []
    for symbol in sorted(wanted):
        path = re.sub(r"[(<\[].*", "", symbol[len(NAMESPACE):]).split("::")
        if not names.intersection(path):
            missing.append(symbol)
    wrong = misplaced(texts)
    for each in sorted(wrong):
        print(f"{each}: TUNEONCE_API comes first")
    for symbol in missing:
        print(f"{symbol} is used outside the library: its declaration, or its class, needs TUNEONCE_API")
    print(f"{len(wanted)} symbols of the library are used, {len(missing)} not exported")
    return 1 if missing or wrong or not wanted else 0


if __name__ == "__main__":
    sys.exit(main())
