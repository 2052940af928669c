#include "compile/cuda_headers.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "base/file.h"
#include "compile/python_packages.h"

namespace tuneonce {
inline namespace v0 {
namespace {

/// A header that every toolkit has, and that kernels ask for first.
constexpr char kKnownHeader[] = "cuda_fp16.h";

/// Looks in `folder`; true if the toolkit's headers are there, which are noted then.
bool Look(const std::string& folder, CudaHeaders* headers) {
  headers->places.push_back(folder);
  if (!IsRegularFile(absl::StrCat(folder, "/", kKnownHeader))) return false;
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

void LookInAll(const Environment& environment, const std::string& nvrtc_folder, CudaHeaders* headers) {
  if (!nvrtc_folder.empty()) {  // First: these are of NVRTC's own version.
    for (const char* relative : {"/../include", "/../../cuda_runtime/include"}) {
      if (Look(nvrtc_folder + relative, headers)) return;
    }
  }
  if (!environment.cuda_home.empty() && Look(environment.cuda_home + "/include", headers)) return;
  if (Look("/usr/local/cuda/include", headers)) return;
  for (const std::string& packages : PythonPackageFolders(environment)) {
    for (const char* wheel : {"/nvidia/cu13/include", "/nvidia/cuda_runtime/include"}) {
      if (Look(packages + wheel, headers)) return;
    }
  }
}

}  // namespace

CudaHeaders CudaHeaders::Find(const Environment& environment, const std::string& nvrtc_folder) {
  CudaHeaders headers;
  if (environment.cuda_include.empty()) {
    LookInAll(environment, nvrtc_folder, &headers);
  } else {
    for (absl::string_view folder : absl::StrSplit(environment.cuda_include, ':', absl::SkipEmpty())) {
      headers.places.push_back(std::string(folder));
      if (IsDirectory(headers.places.back())) headers.folders.push_back(AbsolutePath(headers.places.back()));
    }
  }
  headers.has_cccl = std::any_of(headers.folders.begin(), headers.folders.end(),
                                 [](const std::string& folder) { return IsRegularFile(folder + "/cub/cub.cuh"); });
  return headers;
}

std::string CudaHeaders::ToString() const {
  if (!folders.empty()) return absl::StrJoin(folders, ", ");
  return absl::StrCat("the CUDA toolkit's headers were not found; looked for ", kKnownHeader, " in ",
                      absl::StrJoin(places, ", "),
                      ": install the toolkit or PyPI's nvidia-cuda-runtime, or set TUNEONCE_CUDA_INCLUDE or CUDA_HOME");
}

}  // namespace v0
}  // namespace tuneonce
