// The table of options: its values, its texts, that no member is missing, and what is generated from it.
#include "tuneonce/plugin/option_table.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <regex>
#include <set>
#include <sstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "testing/expect_status.h"
#include "tuneonce/exhaustive_search.h"

namespace tuneonce {
namespace {

const std::string kRoot = std::string(TUNEONCE_TEST_DATA) + "/../..";

TEST(OptionTableTest, EachOptionIsReadAndSetByItsText) {
  for (const Option& option : Options()) {
    SCOPED_TRACE(std::string(option.name));
    AutotunePolicy policy;
    const std::string before = OptionText(option.get(policy));
    EXPECT_OK(SetOptionText(&policy, option.name, before));
    EXPECT_EQ(OptionText(option.get(policy)), before);
    std::vector<std::string> others = {"7"};
    if (option.type == Option::Type::kFlag) others = {before == "true" ? "false" : "true"};
    if (option.type == Option::Type::kWord) others.assign(option.words.begin(), option.words.end());
    for (const std::string& other : others) {
      EXPECT_OK(SetOptionText(&policy, option.name, other));
      EXPECT_EQ(OptionText(option.get(policy)), other);
    }
    for (const Option& same : Options()) {  // Nothing else was set.
      if (&same == &option) continue;
      EXPECT_EQ(OptionText(same.get(policy)), OptionText(same.get(AutotunePolicy())));
    }
  }
}

TEST(OptionTableTest, WhatIsWrongIsRefusedInOneLineAndChangesNothing) {
  struct Case {
    const char *name, *text, *words;
  };
  const Case cases[] = {
      {"max_rouns", "3", "option 'max_rouns' does not exist: give max_rounds"},
      {"max_rounds", "-1", "option max_rounds is '-1': give a whole number from 0 to 2147483647"},
      {"max_rounds", "2147483648", "give a whole number from 0 to 2147483647"},
      {"max_rounds", "3.5", "give a whole number"},
      {"max_rounds", " 3", "give a whole number"},
      {"max_rounds", "", "option max_rounds is ''"},
      {"baseline_margin", "nan", "option baseline_margin is 'nan': give a number from 0 on"},
      {"baseline_margin", "-0.1", "give a number from 0 on"},
      {"ranks_silence_ms", "0", "give a whole number from 1 to 2147483647"},
      {"verify", "yes", "option verify is 'yes': give true or false"},
      {"mode", "never", "option mode is 'never': give tune_on_miss, tune_deferred, stored_only, fallback_only"},
  };
  for (const Case& each : cases) {
    AutotunePolicy policy;
    const Status set = SetOptionText(&policy, each.name, each.text);
    const bool is_name = FindOption(each.name) != nullptr;
    EXPECT_ERROR(set, is_name ? StatusCode::kInvalidArgument : StatusCode::kNotFound, each.words);
    for (const Option& option : Options()) {
      EXPECT_EQ(OptionText(option.get(policy)), OptionText(option.get(AutotunePolicy())));
    }
  }
  AutotunePolicy policy;
  EXPECT_OK(SetOption(&policy, "baseline_margin", std::int64_t{1}));
  EXPECT_EQ(policy.search.baseline_margin, 1);
  EXPECT_ERROR(SetOption(&policy, "max_rounds", 3.0), StatusCode::kInvalidArgument, "give a whole number");
  EXPECT_ERROR(SetOption(&policy, "quiet", std::int64_t{1}), StatusCode::kInvalidArgument, "give true or false");
}

TEST(OptionTableTest, WhatAProgramSetsIsCheckedToo) {
  EXPECT_OK(CheckOptions(AutotunePolicy()));
  AutotunePolicy large;
  large.search.memory_budget_bytes = std::numeric_limits<std::size_t>::max();
  large.search.seed = std::numeric_limits<std::uint64_t>::max();
  EXPECT_OK(CheckOptions(large));
  struct Case {
    void (*set)(AutotunePolicy& policy);
    const char* words;
  };
  using std::chrono::milliseconds;
  const Case cases[] = {
      {[](AutotunePolicy& policy) { policy.search.budgets.wall = milliseconds(-1); },
       "AutotunePolicy::search.budgets.wall is '-1': give a number from 0 to 2147483647"},
      {[](AutotunePolicy& policy) { policy.search.budgets.trials = -1; }, "search.budgets.trials is '-1'"},
      {[](AutotunePolicy& policy) { policy.search.budgets.gpu = Budgets::Milliseconds(std::nan("")); },
       "AutotunePolicy::search.budgets.gpu is 'nan': give a number from 0"},
      {[](AutotunePolicy& policy) { policy.max_wait = milliseconds::max(); },
       "AutotunePolicy::max_wait is '9223372036854775807': give a whole number from 0 to 2147483647"},
      {[](AutotunePolicy& policy) { policy.mode = static_cast<AutotunePolicy::Mode>(7); },
       "AutotunePolicy::mode is '': give tune_on_miss"},
  };
  for (const Case& each : cases) {
    AutotunePolicy policy;
    each.set(policy);
    EXPECT_ERROR(CheckOptions(policy), StatusCode::kInvalidArgument, each.words);
  }

  SearchOptions options;
  EXPECT_OK(CheckOptions(options));
  options.budgets.wall = Budgets::Milliseconds(std::nan(""));
  EXPECT_ERROR(CheckOptions(options), StatusCode::kInvalidArgument, "SearchOptions::budgets.wall is 'nan': give a");
  EXPECT_ERROR(exhaustive_search(KernelDefinition("k"), nullptr, {}, options).status(), StatusCode::kInvalidArgument,
               "SearchOptions::budgets.wall");
}

/// Returns the data members of a struct in a header, by the declarations with an initializer or an object's type.
std::set<std::string> MembersOf(const std::string& header, const std::string& name) {
  std::string text = *ReadFile(kRoot + "/include/tuneonce/" + header);
  text = std::regex_replace(text, std::regex("//[^\n]*|using [^\n]*"), "");
  const std::size_t begin = text.find("struct " + name + " {");
  EXPECT_NE(begin, std::string::npos) << name;
  text = text.substr(begin, text.find("\n};", begin) - begin);
  std::set<std::string> members;
  // Two spaces before a type, a name, and an initializer or a semicolon: no function, and nothing of an inner type.
  const std::regex member(R"(\n  [A-Za-z_][^\n;=(){}]*[ *>](\w+)( = [^\n;]*|\{0?\})?;)");
  for (auto it = std::sregex_iterator(text.begin(), text.end(), member); it != std::sregex_iterator(); ++it) {
    members.insert((*it)[1]);
  }
  return members;
}

TEST(OptionTableTest, EveryMemberIsInTheTableOrAnObject) {
  struct Struct {
    const char *header, *name, *prefix;
    std::set<std::string> objects;
  };
  const Struct structs[] = {
      {"autotune_policy.h", "AutotunePolicy", "", {"search", "store", "observer", "ranks"}},
      {"plugin/rank_group.h", "RankPolicy", "ranks.", {"group"}},
      {"autotune_policy.h",
       "SearchOptions",
       "search.",
       {"runtime", "timer", "reference", "compile", "budgets", "stop"}},
      {"autotune_policy.h", "Budgets", "search.budgets.", {}},
      {"plugin/toolchain.h", "CompileOptions", "search.compile.", {"cache", "stop"}},
  };
  std::set<std::string> known;
  for (const Option& option : Options()) known.insert(std::string(option.member));
  for (const Struct& each : structs) {
    const std::set<std::string> members = MembersOf(each.header, each.name);
    EXPECT_GE(members.size(), 4u) << each.name;
    for (const std::string& member : members) {
      if (each.objects.count(member) > 0) continue;
      EXPECT_EQ(known.erase(each.prefix + member), 1u) << each.name << "::" << member << " is not in the table";
    }
  }
  for (const std::string& member : known) ADD_FAILURE() << member << " is in the table and in no struct";
}

std::string PythonTypeOf(const Option& option) {
  switch (option.type) {
    case Option::Type::kFlag:
      return "bool";
    case Option::Type::kInteger:
      return "int";
    case Option::Type::kNumber:
      return "float";
    case Option::Type::kText:
      return "str";
    case Option::Type::kWord:
      break;
  }
  std::string words;
  for (std::string_view word : option.words) words += (words.empty() ? "\"" : ", \"") + std::string(word) + "\"";
  return "Literal[" + words + "]";
}

std::string PythonFields(bool of_search) {
  std::string fields;
  for (const Option& option : Options()) {
    if (option.is_of_search == of_search)
      absl::StrAppend(&fields, "    ", std::string(option.name), ": ", PythonTypeOf(option), "\n");
  }
  return fields;
}

std::string PythonTypes() {
  return "class SearchOptions(TypedDict, total=False):\n    \"\"\"Keywords of searches: docs/options.md.\"\"\"\n" +
         PythonFields(true) +
         "\n\nclass KernelOptions(SearchOptions, total=False):\n    \"\"\"Keywords of kernels: "
         "docs/options.md.\"\"\"\n" +
         PythonFields(false);
}

/// Breaks a list item into lines of at most 120 columns.
std::string Wrapped(const std::string& item) {
  std::string lines, line;
  std::istringstream words(item);
  for (std::string word; words >> word;) {
    if (!line.empty() && line.size() + 1 + word.size() > 120) {
      lines += line + "\n";
      line = " ";
    }
    line += (line.empty() ? "" : " ") + word;
  }
  return lines + line + "\n";
}

std::string MarkdownList(bool of_search) {
  std::string list;
  for (const Option& option : Options()) {
    if (option.is_of_search != of_search) continue;
    std::string values = option.type == Option::Type::kFlag     ? "`true` or `false`"
                         : option.type == Option::Type::kText   ? "text"
                         : option.type == Option::Type::kNumber ? "number"
                                                                : "integer";
    if (option.type == Option::Type::kWord) {
      values.clear();
      for (std::string_view word : option.words) values += (values.empty() ? "`" : ", `") + std::string(word) + "`";
    }
    if (!option.unit.empty()) absl::StrAppend(&values, ", ", std::string(option.unit));
    const std::string shown = OptionText(option.get(AutotunePolicy()));
    list += Wrapped(absl::StrCat("- `", std::string(option.name), "`: ", std::string(option.text), " Values: ", values,
                                 ". Default: ", shown.empty() ? "empty" : "`" + shown + "`", "."));
  }
  return list;
}

/// Compares what stands between two lines of a file with `generated`. With TUNEONCE_UPDATE_OPTIONS it is replaced.
void ExpectBetween(const std::string& path, const std::string& begin, const std::string& end,
                   const std::string& generated) {
  const std::string file = kRoot + "/" + path;
  Result<std::string> text = ReadFile(file);
  ASSERT_OK(text);
  const std::size_t from = text->find(begin), to = text->find(end);
  ASSERT_NE(from, std::string::npos) << path;
  ASSERT_NE(to, std::string::npos) << path;
  const std::size_t first = from + begin.size();
  if (std::getenv("TUNEONCE_UPDATE_OPTIONS") != nullptr) {
    ASSERT_OK(WriteFile(file, text->substr(0, first) + generated + text->substr(to)));
  } else {
    EXPECT_EQ(text->substr(first, to - first), generated)
        << path << " is out of date: TUNEONCE_UPDATE_OPTIONS=1 runtime_test --gtest_filter=OptionTableTest.*";
  }
}

TEST(OptionTableTest, DocumentationAndTypesAreThoseOfTheTable) {
  ExpectBetween("docs/options.md", "<!-- kernels -->\n\n", "\n<!-- end of kernels -->", MarkdownList(false));
  ExpectBetween("docs/options.md", "<!-- searches -->\n\n", "\n<!-- end of searches -->", MarkdownList(true));
  ExpectBetween("bindings/python/tuneonce/typed.py", "# Generated by OptionTableTest:\n",
                "# End of what is generated.\n", PythonTypes());
}

}  // namespace
}  // namespace tuneonce
