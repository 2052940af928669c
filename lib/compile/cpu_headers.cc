#include "compile/cpu_headers.h"

#include <algorithm>
#include <initializer_list>
#include <optional>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "compile/dependency_file.h"
#include "compile/header_requests.h"
#include "compile/toolbox.h"

namespace tuneonce {
inline namespace v0 {
namespace {

/// What gcc includes of the C library before every text.
constexpr char kPredefinitions[] = "stdc-predef.h";

bool StartsWithAny(const std::string& text, std::initializer_list<const char*> prefixes) {
  return std::any_of(prefixes.begin(), prefixes.end(), [&](const char* prefix) { return text.rfind(prefix, 0) == 0; });
}

/// Options whose argument may be the next word.
bool TakesWord(const std::string& option) {
  for (const char* name : {"-I", "-D", "-U", "-isystem", "-iquote", "-idirafter", "-include", "-imacros"}) {
    if (option == name) return true;
  }
  return false;
}

/// Whether the options are such that the compiler's list names all files that it reads.
bool HeadersAreAllThatIsRead(const CommandRun& run) {
  bool is_argument = false;  // True if `option` is the argument of the previous option.
  for (const std::string& option : run.source.options) {
    if (std::exchange(is_argument, false)) continue;
    is_argument = TakesWord(option);
    bool is_known =
        StartsWithAny(option, {"-I", "-D", "-U", "-isystem", "-iquote", "-idirafter", "-include", "-imacros", "-O",
                               "-g", "-m", "-f", "-W", "-w", "-std=", "-pthread", "-pipe"});
    bool reads_more = StartsWithAny(option, {"-fplugin", "-fpass-plugin", "-fprofile", "-fauto-profile", "-fmodule",
                                             "-fsanitize", "-fuse-ld", "-Wl,", "-Wa,", "-Wp,"});
    if (!is_known || reads_more) return false;
  }
  auto asks = [](const std::string& define) { return absl::StrContains(define, "__has_"); };
  return std::none_of(run.source.options.begin(), run.source.options.end(), asks) &&
         std::none_of(run.source.defines.begin(), run.source.defines.end(), asks);
}

/// The headers that options include, taken out of `*options`.
std::vector<std::string> TakeIncluded(std::vector<std::string>* options) {
  std::vector<std::string> included;
  std::vector<std::string> others;
  for (std::size_t i = 0; i < options->size(); ++i) {
    absl::string_view option = (*options)[i];
    const bool is_include = absl::ConsumePrefix(&option, "-include") || absl::ConsumePrefix(&option, "-imacros");
    const bool has_word = TakesWord((*options)[i]) && i + 1 < options->size();
    if (is_include) {
      included.emplace_back(has_word ? (*options)[i + 1] : std::string(option));
    } else {
      others.push_back((*options)[i]);
      if (has_word) others.push_back((*options)[i + 1]);
    }
    i += has_word ? 1 : 0;
  }
  *options = std::move(others);
  return included;
}

/// Whether the text or an option may make the compiler look for a header.
bool LooksForHeaders(const CommandRun& run) {
  const HeaderRequests requests = FindHeaderRequests(run.text, {});
  return !requests.is_complete || !requests.requests.empty() || !requests.asking_macros.empty() ||
         std::any_of(run.source.options.begin(), run.source.options.end(), [](const std::string& option) {
           return StartsWithAny(option, {"-I", "-i"});
         });
}

}  // namespace

HeaderPath HeaderPathIn(std::string_view verbose_output) {
  HeaderPath path;
  std::vector<std::string> missing;
  std::vector<std::string>* list = nullptr;
  for (absl::string_view line : absl::StrSplit(absl::string_view(verbose_output.data(), verbose_output.size()), '\n')) {
    absl::ConsumeSuffix(&line, "\r");
    if (absl::StartsWith(line, "#include \"...\"")) {
      list = &path.quoted;
    } else if (absl::StartsWith(line, "#include <...>")) {
      list = &path.angled;
    } else if (absl::StartsWith(line, "End of search list")) {
      list = nullptr;
    } else if (absl::ConsumePrefix(&line, "ignoring nonexistent directory \"") && absl::ConsumeSuffix(&line, "\"")) {
      missing.push_back(std::string(line));
    } else if (list != nullptr && absl::ConsumePrefix(&line, " ")) {
      list->push_back(std::string(line));
    }
  }
  path.quoted.insert(path.quoted.begin(), missing.begin(), missing.end());
  path.angled.insert(path.angled.begin(), missing.begin(), missing.end());
  return path;
}

Status SetHostDependencies(CommandRun* run, const std::string& dependency_file) {
  Artifact* const artifact = &run->artifact;
  TUNEONCE_ASSIGN_OR_RETURN(std::vector<std::string> read, NamesInRuleFile(dependency_file, run->folder.path()));
  auto is_relative = [](const std::string& name) { return !absl::StartsWith(name, "/"); };  // To the folder.
  if (!HeadersAreAllThatIsRead(*run) || std::any_of(read.begin(), read.end(), is_relative)) {
    artifact->cacheable = false;
    return Status();
  }
  if (!LooksForHeaders(*run)) {
    SetDependencies(std::move(read), run->started, artifact);
    return Status();
  }
  std::vector<std::string> arguments = run->source.options;
  const std::vector<std::string> included = TakeIncluded(&arguments);
  arguments.insert(arguments.begin(), run->command.words.begin(), run->command.words.end());
  arguments.insert(arguments.end(), {"-E", "-v", "-x", "c++", "/dev/null", "-o", "/dev/null"});
  Result<std::string> output = RunCompiler(arguments, run->folder, run->limits, run->environment);
  HeaderPath path = output.ok() ? HeaderPathIn(*output) : HeaderPath();
  if (path.angled.empty()) {  // A compiler that does not state it.
    artifact->cacheable = false;
    return Status();
  }
  HeaderSearch search(std::move(path), read, run->started);
  search.AddText(run->text, std::nullopt);
  search.AddInclude(kPredefinitions, /*is_quoted=*/false, std::nullopt);
  for (const std::string& name : included) search.AddInclude(name, /*is_quoted=*/true, std::nullopt);
  SetDependencies(std::move(read), &search, run->started, artifact);
  return Status();
}

}  // namespace v0
}  // namespace tuneonce
