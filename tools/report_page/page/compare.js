// Two of the files, key by key.

let compared = [0, 1];

function compareView() {
  const names = overview.inputs.map((each, i) => [String(i), each.name]);
  const [a, b] = compared;
  const pairs = pairsOf(a, b);
  const changed = pairs.filter((each) => each.what === "changed").length;
  return [
    element("h1", {tabindex: "-1"}, "Two files side by side"),
    element(
        "div", {class: "controls"},
        dropdown(
            "A", names, String(a),
            (value) => {
              compared[0] = Number(value);
              show();
            }),
        dropdown(
            "B", names, String(b),
            (value) => {
              compared[1] = Number(value);
              show();
            })),
    element(
        "p", {},
        `${countText(pairs.length, "key")}; of ${
            changed} the selection differs. Times were taken apart, and may differ by more than ` +
            "their intervals: tuneonce compare A B runs both side by side."),
    sortableTable(
        {caption: "Keys of A and B", rows: pairs, sort: {column: 6, isDown: false}, columns: compareColumns()}),
  ];
}

function compareColumns() {
  const selectionCell = (entry) => entry === null ? "" : link(selectionText(entry), `search/${entry}`);
  const timeCell = (entry) => entry === null ? "" : timeWithMargin(field(entry, "mean"), field(entry, "margin"));
  const text = (entry) => entry === null ? "" : selectionText(entry);
  return [
    {label: "kernel", value: (each) => each.kernel, cell: (each) => each.kernel},
    {label: "key", value: (each) => each.key, cell: (each) => each.key},
    {label: "A", value: (each) => text(each.a), cell: (each) => selectionCell(each.a)},
    {label: "B", value: (each) => text(each.b), cell: (each) => selectionCell(each.b)},
    {
      label: "time of A",
      isNumber: true,
      value: (each) => each.a === null ? null : field(each.a, "mean"),
      cell: (each) => timeCell(each.a)
    },
    {
      label: "time of B",
      isNumber: true,
      value: (each) => each.b === null ? null : field(each.b, "mean"),
      cell: (each) => timeCell(each.b)
    },
    {
      label: "A / B",
      isNumber: true,
      value: (each) => each.ratio,
      cell: (each) =>
          each.ratio === null ? "" : `${timesText(each.ratio)} (${each.low.toFixed(2)} to ${each.high.toFixed(2)})`
    },
    {label: "selection", value: (each) => each.what, cell: (each) => each.what},
  ];
}

/** Keys of either, with the latest entry of each. */
function pairsOf(a, b) {
  const pairs = new Map();
  for (let entry = 0; entry < numEntries; ++entry) {
    const input = field(entry, "input");
    const key = `${field(entry, "kernel")}\n${field(entry, "key")}\n${field(entry, "device")}`;
    for (const [side, wanted] of [["a", a], ["b", b]]) {
      if (input !== wanted) continue;
      if (!pairs.has(key)) pairs.set(key, {kernel: field(entry, "kernel"), key: field(entry, "key"), a: null, b: null});
      const pair = pairs.get(key);
      if (pair[side] === null || field(entry, "when") >= field(pair[side], "when")) pair[side] = entry;
    }
  }
  return [...pairs.values()].map((pair) => ({...pair, ...ratioOf(pair), what: whatOf(pair)}));
}

function whatOf({a, b}) {
  if (a === null) return "only in B";
  if (b === null) return "only in A";
  return selectionText(a) === selectionText(b) ? "same" : "changed";
}

/** A's time divided by B's, with an interval from both margins: above 1 B is the faster. */
function ratioOf({a, b}) {
  const [meanA, meanB] = [a, b].map((each) => each === null ? null : field(each, "mean"));
  if (!meanA || !meanB) return {ratio: null, low: null, high: null};
  const share = Math.hypot(field(a, "margin") / meanA, field(b, "margin") / meanB);
  const ratio = meanA / meanB;
  return {ratio, low: ratio * Math.exp(-share), high: ratio * Math.exp(share)};
}
