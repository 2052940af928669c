#!/usr/bin/env python3
"""Makes lib/measure/verify_kernels.ptx of verify_kernels.cu with NVRTC. Run it after a change there; the result is
committed, so that building needs no CUDA compiler. compute_75 is the oldest that CUDA 13 knows; drivers compile it on."""
import ctypes
import pathlib
import sys

FOLDER = pathlib.Path(__file__).resolve().parent.parent / "lib" / "measure"


def main():
    nvrtc = ctypes.CDLL(sys.argv[1] if len(sys.argv) > 1 else "libnvrtc.so")
    program = ctypes.c_void_p()
    source = (FOLDER / "verify_kernels.cu").read_bytes()
    assert nvrtc.nvrtcCreateProgram(ctypes.byref(program), source, b"verify_kernels.cu", 0, None, None) == 0
    options = [b"--gpu-architecture=compute_75", b"--std=c++17", b"-I" + str(FOLDER).encode()]
    result = nvrtc.nvrtcCompileProgram(program, len(options), (ctypes.c_char_p * len(options))(*options))
    size = ctypes.c_size_t()
    nvrtc.nvrtcGetProgramLogSize(program, ctypes.byref(size))
    log = ctypes.create_string_buffer(size.value)
    nvrtc.nvrtcGetProgramLog(program, log)
    if result != 0:
        sys.exit(log.value.decode())
    nvrtc.nvrtcGetPTXSize(program, ctypes.byref(size))
    ptx = ctypes.create_string_buffer(size.value)
    nvrtc.nvrtcGetPTX(program, ptx)
    lines = ptx.value.decode().splitlines()
    # PTX 7.5 (CUDA 11.5) has all that is used: let older drivers take it.
    text = "\n".join(".version 7.5" if line.startswith(".version") else line for line in lines if not line.startswith("//"))
    (FOLDER / "verify_kernels.ptx").write_text(text.strip() + "\n")


main()
