"""The list of public kernels: what kernels.json says of each, and where what is ours of it lies."""
import ast
import contextlib
import dataclasses
import importlib
import importlib.util
import json
import pathlib
import sys
from typing import Any, Callable, Dict, List, Sequence, Set

HERE = pathlib.Path(__file__).resolve().parent


@dataclasses.dataclass(frozen=True)
class PublicKernel:
    """A line of the list. root: the list's folder, with the declarations and cases. options: of the exporter. stubs:
    modules that the kernel's file only names when it is imported, and that need not be installed to export it. seed: of
    what cases hold."""
    name: str
    package: str
    language: str
    version: str
    file: str
    line: int
    kernel: str
    family: str
    shapes: Sequence[Dict[str, int]]
    root: pathlib.Path
    options: Sequence[str] = ()
    stubs: Sequence[str] = ()
    seed: int = 0

    @property
    def id(self) -> str:
        return f"{self.package}/{self.name}"

    @property
    def declaration(self) -> pathlib.Path:
        return self.root / "declarations" / self.package / f"{self.name}.py"

    def source(self, packages: pathlib.Path) -> str:
        """What the exporter is given: a module of an installed package, or a file of one that is none."""
        path = packages / self.file
        if is_module(self.file):
            return f"{self.file[:-len('.py')].replace('/', '.')}:{self.kernel}"
        return f"{path}:{self.kernel}"

    def load(self, packages: pathlib.Path) -> Any:
        """The kernel itself, imported as the exporter does."""
        if is_module(self.file):
            return getattr(importlib.import_module(self.file[:-len(".py")].replace("/", ".")), self.kernel)
        path = packages / self.file
        spec = importlib.util.spec_from_file_location(path.stem, path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return getattr(module, self.kernel)

    def case(self, shape: Dict[str, int]) -> Any:
        """A Case with the same contents each time."""
        with contextlib.suppress(ImportError):
            import torch
            torch.manual_seed(self.seed)
        for folder in (str(HERE), str(self.root)):
            if folder not in sys.path:
                sys.path.insert(0, folder)
        make: Callable[[Dict[str, int]], Any] = getattr(importlib.import_module(f"cases.{self.package}"), self.name)
        return make(shape)


def is_module(file: str) -> bool:
    return all(part.isidentifier() for part in file[:-len(".py")].split("/"))


def read(path: pathlib.Path) -> List[PublicKernel]:
    document = json.loads(path.read_text())
    kernels = []
    for line in document["kernels"]:
        package = document["packages"][line["package"]]
        kernels.append(
            PublicKernel(language=package["language"],
                         version=package.get("pypi") or package.get("commit", ""),
                         root=path.resolve().parent,
                         options=package.get("export", ()),
                         stubs=package.get("stub", ()),
                         **line))
    return kernels


def chosen(kernels: Sequence[PublicKernel], patterns: Sequence[str]) -> List[PublicKernel]:
    """Those with one of the patterns in PACKAGE/NAME; all without any. Raises ValueError for a pattern of no kernel."""
    for pattern in patterns:
        if not any(pattern in kernel.id for kernel in kernels):
            raise ValueError(f"no kernel of the list has '{pattern}' in its PACKAGE/NAME")
    return [k for k in kernels if not patterns or any(pattern in k.id for pattern in patterns)]


def lines_of(declaration: pathlib.Path) -> int:
    """Lines of a declaration's statements: no imports, comments, docstrings and empty lines."""
    text = declaration.read_text()
    lines = set()
    for node in ast.parse(text).body:
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            continue
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            continue
        lines.update(range(node.lineno, node.end_lineno + 1))
    rows = text.split("\n")
    return sum(1 for number in lines if rows[number - 1].strip() and not rows[number - 1].strip().startswith("#"))


def definitions_of(source: str) -> str:
    """A script's kernels (what triton.jit decorates) and what they use, each on its own lines, so that its import runs
    nothing else."""
    rows = source.split("\n")
    body = ast.parse(source).body
    wanted = {name for node in body if is_kernel(node) for name in free_names(node)}
    kept: Set[int] = set()
    count = -1
    while count != len(kept):  # What is used uses more.
        count = len(kept)
        for node in body:
            if is_kernel(node) or wanted & names_bound_by(node):
                wanted |= free_names(node)
                first = min([node.lineno] + [d.lineno for d in getattr(node, "decorator_list", ())])
                kept.update(range(first, node.end_lineno + 1))
    return "\n".join(row if number in kept else "" for number, row in enumerate(rows, 1)) + "\n"


def is_kernel(node: ast.stmt) -> bool:
    return any("jit" in ast.unparse(decorator) for decorator in getattr(node, "decorator_list", ()))


def free_names(node: ast.stmt) -> Set[str]:
    """What a statement takes from the module: of a function not its parameters, nor what it assigns."""
    names = [each for each in ast.walk(node) if isinstance(each, ast.Name)]
    own = {each.arg for each in ast.walk(node) if isinstance(each, ast.arg)}
    if isinstance(node, ast.FunctionDef):
        own |= {each.id for each in names if isinstance(each.ctx, ast.Store)}
    return {each.id for each in names if isinstance(each.ctx, ast.Load)} - own


def names_bound_by(node: ast.stmt) -> Set[str]:
    """Of a statement of a module that defines something; none of another."""
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        return {(alias.asname or alias.name).split(".")[0] for alias in node.names}
    if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
        return {node.name}
    if isinstance(node, (ast.Assign, ast.AnnAssign)):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        return {each.id for target in targets for each in ast.walk(target) if isinstance(each, ast.Name)}
    return set()
