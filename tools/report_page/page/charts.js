// What all charts have in common: the colours of the page, a size, a label for screen readers. Texts in tooltips
// are elements, since the library takes strings for markup.

let drawn = [];

/** Forgets the charts of the view that is left. */
function disposeCharts() {
  for (const chart of drawn) chart.dispose();
  drawn = [];
}

function colour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}

/** A figure. `option`: the chart's, made when it is drawn. `describe`: what one sees, in words. */
function figure(describe, height, option) {
  const box = element("div", {class: "chart", style: `height:${height}px`, role: "img", "aria-label": describe});
  const made = element("figure", {}, box, element("figcaption", {}, describe));
  made.redraw = (next, text = describe) => {
    box.setAttribute("aria-label", text);
    made.lastChild.textContent = text;
    made.chart.setOption(common(next), true);
  };
  made.draw = () => {
    made.chart = echarts.init(box, null, {renderer: "svg", width: Math.max(box.clientWidth, 320), height});
    made.chart.setOption(common(option()));
    drawn.push(made.chart);
  };
  return made;
}

function common(option) {
  return {
    animation: false,
    textStyle: {color: colour("text"), fontFamily: "system-ui, DejaVu Sans, sans-serif"},
    ...option,
    tooltip: {
      backgroundColor: colour("raised"),
      borderColor: colour("line"),
      textStyle: {color: colour("text")},
      confine: true,
      ...option.tooltip
    },
  };
}

/** An axis in the page's colours. */
function axis(settings) {
  return {
    nameTextStyle: {color: colour("faint")},
    axisLine: {lineStyle: {color: colour("line")}},
    axisLabel: {color: colour("text"), ...settings.axisLabel},
    splitLine: {lineStyle: {color: colour("line"), opacity: .5}},
    ...Object.fromEntries(Object.entries(settings).filter(([name]) => name !== "axisLabel")),
  };
}

/** A tooltip of lines of text. */
function lines(...texts) {
  return element(
      "div", {style: "max-width:36rem;white-space:normal"},
      texts.filter(Boolean).map((text) => element("div", {}, text)));
}

/** At most so many characters, the middle left out. */
function shortened(text, most) {
  if (text.length <= most) return text;
  return `${text.slice(0, Math.ceil(most / 2) - 1)}…${text.slice(-Math.floor(most / 2))}`;
}

addEventListener("resize", () => {
  for (const chart of drawn) chart.resize({width: Math.max(chart.getDom().clientWidth, 320)});
});
