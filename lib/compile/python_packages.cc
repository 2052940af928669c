#include "compile/python_packages.h"

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "cuda/dynamic_library.h"

namespace tuneonce {
inline namespace v0 {
namespace {

/// `root`/lib/python3*/{site,dist}-packages, those that exist.
void AddPackageFolders(const std::string& root, std::vector<std::string>* folders) {
  for (const std::string& name : NamesIn(root + "/lib")) {
    if (name.rfind("python3", 0) != 0) continue;
    for (const char* packages : {"site-packages", "dist-packages"}) {
      std::string folder = absl::StrCat(root, "/lib/", name, "/", packages);
      if (IsDirectory(folder)) folders->push_back(std::move(folder));
    }
  }
}

}  // namespace

std::vector<std::string> PythonPackageFolders(const Environment& environment) {
  std::vector<std::string> packages;
  // The folder above each slash of this code's own path, from the innermost on.
  std::string above = FolderOfThisCode();
  for (; above.find('/') != std::string::npos; above.resize(above.rfind('/'))) {
    if (absl::EndsWith(above, "/site-packages") || absl::EndsWith(above, "/dist-packages")) packages.push_back(above);
  }
  if (!environment.virtual_env.empty()) AddPackageFolders(environment.virtual_env, &packages);
  if (!environment.home.empty()) AddPackageFolders(environment.home + "/.local", &packages);
  AddPackageFolders("/usr/local", &packages);
  AddPackageFolders("/usr", &packages);
  return packages;
}

}  // namespace v0
}  // namespace tuneonce
