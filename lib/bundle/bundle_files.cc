#include "bundle/bundle_files.h"

#include <sys/stat.h>

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

Result<BundleFiles> BundleFiles::Open(const std::string& folder) {
  if (!IsDirectory(folder)) return NotFoundError("no bundle folder '" + folder + "'");
  BundleFiles files;
  files.root_ = RealPath(folder);
  return files;
}

BundleFiles::BundleFiles(const EmbeddedBundle& embedded) : embedded_(embedded) {
  for (std::size_t i = 0; i < embedded.num_files; ++i) {
    embedded_by_name_.emplace(embedded.files[i].name, &embedded.files[i]);
  }
}

Result<std::string> BundleFiles::PathOf(const std::string& name, bool* is_file) const {
  auto outside = [&] {
    return InvalidArgumentError("'" + name + "' lies outside the bundle: use a path relative to the bundle's folder");
  };
  const bool may_lead_up = name.find("..") != std::string::npos;
  if (name.empty() || name.front() == '/' || name.find('\\') != std::string::npos ||
      name.find('\0') != std::string::npos ||
      (may_lead_up && absl::StrCat("/", name, "/").find("/../") != std::string::npos)) {
    return outside();
  }
  if (embedded_) return name;
  std::string path = absl::StrCat(root_, "/", name);
  // A bundle may have hundreds of files, all of them directly in its folder: one call for each, not one per folder.
  struct stat info {};
  if (name.find('/') == std::string::npos && lstat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode)) {
    if (is_file != nullptr) *is_file = true;
    return path;
  }
  path = RealPath(path);
  if (path.empty()) return NotFoundError("'" + name + "' does not exist");
  if (path != root_ && path.compare(0, root_.size() + 1, root_ + "/") != 0) return outside();  // By a symbolic link.
  return path;
}

Result<std::string> BundleFiles::FolderPath(const std::string& name) const {
  TUNEONCE_ASSIGN_OR_RETURN(std::string path, PathOf(name));
  if (embedded_)
    return FailedPreconditionError("'" + name + "' cannot be used as a folder: an embedded bundle contains only files");
  return IsDirectory(path) ? Result<std::string>(path) : NotFoundError("'" + name + "' is not a folder");
}

Result<std::string> BundleFiles::ReadNow(const std::string& name, std::size_t most_bytes) const {
  if (embedded_) {
    TUNEONCE_ASSIGN_OR_RETURN(std::string_view bytes, Embedded(name, most_bytes));
    return std::string(bytes);
  }
  bool is_file = false;
  TUNEONCE_ASSIGN_OR_RETURN(std::string path, PathOf(name, &is_file));
  return is_file ? ReadRegularFile(path, most_bytes) : ReadFile(path, most_bytes);
}

void BundleFiles::ForgetWithheld(const std::string& variant) {
  auto it = withheld_.lower_bound({variant, ""});
  while (it != withheld_.end() && it->first.first == variant) it = withheld_.erase(it);
}

bool BundleFiles::Has(const std::string& name) const {
  return embedded_ ? embedded_by_name_.count(name) != 0 : PathOf(name).ok();
}

Result<std::string_view> BundleFiles::Embedded(const std::string& name, std::size_t most_bytes) const {
  TUNEONCE_RETURN_IF_ERROR(PathOf(name).status());
  auto found = embedded_by_name_.find(name);
  if (found == embedded_by_name_.end()) return NotFoundError("'" + name + "' does not exist");
  const EmbeddedFile* file = found->second;
  if (file->size > most_bytes) {
    return InvalidArgumentError(
        absl::StrCat("'", name, "' has ", file->size, " bytes; at most ", most_bytes, " are possible"));
  }
  return std::string_view(reinterpret_cast<const char*>(file->bytes), file->size);
}

Result<BundleText> BundleFiles::Read(const std::string& name, std::size_t most_bytes) {
  most_bytes = std::min(most_bytes, kMostBytes - bytes_);
  BundleText content;
  if (embedded_) {
    TUNEONCE_ASSIGN_OR_RETURN(content.text, Embedded(name, most_bytes));
  } else {
    std::shared_ptr<const std::string>& read = read_[name];
    if (read == nullptr) {
      TUNEONCE_ASSIGN_OR_RETURN(std::string now, ReadNow(name, most_bytes));
      read = std::make_shared<const std::string>(std::move(now));
    }
    content = BundleText{*read, read};
  }
  if (content.text.size() > kMostBytes - bytes_) {
    return InvalidArgumentError(
        absl::StrCat("with '", name, "' the bundle's artifacts have more than ", kMostBytes, " bytes"));
  }
  bytes_ += content.text.size();
  return content;
}

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
