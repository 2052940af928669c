#!/usr/bin/env python3
"""transcript_test.py ROOT: scripts/getting_started compares what commands state, not the machine they ran on."""

import importlib.machinery
import importlib.util
import pathlib
import sys
import unittest

_ROOT = pathlib.Path(sys.argv.pop(1)).resolve()
_LOADER = importlib.machinery.SourceFileLoader("getting_started", str(_ROOT / "scripts" / "getting_started"))
script = importlib.util.module_from_spec(importlib.util.spec_from_loader(_LOADER.name, _LOADER))
_LOADER.exec_module(script)

_CPUS = ["AMD EPYC", "Intel(R) Xeon(R) Platinum 8481C", "AMD Ryzen 7 PRO 8840HS w/ Radeon 780M Graphics", "unknown CPU",
         "CPU implementer 0x41, CPU part 0xd4f, Features fp asimd sve2", ""]
_COMPILERS = ["c++ (Debian 12.2.0-14+deb12u1) 12.2.0", "c++ (Ubuntu 13.3.0-6ubuntu2~24.04) 13.3.0",
              "Debian clang version 14.0.6", "c++ (GCC) 14.2.1 20240912 (Red Hat 14.2.1-3)"]
# Lines of the page's commands, in which a machine's names are filled in.
_LINES = [
    "[ok]      device cpu:0: tuneonce CPU device ({cpu}), no compute capability, {cores} cores, 11.8 GiB",
    "[ok]      C++ compiler: /usr/bin/c++: {compiler}",
    "vector_add on tuneonce CPU device ({cpu}), N=100000",
    "cpu: 4 configs, 4 ways to build them compiled, 61 KiB, 1 selections ({compiler}, {cpu})",
    "  on tuneonce CPU device ({cpu}), driver 13.0: {{backend=tile, BLOCK=1024, UNROLL=1}}",
    "    from: search on 2026-11-23, vm, {compiler}, {cpu}",
]


def differences(page: str, printed: str) -> str:
    step = script.Step("a command", "")
    step.expected = page.splitlines()
    return script.differences(step, printed.splitlines())


class TranscriptTest(unittest.TestCase):
    def test_the_names_of_cpu_and_compiler_and_the_number_of_cores_are_not_compared(self) -> None:
        page = "\n".join(_LINES).format(cpu=_CPUS[0], compiler=_COMPILERS[0], cores=2)
        for cpu in _CPUS:
            for compiler in _COMPILERS:
                for cores in (1, 4, 192):
                    with self.subTest(cpu=cpu, compiler=compiler, cores=cores):
                        printed = "\n".join(_LINES).format(cpu=cpu, compiler=compiler, cores=cores)
                        self.assertEqual(differences(page, printed), "")

    def test_the_page_holds_each_of_these_lines(self) -> None:
        page = (_ROOT / "docs" / "getting_started.md").read_text().splitlines()
        compared = {script.comparable(line) for line in page}
        for line in _LINES:
            self.assertIn(script.comparable(line.format(cpu="any", compiler="any", cores=1)), compared, line)

    def test_lines_that_the_page_leaves_out_are_not_compared_and_the_others_must_be_printed(self) -> None:
        page = "\n".join(["first line", "...", "last line"])
        self.assertEqual(differences(page, "first line\nsecond line\nlast line"), "")
        self.assertIn("no longer says: last line", differences(page, "first line\nsecond line"))
        self.assertEqual(differences("...", "anything"), "")

    def test_what_a_command_states_is_compared(self) -> None:
        page = "\n".join(_LINES).format(cpu=_CPUS[0], compiler=_COMPILERS[0], cores=2)
        for old, new in [("vector_add on", "softmax on"), ("N=100000", "M=100000"), (" driver ", " version "),
                         ("UNROLL", "STAGES"), ("C++ compiler", "compiler"), ("ways to build", "means to build"),
                         ("selections", "choices")]:
            self.assertIn(old, page)
            self.assertIn("now says", differences(page, page.replace(old, new)), old)


if __name__ == "__main__":
    unittest.main()
