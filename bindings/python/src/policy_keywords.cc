#include "policy_keywords.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "inspect/runtime_settings.h"
#include "python_ranks.h"
#include "python_status.h"
#include "python_text.h"
#include "store_argument.h"
#include "strict_value.h"
#include "tuneonce/plugin/option_table.h"
#include "tuneonce/plugin/timer.h"
#include "tuneonce/runtime.h"

namespace tuneonce::python {
namespace {

namespace py = pybind11;

/// A keyword whose value is an object, which the library's table of options does not have.
struct ObjectKeyword {
  const char* name;
  const char* text;  // In the docstring.
  void (*read)(py::handle given, KernelKeywords& keywords);
};

constexpr ObjectKeyword kObjectKeywords[] = {
    {"store",
     "Where selections are kept: a file, 'memory', None for the user's own, or a list of which the first is written "
     "and "
     "the others are files that an application ships. 'redis://HOST:PORT/NAME', alone or at the list's end: the "
     "fleet's.",
     [](py::handle given, KernelKeywords& keywords) { keywords.policy.store = StoreOf(given); }},
    {"timer", "'cupti', 'events', or None for the best there is.",
     [](py::handle given, KernelKeywords& keywords) {
       if (!given.is_none()) keywords.policy.search.timer = TimerNamed(given);
     }},
    {"observer", "A tuneonce.Observer, told what happens on misses.",
     [](py::handle given, KernelKeywords& keywords) {
       if (given.is_none()) return;
       keywords.observer = std::make_shared<PythonObserver>(py::reinterpret_borrow<py::object>(given));
       keywords.policy.observer = keywords.observer;
     }},
    {"ranks", "A tuneonce.ranks.RankGroup: all its ranks run the same config of each key.",
     [](py::handle given, KernelKeywords& keywords) { keywords.policy.ranks.group = PythonRanks::Of(given); }},
};

const ObjectKeyword* FindObjectKeyword(const std::string& name) {
  const auto* found = std::find_if(std::begin(kObjectKeywords), std::end(kObjectKeywords),
                                   [&](const ObjectKeyword& keyword) { return name == keyword.name; });
  return found == std::end(kObjectKeywords) ? nullptr : found;
}

/// The defaults of the package's kernels.
AutotunePolicy DefaultPolicy() {
  AutotunePolicy policy;
  policy.search.isolation = Isolation::kPreferred;
  return policy;
}

/// Reads a value of Python's as the option's type. Throws.
OptionValue ValueOf(const Option& option, py::handle given) {
  const std::string name(option.name);
  switch (option.type) {
    case Option::Type::kFlag:
      return BoolOf(name.c_str(), given);
    case Option::Type::kInteger: {
      constexpr auto kMost = std::numeric_limits<std::int64_t>::max();
      const auto least = static_cast<std::int64_t>(option.least);
      const bool is_bounded = option.most < static_cast<double>(kMost);
      return IntegerOf(name.c_str(), given, least, is_bounded ? static_cast<std::int64_t>(option.most) : kMost);
    }
    case Option::Type::kNumber:
      return NumberOf(name.c_str(), given);
    case Option::Type::kWord: {
      const std::vector<std::string> words(option.words.begin(), option.words.end());
      return words[WordOf(name.c_str(), given, words)];
    }
    case Option::Type::kText:
      break;
  }
  return TextOf(name.c_str(), given);
}

void Set(const Option& option, py::handle given, AutotunePolicy& policy) {
  ThrowIfError(SetOption(&policy, option.name, ValueOf(option, given)));
}

/// A value as a literal of Python's.
std::string Literal(const OptionValue& value) {
  return std::visit([](const auto& held) { return py::repr(py::cast(held)).template cast<std::string>(); }, value);
}

/// The last argument of disable_autotune, if it was called.
std::optional<bool> all_disabled;

/// Null, for the default one; or if the environment disables tuning, one in which it does not.
std::shared_ptr<Runtime> AnyhowEnabled() {
  if (!RuntimeSettings::Of(*Runtime::Default()).disable_autotune) return nullptr;
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
  read.policy = DefaultPolicy();
  std::vector<std::pair<std::string, py::handle>> given;
  if (keywords) {
    for (const auto& [key, value] : py::reinterpret_borrow<py::dict>(keywords)) {
      auto name = LineOf(key);
      if (name == "bundle" || name == "device") continue;
      if (FindObjectKeyword(name) == nullptr && FindOption(name) == nullptr) {  // Before a store is opened.
        std::string names = "bundle, device";
        for (const ObjectKeyword& keyword : kObjectKeywords) names += std::string(", ") + keyword.name;
        for (const Option& option : Options()) names += ", " + std::string(option.name);
        throw py::type_error("TunedKernel has no keyword '" + name + "'; it has " + names);
      }
      given.emplace_back(std::move(name), value);
    }
  }
  for (const auto& [name, value] : given) {
    if (const ObjectKeyword* keyword = FindObjectKeyword(name)) {
      keyword->read(value, read);
    } else {
      Set(*FindOption(name), value, read.policy);
    }
  }
  if (all_disabled == true) read.policy.mode = AutotunePolicy::Mode::kFallbackOnly;
  if (all_disabled == false) read.policy.search.runtime = AnyhowEnabled();
  return read;
}

SearchOptions ReadSearchKeywords(const py::dict& keywords) {
  AutotunePolicy policy;
  policy.search = SearchOptions();
  for (const auto& [key, given] : keywords) {
    auto name = LineOf(key);
    const Option* option = FindOption(name);
    if (name == "timer") {
      if (!given.is_none()) policy.search.timer = TimerNamed(given);
    } else if (option != nullptr && option->is_of_search) {
      Set(*option, given, policy);
    } else {
      throw py::type_error("exhaustive_search has no keyword '" + name + "'");
    }
  }
  return policy.search;
}

std::string KernelKeywordsSignature() {
  const AutotunePolicy policy = DefaultPolicy();
  std::string text;
  for (const ObjectKeyword& keyword : kObjectKeywords) text += std::string(", ") + keyword.name + "=None";
  for (const Option& option : Options()) text += ", " + std::string(option.name) + "=" + Literal(option.get(policy));
  return text;
}

std::string KernelKeywordsDoc() {
  std::string text;
  for (const ObjectKeyword& keyword : kObjectKeywords) text += std::string(keyword.name) + ": " + keyword.text + "\n";
  for (const Option& option : Options()) {
    text += std::string(option.name) + ": " + std::string(option.text);
    for (std::size_t i = 0; i < option.words.size(); ++i) {
      text += (i == 0 ? " '" : ", '") + std::string(option.words[i]) + "'";
    }
    text += "\n";
  }
  return text;
}

void DisableAutotune(py::handle disable) { all_disabled = BoolOf("disable", disable); }

Timer* TimerNamed(py::handle name) {
  static Timer* const cupti = MakeCuptiTimer().release();
  static Timer* const events = MakeEventTimer().release();
  return WordOf("timer", name, {"cupti", "events"}) == 0 ? cupti : events;
}

}  // namespace tuneonce::python
