#include "authoring/bundle_folder.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "base/file.h"
#include "bundle/bundle_files.h"
#include "launch/assumption.h"
#include "tuneonce/runtime.h"

namespace tuneonce {
inline namespace v0 {
namespace {

/// Maximum number of files in a bundle's folder.
constexpr std::size_t kMostFiles = 100'000;

/// Headers lie in folders that a compiler looks through: none of their files is named.
std::vector<std::string> HeaderFolders(const nlohmann::ordered_json& manifest) {
  std::vector<std::string> folders;
  for (const auto& variant : manifest.at("variants")) {
    for (const auto& option : variant.value("options", nlohmann::ordered_json::array())) {
      std::string text = option.get<std::string>();
      if (text.rfind("-I", 0) == 0) folders.push_back(text.substr(2) + "/");
    }
  }
  return folders;
}

}  // namespace

Result<BundleFolder> OpenBundleFolder(const std::string& folder_or_name) {
  TUNEONCE_ASSIGN_OR_RETURN(Bundle bundle, Bundle::Load(folder_or_name));
  TUNEONCE_ASSIGN_OR_RETURN(std::string path,
                            BundleFolders::Of(Runtime::Default()->environment()).Find(folder_or_name));
  TUNEONCE_ASSIGN_OR_RETURN(BundleFiles files, BundleFiles::Open(path));
  TUNEONCE_ASSIGN_OR_RETURN(auto precompiled, PrecompiledBundle::Read(files));
  TUNEONCE_ASSIGN_OR_RETURN(std::string text, files.ReadNow("manifest.json"));
  KernelDefinition definition = bundle.definition();
  TUNEONCE_RETURN_IF_ERROR(ValidateForLaunch(definition));
  auto manifest = nlohmann::ordered_json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (manifest.is_discarded())
    return UnavailableError(path + "/manifest.json was changed while it was read: run the command again");
  return BundleFolder{files.Where(),    std::move(bundle),      std::move(definition),
                      std::move(files), std::move(precompiled), std::move(manifest)};
}

std::vector<NamedFile> NamedFiles(const nlohmann::ordered_json& manifest) {
  std::vector<NamedFile> named;
  for (const auto& variant : manifest.at("variants")) {
    const std::string name = variant.at("name"), source = variant.at("source");
    for (const auto& artifact : variant.at("artifacts")) {
      named.push_back(NamedFile{name, source, artifact.at("file"), false, &variant});
    }
    if (!variant.contains("headers")) continue;
    for (const auto& header : variant.at("headers")) named.push_back(NamedFile{name, source, header, true, &variant});
  }
  return named;
}

std::set<std::string> FilesOf(const BundleFolder& folder) {
  std::set<std::string> read = {"manifest.json"};
  for (const NamedFile& each : NamedFiles(folder.manifest)) {
    read.insert(std::filesystem::path(each.file).lexically_normal().string());
  }
  if (folder.precompiled != nullptr) {
    read.insert(PrecompiledBundle::kFile);
    read.insert(folder.precompiled->selections_file());
    for (const auto& [key, code] : folder.precompiled->code()) read.insert(code.file);
  }
  return read;
}

std::vector<std::string> UnreadFiles(const BundleFolder& folder) {
  const std::set<std::string> read = FilesOf(folder);
  const std::vector<std::string> header_folders = HeaderFolders(folder.manifest);
  std::vector<std::string> unread;
  std::error_code error;
  std::size_t count = 0;
  for (std::filesystem::recursive_directory_iterator at(folder.path, error), end; !error && at != end;
       at.increment(error)) {
    if (++count > kMostFiles) break;
    if (at->is_directory(error)) continue;
    std::string name = at->path().lexically_relative(folder.path).string();
    bool is_header = std::any_of(header_folders.begin(), header_folders.end(),
                                 [&](const std::string& headers) { return name.rfind(headers, 0) == 0; });
    if (read.count(name) == 0 && !is_header) unread.push_back(std::move(name));
  }
  std::sort(unread.begin(), unread.end());
  return unread;
}

}  // namespace v0
}  // namespace tuneonce
