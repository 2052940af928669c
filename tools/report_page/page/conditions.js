// The state of the device during the measurement, as text.

/** NVML's bits. */
const slowedBy = [
  [0x1, "idleness"],
  [0x2, "clocks set by applications"],
  [0x4, "the power limit"],
  [0x8, "the hardware"],
  [0x10, "clocks in step with other devices"],
  [0x20, "heat (the driver)"],
  [0x40, "heat (the hardware)"],
  [0x80, "a power brake"],
  [0x100, "a display's clocks"],
];

/** "SM clock 1980 → 1755 MHz, ..."; "" where nothing is known. A result has two looks at the device, a record one. */
function conditionsText(details) {
  const {device_before: before, device_after: after, conditions} = details;
  const one = after ?? before ?? conditions;
  if (!one) return "";
  const range = (name, unit, scale = 1) => {
    const values = [...new Set([
      before, after, conditions
    ].filter(Boolean).map((each) => each[name])
                                   .filter((each) => typeof each === "number")
                                   .map((each) => String(Math.round(each / scale))))];
    return values.length === 0 ? null : `${values.join(" → ")} ${unit}`;
  };
  const named = (name, text) => text === null ? null : `${name} ${text}`;
  return [
    named("SM clock", range("sm_clock_mhz", "MHz")),
    named("memory clock", range("memory_clock_mhz", "MHz")),
    named("temperature", range("temperature_c", "°C")),
    named("power", range("power_mw", "W", 1000)),
    named("power limit", range("power_limit_mw", "W", 1000)),
    throttleText((before ?? one).throttle_reasons, one.throttle_reasons),
    one.mig_profile ? `MIG ${one.mig_profile}` : null,
  ].filter(Boolean)
      .join(", ");
}

function throttleText(...all) {
  const bits = all.filter((each) => typeof each === "number").reduce((sum, each) => sum | each, 0);
  if (all.every((each) => typeof each !== "number")) return null;
  const reasons = slowedBy.filter(([bit]) => bits & bit).map(([, text]) => text);
  return reasons.length === 0 ? "clocks not held back" : `clocks held back by ${reasons.join(" and ")}`;
}
