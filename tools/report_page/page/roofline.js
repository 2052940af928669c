// How near the configs come to what the device can do, where the kernel says what it must move and compute.

function rooflineSection(entry, measured) {
  const rated = measured.filter((each) => each.more.roofline);
  if (rated.length === 0) return null;
  const selection = rated.find((each) => each.config === field(entry, "config")) ?? rated[0];
  const roofline = selection.more.roofline;
  const facts = [
    roofline.gb_per_s ? `moves ${significant(roofline.gb_per_s, 3)} GB/s` : "",
    roofline.tflop_per_s ? `computes ${significant(roofline.tflop_per_s, 3)} TFLOP/s` : "",
    roofline.percent_of_peak ? `${significant(roofline.percent_of_peak, 3)} % of the device's peak` :
                               "the device's peak is not known",
    roofline.bound ? `${roofline.bound === "balanced" ? "balanced" : `${roofline.bound} bound`}, ${
                         significant(roofline.intensity, 3)} operations per byte` :
                     "",
  ].filter(Boolean);
  const text = element("p", {}, `${configText(selection.config)} ${facts.join("; ")}.`);
  if (!roofline.intensity || !roofline.tflop_per_s) return section("Roofline", text);
  return section(
      "Roofline", text,
      figure(
          "Achieved TFLOP/s over operations per byte, both logarithmic. " +
              "The roof is what the device can do at that intensity.",
          300, () => rooflineOption(entry, rated)));
}

function rooflineOption(entry, rated) {
  const points = rated.map((each) => [each.more.roofline.intensity, each.more.roofline.tflop_per_s]);
  const first = rated[0].more.roofline;
  const peak = first.percent_of_peak ? 100 * first.tflop_per_s / first.percent_of_peak : null;
  // Below the ridge the roof rises with intensity; which side of it this is, the kernel's bound says.
  const roof = peak === null          ? [] :
      first.bound === "compute bound" ? [[first.intensity / 4, peak], [first.intensity * 4, peak]] :
                                        [[first.intensity / 4, peak / 4], [first.intensity, peak]];
  const all = [...points, ...roof];
  // Whole decades, so that the marks are round numbers.
  const range = (dim) => ({
    min: 10 ** Math.floor(Math.log10(Math.min(...all.map((each) => each[dim])))),
    max: 10 ** Math.ceil(Math.log10(Math.max(...all.map((each) => each[dim]))))
  });
  const logarithmic = (name, dim, more) => axis({
    type: "log",
    name,
    nameLocation: "middle",
    nameGap: 30,
    ...range(dim),
    axisLabel: {formatter: (value) => significant(value, 2)},
    ...more
  });
  return {
    grid: {left: 70, right: 30, top: 20, bottom: 45},
    xAxis: logarithmic("operations per byte", 0, {}),
    yAxis: logarithmic("TFLOP/s", 1, {nameGap: 45}),
    tooltip: {
      formatter: ({seriesIndex, dataIndex}) => seriesIndex === 0 ?
          rooflineTooltip(rated[dataIndex]) :
          lines(`the device: ${significant(peak, 3)} TFLOP/s at this intensity`)
    },
    series: [
      {
        type: "scatter",
        symbolSize: 10,
        data: points.map(
            (value, i) => ({
              value,
              itemStyle: {color: rated[i].config === field(entry, "config") ? colour("selection") : colour("plain")}
            }))
      },
      {type: "line", data: roof, symbol: "none", lineStyle: {color: colour("bad"), width: 2}},
    ],
  };
}

function rooflineTooltip(candidate) {
  const {tflop_per_s: tflops, percent_of_peak: percent} = candidate.more.roofline;
  return lines(
      candidate.brief, `${significant(tflops, 3)} TFLOP/s`, percent ? `${significant(percent, 3)} % of the peak` : "");
}
