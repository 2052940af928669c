#!/bin/bash
# record_table_test.sh RECORD_TABLE EVALUATE_TABLES BUNDLES: records a small table on the CPU device in two runs, the
# second of which continues the first, and evaluates it. The table's times are the CPU's, so only its form is checked.
set -euo pipefail
record=$1 evaluate=$2 bundles=$3
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"

shapes() { printf '# rows and their length\n'; for m in 1 3 8; do for n in $1; do echo "M=$m N=$n"; done; done; }
measure() { "$record" --bundle "$bundles/softmax" --shapes shapes.txt --table t.csv --device cpu --gpu-ms 5 --commit test 2> log; }

shapes "64 100" > shapes.txt
measure
cp t.csv first.csv
shapes "64 100 256 777" > shapes.txt
measure
[ "$(grep -c measured log)" = 6 ] || { echo "the second run measured other shapes than the six new ones:"; cat log; exit 1; }
python3 - << 'END'
import csv
with open("first.csv") as before, open("t.csv") as after:
    title = after.readline()
    assert title.startswith("# softmax; ") and "; commit test; microseconds" in title, title
    before.readline()
    old, new = list(csv.reader(before)), list(csv.reader(after))
assert len({len(row) for row in new}) == 1, "rows of different lengths"
num_axes = next(i for i, name in enumerate(new[0]) if name.startswith("M="))
assert len(new[0]) == num_axes + 12, new[0]
for row, kept in zip(new, old):
    assert row[:len(kept)] == kept, "the second run changed what the first one measured"
for place in range(num_axes, num_axes + 12):
    times = [float(row[place]) for row in new[1:] if row[place]]
    assert times and min(times) > 0, new[0][place]
END
"$evaluate" --table t.csv --bundle "$bundles/softmax" --leave-out N > evaluation
grep -q "12 shapes" evaluation
grep -q "^first " evaluation
[ "$(grep -c "^within" evaluation)" = 3 ]
if "$record" --bundle "$bundles/rms_norm" --shapes shapes.txt --table t.csv --device cpu 2> log; then exit 1; fi
grep -q "is a table of other configs" log
