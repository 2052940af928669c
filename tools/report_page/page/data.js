// What the page was made with: rows of entries now, candidates of an entry when they are asked for. page_data.cc writes
// it.

const overview = JSON.parse(document.getElementById("overview").textContent);
const numEntries = overview.rows.length;
const ownPlaces = placesOf(overview.own_fields);
const sharedPlaces = placesOf(overview.shared_fields);

function placesOf(names) {
  return new Map(names.map((name, i) => [name.replace("$", ""), [i, name.endsWith("$")]]));
}

/** A field of an entry: "kernel", "mean", ... as page_data.cc lists them. */
function field(entry, name) {
  const row = overview.rows[entry];
  const [place, isText] = ownPlaces.get(name) ?? sharedPlaces.get(name);
  const value = (ownPlaces.has(name) ? row : overview.shared[row[row.length - 1]])[place];
  return isText ? overview.texts[value] : value;
}

/** {text, axes} of a config: "TILE=64, occ=2" and {TILE: 64, occ: 2}. */
function configOf(id) {
  return {text: overview.configs[id][0], axes: overview.configs[id][1]};
}
function configText(id) {
  return id === null || id === undefined ? "none" : `{${configOf(id).text}}`;
}

/** What an entry's selection is called: a table of imported selections has none. */
function selectionText(entry) {
  const dim = field(entry, "nearest_dim");
  return dim ? `a table by ${dim}` : configText(field(entry, "config"));
}

function inputOf(entry) {
  return overview.inputs[field(entry, "input")];
}

/** An entry's candidates and what only it has; null where the page left them out, to stay small. */
function detailsOf(entry) {
  const block = Math.floor(entry / overview.entries_per_block);
  const text = document.getElementById(`details-${block}`)?.textContent;
  if (text === undefined) return null;
  const details = JSON.parse(text)[entry % overview.entries_per_block];
  const candidates = details.candidates.map(candidateOf);
  const axes = varyingAxes(candidates);
  return {...details, axes, candidates: candidates.map((each) => ({...each, brief: briefText(each.config, axes)}))};
}

function candidateOf(fields) {
  const [config, outcome, variant, mean, margin, samples, message, sameAs, ties, more] = fields;
  return {
    config,
    outcome: outcome || "measured",
    variant: variant || "",
    mean: mean ?? null,
    margin: margin ?? null,
    samples: samples ?? 0,
    message: message || "",
    sameAs: sameAs ?? null,
    ties: ties ?? null,
    more: more || {},
  };
}

/** Of an entry's candidates those that ran, fastest first; that failed; that are others' code; that were not tried. */
function sorted(candidates) {
  const measured = candidates.filter((each) => each.outcome === "measured" && each.mean !== null);
  return {
    measured: measured.sort((a, b) => a.mean - b.mean),
    duplicates: candidates.filter((each) => each.outcome === "duplicate"),
    notMeasured: candidates.filter((each) => each.outcome === "not_measured"),
    failed: candidates.filter((each) => !["measured", "duplicate", "not_measured"].includes(each.outcome)),
  };
}

/** Whether a candidate may be as fast as the fastest. */
function mayBeFastest(candidate) {
  return candidate.ties === 1;
}

/** A config by those axes alone that tell it from a search's others: long configs mostly agree. */
function briefText(id, axes) {
  if (axes.length === 0) return configText(id);
  const values = configOf(id).axes;
  return `{${axes.filter((name) => name in values).map((name) => `${name}=${values[name]}`).join(", ")}}`;
}

/** What all configs of a search agree in: "backend=tile, num_ctas=1". */
function commonText(candidates, axes) {
  const values = Object.entries(configOf(candidates[0].config).axes).filter(([name]) => !axes.includes(name));
  return axes.length === 0 ? "" : values.map(([name, value]) => `${name}=${value}`).join(", ");
}

/** Names of axes that have several values among the candidates, in the configs' order. */
function varyingAxes(candidates) {
  const values = new Map();
  for (const {config} of candidates) {
    for (const [name, value] of Object.entries(configOf(config).axes)) {
      if (!values.has(name)) values.set(name, new Set());
      values.get(name).add(value);
    }
  }
  return [...values].filter(([, each]) => each.size > 1).map(([name]) => name);
}

/** The values of an axis, numbers before texts, in order. */
function valuesOf(candidates, axis) {
  const all = new Set(candidates.map(({config}) => configOf(config).axes[axis]).filter((each) => each !== undefined));
  return [...all].sort(
      (a, b) =>
          (typeof a === "number" && typeof b === "number" ? a - b :
               String(a) < String(b)                      ? -1 :
                                                            1));
}
