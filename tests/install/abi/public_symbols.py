"""public_symbols.py LIBRARY LIBRARY FOLDER FOLDER: the symbols of two shared libraries whose names, all parts of them,
are in the public headers in the folders, as a list for libabigail. The others are for each other and components."""
import pathlib
import re
import subprocess
import sys


def main() -> None:
    libraries, folders = sys.argv[1:3], sys.argv[3:]
    text = " ".join(path.read_text() for folder in folders for path in sorted(pathlib.Path(folder).rglob("*.h")))
    words = set(re.findall(r"\w+", re.sub(r"//[^\n]*", "", text)))
    nm = ["nm", "-D", "--defined-only", *libraries]
    listed = subprocess.run(nm, text=True, stdout=subprocess.PIPE, check=True).stdout
    symbols = [line.split()[2] for line in listed.splitlines() if len(line.split()) == 3]
    names = subprocess.run(["c++filt"], input="\n".join(symbols), text=True, stdout=subprocess.PIPE, check=True).stdout
    public = set()
    for symbol, name in zip(symbols, names.splitlines()):
        match = re.match(r"(?:vtable for |typeinfo for |typeinfo name for )?tuneonce::v0::([\w:~]+)", name)
        parts = match.group(1).replace("~", "").split("::") if match else [""]
        if symbol.startswith(("_ZN8tuneonce", "_ZNK8tuneonce", "_ZT")) and all(part in words for part in parts):
            public.add(symbol)
    print("[abi_whitelist]")
    for symbol in sorted(public):
        print("  " + symbol)


if __name__ == "__main__":
    main()
