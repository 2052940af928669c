#include "policy_keywords.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "measure/cupti_timer.h"
#include "measure/event_timer.h"
#include "python_ranks.h"
#include "python_status.h"
#include "store_argument.h"
#include "strict_value.h"
#include "tuneonce/record_store.h"
#include "tuneonce/runtime.h"

namespace tuneonce::python {
namespace {

namespace py = pybind11;

constexpr int kMaxInt = std::numeric_limits<int>::max();

std::string Text(bool value) { return value ? "True" : "False"; }
std::string Text(double value) { return py::repr(py::float_(value)).cast<std::string>(); }
template <typename T>
std::string Text(T value) {
  return std::to_string(value);
}

/// One keyword of `Options`: its name, its default in the signature, and how a value is applied.
template <typename Options>
struct Keyword {
  const char* name;
  std::string shown_default;
  void (*read)(const char* name, py::handle given, Options& options);
};

/// A member that is a bool, an int, or a number from 0 on.
template <typename Options, auto member>
Keyword<Options> Of(const char* name) {
  using T = std::decay_t<decltype(Options().*member)>;
  auto read = [](const char* what, py::handle given, Options& options) {
    if constexpr (std::is_same_v<T, bool>) {
      options.*member = BoolOf(what, given);
    } else if constexpr (std::is_same_v<T, double>) {
      options.*member = NumberOf(what, given);
    } else if constexpr (std::is_same_v<T, int>) {
      options.*member = static_cast<int>(IntegerOf(what, given, 0, kMaxInt));
    } else {
      options.*member = static_cast<T>(IntegerOf(what, given));
    }
  };
  return {name, Text(Options().*member), read};
}

/// Applies a keyword to a member of CompileOptions.
template <auto member>
Keyword<SearchOptions> OfCompile(const char* name) {
  auto read = [](const char* what, py::handle given, SearchOptions& options) {
    options.compile.*member = static_cast<int>(IntegerOf(what, given, 0, kMaxInt));
  };
  return {name, Text(CompileOptions().*member), read};
}

/// Applies a keyword to a member of AutotunePolicy.
template <auto member>
Keyword<KernelKeywords> OfPolicy(const char* name) {
  auto read = [](const char* what, py::handle given, KernelKeywords& keywords) {
    Of<AutotunePolicy, member>(what).read(what, given, keywords.policy);
  };
  return {name, Text(AutotunePolicy().*member), read};
}

std::vector<Keyword<SearchOptions>> MakeSearchKeywords() {
  using O = SearchOptions;
  return {
      {"timer", "None",
       [](const char*, py::handle given, O& options) {
         if (!given.is_none()) options.timer = TimerNamed(given);
       }},
      {"warm", "False",
       [](const char* name, py::handle given, O& options) {
         options.cache = BoolOf(name, given) ? CacheState::kWarm : CacheState::kDefault;
       }},
      {"verify", "True",
       [](const char* name, py::handle given, O& options) {
         options.verify = BoolOf(name, given) ? Verify::kAgainstBaseline : Verify::kOff;
       }},
      Of<O, &O::baseline_margin>("baseline_margin"),
      Of<O, &O::final_rounds>("final_rounds"),
      Of<O, &O::measure_energy>("measure_energy"),
      Of<O, &O::max_rounds>("max_rounds"),
      Of<O, &O::gpu_budget_ms>("gpu_budget_ms"),
      Of<O, &O::race_budget_ms>("race_budget_ms"),
      Of<O, &O::max_proposed>("max_proposed"),
      Of<O, &O::wall_budget_ms>("wall_budget_ms"),
      Of<O, &O::memory_budget_bytes>("memory_budget_bytes"),
      Of<O, &O::allow_trials_in_place>("allow_trials_in_place"),
      {"isolation", "'preferred'",
       [](const char* name, py::handle given, O& options) {
         constexpr Isolation kIsolations[] = {Isolation::kOff, Isolation::kPreferred, Isolation::kRequired};
         options.isolation = kIsolations[WordOf(name, given, {"off", "preferred", "required"})];
       }},
      Of<O, &O::candidate_deadline_ms>("candidate_deadline_ms"),
      Of<O, &O::seed>("seed"),
      OfCompile<&CompileOptions::num_workers>("compile_workers"),
      OfCompile<&CompileOptions::timeout_ms>("compile_timeout_ms"),
      OfCompile<&CompileOptions::total_timeout_ms>("compile_budget_ms"),
      {"quiet", "True", [](const char* name, py::handle given, O& options) { options.quiet = BoolOf(name, given); }},
  };
}

std::vector<Keyword<KernelKeywords>> MakeKernelKeywords() {
  using P = AutotunePolicy;
  using K = KernelKeywords;
  return {
      {"store", "None", [](const char*, py::handle given, K& k) { k.policy.store = StoreOf(given); }},
      {"mode", "'tune_on_miss'",
       [](const char* name, py::handle given, K& k) {
         constexpr P::Mode kModes[] = {P::Mode::kTuneOnMiss, P::Mode::kTuneDeferred, P::Mode::kStoredOnly,
                                       P::Mode::kFallbackOnly};
         k.policy.mode = kModes[WordOf(name, given, {"tune_on_miss", "tune_deferred", "stored_only", "fallback_only"})];
       }},
      {"on_tune_error", "'use_fallback'",
       [](const char* name, py::handle given, K& k) {
         bool is_raised = WordOf(name, given, {"use_fallback", "raise"}) == 1;
         k.policy.on_tune_error = is_raised ? P::OnTuneError::kReturn : P::OnTuneError::kUseFallback;
       }},
      {"min_match", "'exact'",
       [](const char* name, py::handle given, K& k) {
         constexpr RecordMatch kMatches[] = {RecordMatch::kExact, RecordMatch::kOtherDriver, RecordMatch::kOtherDevice};
         k.policy.min_match = kMatches[WordOf(name, given, {"exact", "other_driver", "other_device"})];
       }},
      {"selection_group", "''",
       [](const char* name, py::handle given, K& k) { k.policy.selection_group = TextOf(name, given); }},
      {"observer", "None",
       [](const char*, py::handle given, K& k) {
         if (given.is_none()) return;
         k.observer = std::make_shared<PythonObserver>(py::reinterpret_borrow<py::object>(given));
         k.policy.observer = k.observer;
       }},
      {"ranks", "None", [](const char*, py::handle given, K& k) { k.policy.ranks.group = PythonRanks::Of(given); }},
      {"ranks_silence_ms", Text(RankPolicy().silence_ms),
       [](const char* name, py::handle given, K& k) {
         k.policy.ranks.silence_ms = static_cast<int>(IntegerOf(name, given, 1, kMaxInt));
       }},
      {"ranks_may_differ", Text(RankPolicy().may_differ),
       [](const char* name, py::handle given, K& k) { k.policy.ranks.may_differ = BoolOf(name, given); }},
      {"ranks_mixed_kinds", Text(RankPolicy().mixed_kinds),
       [](const char* name, py::handle given, K& k) { k.policy.ranks.mixed_kinds = BoolOf(name, given); }},
      {"ranks_exchange_code", Text(RankPolicy().exchange_code),
       [](const char* name, py::handle given, K& k) { k.policy.ranks.exchange_code = BoolOf(name, given); }},
      OfPolicy<&P::kept_inputs_bytes>("kept_inputs_bytes"),
      OfPolicy<&P::store_under_profiler>("store_under_profiler"),
      OfPolicy<&P::accept_incomplete>("accept_incomplete"),
      OfPolicy<&P::max_wait_ms>("max_wait_ms"),
      OfPolicy<&P::retry_after_ms>("retry_after_ms"),
      OfPolicy<&P::tune_at_bucket_bound>("tune_at_bucket_bound"),
      OfPolicy<&P::max_ready_keys>("max_ready_keys"),
  };
}

const std::vector<Keyword<SearchOptions>>& SearchKeywords() {
  static const auto* const keywords = new std::vector<Keyword<SearchOptions>>(MakeSearchKeywords());
  return *keywords;
}

const std::vector<Keyword<KernelKeywords>>& OwnKeywords() {
  static const auto* const keywords = new std::vector<Keyword<KernelKeywords>>(MakeKernelKeywords());
  return *keywords;
}

/// True if there is such a keyword, which is read then.
template <typename Options>
bool Read(const std::vector<Keyword<Options>>& keywords, const std::string& name, py::handle given, Options& options) {
  for (const Keyword<Options>& keyword : keywords) {
    if (name != keyword.name) continue;
    keyword.read(keyword.name, given, options);
    return true;
  }
  return false;
}

template <typename Options>
bool HasName(const std::vector<Keyword<Options>>& keywords, const std::string& name) {
  return std::any_of(keywords.begin(), keywords.end(), [&](const auto& keyword) { return name == keyword.name; });
}

/// ", store, mode, ...".
template <typename Options>
std::string NamesOf(const std::vector<Keyword<Options>>& keywords) {
  std::string names;
  for (const Keyword<Options>& keyword : keywords) names += std::string(", ") + keyword.name;
  return names;
}

/// The last argument of disable_autotune, if it was called.
std::optional<bool> all_disabled;

/// Null, for the default one; or if the environment disables tuning, one in which it does not.
std::shared_ptr<Runtime> AnyhowEnabled() {
  if (!Runtime::Default()->environment().disable_autotune) return nullptr;
  static auto* const enabled = [] {
    RuntimeOptions options;
    options.environment = {{"DISABLE_AUTOTUNE", ""}};
    return new std::shared_ptr<Runtime>(ValueOrThrow(Runtime::Create(std::move(options))));
  }();
  return *enabled;
}

}  // namespace

KernelKeywords ReadKernelKeywords(py::handle keywords) {
  KernelKeywords read;
  read.policy.search.isolation = Isolation::kPreferred;
  std::vector<std::pair<std::string, py::handle>> given;
  if (keywords) {
    for (const auto& [key, value] : py::reinterpret_borrow<py::dict>(keywords)) {
      auto name = key.cast<std::string>();
      if (name == "bundle" || name == "device") continue;
      if (!HasName(OwnKeywords(), name) && !HasName(SearchKeywords(), name)) {  // Before a store is opened.
        throw py::type_error("TunedKernel has no keyword '" + name + "'; it has bundle, device" +
                             NamesOf(OwnKeywords()) + NamesOf(SearchKeywords()));
      }
      given.emplace_back(std::move(name), value);
    }
  }
  for (const auto& [name, value] : given) {
    if (!Read(OwnKeywords(), name, value, read)) Read(SearchKeywords(), name, value, read.policy.search);
  }
  if (all_disabled == true) read.policy.mode = AutotunePolicy::Mode::kFallbackOnly;
  if (all_disabled == false) read.policy.search.runtime = AnyhowEnabled();
  return read;
}

SearchOptions ReadSearchKeywords(const py::dict& keywords) {
  SearchOptions options;
  for (const auto& [key, given] : keywords) {
    auto name = key.cast<std::string>();
    if (!Read(SearchKeywords(), name, given, options)) {
      throw py::type_error("exhaustive_search has no keyword '" + name + "'");
    }
  }
  return options;
}

std::string KernelKeywordsSignature() {
  std::string text;
  for (const auto& keyword : OwnKeywords()) text += std::string(", ") + keyword.name + "=" + keyword.shown_default;
  for (const auto& keyword : SearchKeywords()) text += std::string(", ") + keyword.name + "=" + keyword.shown_default;
  return text;
}

void DisableAutotune(py::handle disable) { all_disabled = BoolOf("disable", disable); }

Timer* TimerNamed(py::handle name) {
  static auto* const cupti = new CuptiTimer(Runtime::Default()->cupti());
  static auto* const events = new EventTimer;
  return WordOf("timer", name, {"cupti", "events"}) == 0 ? static_cast<Timer*>(cupti) : events;
}

}  // namespace tuneonce::python
