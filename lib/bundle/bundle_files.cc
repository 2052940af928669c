#include "bundle/bundle_files.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/file.h"

namespace tuneonce {
inline namespace v0 {

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

Result<std::string> BundleFiles::PathOf(const std::string& name) const {
  auto outside = [&] {
    return InvalidArgumentError("'" + name + "' lies outside the bundle: use a path relative to the bundle's folder");
  };
  if (name.empty() || name.front() == '/' || name.find('\\') != std::string::npos ||
      name.find('\0') != std::string::npos || absl::StrCat("/", name, "/").find("/../") != std::string::npos) {
    return outside();
  }
  if (embedded_) return name;
  std::string path = RealPath(absl::StrCat(root_, "/", name));
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
  TUNEONCE_ASSIGN_OR_RETURN(std::string path, PathOf(name));
  if (!embedded_) return ReadFile(path, most_bytes);
  auto found = embedded_by_name_.find(name);
  if (found == embedded_by_name_.end()) return NotFoundError("'" + name + "' does not exist");
  const EmbeddedFile* file = found->second;
  if (file->size > most_bytes) {
    return InvalidArgumentError(
        absl::StrCat("'", name, "' has ", file->size, " bytes; at most ", most_bytes, " are possible"));
  }
  return std::string(reinterpret_cast<const char*>(file->bytes), file->size);
}

Result<std::shared_ptr<const std::string>> BundleFiles::Read(const std::string& name, std::size_t most_bytes) {
  std::shared_ptr<const std::string>& content = read_[name];
  if (content == nullptr) {
    TUNEONCE_ASSIGN_OR_RETURN(std::string now, ReadNow(name, std::min(most_bytes, kMostBytes - bytes_)));
    content = std::make_shared<const std::string>(std::move(now));
  }
  if (content->size() > kMostBytes - bytes_) {
    return InvalidArgumentError(
        absl::StrCat("with '", name, "' the bundle's artifacts have more than ", kMostBytes, " bytes"));
  }
  bytes_ += content->size();
  return content;
}

}  // namespace v0
}  // namespace tuneonce
