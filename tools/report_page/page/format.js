// Numbers, times and dates as people read them.

/** "1.234 µs", "12.3 ms"; "not measured" for null. */
function timeText(us, digits = 4) {
  if (us === null || us === undefined) return "not measured";
  const [value, unit] = us >= 1e6 ? [us / 1e6, "s"] : us >= 1e3 ? [us / 1e3, "ms"] : [us, "µs"];
  return `${significant(value, digits)} ${unit}`;
}

/** With that many digits, without exponents where people write none. */
function significant(value, digits = 4) {
  if (value === 0) return "0";
  const text = value.toPrecision(digits);
  return text.includes("e") ? String(Number(text)) : text;
}

/** A margin in the unit of its time: "12.3 ± 0.1 µs" has one unit. */
function timeWithMargin(us, margin) {
  if (us === null || us === undefined) return "not measured";
  if (margin === null || margin === undefined) return timeText(us);
  const [scale, unit] = us >= 1e6 ? [1e6, "s"] : us >= 1e3 ? [1e3, "ms"] : [1, "µs"];
  return `${significant(us / scale)} ± ${significant(margin / scale, 2)} ${unit}`;
}

/** 1.5 as "1.50×". */
function timesText(ratio) {
  return ratio === null || ratio === undefined ? "" : `${ratio.toFixed(2)}×`;
}

/** 0.0123 as "1.2 %". */
function percentText(share) {
  const percent = 100 * share;
  return `${Math.abs(percent) < 10 ? percent.toFixed(1) : percent.toFixed(0)} %`;
}

/** 13000 as "13.0"; what names no driver is of any. */
function driverText(version) {
  return version === 0 ? "" : `${Math.floor(version / 1000)}.${Math.floor((version % 1000) / 10)}`;
}

/** Seconds since 1970 as "2026-11-22"; what no date holds, and 0, is "". */
function dateText(seconds) {
  const date = new Date(1000 * seconds);
  return seconds === 0 || Number.isNaN(date.getTime()) ? "" : date.toISOString().slice(0, 10);
}

/** "1 config", "2 configs". */
function countText(count, word) {
  return `${count.toLocaleString("en")} ${word}${count === 1 ? "" : word.endsWith("h") ? "es" : "s"}`;
}

function bytesText(bytes) {
  return bytes < 1 << 20 ? `${significant(bytes / 1024, 3)} KiB` : `${significant(bytes / (1 << 20), 3)} MiB`;
}
