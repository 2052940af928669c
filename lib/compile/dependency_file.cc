#include "compile/dependency_file.h"

#include <sys/stat.h>

#include <algorithm>
#include <initializer_list>
#include <optional>
#include <tuple>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "base/file.h"
#include "compile/header_search.h"
#include "compile/toolbox.h"
#include "tuneonce/plugin/fingerprint.h"

namespace tuneonce {
inline namespace v0 {
namespace {

std::optional<Fingerprint> ContentOf(const std::string& path) {
  Result<std::string> content = ReadFile(path);
  if (!content.ok()) return std::nullopt;
  return Fingerprinter().Add(*content).Finish();
}

/// By the time of the last change of content, name or owner, which no program can set. A change in the same tick of the
/// clock counts as one.
bool WasChangedSince(const std::string& path, const timespec& then) {
  struct stat info {};
  if (stat(path.c_str(), &info) != 0) return true;
  return std::tie(info.st_ctim.tv_sec, info.st_ctim.tv_nsec) >= std::tie(then.tv_sec, then.tv_nsec);
}

/// Whether what was missing exists: see Artifact::absent.
bool Exists(const std::string& path) {
  struct stat info {};
  if (stat(path.c_str(), &info) != 0) return false;
  return !S_ISDIR(info.st_mode) || (!path.empty() && path.back() == '/');
}

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

std::vector<std::string> NamesInRule(const std::string& rule) {
  std::vector<std::string> names;
  std::string name;
  auto end_name = [&] {
    if (!name.empty()) names.push_back(std::move(name));
    name.clear();
  };
  std::size_t begin = rule.find(": ");
  for (std::size_t i = begin == std::string::npos ? rule.size() : begin + 2; i < rule.size(); ++i) {
    char c = rule[i];
    char next = i + 1 < rule.size() ? rule[i + 1] : '\n';
    if ((c == '\\' && (next == ' ' || next == '#')) || (c == '$' && next == '$')) {
      name += next;  // Quoted.
      ++i;
    } else if (c == '\\' && next == '\n') {
      end_name();  // The rule goes on in the next line.
      ++i;
    } else if (c == '\n') {
      break;  // Other rules are empty ones, for files that may go ("-MP").
    } else if (c == ' ') {
      end_name();
    } else {
      name += c;
    }
  }
  end_name();
  return names;
}

timespec FileClock() {
  timespec now{};
  clock_gettime(CLOCK_REALTIME_COARSE, &now);
  return now;
}

void SetDependencies(std::vector<std::string> names, const timespec& started, Artifact* artifact) {
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  for (std::string& name : names) {
    std::optional<Fingerprint> content = ContentOf(name);
    if (!content || WasChangedSince(name, started)) artifact->cacheable = false;
    artifact->dependencies.push_back(Dependency{std::move(name), content.value_or(Fingerprint())});
  }
}

Result<std::vector<std::string>> NamesInRuleFile(const std::string& dependency_file, const std::string& folder) {
  TUNEONCE_ASSIGN_OR_RETURN(std::string rule, ReadFile(dependency_file));
  std::vector<std::string> names = NamesInRule(rule);
  auto is_ours = [&](const std::string& name) { return name.rfind(folder + "/", 0) == 0; };
  names.erase(std::remove_if(names.begin(), names.end(), is_ours), names.end());
  return names;
}

void SetDependencies(std::vector<std::string> read, HeaderSearch* search, const timespec& started, Artifact* artifact) {
  HeaderSearch::Findings findings = search->Find();
  read.insert(read.end(), findings.files.begin(), findings.files.end());
  SetDependencies(std::move(read), started, artifact);
  artifact->absent = std::move(findings.absent);
  artifact->cacheable = artifact->cacheable && findings.is_complete;
}

bool DependenciesHold(const Artifact& artifact) {
  return std::none_of(artifact.absent.begin(), artifact.absent.end(), Exists) &&
         std::all_of(artifact.dependencies.begin(), artifact.dependencies.end(),
                     [](const Dependency& dependency) { return ContentOf(dependency.path) == dependency.content; });
}

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
