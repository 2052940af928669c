// One search: what runs, why, how sure, and what the others did.

function searchView(entry) {
  const details = detailsOf(entry);
  const parts = details === null ? [leftOut()] : candidateSections(entry, details);
  return [
    element("p", {}, link("All searches", "")),
    element("h1", {tabindex: "-1"}, `${field(entry, "kernel")}: ${field(entry, "key") || "no key"}`),
    answer(entry),
    element(
        "div", {class: "why"}, element("strong", {}, "Why this one"),
        element("ul", {}, whySentences(entry, details).map((each) => element("li", {}, each)))),
    shownOrSaid(() => provenance(entry, details)),
    ...parts,
    historySection(entry),
  ].filter((each) => each !== null);
}

/**
 * What `make` makes. Results are others' files: where a part of one is not as we write it, that is said in its place.
 */
function shownOrSaid(make) {
  try {
    return make();
  } catch (error) {
    return cannotBeShown(error);
  }
}

function cannotBeShown(error) {
  return element("p", {class: "problems"}, `A part of this file cannot be shown: ${error.message}`);
}

function leftOut() {
  return element(
      "p", {class: "problems"},
      "The candidates of this search were left out, since the page would have more than 20 MB: " +
          "tuneonce report --kernel NAME makes a page of one kernel.");
}

/** What a launch gets, in a sentence. */
function answer(entry) {
  const speedup = field(entry, "speedup");
  const mean = field(entry, "mean");
  return element(
      "p", {class: "answer"}, element("span", {class: "selection"}, selectionText(entry)), " runs",
      mean === null ?
          "" :
          `, in ${timeWithMargin(mean, field(entry, "margin"))} (${
              field(entry, "margin") === null ? "" :
                                                "95 % interval, "}${countText(field(entry, "samples"), "sample")})`,
      field(entry, "config") !== null && field(entry, "config") === field(entry, "baseline") ?
          ", and is the baseline" :
          speedup === null ?
          "" :
          `, ${speedup.toFixed(2)} times as fast as the baseline ${configText(field(entry, "baseline"))}`,
      ".");
}

function provenance(entry, details) {
  const [std, median, min, max] = details?.spread ?? [];
  const driver = driverText(field(entry, "driver"));
  return facts([
    [
      "device",
      [
        field(entry, "device"), field(entry, "num_sms") ? `${field(entry, "num_sms")} SMs` : "",
        driver ? `driver ${driver}` : "any driver"
      ].filter(Boolean)
          .join(", ")
    ],
    ["measured at", field(entry, "shape")],
    [
      "inputs", {
        caller: "the caller's",
        repeated: "the caller's, repeated up to the bucket's bound",
        fill: "made up, as the kernel declares",
        recorded: "recorded earlier"
      }[field(entry, "inputs")]
    ],
    ["variant", field(entry, "variant")],
    [
      "spread of the selection",
      std === undefined || std === null ?
          "" :
          `${timeText(min)} to ${timeText(max)}, median ${timeText(median)}, standard deviation ${timeText(std, 2)}`
    ],
    ["timed by", field(entry, "timer")],
    ["compiled by", field(entry, "toolchain")],
    ["when and where", [dateText(field(entry, "when")), field(entry, "host")].filter(Boolean).join(", ")],
    ["kernel's source", field(entry, "source").replace(/^0+$/, "")],
    ["workspace", details?.workspace_bytes ? bytesText(details.workspace_bytes) : ""],
    ["clocks", details ? conditionsText(details) : ""],
    ["cost", details?.cost ? costText(details.cost) : ""],
    ["notes", details?.notes?.length > 0 ? details.notes.join("; ") : ""],
    ["file", inputOf(entry).name],
  ]);
}

function costText(cost) {
  const parts = [
    `${significant(cost.wall_seconds ?? 0, 3)} s in all`,
    `${significant(cost.compile_seconds ?? 0, 3)} s compiling ${countText(cost.num_compiled ?? 0, "artifact")}`,
    `${significant(1000 * (cost.gpu_seconds ?? 0), 3)} ms on the device in ${countText(cost.num_rounds ?? 0, "round")}`,
    `${bytesText(cost.peak_bytes ?? 0)} of device memory at most`,
  ];
  if (cost.workers_replaced > 0) parts.push(`${countText(cost.workers_replaced, "worker process")} replaced`);
  return parts.join(", ");
}

function candidateSections(entry, details) {
  const {measured, failed, duplicates, notMeasured} = sorted(details.candidates);
  const sections = [() => tableOfRows(details), () => fatalSection(details)];
  if (details.candidates.length === 0) {
    const nothing = "The file does not say which other configs there were.";
    sections.push(() => section("Candidates", element("p", {}, nothing)));
  } else {
    sections.push(
        () => rankingSection(entry, details, measured), () => failureSection(details, failed),
        () => duplicateSection(duplicates, details.axes), () => notMeasuredSection(notMeasured),
        () => heatMapSection(details.candidates), () => parallelSection(measured),
        () => rooflineSection(entry, measured), () => samplesSection(entry, details, measured),
        () => timelineSection(details), () => substitutionSection(details), () => remarkSection(entry, details),
        () => notSaid(details, measured));
  }
  return sections.map(shownOrSaid);
}

function rankingSection(entry, details, measured) {
  if (measured.length === 0) return null;
  const common = details.candidates.length > 1 ? commonText(details.candidates, details.axes) : "";
  return section(
      "The configs that ran", common ? element("p", {class: "faint"}, `All configs have ${common}.`) : null,
      rankingFigure(entry, measured), rankingTable(entry, measured));
}

function notMeasuredSection(notMeasured) {
  if (notMeasured.length === 0) return null;
  const items = notMeasured.map((each) => element("li", {}, element("code", {}, each.brief)));
  return section("Not measured", element("ul", {}, items));
}

function rankingTable(entry, measured) {
  const fastest = measured[0];
  const rank = new Map(measured.map((each, i) => [each, i + 1]));
  const role = (each) => [each.config === field(entry, "config") ? "selection" : "",
                          each.config === field(entry, "baseline") ? "baseline" : ""]
                             .filter(Boolean)
                             .join(", ");
  return sortableTable({
    caption: "All configs that ran",
    rows: measured,
    classOf: (each) => each.config === field(entry, "config") ? "is-selection" : null,
    columns: [
      {label: "rank", isNumber: true, value: (each) => rank.get(each), cell: (each) => String(rank.get(each))},
      {label: "config", value: (each) => configOf(each.config).text, cell: (each) => element("code", {}, each.brief)},
      {label: "is", value: role, cell: (each) => element("span", {class: role(each).split(",")[0]}, role(each))},
      {
        label: "mean",
        isNumber: true,
        value: (each) => each.mean,
        cell: (each) => timeWithMargin(each.mean, each.margin)
      },
      {
        label: "to the fastest",
        isNumber: true,
        value: (each) => each.mean,
        cell: (each) => `+${percentText(each.mean / fastest.mean - 1)}`
      },
      {
        label: "may be the fastest",
        value: (each) => mayBeFastest(each) ? 0 : 1,
        cell: (each) => mayBeFastest(each) ? "yes" : "no"
      },
      {label: "samples", isNumber: true, value: (each) => each.samples, cell: (each) => String(each.samples)},
      {label: "variant", value: (each) => each.variant, cell: (each) => each.variant},
    ],
  });
}

/** The message of a failure, and what the compiler could not do for its code. */
function failureMessage(details, candidate) {
  const remarks = (candidate.more.remarks ?? []).map((index) => details.remarks[index]);
  return [candidate.message, ...remarks.filter((each) => each.startsWith("failed:"))].join("\n");
}

function failureSection(details, failed) {
  if (failed.length === 0) return null;
  return section(
      "What failed, and why", sortableTable({
        caption: `${countText(failed.length, "config")} failed`,
        rows: failed,
        columns: [
          {
            label: "config",
            value: (each) => configOf(each.config).text,
            cell: (each) => element("code", {}, each.brief)
          },
          {
            label: "kind",
            value: (each) => each.outcome,
            cell: (each) => element("span", {class: "bad"}, each.outcome.replaceAll("_", " "))
          },
          {label: "what that means", value: (each) => each.outcome, cell: (each) => failureText(each.outcome)},
          {
            label: "message",
            value: (each) => each.message,
            cell: (each) => element("pre", {}, failureMessage(details, each))
          },
        ],
      }));
}

function duplicateSection(duplicates, axes) {
  if (duplicates.length === 0) return null;
  return section("The same code as another's", sortableTable({
                   caption: "Not measured again, since code and geometry are another config's",
                   rows: duplicates,
                   columns: [
                     {
                       label: "config",
                       value: (each) => configOf(each.config).text,
                       cell: (each) => element("code", {}, each.brief)
                     },
                     {
                       label: "same as",
                       value: (each) => briefText(each.sameAs, axes),
                       cell: (each) => element("code", {}, briefText(each.sameAs, axes))
                     },
                   ],
                 }));
}

function fatalSection(details) {
  if (!details.fatal) return null;
  return section(
      "Ended the process they were tried in",
      element(
          "ul", {},
          details.fatal.map(
              ([config, reason]) => element(
                  "li", {}, element("code", {}, configText(config)),
                  `: ${reason}. It is not tried again for this key.`))));
}

/** An imported table of selections. */
function tableOfRows(details) {
  if (!details.rows) return null;
  return section(
      `By ${details.nearest_dim}, the nearest serves`,
      element(
          "table", {},
          element(
              "tbody", {},
              details.rows.map(
                  ([at, config]) => element(
                      "tr", {}, element("td", {class: "number"}, String(at)),
                      element("td", {}, element("code", {}, configText(config))))))));
}

function substitutionSection(details) {
  if (!Array.isArray(details.substitutions) || details.substitutions.length === 0) return null;
  const texts = new Map();
  for (const each of details.substitutions) {
    const text = `built by ${each.variant} instead of ${each.instead_of}: ${each.reason}`;
    texts.set(text, (texts.get(text) ?? 0) + 1);
  }
  return section(
      "Built otherwise than preferred",
      element("ul", {}, [...texts].map(([text, count]) => element("li", {}, `${countText(count, "config")} ${text}`))));
}

/** What the compiler states about its optimizations, and for how many configs. */
function remarkSection(entry, details) {
  if (!details.remarks) return null;
  const counts = details.remarks.map(() => 0);
  const ofSelection = new Set();
  for (const candidate of details.candidates) {
    for (const index of candidate.more.remarks ?? []) {
      ++counts[index];
      if (candidate.config === field(entry, "config")) ofSelection.add(index);
    }
  }
  return section("Remarks of the compiler", sortableTable({
                   caption: "What the compiler could and could not do",
                   rows: details.remarks.map((text, index) => ({text, index})),
                   columns: [
                     {label: "remark", value: (each) => each.text, cell: (each) => element("code", {}, each.text)},
                     {
                       label: "configs",
                       isNumber: true,
                       value: (each) => counts[each.index],
                       cell: (each) => String(counts[each.index])
                     },
                     {
                       label: "about the selection",
                       value: (each) => ofSelection.has(each.index) ? 0 : 1,
                       cell: (each) => ofSelection.has(each.index) ? "yes" : "no"
                     },
                   ],
                 }));
}

/** What one would look for, and the file does not hold. */
function notSaid(details, measured) {
  const missing = [];
  if (!measured.some((each) => each.more.samples))
    missing.push("each sample, and what was done when (tuneonce tune --json --samples keeps them)");
  if (!measured.some((each) => each.more.roofline))
    missing.push(
        "how near to the device's peak the configs come (results have it, of kernels that declare their work)");
  if (!details.cost) missing.push("what the search cost");
  return missing.length === 0 ?
      null :
      section("What this file does not say", element("ul", {}, missing.map((each) => element("li", {}, each))));
}
