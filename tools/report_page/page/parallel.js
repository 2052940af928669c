// Each config that ran as a line through its values, to its time.

const mostParallelAxes = 10;

function parallelSection(measured) {
  const axes = varyingAxes(measured);
  if (axes.length < 2) return null;
  const shown = axes.slice(0, mostParallelAxes);
  const describe =
      "A line is a config, from value to value to its time; the greener the faster. Drag along an axis to keep what " +
      `crosses there${shown.length < axes.length ? `. The first ${shown.length} of ${axes.length} axes` : ""}.`;
  const made = figure(describe, 330, () => parallelOption(measured, shown));
  return section("Parallel coordinates", made);
}

function parallelOption(measured, axes) {
  const values = axes.map((each) => valuesOf(measured, each));
  const style = {
    nameTextStyle: {color: colour("text")},
    axisLabel: {color: colour("text"), width: 80, overflow: "truncate"},
    axisLine: {lineStyle: {color: colour("faint")}}
  };
  const times = measured.map((each) => each.mean);
  return {
    parallel: {left: 60, right: 70, top: 40, bottom: 25},
    parallelAxis: [
      ...axes.map(
          (name, dim) => ({dim, name: shortened(name, 18), type: "category", data: values[dim].map(String), ...style})),
      {dim: axes.length, name: "µs", type: "value", scale: true, ...style},
    ],
    visualMap: {
      show: false,
      dimension: axes.length,
      min: Math.min(...times),
      max: Math.max(...times),
      inRange: {color: [colour("selection"), colour("baseline"), colour("bad")]}
    },
    tooltip: {formatter: ({dataIndex}) => lines(measured[dataIndex].brief, timeText(measured[dataIndex].mean))},
    series: [{
      type: "parallel",
      smooth: false,
      lineStyle: {width: 1.5, opacity: .6},
      data: measured.map((each) => [...axes.map((name) => String(configOf(each.config).axes[name] ?? "")), each.mean])
    }],
  };
}
