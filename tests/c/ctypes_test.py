#!/usr/bin/env python3
"""The C interface by ctypes, without the Python package, on the CPU device: ctypes_test.py LIBRARY BUNDLES_FOLDER"""
import ctypes
import sys

FLOAT32 = 14
COUNT = 777


class Tensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("dtype", ctypes.c_int), ("rank", ctypes.c_int),
                ("shape", ctypes.POINTER(ctypes.c_int64)), ("strides", ctypes.POINTER(ctypes.c_int64)),
                ("bytes", ctypes.c_size_t)]


class Argument(ctypes.Structure):
    _fields_ = [("tensor", ctypes.POINTER(Tensor)), ("scalar", ctypes.c_void_p), ("scalar_dtype", ctypes.c_int)]


library = ctypes.CDLL(sys.argv[1])
library.tuneonce_last_error.restype = ctypes.c_char_p
library.tuneonce_version.restype = ctypes.c_char_p


def call(name, *args):
    status = getattr(library, "tuneonce_" + name)(*args)
    assert status == 0, (name, status, library.tuneonce_last_error())


context, policy, kernel = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
assert library.tuneonce_version().startswith(b"0.1.")
call("context_create", b"cpu", ctypes.byref(context))
call("policy_create", ctypes.byref(policy))
call("policy_set", policy, b"store", b"memory")
call("policy_set", policy, b"mode", b"tune_deferred")
call("policy_set", policy, b"max_rounds", b"5")
call("kernel_load", (sys.argv[2] + "/vector_add").encode(), policy, ctypes.byref(kernel))
library.tuneonce_policy_destroy(policy)


def array():
    data = ctypes.c_void_p()
    call("context_allocate", context, ctypes.c_size_t(4 * COUNT), ctypes.byref(data))
    return (ctypes.c_float * COUNT).from_address(data.value)


x, y, z = array(), array(), array()
for i in range(COUNT):
    x[i], y[i] = i, 2
shape = (ctypes.c_int64 * 1)(COUNT)
tensors = [Tensor(ctypes.addressof(data), FLOAT32, 1, shape, None, 0) for data in (x, y, z)]
arguments = (Argument * 3)(*[Argument(ctypes.pointer(tensor), None, 0) for tensor in tensors])
call("kernel_launch", kernel, None, arguments, ctypes.c_size_t(3))
call("context_synchronize", context)
assert list(z) == [i + 2 for i in range(COUNT)], "the fallback config computes it"
tunes = ctypes.c_double()
call("kernel_tune_pending", kernel, None)
call("kernel_counter", kernel, b"tunes", ctypes.byref(tunes))
assert tunes.value == 1, tunes
is_ready = ctypes.c_int()
call("kernel_is_ready", kernel, arguments, ctypes.c_size_t(3), ctypes.byref(is_ready))
assert is_ready.value == 1
missing = library.tuneonce_kernel_counter(kernel, b"tune", ctypes.byref(tunes))
assert missing == 4 and b"counter 'tune' does not exist" in library.tuneonce_last_error(), missing
library.tuneonce_kernel_destroy(kernel)
library.tuneonce_context_destroy(context)
print("passed")
