"""python -m tuneonce.export: see the package's docstring."""
import argparse
import dataclasses
import importlib.util
import json
import pathlib
import shutil
import sys
from typing import Any, Dict, List, Optional

from tuneonce.export import classified, kernel_spec, stub_log, stub_modules
from tuneonce.export.declaration import Declaration
from tuneonce.export.declaration_error import DeclarationError


def write(folder: pathlib.Path, name: str, declaration: Declaration, file: pathlib.Path,
          exported: List[Dict[str, Any]]) -> None:
    """Writes the manifest, keeping the variants that others made. Exits, with the manifest as it was, if it is of another
    kernel, or if the bundle would not load: what is wrong is said now, in the words of who would load it."""
    import tuneonce
    manifest_path = folder / "manifest.json"
    variants = list(exported)
    before = manifest_path.read_text() if manifest_path.exists() else None
    known = known_manifest(manifest_path, name)
    if known is not None:
        replaced = {v["name"] for v in exported}
        if declaration.cpu is not None:
            replaced.add("cpu")
        again = {(v["source"], json.dumps(v.get("targets"))) for v in exported}  # Whatever extents it was exported for before.
        if "backend" not in declaration.axes:  # Triton's Tile IR, for which an earlier export added the axis.
            replaced |= {v["name"] for v in known["variants"] if v.get("backend") == "triton_tile"}
        variants = [v for v in known["variants"] if v["name"] not in replaced and
                    (v["source"], json.dumps(v.get("targets"))) not in again] + variants
        declaration = with_parts(declaration, known["parameters"], variants)
        variants.sort(key=lambda v: {"tile_ir": 0, "ptx": 1}.get(v["source"], 2))
    if declaration.cpu is not None:
        source = file.parent / declaration.cpu
        if source.resolve().parent != folder.resolve():
            shutil.copy(source, folder / source.name)
        variants.append(declaration.cpu_variant(name, source))
    manifest_path.write_text(to_json(declaration.manifest(name, variants)) + "\n")
    try:
        tuneonce.Bundle(folder).check()
    except tuneonce.Error as error:
        if before is None:
            manifest_path.unlink()
        else:
            manifest_path.write_text(before)
        raise SystemExit(f"'{name}' was not exported: {error}")


def known_manifest(path: pathlib.Path, name: str) -> Optional[Dict[str, Any]]:
    """Returns the manifest that a kernel's export adds to, or None. Exits if the file is something else."""
    if not path.exists():
        return None
    otherwise = "remove it, or export to another folder"
    try:
        known = json.loads(path.read_text())
    except ValueError as error:
        raise SystemExit(f"{path} is not a manifest: {error}; {otherwise}") from None
    fields = ("name", "parameters", "variants")
    missing = [field for field in fields if not isinstance(known, dict) or field not in known]
    if missing:
        raise SystemExit(f"{path} is not a manifest: it has no '{missing[0]}'; {otherwise}")
    if known["name"] != name:
        raise SystemExit(f"{path} is the manifest of the kernel '{known['name']}', and '{name}' was to be exported; "
                         f"{otherwise}")
    return dict(known)


def with_parts(declaration: Declaration, known: List[Dict[str, Any]], variants: List[Dict[str, Any]]) -> Declaration:
    """The declaration with what another exporter's kernels take beside a workspace's address, of those that stay."""
    taken = {name for variant in variants for name in variant.get("parameters", ())}
    own = {p.get("name") for p in (*declaration.parameters, *declaration.more_parameters)}
    parts = [p for p in known if p["kind"] == "derived" and p["name"] in taken and p["name"] not in own]
    return dataclasses.replace(declaration, more_parameters=[*declaration.more_parameters, *parts])


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
    parser.add_argument("kernels", nargs="+", metavar="KERNEL",
                        help="FILE.py:kernel or package.module:kernel")
    parser.add_argument("-o", "--out", type=pathlib.Path, required=True,
                        help="the bundle's folder; with several kernels, each gets OUT/KERNEL")
    parser.add_argument("--bytecode-version", default="13.3", help="cuTile: of the Tile IR (default: 13.3)")
    parser.add_argument("--capability", type=int, action="append",
                        help="Triton: compute capability (default: 90 for 9.0); may be given several times")
    parser.add_argument("--cubin", action="store_true",
                        help="Triton: its own ptxas's code, which needs no compiler later; default: PTX")
    parser.add_argument("--declaration", type=pathlib.Path, metavar="FILE.py",
                        help="the file that has the Declaration, KERNEL_bundle or bundle (default: the kernel's file)")
    parser.add_argument("--stub", action="append", default=[], metavar="MODULE",
                        help="a module that is not installed, and that the kernel's file only names when it is imported; 'missing': "
                             "all that are not installed")
    arguments = parser.parse_args()
    stub_modules.install(arguments.stub)
    for spec in arguments.kernels:
        try:
            export_one(spec, arguments)
        except (DeclarationError, OSError) as error:
            print_answers(spec)
            raise SystemExit(f"{spec}: {error}")
        print_answers(spec)


def print_answers(spec: str) -> None:
    """Prints which answers of stubs the kernel's file got, by which it may have decided something."""
    answers = stub_log.take()
    for answer in answers:
        print(f"{spec}: stub: {answer}", file=sys.stderr)
    if answers:
        print(f"{spec}: its configs differ from those on a GPU with the modules installed where such an answer decides "
              "them; export it there, or list the configs in the declaration", file=sys.stderr)


def export_one(spec: str, arguments: argparse.Namespace) -> None:
    capabilities = arguments.capability or [90]
    if arguments.language == "triton":
        if importlib.util.find_spec("triton") is None:
            raise DeclarationError("the exporter from Triton needs triton, which is not installed: pip install triton")
        from tuneonce.export import triton_driver
        triton_driver.ensure_driver(max(capabilities))
    kernel, name, declaration, file = kernel_spec.find(spec, arguments.declaration)
    has_key = declaration.key is not None
    folder = arguments.out if len(arguments.kernels) == 1 else arguments.out / name
    known_manifest(folder / "manifest.json", name)  # Before a file of it is replaced.
    is_new = not folder.exists()
    folder.mkdir(parents=True, exist_ok=True)
    ptx: Dict[str, List[str]] = {}
    try:
        if arguments.language == "cutile":
            from tuneonce.export import cutile
            declaration, exported = cutile.export(kernel, name, declaration, folder, arguments.bytecode_version)
        else:
            from tuneonce.export import triton
            declaration, exported, ptx = triton.export(kernel, name, declaration, folder, capabilities,
                                                       "cubin" if arguments.cubin else "ptx", in_processes=True)
        write(folder, name, declaration, file, exported)
    except BaseException:
        if is_new:
            shutil.rmtree(folder, ignore_errors=True)
        raise
    for variant in exported:
        print(f"{folder}: {len(variant['artifacts'])} artifacts in variant '{variant['name']}'")
    key_note = None if has_key else declaration.key_note()
    for line in [*classified.lines(folder, ptx), *([f"look: {key_note}"] if key_note else [])]:
        print(f"{folder}: {line}")


if __name__ == "__main__":
    main()
