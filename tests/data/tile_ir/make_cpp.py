#!/usr/bin/env python3
"""Makes the fixtures of product.cu and copied.cu with NVRTC 13.5: make_cpp.py SITE_PACKAGES, where PyPI's nvidia-cuda-nvrtc,
nvidia-cuda-crt and nvidia-cuda-runtime are. They are committed; run it when they should change."""
import ctypes
import pathlib
import sys

here = pathlib.Path(__file__).parent
root = pathlib.Path(sys.argv[1]) / "nvidia/cu13"
nvrtc = ctypes.CDLL(str(root / "lib/libnvrtc.so.13"))


def check(code, what):
    if code:
        raise SystemExit(f"{what}: NVRTC error {code}")


def text_of(program, name):
    size = ctypes.c_size_t()
    check(getattr(nvrtc, f"nvrtcGet{name}Size")(program, ctypes.byref(size)), name)
    text = ctypes.create_string_buffer(size.value)
    check(getattr(nvrtc, f"nvrtcGet{name}")(program, text), name)
    return text.raw


def write(file, *macros, of="product.cu"):
    source = (here / of).read_bytes()
    options = ["-arch=sm_90", "-std=c++20", "--enable-tile", f"-I{root}/include", *(f"-D{macro}" for macro in macros)]
    program = ctypes.c_void_p()
    check(nvrtc.nvrtcCreateProgram(ctypes.byref(program), source, of.encode(), 0, None, None), "create")
    code = nvrtc.nvrtcCompileProgram(program, len(options), (ctypes.c_char_p * len(options))(*map(str.encode, options)))
    if code:
        raise SystemExit(text_of(program, "ProgramLog").decode())
    (here / file).write_bytes(text_of(program, "TileIR"))


write("product.range.tileir", "TILE=64", "ALIGNED")
write("product.for.tileir", "TILE=64", "ALIGNED", "FOR")
write("product.unaligned.tileir", "TILE=64")
write("copied.tileir", "ALIGNED", of="copied.cu")
write("copied.any.tileir", of="copied.cu")
