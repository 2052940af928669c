"""A process that compiles TTIR for its parent: `python -m tuneonce.triton.compile_worker`. It reads pickled jobs from its standard
input and writes a pickled Compiled, or the text of an error, for each."""
import os
import pickle
import signal
import sys


def main() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # The parent decides.
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # What the compiler prints must not mix with answers.
    from tuneonce.export.compiler_words import said
    from tuneonce.triton import lowering
    while True:
        try:
            job = pickle.load(sys.stdin.buffer)
        except EOFError:
            return
        try:
            answer = lowering.compiled(job)
        except BaseException as error:  # Whatever the compiler throws.
            answer = f"{type(error).__name__}: {said(error)}"
        pickle.dump(answer, answers)
        answers.flush()


if __name__ == "__main__":
    main()
