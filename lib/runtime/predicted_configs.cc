#include "runtime/predicted_configs.h"

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/callback.h"
#include "search/candidate.h"
#include "search/config_predictor.h"
#include "search/extent_classes.h"
#include "tuneonce/plugin/record_store.h"

namespace tuneonce {
inline namespace v0 {
namespace {

/// How many predicted configs are asked whether they are valid for the call.
constexpr std::size_t kMostAsked = 32;

/// The selected config of a record counts as at least this much faster than the others, so that it is ranked first.
constexpr double kSelectedOverOthers = 0.999;

/// Returns what a key adds to the definition's words: the variants that it excludes (KeyInStore). 0: none.
std::uint64_t LeftOutWord(const KernelDefinition& definition, const TuningKey& key) {
  return key.key_words.size() > definition.key().size() ? key.key_words.back() : 0;
}

/// Returns the words of a key without those of dims and of excluded variants, which differ between the keys that a
/// model is made of.
std::vector<std::uint64_t> SharedWords(const KernelDefinition& definition, const TuningKey& key) {
  std::vector<std::uint64_t> words = key.key_words;
  words.resize(std::min(words.size(), definition.key().size()));
  for (std::size_t i = 0; i < definition.key().size() && i < words.size(); ++i) {
    if (definition.key()[i].kind == KeyPart::Kind::kDim) words[i] = 0;
  }
  return words;
}

/// Returns the dims that a key was tuned at. Those that the key omits are the launch's.
Dims DimsOf(const KernelDefinition& definition, const TuningKey& key, const Dims& launched) {
  Dims dims = launched;
  for (std::size_t i = 0; i < definition.key().size(); ++i) {
    const KeyPart& part = definition.key()[i];
    if (part.kind == KeyPart::Kind::kDim)
      dims[definition.DimOf(part.name)] = static_cast<std::int64_t>(key.key_words[i]);
  }
  return dims;
}

/// Returns the times of a record's measured configs, in microseconds, by their canonical text. The selected one counts
/// as the fastest, also where the trials of another were a little faster, because the race decided. A pinned one does
/// not.
std::map<std::string, double> TimesOf(const TuningRecord& record) {
  std::map<std::string, double> times_us;
  for (const CandidateOutcome& outcome : record.candidates) {
    if (outcome.kind == OutcomeKind::kMeasured) times_us[outcome.config.Canonical()] = outcome.measurement.mean_us;
  }
  auto selected = times_us.find(record.best.config.Canonical());
  if (selected == times_us.end() || record.is_pinned) return times_us;
  for (const auto& [config, time_us] : times_us) {
    if (config != selected->first) selected->second = std::min(selected->second, kSelectedOverOthers * time_us);
  }
  return times_us;
}

}  // namespace

/// What the records of a kernel's keys know.
struct PredictedConfigs::Model {
  std::unique_ptr<const ConfigPredictor> predictor;
  std::vector<std::vector<Verified>> verified;  // By config.
  std::vector<std::string> keys;                // By shape.
  std::int64_t num_new_records = 0;             // NoteNewRecord's, before the store was read.

  /// Returns where one code of the config was verified at extents like these: for each dim, at one of the class and at
  /// one that is as large. Empty: nowhere.
  std::vector<Verified> FindVerified(std::size_t config, const Dims& dims, const ExtentClasses& classes) const;
};

std::vector<PredictedConfigs::Verified> PredictedConfigs::Model::FindVerified(std::size_t config, const Dims& dims,
                                                                              const ExtentClasses& classes) const {
  for (const Verified& code : verified[config]) {
    bool is_covered = code.artifact != Fingerprint();
    std::vector<Verified> found;
    for (int i = 0; i < dims.count() && is_covered; ++i) {
      const Dim dim{i};
      const Verified* of_class = nullptr;
      const Verified* as_large = nullptr;
      for (const Verified& each : verified[config]) {
        if (each.artifact != code.artifact || each.variant != code.variant) continue;
        if (classes.ClassOf(each.dims[dim]) == classes.ClassOf(dims[dim])) of_class = &each;
        if (each.dims[dim] >= dims[dim]) as_large = &each;
      }
      is_covered = of_class != nullptr && as_large != nullptr;
      if (is_covered) found.push_back(*of_class);
      if (is_covered && as_large != of_class) found.push_back(*as_large);
    }
    if (is_covered) return found;
  }
  return {};
}

std::shared_ptr<const PredictedConfigs::Model> PredictedConfigs::MakeModel(const ConfigQuestion& question) const {
  const KernelDefinition& definition = *to_.definition;
  const KeyInStore& in_store = question.key;
  const Problem& problem = question.request.call.call().problem;
  auto model = std::make_shared<Model>();
  model->num_new_records = num_new_records_;  // Before the store is read, which may get more meanwhile.
  Result<std::vector<TuningRecord>> records = to_.policy.store->List();
  if (!records.ok()) return model;  // The lookup of the key has logged a warning.
  const std::vector<std::uint64_t> words = SharedWords(definition, in_store.key);
  const std::uint64_t left_out = LeftOutWord(definition, in_store.key);
  auto is_other = [&](const TuningRecord& record) {
    return record.key.kernel_fingerprint != in_store.key.kernel_fingerprint || !record.key.SameDevice(in_store.key) ||
           record.is_imported() || SharedWords(definition, record.key) != words;
  };
  records->erase(std::remove_if(records->begin(), records->end(), is_other), records->end());
  std::map<std::string, std::size_t> place_of;
  std::vector<Config> configs;
  std::vector<ConfigPredictor::Shape> shapes;
  auto place = [&](const Config& config) -> std::optional<std::size_t> {
    auto [found, is_new] = place_of.emplace(config.Canonical(), configs.size());
    if (!is_new) return found->second;
    std::optional<Config> own = in_store.ConfigOf(config);
    if (!own) {
      place_of.erase(found);
      return std::nullopt;
    }
    configs.push_back(*std::move(own));
    model->verified.emplace_back();
    return found->second;
  };
  for (const TuningRecord& record : *records) {
    ConfigPredictor::Shape shape;
    shape.dims = DimsOf(definition, record.key, problem.dims);
    shape.variants = LeftOutWord(definition, record.key);
    BoundCall there = question.request.call.call();
    there.problem.dims = shape.dims;
    const bool is_trusted = shape.variants == left_out && record.verification.Covers(in_store.demanded) &&
                            in_store.HasBaseline(record, there) &&
                            record.key.driver_version == in_store.key.driver_version;
    auto add = [&](const CandidateOutcome& outcome, double time_us) {
      const std::optional<std::size_t> config = place(outcome.config);
      if (!config) return;
      shape.times_us.resize(std::max(shape.times_us.size(), *config + 1), 0);
      shape.times_us[*config] = time_us;
      // Only these were verified with other scalars, addresses and strides than those of the search. What a person
      // pinned for a key was verified for none.
      const bool is_finalist = (!record.is_pinned && outcome.config.IsSame(record.best.config)) ||
                               (record.baseline && outcome.config.IsSame(record.baseline->config));
      if (outcome.kind != OutcomeKind::kMeasured || !is_trusted || !is_finalist) return;
      model->verified[*config].push_back({shape.dims, outcome.variant, outcome.artifact, outcome.identity});
    };
    std::map<std::string, double> times_us = TimesOf(record);
    for (const CandidateOutcome& outcome : record.candidates) {
      if (outcome.kind == OutcomeKind::kMeasured && outcome.measurement.mean_us > 0) {
        add(outcome, times_us[outcome.config.Canonical()]);
      } else if (outcome.kind == OutcomeKind::kDuplicate && outcome.same_as) {
        add(outcome, times_us[outcome.same_as->Canonical()]);
      } else if (outcome.failed() && !outcome.is_transient) {
        add(outcome, std::numeric_limits<double>::infinity());
      }
    }
    if (times_us.empty() || shape.times_us.empty()) continue;
    shapes.push_back(std::move(shape));
    model->keys.push_back(record.key.key_text);
  }
  if (shapes.empty()) return model;
  for (ConfigPredictor::Shape& shape : shapes) shape.times_us.resize(configs.size(), 0);
  Result<std::unique_ptr<const ConfigPredictor>> made =
      CallUser("a geometry function of kernel '" + definition.name() + "'", [&] {
        return std::make_unique<const ConfigPredictor>(definition, problem, std::move(configs), std::move(shapes));
      });
  if (made.ok()) model->predictor = *std::move(made);
  return model;
}

std::shared_ptr<const PredictedConfigs::Model> PredictedConfigs::ModelFor(const ConfigQuestion& question) const {
  std::vector<std::uint64_t> words = SharedWords(*to_.definition, question.key.key);
  words.push_back(LeftOutWord(*to_.definition, question.key.key));
  words.push_back(question.key.space);
  std::shared_ptr<const Model> model;
  {
    MutexLock lock(mutex_);
    model = models_[words];
  }
  if (model == nullptr || model->num_new_records != num_new_records_) {
    // Without the lock, so that no launch waits for another one's model. Two of them may make the same.
    model = MakeModel(question);
    MutexLock lock(mutex_);
    models_[words] = model;
  }
  return model->predictor != nullptr ? model : nullptr;
}

std::optional<FoundConfig> PredictedConfigs::Propose(const ConfigQuestion& question, bool* is_verified,
                                                     std::string* detail) const {
  std::vector<Verified> verified;
  std::optional<FoundConfig> found = Propose(question, &verified, detail);
  *is_verified = found && IsVerifiedCode(question, found->config, verified);
  return found;
}

std::optional<FoundConfig> PredictedConfigs::Propose(const ConfigQuestion& question, std::vector<Verified>* verified,
                                                     std::string* detail) const {
  if (to_.policy.on_new_key != AutotunePolicy::OnNewKey::kPredict || to_.shares_configs()) return std::nullopt;
  const std::shared_ptr<const Model> model = ModelFor(question);
  if (model == nullptr) return std::nullopt;
  const KernelDefinition& definition = *to_.definition;
  const BoundCall& call = question.request.call.call();
  const std::uint64_t left_out = LeftOutWord(definition, question.key.key);
  Result<ConfigPredictor::Prediction> made = CallUser("a geometry function of kernel '" + definition.name() + "'", [&] {
    return model->predictor->Predict(call.problem, left_out);
  });
  if (!made.ok()) return std::nullopt;
  const ExtentClasses classes(definition.space().StructuralNumbers());
  const bool is_exact = definition.DimsUndecidedByKey().empty();
  std::vector<std::size_t>& ranking = made->ranking;
  ranking.resize(std::min(ranking.size(), kMostAsked));
  for (std::size_t place : ranking) {
    const Config& config = model->predictor->configs()[place];
    if (!definition.space().CheckGuards(config, call.problem).ok()) continue;
    if (!IsAcceptedByKey(definition, config, call, question.key.left_out)) continue;
    if (is_exact) *verified = model->FindVerified(place, call.problem.dims, classes);
    if (verified->empty() && !question.may_compile) continue;
    FoundConfig found;
    found.config = config;
    found.record = std::make_unique<TuningRecord>();
    found.record->key = question.key.key;
    found.record->reason = SelectionReason::kPredicted;
    found.record->is_complete = false;
    found.record->verification = question.key.demanded;
    found.record->best.config = config;
    found.record->best.kind = OutcomeKind::kPredicted;
    if (!verified->empty()) found.record->best.variant = verified->front().variant;
    if (!verified->empty()) found.record->best.artifact = verified->front().artifact;
    found.selection = SelectionOf(*found.record, LaunchPlan::Origin::kPredicted);
    *detail = made->is_by_model ? absl::StrCat("predicted by a model of ", model->keys.size(), " keys")
                                : absl::StrCat("predicted by the nearest of ", model->keys.size(), " keys, ",
                                               model->keys[made->nearest], ", which are too few for a model");
    return found;
  }
  return std::nullopt;
}

bool PredictedConfigs::IsVerifiedCode(const ConfigQuestion& question, const Config& config,
                                      const std::vector<Verified>& verified) const {
  return !verified.empty() && std::all_of(verified.begin(), verified.end(), [&](const Verified& each) {
    BoundCall there = question.request.call.call();
    there.problem.dims = each.dims;
    const Result<Fingerprint> identity =
        loader_.IdentityOf(each.artifact, each.variant, config, there, question.key.left_out);
    return identity.ok() && *identity == each.identity;
  });
}

Result<std::optional<FoundConfig>> PredictedConfigs::Find(const ConfigQuestion& question, StoreMiss*) {
  bool is_verified = false;
  std::string detail;
  std::optional<FoundConfig> found = Propose(question, &is_verified, &detail);
  if (!found) return found;
  const BoundCall& call = question.request.call.call();
  const std::string& key_text = question.key.key.key_text;
  if (is_verified) {
    const CandidateOutcome& best = found->record->best;
    found->loaded = loader_.LoadStored(best.artifact, best.variant, found->config, call);
    Fingerprint artifact = best.artifact;
    if (found->loaded == nullptr) {
      Result<std::shared_ptr<const LoadedKernel>> compiled =
          loader_.Compile(found->config, call, question.key.left_out, best.variant, question.may_compile,
                          question.request.stop(to_.policy.search), &artifact);
      if (compiled.ok()) found->loaded = *std::move(compiled);
    }
    // Code of another compiler was not verified.
    is_verified = found->loaded != nullptr && artifact == best.artifact;
  }
  if (is_verified) {
    to_.announcer.Inform(key_text, [&] { return "{" + found->config.ToString() + "} is " + detail; });
    return found;
  }
  if (!question.may_compile || !question.may_measure) return std::optional<FoundConfig>();
  Result<SearchOutcome> compared = searched_.Compare(question.request, question.key, found->config);
  if (!compared.ok()) {
    const Status& why = compared.status();
    if (why.sticky() || why.code() == StatusCode::kCancelled) return why;
    to_.announcer.Inform(key_text, [&] { return "no config was predicted: " + why.message(); });
    return std::optional<FoundConfig>();
  }
  found->record = std::move(compared->record);
  found->record->reason = SelectionReason::kPredicted;
  found->record->is_complete = false;
  found->config = found->record->best.config;
  found->loaded = std::move(compared->best);
  found->baseline = std::move(compared->baseline);
  found->selection = SelectionOf(*found->record, LaunchPlan::Origin::kPredicted);
  to_.announcer.Inform(key_text, [&] {
    return "{" + found->config.ToString() + "} is " + detail + ", and was compared with the baseline";
  });
  return found;
}

}  // namespace v0
}  // namespace tuneonce
