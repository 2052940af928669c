// Times over two axes that one chooses: of the configs that share two values, the fastest.

function heatMapSection(candidates) {
  const axes = varyingAxes(candidates);
  if (axes.length === 0) return null;
  let [x, y] = [axes[0], axes[1] ?? axes[0]];
  const made = heatMapFigure(candidates, x, y);
  const redraw = () => made.redraw(heatMapOption(candidates, x, y), heatMapText(x, y));
  const options = axes.map((each) => [each, each]);
  return section("Heat map", element("div", {class: "controls"}, dropdown("Across", options, x, (value) => {
                                       x = value;
                                       redraw();
                                     }), dropdown("Down", options, y, (value) => {
                                       y = value;
                                       redraw();
                                     })), made);
}

function heatMapText(x, y) {
  return `The fastest time for each ${x}${
      x === y ? "" : ` and ${y}`}, over all other axes. "failed": no config there ran.`;
}

function heatMapFigure(candidates, x, y) {
  return figure(
      heatMapText(x, y),
      90 + 34 * Math.max(...varyingAxes(candidates).map((each) => valuesOf(candidates, each).length)),
      () => heatMapOption(candidates, x, y));
}

function heatMapOption(candidates, x, y) {
  const columns = valuesOf(candidates, x);
  const rows = x === y ? [""] : valuesOf(candidates, y);
  const cells = new Map();
  for (const each of candidates) {
    const axes = configOf(each.config).axes;
    const column = columns.indexOf(axes[x]);
    const row = x === y ? 0 : rows.indexOf(axes[y]);
    if (column < 0 || row < 0 || each.outcome === "duplicate" || each.outcome === "not_measured") continue;
    const there = cells.get(`${column} ${row}`);
    if (!there || (each.mean !== null && (there.mean === null || each.mean < there.mean))) {
      cells.set(`${column} ${row}`, {...each, column, row});
    }
  }
  const ran = [...cells.values()].filter((each) => each.mean !== null);
  const failed = [...cells.values()].filter((each) => each.mean === null);
  const times = ran.map((each) => each.mean);
  const layer = (own, textOf, more) => ({
    type: "heatmap",
    itemStyle: {borderColor: colour("back"), borderWidth: 2},
    data: own.map((each) => [each.column, each.row, each.mean ?? 0]),
    ...more,
    label: {show: cells.size <= 400, color: colour("text"), formatter: ({dataIndex}) => textOf(own[dataIndex])},
  });
  return {
    grid: {left: 130, right: 30, top: 10, bottom: 50},
    xAxis: axis({
      type: "category",
      data: columns.map(String),
      name: x,
      nameLocation: "middle",
      nameGap: 28,
      axisLabel: {width: 90, overflow: "truncate"}
    }),
    yAxis: axis({
      type: "category",
      data: rows.map(String),
      name: x === y ? "" : y,
      nameLocation: "middle",
      nameGap: 90,
      axisLabel: {width: 80, overflow: "truncate"}
    }),
    tooltip: {formatter: ({seriesIndex, dataIndex}) => heatMapTooltip([ran, failed][seriesIndex][dataIndex])},
    visualMap: {
      show: false,
      seriesIndex: 0,
      dimension: 2,
      min: Math.min(...times, Infinity),
      max: Math.max(...times, 0),
      inRange: {color: [colour("heat-low"), colour("heat-middle"), colour("heat-high")]}
    },
    series: [
      layer(ran, (each) => significant(each.mean, 3)),
      layer(failed, () => "failed", {itemStyle: {color: colour("raised"), borderColor: colour("line"), borderWidth: 1}})
    ],
  };
}

function heatMapTooltip(cell) {
  return lines(cell.brief, cell.mean === null ? failureText(cell.outcome) : timeWithMargin(cell.mean, cell.margin));
}
