// What was done when, and on which thread: compiles, loads, checks, the race.

const spanColours = {
  tune: "line",
  search: "line",
  compile: "plain",
  load: "baseline",
  "warm-up": "baseline",
  verify: "baseline",
  race: "selection",
  worker: "plain",
  store: "faint",
  wait: "line"
};

/** A worker that was lost stands out. */
function spanColour({category, name}) {
  return category === "worker" && String(name).startsWith("lost") ? "bad" : spanColours[category] ?? "plain";
}

function timelineSection(details) {
  const timeline = details.timeline;
  if (!timeline || !Array.isArray(timeline.spans) || timeline.spans.length === 0) return null;
  // Long ones first: what lies within them is drawn over them.
  const spans = [...timeline.spans].sort((a, b) => b.duration_ms - a.duration_ms);
  const used = [...new Set(spans.map((each) => each.track))].sort((a, b) => a - b);
  const kinds = [...new Set(spans.map((each) => each.category))];
  const totals = kinds.map((kind) => {
    const own = spans.filter((each) => each.category === kind);
    return [kind, own.length, own.reduce((sum, each) => sum + each.duration_ms, 0)];
  });
  const table = element(
      "table", {},
      element(
          "thead", {},
          element(
              "tr", {},
              ["what", "times", "ms together"].map(
                  (each, i) => element("th", {scope: "col", class: i > 0 ? "number" : null}, each)))),
      element(
          "tbody", {},
          totals.map(
              ([kind, times, total]) => element(
                  "tr", {},
                  element(
                      "td", {},
                      element("span", {class: "swatch", style: `background:var(--${spanColours[kind] ?? "plain"})`}),
                      kind),
                  element("td", {class: "number"}, String(times)),
                  element("td", {class: "number"}, significant(total, 3))))));
  const lost = spans.filter((each) => spanColour(each) === "bad").map((each) => each.name.replace(/^lost: /, ""));
  return section(
      "Timeline",
      lost.length > 0 ?
          element(
              "p", {},
              `${countText(lost.length, "worker")} ${lost.length === 1 ? "was" : "were"} lost: ${lost.join("; ")}.`) :
          null,
      figure(
          `Spans of time on ${
              countText(
                  used.length,
                  "line")}, of threads and processes; those within others are drawn over them. Drag the slider to zoom.` +
              (timeline.left_out > 0 ? ` ${timeline.left_out} are left out.` : ""),
          110 + 40 * used.length, () => timelineOption(timeline.tracks, spans, used)),
      table);
}

function timelineOption(tracks, spans, used) {
  return {
    grid: {left: 150, right: 30, top: 10, bottom: 80},
    xAxis: axis({type: "value", name: "ms", nameLocation: "middle", nameGap: 25}),
    yAxis: axis({
      type: "category",
      inverse: true,
      data: used.map((each) => String(tracks[each] ?? each)),
      axisLabel: {width: 130, overflow: "truncate"}
    }),
    dataZoom: [{type: "slider", bottom: 10, height: 18, filterMode: "none", textStyle: {color: colour("text")}}],
    tooltip: {
      formatter: ({dataIndex}) => lines(
          spans[dataIndex].name, `${spans[dataIndex].category}, ${significant(spans[dataIndex].duration_ms, 3)} ms`)
    },
    series: [{
      type: "custom",
      encode: {x: [1, 2], y: 0},
      clip: true,
      data: spans.map((each) => [used.indexOf(each.track), each.begin_ms, each.begin_ms + each.duration_ms]),
      renderItem: ({dataIndex}, api) => {
        const [x, y] = api.coord([api.value(1), api.value(0)]);
        const [end] = api.coord([api.value(2), api.value(0)]);
        const isOuter = ["tune", "search"].includes(spans[dataIndex].category);
        const height = isOuter ? 26 : 16;
        const fill = spanColour(spans[dataIndex]);
        return {
          type: "rect",
          shape: {x, y: y - height / 2, width: Math.max(end - x, fill === "bad" ? 3 : 1), height},
          style: {fill: colour(fill), opacity: isOuter ? .4 : .85}
        };
      },
    }],
  };
}
