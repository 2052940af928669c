"""public_symbols.py LIBRARY HEADERS: the symbols of a shared libtuneonce whose names, all parts of them, are in its public
headers, as a list for libabigail. What else it shows is for its own command and tests."""
import pathlib
import re
import subprocess
import sys


def main() -> None:
    library, headers = sys.argv[1:]
    text = " ".join(path.read_text() for path in sorted(pathlib.Path(headers).rglob("*.h")))
    words = set(re.findall(r"\w+", re.sub(r"//[^\n]*", "", text)))
    listed = subprocess.run(["nm", "-D", "--defined-only", library], text=True, stdout=subprocess.PIPE, check=True).stdout
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
