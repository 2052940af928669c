#include "bundle/bundle_folders.h"

#include <algorithm>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/file.h"
#include "base/short_list.h"
#include "cuda/dynamic_library.h"

namespace tuneonce {
inline namespace v0 {
namespace {

constexpr char kBundles[] = "/tuneonce/bundles";

bool IsBundle(const std::string& folder) { return IsRegularFile(folder + "/manifest.json"); }

/// Where an installed, built or packaged tuneonce has its bundles, seen from its code; there or not.
std::vector<std::string> PlacesOfThisCode() {
  std::vector<std::string> places;
  for (const std::string& folder : {FolderOfThisCode(), FolderOfProgram()}) {
    // Beside a program or a library where they are installed; in a build; in a Python package.
    for (const char* data : {TUNEONCE_DATADIR_FROM_BINDIR, TUNEONCE_DATADIR_FROM_LIBDIR, "../share", "share"}) {
      places.push_back(absl::StrCat(folder, "/", data, kBundles));
    }
  }
  for (const std::string& folder : FoldersOfLibraries()) {
    for (const char* data : {TUNEONCE_DATADIR_FROM_LIBDIR, "../share"}) {
      places.push_back(absl::StrCat(folder, "/", data, kBundles));
    }
  }
  return places;
}

}  // namespace

BundleFolders BundleFolders::Of(const Environment& environment) {
  std::vector<std::string> folders = absl::StrSplit(environment.bundles, ':', absl::SkipEmpty());
  const std::vector<std::string> places = PlacesOfThisCode();
  bool any = false;
  for (const std::string& place : places) {
    std::string real = RealPath(place);
    if (real.empty()) continue;
    any = true;
    if (std::find(folders.begin(), folders.end(), real) == folders.end()) folders.push_back(std::move(real));
  }
  if (!any) folders.push_back(places.front());  // For the error: where they should be.
  return BundleFolders(std::move(folders));
}

Result<std::string> BundleFolders::Find(const std::string& folder_or_name) const {
  const std::string& name = folder_or_name;
  if (name.empty() || name == "." || name == ".." || name.find('/') != std::string::npos) return folder_or_name;
  auto has = [&](const std::string& folder) { return IsBundle(absl::StrCat(folder, "/", name)); };
  auto found = std::find_if(folders_.begin(), folders_.end(), has);
  if (found != folders_.end()) {
    std::string installed = absl::StrCat(*found, "/", name);
    if (!IsBundle(name) || RealPath(name) == RealPath(installed)) return installed;
    return InvalidArgumentError(absl::StrCat("'", name, "' is a bundle in the working directory and also in ", *found,
                                             ": write ./", name, " or ", installed));
  }
  if (IsDirectory(name)) return folder_or_name;
  return NotFoundError(absl::StrCat(
      "no bundle '", name, "': there is no such folder, and no bundle of that name in ", ShortList(folders_),
      " (TUNEONCE_BUNDLES adds folders); the installed bundles are: ", ShortList(Names(), name)));
}

std::vector<std::string> BundleFolders::Names() const {
  std::set<std::string> names;
  for (const std::string& folder : folders_) {
    for (std::string& name : NamesIn(folder)) {
      if (IsBundle(absl::StrCat(folder, "/", name))) names.insert(std::move(name));
    }
  }
  return {names.begin(), names.end()};
}

}  // namespace v0
}  // namespace tuneonce
