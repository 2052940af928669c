#include "compile/find_worker.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/file.h"
#include "base/process.h"
#include "cuda/dynamic_library.h"

namespace tuneonce {
inline namespace v0 {
namespace {

constexpr char kName[] = "tuneonce_worker";

std::vector<std::string> Places() {
  std::vector<std::string> places;
  auto add = [&](const std::string& place) {
    if (std::find(places.begin(), places.end(), place) == places.end()) places.push_back(place);
  };
  for (const std::string& folder : {FolderOfThisCode(), FolderOfProgram()}) {
    add(absl::StrCat(folder, "/", kName));
    for (const char* libexec : {TUNEONCE_LIBEXECDIR_FROM_LIBDIR, TUNEONCE_LIBEXECDIR_FROM_BINDIR, "libexec"}) {
      add(absl::StrCat(folder, "/", libexec, "/tuneonce/", kName));
    }
  }
  for (const std::string& folder : FoldersOfLibraries()) {
    add(absl::StrCat(folder, "/", TUNEONCE_LIBEXECDIR_FROM_LIBDIR, "/tuneonce/", kName));
  }
  return places;
}

bool IsProgram(const std::string& path) { return IsRegularFile(path) && !FindProgram(path, "").empty(); }

}  // namespace

Result<std::string> FindWorker(const Environment& environment) {
  if (!environment.worker.empty()) {
    std::string named = AbsolutePath(environment.worker);
    if (IsProgram(named)) return named;
    return UnavailableError(absl::StrCat("TUNEONCE_WORKER is '", environment.worker, "', which is not a program"));
  }
  const std::vector<std::string> places = Places();
  auto found = std::find_if(places.begin(), places.end(), IsProgram);
  if (found != places.end()) return *found;
  return UnavailableError(absl::StrCat(kName, " was not found; looked for: ", absl::StrJoin(places, "; "),
                                       ": install it with the library, or name it by TUNEONCE_WORKER"));
}

}  // namespace v0
}  // namespace tuneonce
