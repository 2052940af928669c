#!/usr/bin/env python3
"""Which arguments Triton kernels write, as read from their TTIR: triton_pointer_access_test.py [NAME ...]. Needs triton, but no GPU;
exits with 77 without it."""
import importlib.util
import os
import sys
import tempfile

from running import run_tests

if importlib.util.find_spec("triton") is None:
    print("SKIPPED: there is no triton on PYTHONPATH (scripts/install_dependencies --tests fetches it)")
    sys.exit(77)

CACHE = tempfile.TemporaryDirectory()
os.environ["TRITON_CACHE_DIR"] = CACHE.name
import triton  # noqa: E402
import triton.language as tl  # noqa: E402
from triton.backends.compiler import GPUTarget  # noqa: E402
from triton.compiler import ASTSource  # noqa: E402

from tuneonce.triton.pointer_access import pointer_access  # noqa: E402


def access(kernel, **types):
    """By name: what the kernel reads ("r") and writes ("w"); and whether all was traced."""
    function = triton.jit(kernel)
    constants = {(i,): 16 for i, p in enumerate(function.params) if p.is_constexpr}
    signature = {n: types.get(n, "constexpr" if n.isupper() else "i32" if n in ("n", "m") else "*fp32") for n in function.arg_names}
    ttir = triton.compile(ASTSource(function, signature, constants, {}), target=GPUTarget("cuda", 90, 32)).asm["ttir"]
    found = pointer_access(ttir)
    names = [n for n, kind in signature.items() if kind != "constexpr"]
    used = {n: ("r" if i in found.read else "") + ("w" if i in found.written else "") for i, n in enumerate(names)}
    return {n: how for n, how in used.items() if signature[n].startswith("*")}, found.is_traced, found.has_atomics


def loop_carried(x, y, z, n, BLOCK: tl.constexpr):
    p = x + tl.arange(0, BLOCK)
    q = z
    for i in range(0, n):
        total = tl.load(p)
        p += BLOCK
        if i % 3 == 0:
            q = q + 1
        else:
            q = y
        tl.store(q, tl.sum(total))


def swapped(x, y, n):
    p, q = x, y
    for i in range(0, n):
        p, q = q, p
    tl.store(p, tl.load(q))


def while_loop(x, y, z, n):
    p = y
    m = n
    while m > 3:
        tl.store(p, tl.load(x))
        p = z
        m -= 1


def atomics(x, y, total, n, BLOCK: tl.constexpr):
    tl.atomic_add(total, tl.sum(tl.load(x + tl.arange(0, BLOCK))))
    tl.atomic_cas(y, tl.load(x), 1.0)


def descriptors(x, y, z, n, BLOCK: tl.constexpr):
    read = tl.make_tensor_descriptor(x, [n, n], [n, 1], [BLOCK, BLOCK])
    written = tl.make_tensor_descriptor(y, [n, n], [n, 1], [BLOCK, BLOCK])
    written.store([0, 0], read.load([0, 0]))
    tl.make_tensor_descriptor(z, [n, n], [n, 1], [BLOCK, BLOCK]).atomic_add([0, 0], read.load([0, 0]))


def read_by_table(table, y):
    tl.store(y, tl.load(tl.load(table).to(tl.pointer_type(tl.float32))))


def written_by_table(table, x):
    tl.store(tl.load(table).to(tl.pointer_type(tl.float32)), tl.load(x))


def normalized(x, weight, out, mean_of, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    total = tl.zeros([BLOCK], tl.float32)
    for start in range(0, n, BLOCK):
        total += tl.load(x + row * n + start + tl.arange(0, BLOCK))
    mean = tl.sum(total, axis=0) / n
    tl.store(mean_of + row, mean)
    squares = tl.zeros([BLOCK], tl.float32)
    for start in range(0, n, BLOCK):
        value = tl.load(x + row * n + start + tl.arange(0, BLOCK)) - mean
        squares += value * value
    scale = 1 / tl.sqrt(tl.sum(squares, axis=0) / n)
    for start in range(0, n, BLOCK):
        at = start + tl.arange(0, BLOCK)
        tl.store(out + row * n + at, (tl.load(x + row * n + at) - mean) * scale * tl.load(weight + at))


def early_return(x, y, n):
    if n > 5:
        return
    tl.store(y, tl.load(x))


@triton.jit(noinline=True)
def store_two(p):
    tl.store(p, 2.0)


@triton.jit(noinline=True)
def next_of(p):
    return p + 1


def functions(x, y, z):
    store_two(y)
    tl.store(next_of(z), tl.load(x))


def assembly(x, y):
    tl.inline_asm_elementwise("st.global.f32 [$1], 0f00000000; mov.u32 $0, 0;", "=r,l", [y], dtype=tl.int32, is_pure=False, pack=1)
    tl.store(x, 1.0)


CASES = [(loop_carried, {}, {"x": "r", "y": "w", "z": "w"}, True, False),
         (swapped, {}, {"x": "rw", "y": "rw"}, True, False),
         (while_loop, {}, {"x": "r", "y": "w", "z": "w"}, True, False),
         (atomics, {}, {"x": "r", "y": "rw", "total": "rw"}, True, True),
         (descriptors, {}, {"x": "r", "y": "w", "z": "rw"}, True, True),
         (read_by_table, {"table": "*i64"}, {"table": "r", "y": "rw"}, True, False),
         (written_by_table, {"table": "*i64"}, {"table": "rw", "x": "rw"}, False, True),
         (normalized, {}, {"x": "r", "weight": "r", "out": "w", "mean_of": "w"}, True, False),
         (early_return, {}, {"x": "r", "y": "w"}, True, False),
         (functions, {}, {"x": "r", "y": "w", "z": "w"}, True, False),
         (assembly, {}, {"x": "rw", "y": "rw"}, False, True)]


def test_each_argument_is_read_and_written_as_the_code_does_it():
    for kernel, types, used, is_traced, has_atomics in CASES:
        found = access(kernel, **types)
        expected = ({n: "".join(sorted(how)) for n, how in used.items()}, is_traced, has_atomics)
        # A read by an unknown address may read any.
        if kernel is read_by_table:
            assert found[0]["table"] == "r" and "w" in found[0]["y"] and found[1], found
            continue
        assert found == expected, (kernel.__name__, found)


if __name__ == "__main__":
    run_tests(globals(), sys.argv[1:])
