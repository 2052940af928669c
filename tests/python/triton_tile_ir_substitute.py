"""Stands in for Triton's Tile IR back end, which is not on PyPI: it has the back end's interface, checks what it is given against
the TTIR that the installed Triton makes, and returns recorded bytecode (tests/data/tile_ir/copied.cu)."""
import dataclasses
import os
import pathlib
import re

from triton._C import libtriton
from triton.backends import Backend, backends
from triton.backends.compiler import BaseBackend, GPUTarget
from triton.backends.nvidia.compiler import CUDABackend, CUDAOptions
from triton.runtime import driver

RECORDED = pathlib.Path(__file__).parent.parent / "data/tile_ir"


@dataclasses.dataclass(frozen=True)
class Options(CUDAOptions):
    backend_name: str = "tileir"
    occupancy: int = 1
    opt_level: int = 3


class TileIr:
    """What write_bytecode is given: the text of the lowered module."""

    def __init__(self, text):
        self.text = text


class Fallback(BaseBackend):
    """`calls` has one dict per compiled config: the options that were given, and what of the environment the back end reads.
    `refuses`: a function of the options that makes the compiler fail. `returned`: a file in place of the recorded one."""
    calls = []
    refuses = staticmethod(lambda options: False)
    returned = None
    binary_ext = "cubin"

    def __init__(self, target):
        super().__init__(target)
        self._cuda = CUDABackend(GPUTarget("cuda", target.arch, 32))

    @staticmethod
    def supports_target(target):
        return target.backend == "tileir"

    def hash(self):
        return "fallback"

    def parse_options(self, options):
        Fallback.calls.append({"options": dict(options), "tile": os.environ.get("ENABLE_TILE"),
                              "driver": driver.active.get_current_target(), "ftz": os.environ.get("TILEIR_ENABLE_FTZ"),
                              "approx": os.environ.get("TILEIR_ENABLE_APPROX")})
        known = {f.name for f in dataclasses.fields(Options)}
        base = vars(self._cuda.parse_options({"arch": f"sm{self.target.arch}"}))
        return Options(**{**base, "backend_name": "tileir", **{n: v for n, v in options.items() if n in known}})

    def get_codegen_implementation(self, options):
        return self._cuda.get_codegen_implementation(options)

    def get_module_map(self):
        return self._cuda.get_module_map()

    def load_dialects(self, context):
        self._cuda.load_dialects(context)

    def add_stages(self, stages, options, language):
        stages["ttir"] = lambda module, metadata: module
        stages["tileIR"] = lambda module, metadata: self._lowered(module, metadata, options)
        stages["cubin"] = lambda module, metadata: self._by_tileiras()

    @staticmethod
    def _lowered(module, metadata, options):
        assert metadata["num_ctas"] == options.num_ctas and metadata["num_stages"] == options.num_stages
        if Fallback.refuses(options):
            raise RuntimeError("Triton ttir to tileir ir failed. Some ttir ops cannot be converted to tileir.")
        metadata["name"] = re.search(r"tt\.func public @(\w+)\(", str(module)).group(1)
        return TileIr(str(module))

    @staticmethod
    def _by_tileiras():
        raise AssertionError("an export needs no tileiras")


def write_bytecode(module):
    taken = re.search(r"tt\.func public @\w+\((.*?)\) attributes", module.text).group(1)
    types = re.findall(r"%\w+: ([^ ,{]+)", taken)
    assert types == ["!tt.ptr<f32>", "!tt.ptr<f32>", "i32"], taken
    divisible = taken.count("tt.divisibility = 16")
    assert divisible in (0, 3), taken
    return (RECORDED / (Fallback.returned or ("copied.tileir" if divisible else "copied.any.tileir"))).read_bytes()


def install():
    """From here on the process's Triton has the back end."""
    backends["tileir"] = Backend(compiler=Fallback, driver=None)
    libtriton.tileir = type("tileir", (), {"write_bytecode": staticmethod(write_bytecode)})
