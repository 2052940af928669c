"""What of the pages is otherwise on the site than in the tree."""
import re
from typing import Any


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Links to files outside of docs/, which the site has not, are text."""
    return re.sub(r"\[([^\]]*)\]\((?:\.\./)+(?!docs/)[^)]*\)", r"\1", markdown)
