// The candidates that ran, fastest first, with their intervals.

const mostRanked = 40;

function rankingFigure(entry, measured) {
  const ranked = measured.slice(0, mostRanked);
  const left = measured.length - ranked.length;
  const describe =
      `Mean time of ${left > 0 ? `the ${mostRanked} fastest of ${measured.length}` : "the"} configs, fastest first, ` +
      "with the 95 % interval. The band is within 1 % of the fastest.";
  const labels = Math.min(400, innerWidth * .35);
  return figure(describe, 70 + 22 * ranked.length, () => {
    const colourOf = (each) => each.config === field(entry, "config") ? colour("selection") :
        each.config === field(entry, "baseline")                      ? colour("baseline") :
                                                                        colour("plain");
    return {
      grid: {left: labels, right: 40, top: 10, bottom: 40},
      xAxis: axis({type: "value", scale: true, name: "µs", nameLocation: "middle", nameGap: 25}),
      yAxis: axis({
        type: "category",
        inverse: true,
        data: ranked.map((each) => rankingLabel(entry, each)),
        axisLabel: {width: labels - 20, overflow: "truncate", fontSize: 12}
      }),
      tooltip: {formatter: ({dataIndex}) => rankingTooltip(ranked[dataIndex], measured[0])},
      series: [
        {
          type: "custom",
          data: ranked.map((each, i) => [i, each.mean - (each.margin ?? 0), each.mean + (each.margin ?? 0)]),
          encode: {x: [1, 2], y: 0},
          renderItem: (parameters, api) => whisker(api, colourOf(ranked[parameters.dataIndex]))
        },
        {
          type: "scatter",
          symbolSize: 10,
          data: ranked.map((each, i) => ({
                             value: [each.mean, i],
                             symbol: each.config === field(entry, "baseline") ? "diamond" : "circle",
                             itemStyle: {color: colourOf(each)}
                           })),
          markArea: {
            silent: true,
            itemStyle: {color: colour("selection"), opacity: .1},
            data: [[{xAxis: measured[0].mean}, {xAxis: measured[0].mean * 1.01}]]
          }
        },
      ],
    };
  });
}

function rankingLabel(entry, candidate) {
  const mark = candidate.config === field(entry, "config") ? "selection: " :
      candidate.config === field(entry, "baseline")        ? "baseline: " :
                                                             "";
  return mark + candidate.brief;
}

function rankingTooltip(candidate, fastest) {
  return lines(
      configText(candidate.config), timeWithMargin(candidate.mean, candidate.margin), `${candidate.samples} samples`,
      `${timesText(candidate.mean / fastest.mean)} the fastest`);
}

/** A line from low to high with ends. */
function whisker(api, stroke) {
  const [low, y] = api.coord([api.value(1), api.value(0)]);
  const [high] = api.coord([api.value(2), api.value(0)]);
  const line = (x1, y1, x2, y2) => ({type: "line", shape: {x1, y1, x2, y2}, style: {stroke, lineWidth: 1.5}});
  return {
    type: "group",
    children: [line(low, y, high, y), line(low, y - 4, low, y + 4), line(high, y - 4, high, y + 4)]
  };
}
