#include "tuneonce/plugin/option_table.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <optional>
#include <type_traits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/number_text.h"
#include "base/short_list.h"
#include "tuneonce/plugin/timer.h"

namespace tuneonce {
inline namespace v0 {
namespace {

using Type = Option::Type;
using P = AutotunePolicy;
using S = SearchOptions;
using B = Budgets;
using C = CompileOptions;
using R = RankPolicy;

/// Returns the member at the end of a path of members.
template <auto first, auto... rest, typename Owner>
auto& At(Owner& owner) {
  if constexpr (sizeof...(rest) == 0) {
    return owner.*first;
  } else {
    return At<rest...>(owner.*first);
  }
}

template <auto... path>
using ValueAt = std::decay_t<decltype(At<path...>(std::declval<P&>()))>;

template <typename T>
struct IsDuration : std::false_type {};
template <typename Count, typename Period>
struct IsDuration<std::chrono::duration<Count, Period>> : std::true_type {};

template <typename T>
constexpr Type TypeOf() {
  if constexpr (IsDuration<T>::value) return TypeOf<typename T::rep>();
  if constexpr (std::is_same_v<T, bool>) return Type::kFlag;
  if constexpr (std::is_enum_v<T>) return Type::kWord;
  if constexpr (std::is_integral_v<T>) return Type::kInteger;
  if constexpr (std::is_floating_point_v<T>) return Type::kNumber;
  return Type::kText;
}

/// The words of an enum, in the order of its values.
template <typename Enum>
std::vector<std::string_view> WordsOf() {
  if constexpr (std::is_same_v<Enum, P::Mode>) return {"tune_on_miss", "tune_deferred", "stored_only", "fallback_only"};
  if constexpr (std::is_same_v<Enum, P::OnTuneError>) return {"use_fallback", "raise"};
  if constexpr (std::is_same_v<Enum, P::OnNewKey>) return {"tune", "predict"};
  if constexpr (std::is_same_v<Enum, RecordMatch>) return {"exact", "other_driver", "other_device"};
  if constexpr (std::is_same_v<Enum, Strategy>) return {"automatic", "exhaustive", "guided", "random"};
  if constexpr (std::is_same_v<Enum, Isolation>) return {"off", "preferred", "required"};
  return {};
}

/// What all kinds of options have.
Option Named(std::string_view name, std::string_view member, std::string_view unit, std::string_view text) {
  Option option{};
  option.name = name;
  option.member = member;
  option.unit = unit;
  option.is_of_search = member.substr(0, 7) == "search.";
  option.since = "0.1.0";
  option.text = text;
  return option;
}

/// An option that is the member at the end of `path`.
template <auto... path>
Option Of(std::string_view name, std::string_view member, std::string_view unit, std::string_view text,
          double least = 0) {
  using T = ValueAt<path...>;
  Option option = Named(name, member, unit, text);
  option.type = TypeOf<T>();
  option.words = WordsOf<T>();
  option.least = least;
  if constexpr (std::is_integral_v<T>) option.most = static_cast<double>(std::numeric_limits<T>::max());
  if constexpr (std::is_floating_point_v<T>) option.most = std::numeric_limits<T>::max();
  if constexpr (IsDuration<T>::value) option.most = std::numeric_limits<int>::max();  // 24 days, in milliseconds.
  option.get = [](const P& policy) -> OptionValue {
    const T& value = At<path...>(policy);
    if constexpr (std::is_enum_v<T>) {
      const std::vector<std::string_view> words = WordsOf<T>();
      const auto place = static_cast<std::size_t>(value);
      return std::string(place < words.size() ? words[place] : "");
    } else if constexpr (IsDuration<T>::value) {
      return value.count();
    } else if constexpr (std::is_same_v<T, std::size_t> || std::is_same_v<T, std::uint64_t>) {
      return static_cast<std::int64_t>(std::min<T>(value, std::numeric_limits<std::int64_t>::max()));
    } else if constexpr (TypeOf<T>() == Type::kInteger) {
      return static_cast<std::int64_t>(value);
    } else {
      return value;
    }
  };
  option.set = [](P& policy, const OptionValue& value) {
    T& place = At<path...>(policy);
    if constexpr (std::is_enum_v<T>) {
      const std::vector<std::string_view> words = WordsOf<T>();
      const auto at = std::find(words.begin(), words.end(), std::get<std::string>(value)) - words.begin();
      place = static_cast<T>(at);
    } else if constexpr (IsDuration<T>::value) {
      place = T(std::get<typename T::rep>(value));
    } else if constexpr (TypeOf<T>() == Type::kInteger) {
      place = static_cast<T>(std::get<std::int64_t>(value));
    } else {
      place = std::get<T>(value);
    }
  };
  return option;
}

/// A flag of searches that selects between two values of an enum.
template <auto member, auto on, auto off>
Option Between(std::string_view name, std::string_view of, std::string_view text) {
  Option option = Named(name, of, "", text);
  option.type = Type::kFlag;
  option.get = [](const P& policy) -> OptionValue { return policy.search.*member == on; };
  option.set = [](P& policy, const OptionValue& value) { policy.search.*member = std::get<bool>(value) ? on : off; };
  return option;
}

std::vector<Option> OptionsOfKernels() {
  return {
      Of<&P::mode>("mode", "mode", "", "What a launch does when its key is new."),
      Of<&P::on_new_key>("on_new_key", "on_new_key", "",
                         "What runs for a key without a record until it is tuned: what `mode` states, or a config that "
                         "records of other keys predict."),
      Of<&P::on_tune_error>("on_tune_error", "on_tune_error", "",
                            "What a launch does when its key cannot be tuned: run the fallback config or fail."),
      Of<&P::min_match>("min_match", "min_match", "",
                        "The weakest match of a stored record that is used without a search."),
      Of<&P::selection_group>("selection_group", "selection_group", "",
                              "Kernels with the same name here share their selected configs."),
      Of<&P::tune_at_bucket_bound>("tune_at_bucket_bound", "tune_at_bucket_bound", "",
                                   "Tune a bucket at its upper bound where memory suffices."),
      Of<&P::store_under_profiler>("store_under_profiler", "store_under_profiler", "",
                                   "Store what was measured under a profiler."),
      Of<&P::max_wait>("max_wait_ms", "max_wait", "ms",
                       "How long a launch or warm-up waits for another process that tunes the same key."),
      Of<&P::retry_after>("retry_after_ms", "retry_after", "ms",
                          "When a key is tuned again whose tune failed for a reason that may pass; the time doubles "
                          "with each failure."),
      Of<&P::max_ready_keys>("max_ready_keys", "max_ready_keys", "",
                             "How many keys stay loaded; the oldest of more are dropped."),
      Of<&P::kept_inputs_bytes>("kept_inputs_bytes", "kept_inputs_bytes", "bytes",
                                "Device memory for copies of the inputs of pending keys, in mode tune_deferred."),
      Of<&P::ranks, &R::silence>("ranks_silence_ms", "ranks.silence", "ms",
                                 "After how long without a sign a rank counts as lost.", /*least=*/1),
      Of<&P::ranks, &R::may_differ>("ranks_may_differ", "ranks.may_differ", "",
                                    "Let a rank run its fallback config where the ranks cannot agree."),
      Of<&P::ranks, &R::mixed_kinds>("ranks_mixed_kinds", "ranks.mixed_kinds", "",
                                     "Let ranks with different devices agree among those with equal ones."),
      Of<&P::ranks, &R::exchange_code>("ranks_exchange_code", "ranks.exchange_code", "",
                                       "Let ranks send the code of agreed configs to each other."),
  };
}

std::vector<Option> OptionsOfSearches() {
  return {
      Between<&S::cache, CacheState::kWarm, CacheState::kDefault>(
          "warm", "search.cache", "Leave the L2 cache as the run before left it. By default it is flushed on a GPU."),
      Between<&S::verify, Verify::kAgainstBaseline, Verify::kOff>(
          "verify", "search.verify", "Compare the outputs of candidates with the baseline's."),
      Of<&P::search, &S::strategy>("strategy", "search.strategy", "",
                                   "Which configs a search tries: automatic (all of a space of up to max_configs "
                                   "configs, else guided), exhaustive, guided by a model of what was measured, or "
                                   "random."),
      Of<&P::search, &S::budgets, &B::trials>(
          "max_trials", "search.budgets.trials", "",
          "The most configs that a search compiles or runs; the next search continues it. "
          "0: no limit."),
      Of<&P::search, &S::baseline_margin>(
          "baseline_margin", "search.baseline_margin", "",
          "How much faster than the baseline a config must be to be selected, as a fraction."),
      Of<&P::search, &S::final_rounds>("final_rounds", "search.final_rounds", "",
                                       "Rounds after the race in which only the winner and the baseline run."),
      Of<&P::search, &S::measure_energy>("measure_energy", "search.measure_energy", "",
                                         "Measure the energy of a launch of each finalist, which takes a second each."),
      Of<&P::search, &S::max_rounds>("max_rounds", "search.max_rounds", "", "The most rounds of a race."),
      Of<&P::search, &S::budgets, &B::gpu>("gpu_budget_ms", "search.budgets.gpu", "ms",
                                           "Device time of a race, after which no round begins."),
      Of<&P::search, &S::budgets, &B::race>("race_budget_ms", "search.budgets.race", "ms",
                                            "Wall time of a race, after which no round begins."),
      Of<&P::search, &S::budgets, &B::wall>("wall_budget_ms", "search.budgets.wall", "ms",
                                            "Wall time of a search, compiling included; 0: no limit."),
      Of<&P::search, &S::memory_budget_bytes>("memory_budget_bytes", "search.memory_budget_bytes", "bytes",
                                              "Device memory that a search may hold; 0: half of what is free."),
      Of<&P::search, &S::allow_trials_in_place>(
          "allow_trials_in_place", "search.allow_trials_in_place", "",
          "Where memory does not suffice for copies of the inputs, run candidates "
          "on the inputs themselves."),
      Of<&P::search, &S::isolation>("isolation", "search.isolation", "",
                                    "Run candidates in a worker process, which may crash: off, preferred (in this "
                                    "process where that is not possible) or required."),
      Of<&P::search, &S::budgets, &B::candidate>("candidate_deadline_ms", "search.budgets.candidate", "ms",
                                                 "In a worker: end a candidate that takes longer than this; 0: no "
                                                 "limit."),
      Of<&P::search, &S::seed>("seed", "search.seed", "", "Seed of the order of candidates within rounds."),
      Of<&P::search, &S::compile, &C::num_workers>("compile_workers", "search.compile.num_workers", "",
                                                   "How many candidates a search compiles at a time; 0: as many as "
                                                   "cores and memory allow."),
      Of<&P::search, &S::compile, &C::memory_per_worker_bytes>(
          "compile_memory_bytes", "search.compile.memory_per_worker_bytes", "bytes",
          "Memory that one compile is assumed to need, where compile_workers is 0."),
      Of<&P::search, &S::compile, &C::timeout>("compile_timeout_ms", "search.compile.timeout", "ms",
                                               "Wall time of the compile of one candidate."),
      Of<&P::search, &S::compile, &C::total_timeout>("compile_budget_ms", "search.compile.total_timeout", "ms",
                                                     "Wall time of all compiles of a search; 0: no limit."),
      Of<&P::search, &S::quiet>("quiet", "search.quiet", "", "Draw no line of progress on a terminal."),
  };
}

std::vector<Option> MakeTable() {
  std::vector<Option> all = OptionsOfKernels();
  for (Option& option : OptionsOfSearches()) all.push_back(std::move(option));
  return all;
}

/// Prints the values that an option accepts: "a number from 0 to 2147483647".
std::string ExpectedOf(const Option& option) {
  switch (option.type) {
    case Type::kFlag:
      return "true or false";
    case Type::kText:
      return "a text";
    case Type::kWord:
      return ShortList({option.words.begin(), option.words.end()});
    case Type::kInteger:
    case Type::kNumber:
      break;
  }
  std::string text = absl::StrCat(option.type == Type::kInteger ? "a whole number from " : "a number from ",
                                  ShortestText(option.least));
  return option.most < 1e15 ? absl::StrCat(text, " to ", static_cast<std::int64_t>(option.most)) : text + " on";
}

/// Returns the value in the form of the option's type, or nothing if it has another type or is out of range.
std::optional<OptionValue> Accepted(const Option& option, const OptionValue& given) {
  const auto in_range = [&](double value) { return value >= option.least && value <= option.most; };
  if (const bool* flag = std::get_if<bool>(&given)) {
    return option.type == Type::kFlag ? std::optional<OptionValue>(*flag) : std::nullopt;
  }
  if (const std::int64_t* integer = std::get_if<std::int64_t>(&given)) {
    const auto as_number = static_cast<double>(*integer);
    if (option.type == Type::kInteger && in_range(as_number)) return *integer;
    if (option.type == Type::kNumber && in_range(as_number)) return as_number;
    return std::nullopt;
  }
  if (const double* number = std::get_if<double>(&given)) {
    const bool fits = option.type == Type::kNumber && std::isfinite(*number) && in_range(*number);
    return fits ? std::optional<OptionValue>(*number) : std::nullopt;
  }
  const std::string& text = std::get<std::string>(given);
  const bool is_word = std::find(option.words.begin(), option.words.end(), text) != option.words.end();
  if (option.type == Type::kText || (option.type == Type::kWord && is_word)) return text;
  return std::nullopt;
}

std::optional<OptionValue> Parsed(const Option& option, std::string_view text) {
  switch (option.type) {
    case Type::kFlag:
      if (text != "true" && text != "false") return std::nullopt;
      return text == "true";
    case Type::kInteger:
      return ParseNumber<std::int64_t>(text);
    case Type::kNumber:
      return ParseNumber<double>(text);
    case Type::kWord:
    case Type::kText:
      break;
  }
  return std::string(text);
}

Result<const Option*> Found(std::string_view name) {
  if (const Option* option = FindOption(name)) return option;
  return NotFoundError(absl::StrCat("option '", std::string(name), "' does not exist: give ",
                                    ShortListOf(Options(), &Option::name, name)));
}

Status Refused(const Option& option, std::string_view given) {
  return InvalidArgumentError(
      absl::StrCat("option ", std::string(option.name), " is '", std::string(given), "': give ", ExpectedOf(option)));
}

/// Checks the value that the option has in `policy`, where it is `member`.
Status Check(const Option& option, const AutotunePolicy& policy, const std::string& member) {
  const OptionValue value = option.get(policy);
  if (Accepted(option, value)) return Status();
  return InvalidArgumentError(absl::StrCat(member, " is '", OptionText(value), "': give ", ExpectedOf(option)));
}

}  // namespace

const std::vector<Option>& Options() {
  static const auto* const table = new std::vector<Option>(MakeTable());
  return *table;
}

const Option* FindOption(std::string_view name) {
  for (const Option& option : Options()) {
    if (option.name == name) return &option;
  }
  return nullptr;
}

Status SetOption(AutotunePolicy* policy, std::string_view name, const OptionValue& value) {
  TUNEONCE_ASSIGN_OR_RETURN(const Option* option, Found(name));
  const std::optional<OptionValue> accepted = Accepted(*option, value);
  if (!accepted) return Refused(*option, OptionText(value));
  option->set(*policy, *accepted);
  return Status();
}

Status SetOptionText(AutotunePolicy* policy, std::string_view name, std::string_view text) {
  TUNEONCE_ASSIGN_OR_RETURN(const Option* option, Found(name));
  const std::optional<OptionValue> parsed = Parsed(*option, text);
  if (!parsed) return Refused(*option, text);
  return SetOption(policy, name, *parsed);
}

Status CheckOptions(const AutotunePolicy& policy) {
  for (const Option& option : Options()) {
    TUNEONCE_RETURN_IF_ERROR(Check(option, policy, absl::StrCat("AutotunePolicy::", std::string(option.member))));
  }
  return Status();
}

Status CheckOptions(const SearchOptions& options) {
  AutotunePolicy policy;
  policy.search = options;
  for (const Option& option : Options()) {
    if (!option.is_of_search) continue;
    const std::string_view member = option.member.substr(std::string_view("search.").size());
    TUNEONCE_RETURN_IF_ERROR(Check(option, policy, absl::StrCat("SearchOptions::", std::string(member))));
  }
  return Status();
}

std::string OptionText(const OptionValue& value) {
  if (const bool* flag = std::get_if<bool>(&value)) return *flag ? "true" : "false";
  if (const std::int64_t* integer = std::get_if<std::int64_t>(&value)) return std::to_string(*integer);
  if (const double* number = std::get_if<double>(&value)) return ShortestText(*number);
  return std::get<std::string>(value);
}

}  // namespace v0
}  // namespace tuneonce
