#include "runtime/feature_matrix/oracle.h"

#include <algorithm>
#include <utility>

namespace tuneonce::testing {

std::string Oracle::KeyOf(const MatrixCall& call) const {
  std::string key =
      std::to_string(TunedAt(call)) + (call.is_int ? " int" : " float") + (call.is_regular ? "" : " without fast");
  return case_.key() == KeyKind::kScalar ? key + " " + std::to_string(call.factor) : key;
}

int Oracle::TunedAt(const MatrixCall& call) const {
  if (case_.key() == KeyKind::kBounds) return 1010;
  if (case_.key() == KeyKind::kNearest) return 990;
  int bound = call.n;
  if (case_.is_bucketed()) {
    for (bound = 1; bound < call.n;) bound *= 2;
  }
  return bound;
}

bool Oracle::GuardHolds(const Ran& ran, int n) const {
  bool is_guarded = (case_.key() == KeyKind::kGuardOnWinner && ran.work == 1) ||
                    (case_.key() == KeyKind::kGuardOnBaseline && ran.work == 100);
  return !is_guarded || n % 2 == 0;
}

bool Oracle::Suits(const Ran& ran, const MatrixCall& call) const {
  return GuardHolds(ran, call.n) && (call.is_regular || ran.is_general);
}

int Oracle::BaselineWork(int n) const { return GuardHolds({100, false}, n) ? 100 : 50; }

Ran Oracle::FallbackOf(const MatrixCall& call) const { return {BaselineWork(call.n), !call.is_regular}; }

Oracle::Record Oracle::RecordOf(const MatrixCall& call) const {
  bool is_general = !call.is_regular;
  int n = TunedAt(call);
  Record record;
  record.key = KeyOf(call);
  record.call = call;
  record.is_int = call.is_int;
  record.tuned_at = case_.tensors() == Tensors::kByPointers ? "G=" + std::to_string(Case::kGroups) + ", " : "";
  record.tuned_at += "N=" + std::to_string(n);
  record.selection = {GuardHolds({1, false}, n) ? 1 : 50, is_general};
  record.baseline = {BaselineWork(n), is_general};
  return record;
}

void Oracle::Prepare(const MatrixCall& call) {
  Record record = RecordOf(call);
  StoreState state = case_.store();
  if (state == StoreState::kEmpty || state == StoreState::kFailing) return;
  record.has_artifacts = state != StoreState::kWithoutArtifact;
  record.is_complete = state != StoreState::kIncomplete;
  record.is_other_driver = state == StoreState::kOtherDriver;
  records_ = {record};
  if (!record.has_artifacts) return;
  for (int work : {100, 50, 1}) {
    if (GuardHolds({work, false}, TunedAt(call))) compiled_.insert({work, call.is_int});
  }
}

bool Oracle::CanGetCode(const Ran& ran, bool is_int, bool may_compile) const {
  // A file is there; what the host launches itself needs none; what was compiled is known by the compiler's version.
  if (!case_.is_compiled()) return true;
  return can_compile() && (may_compile || compiled_.count({ran.mark(), is_int}) != 0);
}

void Oracle::GetCode(const Ran& ran, bool is_int) {
  if (case_.is_compiled() && compiled_.insert({ran.mark(), is_int}).second) has_compiled_ = true;
}

const Oracle::Record* Oracle::FindRecord(const std::string& key) const {
  const Record* found = nullptr;
  for (const Record& record : records_) {
    if (record.key == key && (found == nullptr || found->is_other_driver)) found = &record;
  }
  return found;
}

bool Oracle::StoredCodeOf(const Record& record, const Ran& ran) const {
  return record.has_artifacts && (record.baseline == ran || record.selection == ran);
}

bool Oracle::HasFallback(const MatrixCall& call) const {
  const Ran wanted = FallbackOf(call);
  const bool stored_only = case_.mode() == Mode::kStoredOnly;
  const Record* of_key = FindRecord(KeyOf(call));
  if (of_key != nullptr && StoredCodeOf(*of_key, wanted)) return true;
  bool of_other_key = stored_only && std::any_of(records_.begin(), records_.end(), [&](const Record& record) {
                        return record.is_int == call.is_int && StoredCodeOf(record, wanted);
                      });
  return of_other_key || CanGetCode(wanted, call.is_int, /*may_compile=*/!stored_only);
}

Oracle::Answer Oracle::Fallback(const MatrixCall& call, bool is_captured) {
  const Ran wanted = FallbackOf(call);
  std::vector<Ran>& loaded = here().fallbacks[KeyOf(call)];
  if (std::find(loaded.begin(), loaded.end(), wanted) == loaded.end()) {
    if (is_captured) {
      ++counters_.capture_misses;
      return {StatusCode::kFailedPrecondition, {}};
    }
    if (!HasFallback(call)) return {StatusCode::kUnavailable, {}};
    const Record* of_key = FindRecord(KeyOf(call));
    bool is_stored = of_key != nullptr && StoredCodeOf(*of_key, wanted);
    if (!is_stored && case_.mode() != Mode::kStoredOnly) GetCode(wanted, call.is_int);
    loaded.push_back(wanted);
  }
  ++counters_.fallbacks;
  return {StatusCode::kOk, wanted};
}

Oracle::Answer Oracle::RunSelected(const MatrixCall& call, bool is_captured) {
  const Ran& selection = here().selections.at(KeyOf(call));
  return Suits(selection, call) ? Answer{StatusCode::kOk, selection} : Fallback(call, is_captured);
}

bool Oracle::Serve(const MatrixCall& call, bool may_compile) {
  const Record* record = FindRecord(KeyOf(call));
  if (record == nullptr || record->is_other_driver) return false;
  if (!record->has_artifacts) {
    if (!CanGetCode(record->selection, call.is_int, may_compile)) return false;
    GetCode(record->selection, call.is_int);
  }
  here().selections[record->key] = record->selection;
  if (!record->is_complete && case_.mode() != Mode::kStoredOnly) here().cut_short.emplace(record->key, call);
  ++counters_.stored_hits;
  return true;
}

bool Oracle::Predict(const MatrixCall& call) {
  if (case_.new_key() != NewKey::kPredict) return false;
  // Other calls have another key whatever their dims are.
  const auto differs_in_dims = [&](const Record& record) {
    return record.call.is_int == call.is_int && (case_.key() != KeyKind::kScalar || record.call.factor == call.factor);
  };
  const auto known = std::find_if(records_.begin(), records_.end(), differs_in_dims);
  if (known == records_.end() || !CanGetCode(known->selection, call.is_int, /*may_compile=*/true)) return false;
  // No case launches at an extent of a class at which an exact key was tuned, so each prediction is compared.
  const Record compared = RecordOf(call);
  GetCode(compared.selection, call.is_int);
  GetCode(compared.baseline, call.is_int);
  here().selections[compared.key] = compared.selection;
  here().fallbacks[compared.key].push_back(compared.baseline);
  here().predicted.emplace(compared.key, call);
  ++counters_.predictions;
  return true;
}

bool Oracle::Choose(const MatrixCall& call, bool is_idle) {
  if (Serve(call, /*may_compile=*/true) || (!is_idle && Predict(call)) || Search(call)) return true;
  ++counters_.failed_tunes;
  here().failed.insert(KeyOf(call));
  return false;
}

bool Oracle::Search(const MatrixCall& call) {
  const std::string key = KeyOf(call);
  ++counters_.tunes;
  if (!CanGetCode({1, false}, call.is_int, /*may_compile=*/true)) return false;
  Record found = RecordOf(call);
  for (int work : {100, 50, 1}) {
    Ran candidate{work, found.selection.is_general};
    if (GuardHolds(candidate, TunedAt(call))) GetCode(candidate, call.is_int);
  }
  here().selections[key] = found.selection;
  std::vector<Ran>& fallbacks = here().fallbacks[key];
  if (std::find(fallbacks.begin(), fallbacks.end(), found.baseline) == fallbacks.end()) {
    fallbacks.push_back(found.baseline);
  }
  here().failed.erase(key);
  if (case_.store() == StoreState::kFailing) return true;
  records_.erase(std::remove_if(records_.begin(), records_.end(),
                                [&](const Record& record) { return record.key == key && !record.is_other_driver; }),
                 records_.end());
  records_.push_back(found);
  return true;
}

Oracle::Answer Oracle::Launch(const MatrixCall& call, bool is_captured) {
  if (call.n == 0) return {};  // Nothing is launched, tuned or counted.
  const std::string key = KeyOf(call);
  const Mode mode = case_.mode();
  if (mode == Mode::kFallbackOnly) return Fallback(call, is_captured);
  if (here().selections.count(key) != 0) {
    ++counters_.hits;
    return RunSelected(call, is_captured);
  }
  if (here().waiting.count(key) != 0 && !here().fallbacks[key].empty()) {
    ++counters_.hits;
    return Fallback(call, is_captured);
  }
  if (is_captured) {
    std::int64_t before = counters_.capture_misses;
    Answer answer = Fallback(call, is_captured);
    counters_.capture_misses = before + 1;
    return answer;
  }
  if (is_frozen_) {
    ++counters_.frozen_misses;
    return Fallback(call, is_captured);
  }
  if (here().failed.count(key) != 0) return Fallback(call, is_captured);
  if (mode == Mode::kTuneOnMiss) return Choose(call) ? RunSelected(call, is_captured) : Fallback(call, is_captured);
  if (Serve(call, /*may_compile=*/false)) return RunSelected(call, is_captured);
  here().waiting.emplace(key, call);
  return Fallback(call, is_captured);
}

StatusCode Oracle::Warmup(const MatrixCall& call) {
  const Mode mode = case_.mode();
  const std::string key = KeyOf(call);
  bool is_tuned = true;
  if (!is_frozen_ && here().selections.count(key) == 0) {
    if (mode == Mode::kTuneOnMiss || mode == Mode::kTuneDeferred) is_tuned = Choose(call);
    if (mode == Mode::kStoredOnly && !Serve(call, /*may_compile=*/false)) {
      here().waiting.emplace(key, call);
    }
  }
  std::int64_t before = counters_.fallbacks;
  Answer loaded = Fallback(call, /*is_captured=*/false);
  counters_.fallbacks = before;  // It was loaded, not run.
  return is_tuned ? loaded.code : StatusCode::kUnavailable;
}

StatusCode Oracle::TunePending() {
  if (is_frozen_) return StatusCode::kOk;
  const std::map<std::string, MatrixCall> cut_short = std::exchange(here().cut_short, {});
  for (const auto& [key, call] : cut_short) Search(call);
  const std::map<std::string, MatrixCall> predicted = std::exchange(here().predicted, {});
  for (const auto& [key, call] : predicted) Search(call);
  if (case_.mode() != Mode::kTuneDeferred) return StatusCode::kOk;
  StatusCode code = StatusCode::kOk;
  const std::map<std::string, MatrixCall> waiting = here().waiting;
  for (const auto& [key, call] : waiting) {
    if (here().failed.count(key) != 0) continue;
    if (Choose(call, /*is_idle=*/true)) {
      here().waiting.erase(key);
    } else {
      code = StatusCode::kUnavailable;
    }
  }
  return code;
}

void Oracle::Freeze() {
  is_frozen_ = true;
  for (auto& [device, state] : on_device_) {
    state.waiting.clear();
    state.cut_short.clear();
    state.predicted.clear();
  }
}

void Oracle::Restart() {
  on_device_.clear();
  counters_ = Counters();
  is_frozen_ = false;
  has_compiled_ = false;
  if (case_.store() == StoreState::kFailing) compiled_.clear();
}

std::vector<std::string> Oracle::Records() const {
  std::vector<std::string> lines;
  for (const Record& record : records_) {
    lines.push_back(record.tuned_at + (record.is_other_driver ? " other driver" : "") +
                    (record.is_complete ? "" : " incomplete"));
  }
  std::sort(lines.begin(), lines.end());
  return lines;
}

std::int64_t Oracle::num_pending() const {
  std::size_t waiting = 0;
  for (const auto& [device, state] : on_device_) {
    waiting += state.waiting.size() + state.cut_short.size() + state.predicted.size();
  }
  return static_cast<std::int64_t>(waiting);
}

}  // namespace tuneonce::testing
