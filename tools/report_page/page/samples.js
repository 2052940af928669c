// Each sample when it was taken: what noise, drift and other work on the device looked like.

const mostSampled = 8;

function samplesSection(entry, details, measured) {
  const sampled =
      measured.filter((each) => each.more.samples && each.more.samples.us && each.more.samples.us.length > 0);
  if (sampled.length === 0) return null;
  const isMarked = (each) => each.config === field(entry, "config") || each.config === field(entry, "baseline");
  const shown = [...sampled.filter(isMarked), ...sampled.filter((each) => !isMarked(each))].slice(0, mostSampled);
  const top = highestDrawn(shown);
  const above = shown.flatMap((each) => each.more.samples.us).filter((us) => us > top).length;
  const drift = details.drift ?
      `The selection ran ${percentText(Math.abs(details.drift))} ${
          details.drift > 0 ? "slower" : "faster"} in the second half of its rounds than in the first. ` :
      "";
  return section(
      "Samples over time", element("p", {}, drift, clocksText(details)),
      figure(
          `Each sample of ${
              shown.length < sampled.length ? `${shown.length} of ${sampled.length} configs` : "each config"}, ` +
              `by when its round was measured${
                  clocksOf(details).length > 0 ? ", and the SM clock (right)" : ""}. Choose configs in the legend.` +
              (above > 0 ? ` ${countText(above, "sample")} above ${timeText(top)} stand${
                               above === 1 ? "s" : ""} at the upper edge.` :
                           ""),
          360, () => samplesOption(entry, shown, top, clocksOf(details))));
}


/** Beyond this samples would press all others to the ground: half more than 99 of 100 take. */
function highestDrawn(shown) {
  const all = shown.flatMap((each) => each.more.samples.us).sort((a, b) => a - b);
  return Math.min(all[all.length - 1], 1.5 * all[Math.floor(.99 * (all.length - 1))]);
}

function clocksText(details) {
  const conditions = conditionsText(details);
  return conditions ? `The device${conditions.includes("→") ? " before the race → after it" : ""}: ${conditions}.` :
                      "The device's clocks are not known.";
}

/** Looks at the device while the race went on: those that know the clock. */
function clocksOf(details) {
  return (details.timeline?.device ?? []).filter((each) => typeof each.sm_clock_mhz === "number");
}

function samplesOption(entry, shown, top, clocks) {
  const name = (each) => shortened(rankingLabel(entry, each), 60);
  return {
    grid: {left: 70, right: clocks.length > 0 ? 70 : 20, top: 25 + 24 * Math.ceil(shown.length / 3), bottom: 45},
    legend: {
      type: "plain",
      top: 0,
      textStyle: {color: colour("text"), fontSize: 12},
      inactiveColor: colour("faint"),
      data: [...shown.map(name), ...(clocks.length > 0 ? ["SM clock"] : [])]
    },
    xAxis: axis({type: "value", scale: true, name: "ms since the search began", nameLocation: "middle", nameGap: 28}),
    yAxis: [
      axis({type: "value", scale: true, name: "µs", nameLocation: "middle", nameGap: 50}),
      axis({
        type: "value",
        scale: true,
        show: clocks.length > 0,
        name: "MHz",
        nameLocation: "middle",
        nameGap: 45,
        splitLine: {show: false}
      }),
    ],
    tooltip: {
      formatter: ({seriesIndex, value}) => lines(
          shown[seriesIndex]?.brief ?? "SM clock", seriesIndex < shown.length ? timeText(value[2]) : `${value[1]} MHz`,
          `at ${significant(value[0], 5)} ms`)
    },
    series: [
      ...shown.map((each) => ({
                     type: "scatter",
                     name: name(each),
                     symbolSize: 5,
                     itemStyle: each.config === field(entry, "config") ? {color: colour("selection")} :
                         each.config === field(entry, "baseline")      ? {color: colour("baseline")} :
                                                                         undefined,
                     data: each.more.samples.us.map((us, i) => [each.more.samples.at_ms[i], Math.min(us, top), us]),
                   })),
      clockSeries(clocks)
    ],
  };
}

function clockSeries(clocks) {
  return {
    type: "line",
    step: "end",
    name: "SM clock",
    yAxisIndex: 1,
    symbolSize: 3,
    lineStyle: {color: colour("faint"), width: 1},
    itemStyle: {color: colour("faint")},
    data: clocks.map((each) => [each.at_ms, each.sm_clock_mhz]),
  };
}
