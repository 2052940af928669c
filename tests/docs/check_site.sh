#!/usr/bin/env bash
# check_site.sh ROOT: the site builds, no link in it leads nowhere, and it has search and the API reference.
set -euo pipefail
cd "$1"
if [ ! -e .deps/site/complete ]; then
  echo "SKIPPED: there is no MkDocs: scripts/install_dependencies --tests"
  exit 77
fi
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
scripts/site "$folder/site"
grep -q '"docs"' "$folder/site/search/search_index.json"
test -e "$folder/site/reference/index.html"
for page in docs/*.md docs/internal/*.md; do
  name=${page#docs/}
  name=${name%.md}
  [ "$name" != README ] || name=index
  test -e "$folder/site/$name.html"
done
# A link that mkdocs does not know is left as it stands: those lead into the site, too.
python3 - "$folder/site" << 'END'
import pathlib, re, sys
site = pathlib.Path(sys.argv[1])
lost = [f"{page.relative_to(site)}: {target}" for page in site.rglob("*.html") if "reference" not in page.parts
        for target in re.findall(r'(?:href|src)="([^"#?:]+)(?:#[^"]*)?"', page.read_text(encoding="utf-8"))
        if not (page.parent / target).exists() and not target.startswith(("/", "data"))]
print("\n".join(sorted(set(lost))))
sys.exit(bool(lost))
END
