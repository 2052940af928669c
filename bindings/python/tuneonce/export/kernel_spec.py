"""How a kernel and its declaration are found: FILE.py:kernel or package.module:kernel, and --declaration FILE.py."""
import ast
import importlib.util
import pathlib
import sys
import traceback
from typing import Any, Callable, Optional, Tuple

from tuneonce.export import stub_modules
from tuneonce.export.declaration import Declaration
from tuneonce.export.declaration_error import DeclarationError

# The languages' own packages, which cannot be stubbed.
PACKAGES = {"cuda": "cuda-tile", "cuda.tile": "cuda-tile", "triton": "triton", "triton.language": "triton"}

def find(spec: str, declaration_file: Optional[pathlib.Path] = None) -> Tuple[Any, str, Declaration, pathlib.Path]:
    """The kernel, its name, its declaration, and the declaration's file. Raises DeclarationError."""
    place, _, name = spec.rpartition(":")
    if not place or not name:
        raise DeclarationError("FILE.py:kernel or package.module:kernel is expected")
    if place.endswith(".py") or "/" in place:
        file = pathlib.Path(place)
        module = _imported_file(file)
    else:
        module = _imported(place, lambda: stub_modules.import_module(place))
        file = pathlib.Path(getattr(module, "__file__", None) or place)
    kernel = getattr(module, name, None)
    if kernel is None:
        raise DeclarationError(f"{place} has no '{name}'")
    if declaration_file is not None:
        return kernel, name, _declaration_in(_imported_file(declaration_file), declaration_file, name), declaration_file
    declaration = getattr(module, name + "_bundle", None)
    if not isinstance(declaration, Declaration):
        raise DeclarationError(f"{place} does not say how to export '{name}': give it {name}_bundle = "
                               "tuneonce.export.Declaration(...), or name the file that has one with --declaration")
    return kernel, name, declaration, file


def _declaration_in(module: Any, file: pathlib.Path, name: str) -> Declaration:
    """The kernel's own (NAME_bundle), or `bundle`, or the only one that there is."""
    every = {n: v for n, v in vars(module).items() if isinstance(v, Declaration)}
    for wanted in (name + "_bundle", "bundle"):
        if wanted in every:
            return every[wanted]
    if len(every) == 1:
        return next(iter(every.values()))
    raise DeclarationError(f"{file} has {'no Declaration' if not every else 'several Declarations: ' + ', '.join(every)}; "
                           f"that of '{name}' is called {name}_bundle, or bundle")


def _imported_file(file: pathlib.Path) -> Any:
    """By its package's name where it is in one, so that its relative imports work."""
    if not file.is_file():
        raise DeclarationError(f"no file '{file}'")
    file = file.resolve()
    root = _package_root(file)
    if root is not None:
        if str(root) not in sys.path:
            sys.path.insert(0, str(root))
        dotted = ".".join(file.relative_to(root).with_suffix("").parts)
        return _imported(str(file), lambda: stub_modules.import_module(dotted))
    if str(file.parent) not in sys.path:
        sys.path.insert(0, str(file.parent))
    stub_modules.add_folder(str(file.parent))

    def run() -> Any:
        name = file.stem if file.stem not in sys.modules else f"tuneonce_export_of_{file.stem}"
        spec = importlib.util.spec_from_file_location(name, file)
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module  # Dataclasses and annotations look there.
        spec.loader.exec_module(module)
        return module
    return _imported(str(file), run)


def _package_root(file: pathlib.Path) -> Optional[pathlib.Path]:
    """The folder from which `file` is imported by a dotted name; None for a file on its own."""
    try:
        imports = [n for n in ast.walk(ast.parse(file.read_bytes())) if isinstance(n, (ast.Import, ast.ImportFrom))]
    except SyntaxError:
        imports = []  # Its import says it.
    absolute = {name.partition(".")[0] for n in imports if isinstance(n, ast.Import) for name in (a.name for a in n.names)}
    absolute |= {(n.module or "").partition(".")[0] for n in imports if isinstance(n, ast.ImportFrom) and not n.level}
    named = [folder for folder in file.parents if folder.name in absolute and (folder / "__init__.py").exists()]
    if named:  # Folders between the package and the file may have no __init__.py.
        return named[-1].parent
    root = file.parent
    while (root / "__init__.py").exists():
        root = root.parent
    if root != file.parent:
        return root
    levels = max((n.level for n in imports if isinstance(n, ast.ImportFrom)), default=0)
    return file.parents[levels] if levels else None


def _imported(place: str, run: Callable[[], Any]) -> Any:
    try:
        return run()
    except DeclarationError:
        raise
    except ModuleNotFoundError as error:
        if error.name in PACKAGES:
            raise DeclarationError(f"{place} needs {PACKAGES[error.name]}: pip install {PACKAGES[error.name]}") from error
        raise DeclarationError(f"{place} needs the module '{error.name}', which is not installed; where it is only named when "
                               f"the file is imported, --stub {(error.name or '').partition('.')[0]} stands in for it") from error
    except Exception as error:  # The file's own code.
        at: Any = error if isinstance(error, SyntaxError) else traceback.extract_tb(error.__traceback__)[-1]
        text = " ".join((error.msg if isinstance(error, SyntaxError) else str(error)).split())
        torch = getattr(sys.modules.get("torch"), "__file__", None)
        needs_gpu = torch is not None and pathlib.Path(at.filename).is_relative_to(pathlib.Path(torch).parent)
        advice = "; where it asks torch for a GPU that is not there, --stub torch stands in for torch" if needs_gpu else ""
        raise DeclarationError(f"{place} cannot be imported: {type(error).__name__}: {text} "
                               f"({at.filename}:{at.lineno}){advice}") from error
