#!/usr/bin/env python3
"""Arrays of all protocols on the CPU device: arrays_test.py BUNDLES_FOLDER [NAME ...]. Needs tuneonce and numpy; two tests
need ml_dtypes and jax, and say so where these are missing."""
import ctypes
import json
import pathlib
import sys
import tempfile
import types
import unittest

import numpy as np

import tuneonce
from running import expect, run_tests

FOLDER = tempfile.TemporaryDirectory()


def copy_kernel(dtype="float32", element="float"):
    """y = x, for x and y of any strides; one kernel for each dtype."""
    path = pathlib.Path(FOLDER.name, dtype)
    if not path.exists():
        path.mkdir()
        vector = {"kind": "tensor", "dtype": dtype, "dims": ["N"]}
        manifest = {
            "tuneonce_bundle": 1, "name": "copy", "version": "1", "dims": ["N"],
            "parameters": [{"name": "x", "access": "in", **vector}, {"name": "y", "access": "out", **vector},
                           {"kind": "dim", "dim": "N"}] +
            [{"kind": "stride", "tensor": name, "dimension": 0, "dtype": "int64"} for name in "xy"],
            "variants": [{"name": "cpu", "source": "cpu_cpp", "symbol": "copy",
                          "grid": {"pattern": "fixed", "blocks": [1]}, "artifacts": [{"file": "k.cc"}]}]}
        (path / "manifest.json").write_text(json.dumps(manifest))
        (path / "k.cc").write_text(f"""
static void copy(const tuneonce_block&, const {element}* x, {element}* y, int n, long long xs, long long ys) {{
  for (int i = 0; i < n; ++i) y[i * ys] = x[i * xs];
}}
TUNEONCE_CPU_KERNEL(copy);
""")
    return tuneonce.load(path, "cpu", store="memory", isolation="off", on_tune_error="raise")


class DlTensorStart(ctypes.Structure):
    """How DLPack's DLTensor begins."""
    _fields_ = [("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32)]


class Dlpack:
    """An array with no other protocol than __dlpack__, whose capsule states another device or other flags."""

    def __init__(self, array, device_type=1, flags=None, is_versioned=True):
        self.array, self.device_type, self.flags, self.is_versioned = array, device_type, flags, is_versioned

    def __dlpack__(self, **keywords):
        if keywords and not self.is_versioned:
            raise TypeError("__dlpack__() got an unexpected keyword argument 'max_version'")
        capsule = self.array.__dlpack__(**keywords)
        get = ctypes.pythonapi.PyCapsule_GetPointer
        get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
        start = get(capsule, b"dltensor_versioned" if keywords else b"dltensor")
        if keywords and self.flags is not None:
            ctypes.c_uint64.from_address(start + 24).value = self.flags
        DlTensorStart.from_address(start + (32 if keywords else 0)).device_type = self.device_type
        return capsule

    def __dlpack_device__(self):
        return (self.device_type, 0)


def floats():
    return np.arange(8, dtype=np.float32), np.zeros(8, np.float32)


def test_arrays_whose_buffers_have_a_sign_of_alignment_or_no_strides_are_taken():
    kernel = copy_kernel()
    x, _ = floats()
    records = np.zeros(8, [("a", np.float32), ("b", np.float32)])
    packed = np.zeros(8, [("a", np.int8), ("b", np.float32)])
    records["b"], packed["b"] = x, x
    for make in (lambda: np.zeros(33, np.uint8)[1:].view(np.float32), lambda: np.zeros_like(records)["b"],
                 lambda: (ctypes.c_float * 8)(), lambda: np.zeros(8, "<f4")):
        given, y = make(), make()
        np.asarray(given)[:] = x
        kernel(given, y)
        np.testing.assert_array_equal(np.asarray(y), x)
    y = np.zeros(1, np.float32)
    kernel(packed[3:4]["b"], y)  # The stride of one element has no meaning.
    assert y[0] == 3
    expect(TypeError, "'x': dimension 0 has a stride of 5 bytes, which is not a multiple of the elements' 4",
           lambda: kernel(packed["b"], np.zeros(8, np.float32)))
    expect(TypeError, "'x': an array of a dtype that kernels do not take (format '>f', which is big-endian",
           lambda: kernel(x.astype(">f4"), np.zeros(8, np.float32)))
    both = np.zeros(37, np.uint8)
    expect(ValueError, "arrays that share memory begin 2 bytes apart",
           lambda: kernel(both[1:33].view(np.float32), both[3:35].view(np.float32)))


def test_what_may_not_be_written_is_refused_as_an_output():
    kernel = copy_kernel()
    x, y = floats()
    kernel(Dlpack(x), Dlpack(y))
    np.testing.assert_array_equal(y, x)
    y[:] = 0
    fixed = y[:]
    fixed.flags.writeable = False
    for output, words in ((fixed, "the array is read-only"), (Dlpack(fixed), "the array is read-only"),
                          (Dlpack(y, flags=1), "the array is read-only"), (Dlpack(y, flags=2), "a copy of the array"),
                          (Dlpack(y, is_versioned=False), "the array may be read-only")):
        for use in (kernel, kernel.warmup_with, kernel.is_ready):
            expect(TypeError, "parameter 'y': " + ("__dlpack__ gave " if "copy" in words else "") + words, lambda: use(x, output))
    assert not y.any()
    for given in (fixed, Dlpack(fixed), Dlpack(x, is_versioned=False)):
        kernel(given, y)


def test_memory_of_other_devices_is_not_taken_for_the_hosts():
    kernel = copy_kernel()
    x, y = floats()
    kernel(Dlpack(x, device_type=3), y)  # Pinned by CUDA.
    np.testing.assert_array_equal(y, x)
    for device_type, name in ((2, "CUDA"), (7, "Vulkan"), (8, "Metal"), (10, "ROCm"), (13, "CUDA"), (14, "oneAPI"),
                              (99, "other (DLPack device type 99)")):
        expect(TypeError, f"parameter 'x': the tensor is in {name} memory, the kernel runs on the CPU device",
               lambda: kernel(Dlpack(x, device_type), y))
        if name != "CUDA":
            expect(TypeError, "an output is in " + name, lambda: tuneonce.exhaustive_search(
                [0], None, None, lambda config: lambda z: None, lambda config: (Dlpack(y, device_type),), device="cpu",
                quiet=True, outputs=[0]))


def test_dlpack_is_asked_where_a_buffer_cannot_describe_the_array():
    kernel = copy_kernel("bfloat16", "unsigned short")
    bits = np.arange(8, dtype=np.uint16)

    class Named:  # As numpy's arrays of ml_dtypes: neither a buffer nor DLPack, but a view of the bits.
        def __init__(self, array, name="bfloat16"):
            self.array, self.dtype = array, types.SimpleNamespace(name=name)

        def view(self, dtype):
            return self.array.view(dtype)

        def __dlpack__(self, **_):
            raise BufferError("DLPack only supports integers and floats")

    y = np.zeros(8, np.uint16)
    kernel(Named(bits), Named(y))
    np.testing.assert_array_equal(y, bits)
    y.flags.writeable = False
    expect(TypeError, "'y': the array is read-only", lambda: kernel(Named(bits), Named(y)))
    expect(BufferError, "kernel 'copy', parameter 'x': DLPack only supports", lambda: kernel(Named(bits, "int4"), Named(y)))


def test_a_mask_and_a_stream_of_a_cuda_array_are_checked():
    kernel = copy_kernel()
    x, y = floats()

    class Cuda:
        def __init__(self, **more):
            self.__cuda_array_interface__ = {"shape": (8,), "typestr": "<f4", "data": (4096, False), "version": 3, **more}

    for more, words in (({"mask": Cuda()}, "__cuda_array_interface__ has a mask, which kernels do not take"),
                        ({"stream": 0}, "the stream of __cuda_array_interface__ is 0"),
                        ({"stream": "1"}, "the stream of __cuda_array_interface__ must be an int or None"),
                        ({"typestr": ">f4"}, "an array of a dtype that kernels do not take (typestr '>f4')"),
                        ({"shape": (1,) * 9}, "an array of more than 8 dimensions"),
                        ({"shape": ("8",)}, "")):
        expect(TypeError, "parameter 'x': " + words, lambda: kernel(Cuda(**more), y))
    for more in ({"mask": None}, {"stream": None}, {"stream": 1}, {"stream": 2}, {"stream": 1 << 40}):
        expect(TypeError, "the tensor is in CUDA memory", lambda: kernel(Cuda(**more), y))


def test_numpys_masked_arrays_are_refused():
    kernel = copy_kernel()
    x, y = floats()
    for masked in (np.ma.masked_array(x, mask=[0, 0, 0, 1, 0, 0, 0, 0]), np.ma.masked_array(x)):
        expect(TypeError, "parameter 'x': a masked array, and kernels do not take masks: pass its .data", lambda: kernel(masked, y))
        expect(TypeError, "parameter 'y': a masked array", lambda: kernel(x, masked))
        kernel(masked.data, y)
        assert np.array_equal(x, y)

    class Own(np.ndarray):
        mask = True
    y[:] = 0
    kernel(x.view(Own), y)
    assert np.array_equal(x, y)


def test_a_cuda_array_states_what_its_memory_is():
    kernel = copy_kernel()
    x, y = floats()

    class Cuda:
        def __init__(self, without="", **more):
            fields = {"shape": (8,), "typestr": "<f4", "data": (4096, False), "version": 3, **more}
            fields.pop(without, None)
            self.__cuda_array_interface__ = fields

    required = "__cuda_array_interface__ has no proper version, typestr, shape and data"
    strides = "the strides of __cuda_array_interface__ must be None or a tuple of ints, one for each dimension"
    for more, words in (({"strides": [4]}, strides), ({"strides": (4, 4)}, strides), ({"strides": ()}, strides),
                        ({"strides": 4}, strides), ({"strides": ("4",)}, ""),
                        ({"strides": (-4,)}, "dimension 0 has the negative stride -1"),
                        ({"strides": (6,)}, "dimension 0 has a stride of 6 bytes"),
                        ({"shape": (-8,)}, "dimension 0 has the negative extent -8"),
                        ({"version": 4}, "__cuda_array_interface__ is of version 4, and 3 is the newest that is known"),
                        ({"version": "3"}, required), ({"without": "version"}, required), ({"data": 4096}, required)):
        expect(TypeError, "parameter 'x': " + words, lambda: kernel(Cuda(**more), y))
    for more in ({"strides": None}, {"strides": (4,)}, {"strides": (8,)}, {"strides": (0,)}, {"version": 2},
                 {"version": 0}):
        expect(TypeError, "the tensor is in CUDA memory", lambda: kernel(Cuda(**more), y))
    for data, words in (((4096, True), "an output: the array is read-only"),
                        ((4096, False), "an output is in CUDA memory")):
        expect(TypeError, words, lambda: tuneonce.exhaustive_search(
            [0], None, None, lambda config: lambda z: None, lambda config: (Cuda(data=data),), device="cpu",
            quiet=True, outputs=[0]))


def test_what_a_protocol_raises_is_raised_and_names_the_parameter():
    kernel = copy_kernel()
    x, y = floats()

    def raising(error, name):
        def get(self):
            raise error
        return type("Raising", (), {name: property(get)})()

    class Own(Exception):
        pass

    for name in ("__cuda_array_interface__", "__dlpack__"):
        expect(RuntimeError, "kernel 'copy', parameter 'x': no memory", lambda: kernel(raising(RuntimeError("no memory"), name), y))
        expect(ValueError, "kernel 'copy', parameter 'y': no memory", lambda: kernel(x, raising(ValueError("no memory"), name)))
        try:
            kernel(raising(Own("no memory"), name), y)
        except Own as e:
            assert sys.version_info < (3, 11) or e.__notes__ == ["kernel 'copy', parameter 'x'"], e
        else:
            raise AssertionError("nothing was raised")
    expect(TypeError, "parameter 'x': expected a tensor", lambda: kernel(raising(AttributeError("none"), "__cuda_array_interface__"), y))


def test_arrays_of_ml_dtypes():
    try:
        import ml_dtypes
    except ImportError as error:
        raise unittest.SkipTest(error)
    for dtype, ours, element in ((ml_dtypes.bfloat16, "bfloat16", "unsigned short"),
                                 (ml_dtypes.float8_e4m3fn, "float8_e4m3", "unsigned char"),
                                 (ml_dtypes.float8_e5m2, "float8_e5m2", "unsigned char")):
        x, y = np.arange(8).astype(dtype), np.zeros(16, dtype)
        copy_kernel(ours, element)(x, y[::2])
        assert (y[::2] == x).all() and (y[1::2] == np.zeros(8, dtype)).all()
    expect(ValueError, "parameter 'x'", lambda: copy_kernel("float8_e4m3", "unsigned char")(
        np.arange(8).astype(ml_dtypes.float8_e4m3), np.zeros(8, ml_dtypes.float8_e4m3fn)))  # Another format.


def test_arrays_of_jax_are_inputs_and_no_outputs():
    try:
        import jax.numpy as jnp
    except ImportError as error:
        raise unittest.SkipTest(error)
    for dtype, ours, element in ((jnp.float32, "float32", "float"), (jnp.bfloat16, "bfloat16", "unsigned short")):
        kernel = copy_kernel(ours, element)
        x, z = jnp.arange(8, dtype=dtype), jnp.zeros(8, dtype)
        y = np.zeros(8, x.dtype)
        kernel(x, y)
        assert (y == np.asarray(x)).all()
        expect(TypeError, "parameter 'y': the array", lambda: kernel(x, z))
        assert not np.asarray(z).any(), "an immutable array was written"


run_tests(globals(), sys.argv[2:])
