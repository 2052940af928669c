"""python -m tuneonce.export: see the package's docstring."""
import argparse
import importlib.util
import json
import pathlib
import shutil
import sys
from typing import Any, Dict, List, Tuple

from tuneonce.export.declaration import Declaration, DeclarationError


def load(spec: str) -> Tuple[Any, str, Declaration, pathlib.Path]:
    """From FILE.py:kernel to the kernel, its name, its declaration, and the file."""
    path_text, _, name = spec.rpartition(":")
    path = pathlib.Path(path_text)
    if not path_text or not path.is_file():
        raise SystemExit(f"'{spec}' is not FILE.py:kernel, or there is no such file")
    sys.path.insert(0, str(path.parent))
    module_spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(module_spec)
    module_spec.loader.exec_module(module)
    if not hasattr(module, name):
        raise SystemExit(f"{path} has no '{name}'")
    declaration = getattr(module, name + "_bundle", None)
    if not isinstance(declaration, Declaration):
        raise SystemExit(f"{path} does not say how to export '{name}': "
                         f"give it {name}_bundle = tuneonce.export.Declaration(...)")
    return getattr(module, name), name, declaration, path


def write(folder: pathlib.Path, name: str, declaration: Declaration, file: pathlib.Path,
          exported: List[Dict[str, Any]]) -> None:
    """Writes the manifest, keeping the variants of other exporters that it has. Exits, with the manifest as it was, if the
    bundle would not load: what is wrong is said now, in the words of who would load it."""
    import tuneonce
    manifest_path = folder / "manifest.json"
    variants = list(exported)
    before = manifest_path.read_text() if manifest_path.exists() else None
    if before is not None:
        known = json.loads(before)
        replaced = {"cpu", *(v["name"] for v in exported)}
        variants = [v for v in known["variants"] if v["name"] not in replaced] + variants
        order = {"tile": 0, "tile_any": 1, "triton": 2}  # Of the names without what a capability adds.
        variants.sort(key=lambda v: order.get(v["name"].split("_sm")[0], 3))
    if declaration.cpu is not None:
        source = file.parent / declaration.cpu
        if source.resolve().parent != folder.resolve():
            shutil.copy(source, folder / source.name)
        variants.append(declaration.cpu_variant(name, source))
    manifest_path.write_text(to_json(declaration.manifest(name, variants)) + "\n")
    try:
        tuneonce.Bundle(folder)
    except tuneonce.Error as error:
        if before is None:
            manifest_path.unlink()
        else:
            manifest_path.write_text(before)
        raise SystemExit(f"'{name}' was not exported: {error}")


def to_json(fields: Dict[str, Any], indent: str = "") -> str:
    """JSON with one line per entry of a list, so that a person can read and compare it."""
    inner = indent + "  "
    lines = []
    for field, value in fields.items():
        text = json.dumps(value, allow_nan=False)
        if isinstance(value, list) and value and isinstance(value[0], dict):
            entries = [to_json(v, inner + "  ") if field == "variants" else json.dumps(v) for v in value]
            text = "[\n" + ",\n".join(f"{inner}  {entry}" for entry in entries) + f"\n{inner}]"
        lines.append(f'{inner}"{field}": {text}')
    return "{\n" + ",\n".join(lines) + f"\n{indent}}}"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tuneonce.export", description=__doc__)
    parser.add_argument("language", choices=["cutile", "triton"])
    parser.add_argument("kernels", nargs="+", metavar="FILE.py:kernel")
    parser.add_argument("-o", "--out", type=pathlib.Path, required=True,
                        help="the bundle's folder; with several kernels, each gets OUT/KERNEL")
    parser.add_argument("--bytecode-version", default="13.3", help="cuTile: of the Tile IR (default: 13.3)")
    parser.add_argument("--capability", type=int, action="append",
                        help="Triton: compute capability (default: 90 for 9.0); may be given several times")
    arguments = parser.parse_args()
    for spec in arguments.kernels:
        try:
            export_one(spec, arguments)
        except DeclarationError as error:
            raise SystemExit(f"{spec}: {error}")


def export_one(spec: str, arguments: argparse.Namespace) -> None:
    kernel, name, declaration, file = load(spec)
    folder = arguments.out if len(arguments.kernels) == 1 else arguments.out / name
    folder.mkdir(parents=True, exist_ok=True)
    if arguments.language == "cutile":
        from tuneonce.export import cutile
        exported = cutile.export(kernel, name, declaration, folder, arguments.bytecode_version)
    else:
        from tuneonce.export import triton
        declaration, exported = triton.export(kernel, name, declaration, folder, arguments.capability or [90])
    write(folder, name, declaration, file, exported)
    for variant in exported:
        print(f"{folder}: {len(variant['artifacts'])} artifacts in variant '{variant['name']}'")


if __name__ == "__main__":
    main()
