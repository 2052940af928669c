#include "cuda/dynamic_library.h"

#include <dlfcn.h>
#include <link.h>
#include <unistd.h>

#include <climits>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace tuneonce {
inline namespace v0 {
namespace {

std::string FolderOf(const std::string& file) {
  std::size_t slash = file.rfind('/');
  return slash == std::string::npos ? "." : file.substr(0, slash);
}

/// Returns the name by which the loader knows the library that holds this code; null if it is the program.
const char* FileOfThisCode() {
  Dl_info info{};
  link_map* library = nullptr;
  void** extra = reinterpret_cast<void**>(&library);
  int found = dladdr1(reinterpret_cast<void*>(&FileOfThisCode), &info, extra, RTLD_DL_LINKMAP);
  // The loader knows no file of the program: it returns argv[0], which may be relative or wrong.
  return found == 0 || library == nullptr || library->l_name[0] == '\0' ? nullptr : library->l_name;
}

}  // namespace

Result<DynamicLibrary> OpenFirst(const std::vector<std::string>& paths, const std::string& what) {
  std::vector<std::string> reasons;
  for (const std::string& path : paths) {
    if (void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL); handle != nullptr) {
      return DynamicLibrary{handle, path};
    }
    const char* reason = dlerror();
    // The loader's text starts with the path already, except where it names another library.
    reasons.push_back(reason == nullptr ? path : reason);
  }
  return UnavailableError(absl::StrCat(what, " was not found; looked for: ", absl::StrJoin(reasons, "; ")));
}

std::string FolderOfThisCode() {
  const char* file = FileOfThisCode();
  return file == nullptr ? FolderOfProgram() : FolderOf(file);
}

void KeepThisCodeLoaded() {
  // A handle that is never closed; the loader finds by its name what is loaded already.
  if (const char* file = FileOfThisCode()) dlopen(file, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
}

std::string FolderOfProgram() {
  char buffer[PATH_MAX];
  ssize_t n = readlink("/proc/self/exe", buffer, sizeof(buffer));
  return n <= 0 ? "" : FolderOf(std::string(buffer, static_cast<std::size_t>(n)));
}

std::vector<std::string> FoldersOfLibraries() {
  const char* file = FileOfThisCode();  // Null, as for dlopen: the program.
  void* code = dlopen(file, file == nullptr ? RTLD_LAZY : RTLD_LAZY | RTLD_NOLOAD);
  if (code == nullptr) return {};
  std::vector<std::string> folders;
  Dl_serinfo size{};
  if (dlinfo(code, RTLD_DI_SERINFOSIZE, &size) == 0) {
    // A Dl_serinfo followed by its list and texts, in memory with its alignment.
    std::vector<Dl_serinfo> memory(size.dls_size / sizeof(Dl_serinfo) + 1, size);
    Dl_serinfo* list = memory.data();
    if (dlinfo(code, RTLD_DI_SERINFO, list) == 0) {
      const Dl_serpath* paths = list->dls_serpath;
      for (unsigned i = 0; i < list->dls_cnt; ++i) folders.emplace_back(paths[i].dls_name);
    }
  }
  dlclose(code);
  return folders;
}

}  // namespace v0
}  // namespace tuneonce
