"""What the tests of the Python package share: they are functions called test_*, run in a plain process of their own."""
import sys
import traceback
import unittest
from typing import Any, Callable, Dict, Sequence, Type


def expect(error: Type[Exception], part: str, call: Callable[[], Any]) -> None:
    """`call` must raise `error` with `part` in its message."""
    try:
        call()
    except error as e:
        assert part in str(e), f"'{part}' is not in '{e}'"
        return
    raise AssertionError(f"no {error.__name__} with '{part}'")


def run_tests(namespace: Dict[str, Any], names: Sequence[str]) -> None:
    """Runs the module's tests, those in `names` only if there are any, and ends the process."""
    failed = 0
    for name, test in list(namespace.items()):
        if not name.startswith("test_") or (names and name not in names):
            continue
        try:
            test()
            print("passed", name, flush=True)
        except unittest.SkipTest as reason:
            print(f"SKIPPED {name}: {reason}", flush=True)
        except Exception:  # noqa: BLE001
            failed += 1
            print("FAILED", name, flush=True)
            traceback.print_exc()
    sys.exit(1 if failed else 0)
