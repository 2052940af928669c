// All searches: by kernel and device, then one by one, filtered and sorted.

const filters = {
  text: "",
  kernel: "",
  device: "",
  state: ""
};
const states = {
  failures: ["something failed", (entry) => field(entry, "counts")[1] > 0],
  uncertain: ["not conclusive", (entry) => !field(entry, "is_conclusive")],
  incomplete: ["cut short", (entry) => !field(entry, "is_complete")],
  decided: ["pinned or imported", (entry) => field(entry, "is_pinned") === 1 || field(entry, "reason") === "imported"],
  baseline: [
    "the baseline stayed",
    (entry) => field(entry, "config") !== null && field(entry, "config") === field(entry, "baseline")
  ],
};

function allEntries() {
  return Array.from({length: numEntries}, (_, i) => i);
}

function overviewView() {
  const kernels = distinct("kernel");
  const devices = distinct("device");
  const table = sortableTable({caption: "Searches", rows: [], columns: overviewColumns()});
  const count = element("p", {role: "status", id: "count"});
  const refilter = () => {
    const kept = allEntries().filter(isKept);
    count.textContent = `${kept.length.toLocaleString("en")} of ${countText(numEntries, "search")} shown`;
    table.show(kept);
  };
  const listOf = (names) => [["", "all"], ...names.map((each) => [each, each || "not named"])];
  const set = (name) => (value) => {
    filters[name] = value;
    refilter();
  };
  const text = element("input", {
    type: "search",
    id: "filter",
    value: filters.text,
    placeholder: "M=64, a config, a host ...",
    oninput: () => set("text")(text.value)
  });
  refilter();
  return [
    element("h1", {tabindex: "-1"}, "What was tuned"),
    element(
        "p", {},
        `${countText(numEntries, "search")} of ${countText(kernels.length, "kernel")} on ${
            countText(devices.length, "device")}, ` +
            `from ${overview.inputs.map((each) => each.name).join(", ")}.`),
    problemList(),
    numEntries === 0 ?
        element(
            "p", {},
            "There is nothing to show: nothing was tuned into this store yet (tuneonce tune BUNDLE --store FILE).") :
        null,
    numEntries === 0 ? null : section("By kernel and device", summaryTable()),
    numEntries === 0 ?
        null :
        section(
            "Searches",
            element(
                "div", {class: "controls"},
                element(
                    "label",
                    { for: "filter"
                    },
                    "Find", text),
                dropdown("Kernel", listOf(kernels), filters.kernel, set("kernel")),
                dropdown("Device", listOf(devices), filters.device, set("device")),
                dropdown(
                    "Where", [["", "all"], ...Object.entries(states).map(([name, [label]]) => [name, label])],
                    filters.state, set("state"))),
            count, table),
  ].filter((each) => each !== null);
}

function distinct(name) {
  return [...new Set(allEntries().map((entry) => field(entry, name)))].sort();
}

function isKept(entry) {
  if (filters.kernel && field(entry, "kernel") !== filters.kernel) return false;
  if (filters.device && field(entry, "device") !== filters.device) return false;
  if (filters.state && !states[filters.state][1](entry)) return false;
  if (!filters.text) return true;
  const texts =
      ["kernel", "key", "shape", "device", "why", "host", "variant", "toolchain"].map((name) => field(entry, name));
  return [...texts, selectionText(entry)].join(" ").toLowerCase().includes(filters.text.toLowerCase());
}

function problemList() {
  const problems = overview.inputs.flatMap((input) => input.problems.map((problem) => `${input.name}: ${problem}`));
  if (problems.length === 0) return null;
  return element(
      "div", {class: "problems"}, element("strong", {}, "What could not be read"),
      element("ul", {}, problems.slice(0, 20).map((each) => element("li", {}, each))),
      problems.length > 20 ? `and ${problems.length - 20} more` : "");
}

function overviewColumns() {
  const hasSeveralInputs = overview.inputs.length > 1;
  const column = (label, name, isNumber = false) =>
      ({label, isNumber, value: (each) => field(each, name), cell: (each) => field(each, name)});
  return [
    column("kernel", "kernel"),
    {
      label: "key",
      value: (each) => field(each, "key"),
      cell: (each) => link(field(each, "key") || "no key", `search/${each}`)
    },
    column("device", "device"),
    {
      label: "driver",
      value: (each) => field(each, "driver"),
      cell: (each) => driverText(field(each, "driver")) || "any"
    },
    {label: "selection", value: selectionText, cell: (each) => element("code", {}, selectionText(each))},
    {
      label: "time",
      isNumber: true,
      value: (each) => field(each, "mean"),
      cell: (each) => timeWithMargin(field(each, "mean"), field(each, "margin"))
    },
    {
      label: "over baseline",
      isNumber: true,
      value: (each) => field(each, "speedup"),
      cell: (each) => timesText(field(each, "speedup"))
    },
    {
      label: "why",
      value: (each) => field(each, "why"),
      cell: (each) => field(each, "why") + (field(each, "is_conclusive") ? "" : " (not conclusive)")
    },
    {label: "failed", isNumber: true, value: (each) => field(each, "counts")[1], cell: failedCell},
    {label: "when", value: (each) => field(each, "when"), cell: (each) => dateText(field(each, "when"))},
    ...(hasSeveralInputs ? [{label: "file", value: (each) => inputOf(each).name, cell: (each) => inputOf(each).name}] :
                           []),
  ];
}

function failedCell(entry) {
  const [measured, failed, duplicates, notMeasured] = field(entry, "counts");
  const total = measured + failed + duplicates + notMeasured;
  return total === 0 ? "" : element("span", {class: failed > 0 ? "bad" : null}, `${failed} of ${total}`);
}

function summaryTable() {
  const groups = new Map();
  for (const entry of allEntries()) {
    const key = `${field(entry, "kernel")}\n${field(entry, "device")}`;
    if (!groups.has(key))
      groups.set(key, {
        kernel: field(entry, "kernel"),
        device: field(entry, "device"),
        searches: 0,
        failed: 0,
        uncertain: 0,
        speedups: []
      });
    const group = groups.get(key);
    group.searches += 1;
    group.failed += field(entry, "counts")[1];
    group.uncertain += field(entry, "is_conclusive") ? 0 : 1;
    if (field(entry, "speedup") !== null) group.speedups.push(field(entry, "speedup"));
  }
  for (const group of groups.values()) group.speedups.sort((a, b) => a - b);
  const number = (label, value, text = (each) => value(each).toLocaleString("en")) =>
      ({label, isNumber: true, value, cell: text});
  const median = ({speedups}) => speedups.length === 0 ? null : speedups[Math.floor(speedups.length / 2)];
  const most = ({speedups}) => speedups.length === 0 ? null : speedups[speedups.length - 1];
  return sortableTable({
    caption: "A row per kernel and device",
    rows: [...groups.values()],
    columns: [
      {label: "kernel", value: (each) => each.kernel, cell: (each) => each.kernel},
      {label: "device", value: (each) => each.device, cell: (each) => each.device},
      number("searches", (each) => each.searches),
      number("over baseline, median", median, (each) => timesText(median(each))),
      number("at most", most, (each) => timesText(most(each))),
      number("failed candidates", (each) => each.failed),
      number("not conclusive", (each) => each.uncertain),
    ]
  });
}
