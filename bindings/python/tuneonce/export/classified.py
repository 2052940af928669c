"""What is seen of an exported kernel: by the code that its front end made, as `tuneonce bundle classify` reads it."""
import pathlib
from typing import Dict, List


def lines(folder: pathlib.Path, ptx: Dict[str, List[str]]) -> List[str]:
    """For the terminal: the family with its evidence, then where the declared space departs. `ptx`: of variants whose files are
    cubins, by name. The manifest says nothing of it: a later release may see more."""
    import tuneonce
    from tuneonce import families
    try:
        classified = families.classify(folder, ptx=ptx)
    except tuneonce.Error as error:
        return [f"not classified: {error}"]
    first = f"{classified['family'] or 'of no known family'}: {'; '.join(classified['reasons'])}"
    if classified["recommended_space"]:
        first += f"; space to start from: {classified['recommended_space']}"
    return [first, *(f"look: {text}" for text in (*classified["departures"], *classified["warnings"]))]
