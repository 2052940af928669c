#include "compile/cuda_headers.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "base/file.h"
#include "compile/toolbox.h"

namespace tuneonce {
inline namespace v0 {
namespace {

/// A header that every toolkit has, and that kernels ask for first.
constexpr char kKnownHeader[] = "cuda_fp16.h";

/// A header that toolkits have from 13.3 on, next to the others.
constexpr char kNewerHeader[] = "cuda_tile.h";

/// Looks in `folder`; true if the toolkit's headers are there, which are noted then.
bool Look(const std::string& folder, bool for_tile, CudaHeaders* headers) {
  headers->places.push_back(folder);
  if (!IsRegularFile(absl::StrCat(folder, "/", kKnownHeader))) return false;
  if (for_tile && !IsRegularFile(absl::StrCat(folder, "/", kNewerHeader))) return false;
  const std::string real = RealPath(folder);  // Without "..": it stands in messages and keys.
  headers->folders.push_back(real);
  for (const std::string& cccl :
       {real + "/cccl", real + "/../../cuda_cccl/include/cccl", real + "/../../cuda_cccl/include"}) {
    if (!IsDirectory(cccl)) continue;
    headers->folders.push_back(RealPath(cccl));
    break;
  }
  return true;
}

void LookInAll(const Environment& environment, const std::string& nvrtc_folder, bool for_tile, CudaHeaders* headers) {
  if (!nvrtc_folder.empty()) {  // First: these are of NVRTC's own version.
    for (const char* relative : {"/../include", "/../../cuda_runtime/include"}) {
      if (Look(nvrtc_folder + relative, for_tile, headers)) return;
    }
  }
  if (!environment.cuda_home.empty() && Look(environment.cuda_home + "/include", for_tile, headers)) return;
  if (Look("/usr/local/cuda/include", for_tile, headers)) return;
  for (const std::string& packages : PythonPackageFolders(environment)) {
    for (const char* wheel : {"/nvidia/cu13/include", "/nvidia/cuda_runtime/include"}) {
      if (Look(packages + wheel, for_tile, headers)) return;
    }
  }
}

}  // namespace

CudaHeaders CudaHeaders::Find(const Environment& environment, const std::string& nvrtc_folder, bool for_tile) {
  CudaHeaders headers;
  headers.for_tile = for_tile;
  const std::vector<std::string> given = absl::StrSplit(environment.cuda_include, ':', absl::SkipEmpty());
  auto has_tile = [](const std::string& folder) { return IsRegularFile(absl::StrCat(folder, "/", kNewerHeader)); };
  if (given.empty() || (for_tile && std::none_of(given.begin(), given.end(), has_tile))) {
    LookInAll(environment, nvrtc_folder, for_tile, &headers);
  } else {
    for (const std::string& folder : given) {
      headers.places.push_back(folder);
      if (IsDirectory(folder)) headers.folders.push_back(AbsolutePath(folder));
    }
  }
  headers.has_cccl = std::any_of(headers.folders.begin(), headers.folders.end(),
                                 [](const std::string& folder) { return IsRegularFile(folder + "/cub/cub.cuh"); });
  return headers;
}

std::string CudaHeaders::ToString() const {
  if (!folders.empty()) return absl::StrJoin(folders, ", ");
  if (for_tile) {
    return absl::StrCat("the headers of CUDA 13.3 or newer were not found; looked for ", kKnownHeader, " and ",
                        kNewerHeader, " in ", absl::StrJoin(places, ", "),
                        "; pip install nvidia-cuda-runtime nvidia-cuda-crt of NVRTC's version");
  }
  return absl::StrCat("the CUDA toolkit's headers were not found; looked for ", kKnownHeader, " in ",
                      absl::StrJoin(places, ", "),
                      ": install the toolkit or PyPI's nvidia-cuda-runtime, or set TUNEONCE_CUDA_INCLUDE or CUDA_HOME");
}

}  // namespace v0
}  // namespace tuneonce
