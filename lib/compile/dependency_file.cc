#include "compile/dependency_file.h"

#include <sys/stat.h>

#include <algorithm>
#include <optional>
#include <tuple>
#include <utility>

#include "base/file.h"
#include "tuneonce/fingerprint.h"

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

}  // namespace v0
}  // namespace tuneonce
