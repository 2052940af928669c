#include "loose_header.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "base/file.h"
#include "compile/header_requests.h"

namespace tuneonce::cli {
namespace {

bool IsFile(const std::string& path) {
  std::error_code error;
  return std::filesystem::is_regular_file(path, error);
}

/// `path` as messages show it.
std::string NameIn(const std::string& folder, const std::string& path) {
  const std::string full = AbsolutePath(path);
  return full.rfind(folder + "/", 0) == 0 ? full.substr(folder.size() + 1) : path;
}

/// Whether a text of the source has these words.
bool Mentions(const KernelSource& source, const std::string& words) {
  auto has = [&](const std::string& text) { return text.find(words) != std::string::npos; };
  return has(source.content) || std::any_of(source.headers.begin(), source.headers.end(),
                                            [&](const auto& header) { return has(header.second); });
}

/// Returns the first "name" that the source includes, that is not one of its `headers`, and that `fits` accepts.
template <typename Fits>
std::optional<std::string> FindUnnamed(const KernelSource& source, const Fits& fits) {
  for (const HeaderRequest& request : FindHeaderRequests(source.content, {}).requests) {
    if (request.kind != HeaderRequest::Kind::kInclude || !request.is_quoted) continue;
    const bool is_named = std::any_of(source.headers.begin(), source.headers.end(),
                                      [&](const auto& header) { return header.first == request.name; });
    if (!is_named && fits(request.name)) return request.name;
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> FindLooseHeader(const std::string& folder, const KernelSource& source,
                                           const Result<Artifact>& compiled) {
  if (!IsCpp(source.kind)) return std::nullopt;
  const std::filesystem::path here = std::filesystem::path(source.file).parent_path();
  auto beside = [&](const std::string& name) { return (here / name).lexically_normal().string(); };
  if (!compiled.ok()) {
    auto is_missing = [&](const std::string& name) {
      return compiled.status().message().find(name) != std::string::npos && IsFile(folder + "/" + beside(name));
    };
    const std::optional<std::string> missing = FindUnnamed(source, is_missing);
    return missing ? std::optional<std::string>(beside(*missing)) : std::nullopt;
  }
  for (const Dependency& read : compiled->dependencies) {
    const bool is_relative = read.path.rfind('/', 0) != 0;  // NVRTC looks in the working directory.
    if (is_relative || read.path.rfind(folder + "/", 0) == 0 || Mentions(source, read.path)) {
      return NameIn(folder, read.path);
    }
  }
  if (compiled->cacheable || !compiled->dependencies.empty()) return std::nullopt;
  const std::optional<std::string> read =
      FindUnnamed(source, [&](const std::string& name) { return IsFile(beside(name)); });
  return read ? std::optional<std::string>(NameIn(folder, beside(*read))) : std::nullopt;
}

}  // namespace tuneonce::cli
