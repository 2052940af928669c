// A key's selections over drivers, versions of the kernel, and files.

let entriesByKey = null;

/** All entries of this one's kernel, key and device, the oldest first. */
function historyOf(entry) {
  const keyOf = (each) => `${field(each, "kernel")}\n${field(each, "key")}\n${field(each, "device")}`;
  if (entriesByKey === null) {
    entriesByKey = new Map();
    for (let each = 0; each < numEntries; ++each) {
      const key = keyOf(each);
      if (!entriesByKey.has(key)) entriesByKey.set(key, []);
      entriesByKey.get(key).push(each);
    }
  }
  return [...entriesByKey.get(keyOf(entry))].sort((a, b) => field(a, "when") - field(b, "when"));
}

function historySection(entry) {
  const entries = historyOf(entry);
  if (entries.length < 2) return null;
  const measured = entries.filter((each) => field(each, "mean") !== null);
  const columns = [
    {label: "when", value: (each) => field(each, "when"), cell: (each) => dateText(field(each, "when"))},
    {
      label: "driver",
      value: (each) => field(each, "driver"),
      cell: (each) => driverText(field(each, "driver")) || "any"
    },
    {label: "source", value: (each) => field(each, "source"), cell: (each) => field(each, "source")},
    {
      label: "selection",
      value: selectionText,
      cell: (each) => each === entry ? selectionText(each) : link(selectionText(each), `search/${each}`)
    },
    {
      label: "time",
      isNumber: true,
      value: (each) => field(each, "mean"),
      cell: (each) => timeWithMargin(field(each, "mean"), field(each, "margin"))
    },
    {label: "file", value: (each) => inputOf(each).name, cell: (each) => inputOf(each).name},
  ];
  return section(
      "This key over time",
      measured.length > 1 ?
          figure("The selection's time, by driver and source, the oldest first.", 260, () => historyOption(measured)) :
          null,
      sortableTable({
        caption: `${entries.length} selections for this key and device`,
        columns,
        rows: entries,
        classOf: (each) => each === entry ? "is-selection" : null
      }));
}

function historyOption(entries) {
  const name = (each) => [dateText(field(each, "when")), driverText(field(each, "driver")), field(each, "source")]
                             .filter(Boolean)
                             .join("\n");
  return {
    grid: {left: 70, right: 30, top: 15, bottom: 70},
    xAxis:
        axis({type: "category", data: entries.map(name), axisLabel: {interval: 0, hideOverlap: true, lineHeight: 15}}),
    yAxis: axis({type: "value", scale: true, name: "µs", nameLocation: "middle", nameGap: 50}),
    tooltip: {
      formatter: ({dataIndex}) => lines(
          selectionText(entries[dataIndex]),
          timeWithMargin(field(entries[dataIndex], "mean"), field(entries[dataIndex], "margin")),
          inputOf(entries[dataIndex]).name)
    },
    series: [{
      type: "line",
      symbolSize: 9,
      itemStyle: {color: colour("selection")},
      lineStyle: {color: colour("selection")},
      data: entries.map((each) => field(each, "mean"))
    }],
  };
}
