// Why a config is the selection, how sure that is, and instead of what, in sentences.

const failureTexts = {
  compile: "the compiler refused it",
  load: "the driver refused the code",
  resources: "it needs more than there is",
  launch: "the launch was refused",
  run: "it failed while running",
  wrong_result: "it computed something else than the baseline",
  out_of_bounds: "it wrote outside of its outputs",
  not_written: "it left elements of an output unwritten",
  wrote_input: "it wrote a tensor that it may only read",
  not_verified: "its outputs had no reference to compare with",
  crash: "it ended the worker process",
  timeout: "it did not end in time",
  protocol: "it damaged the worker process",
};

function failureText(outcome) {
  return failureTexts[outcome] || outcome;
}

/** What decided, from the record's reason and the candidates' figures. */
function whySentences(entry, details) {
  const {measured, failed} = sorted(details ? details.candidates : []);
  const selection = measured.find((each) => each.config === field(entry, "config"));
  const fastest = measured[0];
  const sentences = [whyChosen(entry)];
  if (selection && fastest && selection !== fastest) {
    sentences.push(
        `The fastest mean is that of ${fastest.brief}, ${
            timeWithMargin(fastest.mean, fastest.margin)}; the selection's is ` +
        `${percentText(selection.mean / fastest.mean - 1)} above it. ${whyNotFastest(entry, selection, fastest)}`);
  }
  const ties = selection ? measured.filter((each) => each !== selection && mayBeFastest(each)) : [];
  if (ties.length > 0) {
    sentences.push(
        `${countText(ties.length, "other config")} cannot be told from the fastest: ` +
        `${ties.slice(0, 3).map((each) => each.brief).join(", ")}${ties.length > 3 ? " and more" : ""}.`);
  }
  if (failed.length > 0) sentences.push(`${countText(failed.length, "config")} failed, and cannot be the selection.`);
  sentences.push(...doubts(entry));
  return sentences;
}

function whyChosen(entry) {
  const reasons = {
    fastest: "It is the fastest: nothing else was as fast within 1 %.",
    tie_baseline: "Others were as fast within 1 %; it is the baseline, which stays unless it is beaten.",
    tie_earliest:
        "Others were as fast within 1 %; it is the first of them in the space, so that every run chooses the same.",
    baseline_by_margin:
        "It is the baseline: something was faster, but not by the margin (2 % by default) that a winner must have.",
    pinned: "A person or a host pinned it: no search replaces it.",
    imported: "It was decided elsewhere and imported.",
  };
  if (field(entry, "is_pinned")) return reasons.pinned;
  return reasons[field(entry, "reason")] || "What decided is not known.";
}

function whyNotFastest(entry, selection, fastest) {
  if (field(entry, "is_pinned")) return "What is pinned stays.";
  if (fastest.samples < selection.samples) {
    return `It left the race after ${countText(fastest.samples, "round")} of ${
               selection.samples}: candidates are compared within the ` +
        "rounds that both ran, and there it was not faster by enough. Means of different rounds hide drift.";
  }
  switch (field(entry, "reason")) {
    case "baseline_by_margin":
    case "tie_baseline":
      return "That is too little to give up the baseline for.";
    case "tie_earliest":
      return "Within 1 % of the fastest, round by round, they tie; of those that tie the preferred one runs.";
    default:
      return "Candidates are compared round by round, not by their means.";
  }
}

function doubts(entry) {
  const sentences = [];
  const numNotMeasured = field(entry, "not_measured");
  if (!field(entry, "is_conclusive")) {
    sentences.push("It is not conclusive: the rounds or the budget ended before the candidates could be told apart.");
  }
  if (field(entry, "is_complete") && numNotMeasured > 0) {
    sentences.push(`It was chosen from a part of the space: ${countText(numNotMeasured, "config")} ${
        numNotMeasured === 1 ? "was" : "were"} not measured.`);
  }
  if (!field(entry, "is_complete")) {
    sentences.push(`The search was cut short: ${countText(numNotMeasured, "config")} ${
        numNotMeasured === 1 ? "was" : "were"} not measured.`);
  }
  if (field(entry, "speedup") === null && field(entry, "mean") !== null) {
    sentences.push("It could not be compared, because there was not any baseline.");
  }
  if (field(entry, "mean") === null) sentences.push("Nothing was measured for it here.");
  return sentences;
}
