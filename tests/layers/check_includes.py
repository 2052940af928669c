#!/usr/bin/env python3
"""check_includes.py ROOT: a source file reaches, by its own includes, what it names of the library's and of Abseil's.

Builds compile many files as one, where an include that is missing in one of them does not show; whoever builds file by
file (CMAKE_UNITY_BUILD=OFF) would find it. Known are types, by the header that
defines them, functions outside of classes, and Abseil's functions.
"""
import os
import re
import sys

ABSL = {"absl::StrCat": "absl/strings/str_cat.h", "absl::StrAppend": "absl/strings/str_cat.h",
        "absl::StrJoin": "absl/strings/str_join.h", "absl::StrSplit": "absl/strings/str_split.h",
        "absl::StrFormat": "absl/strings/str_format.h", "absl::StrAppendFormat": "absl/strings/str_format.h",
        "absl::Cleanup": "absl/cleanup/cleanup.h"}


def read(path):
    with open(path, encoding="utf-8") as file:
        text = file.read()
    return re.sub(r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|(?<!#include )"(?:[^"\\\n]|\\.)*"', " ", text, flags=re.S)


# What a file declares of a type, and what looks like the declaration of a function.
DECLARED = re.compile(r"\b(?:class|struct|enum|using|typename) (?!class\b)(\w+)\b")
FUNCTION = re.compile(r"(?<!return)(?<!&&)(?<=[\w>&*]) [*&]?(?:\w+::)?([A-Z]\w+)\(")


class Tree:
    def __init__(self, root):
        self.texts = {}
        for folder in ("include/tuneonce", "lib", "tools", "bindings/cli", "worker", "cpu_device"):
            for where, _, names in os.walk(os.path.join(root, folder)):
                for name in names:
                    if name.endswith((".h", ".cc")):
                        path = os.path.relpath(os.path.join(where, name), root)
                        self.texts[path] = read(os.path.join(root, path))
        self.includes = {path: self.included(path) for path in self.texts}
        self.declared = {path: set(DECLARED.findall(text)) for path, text in self.texts.items()}
        self.declared_functions = {path: set(FUNCTION.findall(text)) for path, text in self.texts.items()}
        self.headers_of = {}  # A type's name.
        self.functions = {}   # A function's.
        for path, text in self.texts.items():
            if path.endswith(".h"):
                for name in re.findall(r"^(?:class|struct|enum class) (?:TUNEONCE_API )?(\w+)[^;{]*\{", text, re.M):
                    if name != "TUNEONCE_API":
                        self.headers_of.setdefault(name, set()).add(path)
                for name in re.findall(r"^(?:TUNEONCE_API |inline )*(?:\w[\w:<>,&* ]*) [*&]?([A-Z]\w+)\(", text, re.M):
                    self.functions.setdefault(name, set()).add(path)

    def included(self, path):
        """Paths of the tree that a file includes, and the words of its other includes."""
        inner, other = [], set()
        for name in re.findall(r'^#include [<"]([^>"]+)[>"]', self.texts[path], re.M):
            found = [os.path.join(folder, name) for folder in ("include", "lib", "tools", "tools/include", os.path.dirname(path))]
            found = [each for each in found if each in self.texts]
            inner += found[:1]
            if not found:
                other.add(name)
        return inner, other

    def closure(self, path):
        """All that a file includes, and itself."""
        reached, words, todo = set(), set(), [path]
        while todo:
            each = todo.pop()
            if each not in reached:
                reached.add(each)
                inner, other = self.includes[each]
                words |= other
                todo += inner
        return reached, words

    def missing(self, path):
        reached, words = self.closure(path)
        text = self.texts[path]
        for name in sorted(set(re.findall(r"\b[A-Z]\w+\b", text))):
            headers = self.headers_of.get(name)
            if not headers or headers & reached:
                continue
            is_declared = any(name in self.declared[each] for each in reached)
            is_member = re.search(r"(?:::|->|\.|\benum class |k)%s\b" % name, text) or re.search(r"\b%s\(" % name, text)
            if not is_declared and not is_member:
                yield f"{path}: names {name}, and does not include {sorted(headers)[0]}"
        for name in sorted(set(re.findall(r"(?<![\w:.>~])([A-Z]\w+)\(", text))):
            headers = self.functions.get(name, set())
            # Another function of that name, declared where the file sees it.
            is_own = any(name in self.declared_functions[each] for each in reached)
            if headers and not headers & reached and not is_own:
                yield f"{path}: calls {name}, and does not include {sorted(headers)[0]}"
        for name, header in ABSL.items():
            if name + "(" in text and header not in words:
                yield f"{path}: uses {name}, and does not include {header}"


def main():
    tree = Tree(sys.argv[1])
    found = [line for path in sorted(tree.texts) for line in tree.missing(path)]
    print("\n".join(found) or f"includes: {len(tree.texts)} files include what they name")
    sys.exit(1 if found else 0)


main()
