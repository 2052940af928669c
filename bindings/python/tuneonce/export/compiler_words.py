"""What an exception of a compiler says, in one line."""
import re

# How ptxas begins its own lines: "ptxas fatal   : (C7600) ...", "ptxas /tmp/x.ptx, line 20; error   : ...".
_PTXAS = re.compile(r"ptxas\b.*?\b(?:fatal|error)\s*:\s*(.*)")


def said(error: BaseException) -> str:
    """The words of ptxas, where it failed; otherwise the last line: those before it show code."""
    lines = [line.strip() for line in str(error.__cause__ or error).splitlines() if line.strip()]
    of_ptxas = [match[1] for match in map(_PTXAS.match, lines) if match]
    if of_ptxas:
        return "ptxas: " + "; ".join(dict.fromkeys(of_ptxas))
    return lines[-1] if lines else type(error).__name__
