#include "compile/nvrtc_library.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "base/file.h"
#include "base/mutex.h"
#include "compile/toolbox.h"
#include "cuda/dynamic_library.h"

namespace tuneonce {
inline namespace v0 {
namespace {

std::vector<std::string> Places(const Environment& environment) {
  if (!environment.nvrtc.empty()) return {environment.nvrtc};
  std::vector<std::string> folders;
  if (!environment.cuda_home.empty()) folders.push_back(environment.cuda_home + "/lib64/");
  folders.insert(folders.end(), {"", "/usr/local/cuda/lib64/"});
  std::vector<std::string> places;
  for (const std::string& folder : folders) {
    for (const char* name : {"libnvrtc.so.13", "libnvrtc.so.12"}) places.push_back(folder + name);
  }
  return places;
}

template <typename Function>
bool Find(void* handle, const char* symbol, Function* function) {
  *function = reinterpret_cast<Function>(dlsym(handle, symbol));
  return *function != nullptr;
}

bool FindAll(void* handle, NvrtcLibrary* nvrtc) {
  return Find(handle, "nvrtcVersion", &nvrtc->Version) && Find(handle, "nvrtcGetErrorString", &nvrtc->GetErrorString) &&
         Find(handle, "nvrtcCreateProgram", &nvrtc->CreateProgram) &&
         Find(handle, "nvrtcDestroyProgram", &nvrtc->DestroyProgram) &&
         Find(handle, "nvrtcAddNameExpression", &nvrtc->AddNameExpression) &&
         Find(handle, "nvrtcGetLoweredName", &nvrtc->GetLoweredName) &&
         Find(handle, "nvrtcCompileProgram", &nvrtc->CompileProgram) &&
         Find(handle, "nvrtcGetProgramLogSize", &nvrtc->GetProgramLogSize) &&
         Find(handle, "nvrtcGetProgramLog", &nvrtc->GetProgramLog) &&
         Find(handle, "nvrtcGetCUBINSize", &nvrtc->GetCUBINSize) && Find(handle, "nvrtcGetCUBIN", &nvrtc->GetCUBIN);
}

void FindNewer(void* handle, NvrtcLibrary* nvrtc) {
  Find(handle, "nvrtcSetFlowCallback", &nvrtc->SetFlowCallback);
  Find(handle, "nvrtcGetTileIRSize", &nvrtc->GetTileIRSize);
  Find(handle, "nvrtcGetTileIR", &nvrtc->GetTileIR);
}

/// The file that the library was loaded from, without links; empty if the loader does not know it.
std::string FileOf(const NvrtcLibrary& nvrtc) {
  Dl_info info{};
  if (dladdr(reinterpret_cast<void*>(nvrtc.Version), &info) == 0 || info.dli_fname == nullptr) return "";
  return RealPath(info.dli_fname);
}

/// What FindBuildId looks for, and what it finds.
struct BuildIdSearch {
  std::uintptr_t address;  ///< In the library.
  std::string id;          ///< In hexadecimal.
};

/// For dl_iterate_phdr: sets the build id of the library that has the address.
int FindBuildId(dl_phdr_info* library, std::size_t /*size*/, void* data) {
  auto* search = static_cast<BuildIdSearch*>(data);
  bool has_address = false;
  for (int i = 0; i < library->dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = library->dlpi_phdr[i];
    const std::uintptr_t begin = library->dlpi_addr + segment.p_vaddr;
    has_address |= segment.p_type == PT_LOAD && search->address - begin < segment.p_memsz;
  }
  for (int i = 0; has_address && i < library->dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = library->dlpi_phdr[i];
    if (segment.p_type != PT_NOTE) continue;
    const auto* notes = reinterpret_cast<const char*>(library->dlpi_addr + segment.p_vaddr);
    for (std::size_t at = 0; at + sizeof(ElfW(Nhdr)) <= segment.p_memsz;) {
      ElfW(Nhdr) note;
      std::memcpy(&note, notes + at, sizeof(note));
      const std::size_t name = at + sizeof(note);
      const std::size_t content = name + (note.n_namesz + 3) / 4 * 4;
      const std::size_t end = content + (note.n_descsz + 3) / 4 * 4;
      if (end > segment.p_memsz) break;
      if (note.n_type == NT_GNU_BUILD_ID &&
          absl::string_view(notes + name, note.n_namesz) == absl::string_view("GNU", 4)) {
        search->id = absl::BytesToHexString(absl::string_view(notes + content, note.n_descsz));
        return 1;
      }
      at = end;
    }
  }
  return has_address ? 1 : 0;
}

std::string BuildOf(const NvrtcLibrary& nvrtc, const std::string& file) {
  BuildIdSearch search{reinterpret_cast<std::uintptr_t>(nvrtc.Version), ""};
  dl_iterate_phdr(FindBuildId, &search);
  if (!search.id.empty()) return search.id;
  struct stat status {};
  return stat(file.c_str(), &status) == 0 ? absl::StrCat(status.st_size, " bytes") : "unknown";
}

/// Loads the library of built-in functions that lies next to NVRTC, which looks for it by name alone. The loader finds
/// it by NVRTC's run path, but not where a sanitizer loads libraries in NVRTC's place. Without it compiles fail and
/// state so.
void LoadBuiltins(const NvrtcLibrary& nvrtc) {
  if (nvrtc.folder.empty()) return;
  dlopen(absl::StrCat(nvrtc.folder, "/libnvrtc-builtins.so.", nvrtc.VersionText()).c_str(), RTLD_LAZY | RTLD_LOCAL);
}

constexpr char kHowToInstallTile[] =
    "pip install nvidia-cuda-tileiras nvidia-cuda-nvrtc nvidia-cuda-crt nvidia-cuda-runtime, or set "
    "TUNEONCE_TILE_NVRTC";

Result<const NvrtcLibrary*> LoadFirst(const std::vector<std::string>& places) {
  static auto* const loaded = new std::map<void*, const NvrtcLibrary*>;  // By the loader's handle.
  static Mutex* const mutex = new Mutex;
  MutexLock lock(*mutex);
  TUNEONCE_ASSIGN_OR_RETURN(DynamicLibrary library, OpenFirst(places, "NVRTC"));
  if (auto it = loaded->find(library.handle); it != loaded->end()) return it->second;
  auto nvrtc = std::make_unique<NvrtcLibrary>();
  nvrtc->path = library.path;
  if (!FindAll(library.handle, nvrtc.get())) {
    return UnavailableError(absl::StrCat(library.path, " is not NVRTC: functions are missing"));
  }
  FindNewer(library.handle, nvrtc.get());
  const std::string file = FileOf(*nvrtc);
  nvrtc->folder = file.substr(0, file.rfind('/') == std::string::npos ? 0 : file.rfind('/'));
  nvrtc->file = file.empty() ? nvrtc->path : file;
  nvrtc->build = BuildOf(*nvrtc, file);
  LoadBuiltins(*nvrtc);
  return (*loaded)[library.handle] = nvrtc.release();
}

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

std::string NvrtcLibrary::VersionText() const {
  int major = 0;
  int minor = 0;
  Version(&major, &minor);
  return absl::StrCat(major, ".", minor);
}

Result<const NvrtcLibrary*> NvrtcLibrary::Load(const Environment& environment) {
  return LoadFirst(Places(environment));
}

Result<const NvrtcLibrary*> NvrtcLibrary::LoadForTile(const Environment& environment,
                                                      const std::vector<std::string>& folders) {
  constexpr char kLibraryName[] = "libnvrtc.so.13";
  std::vector<std::string> places;
  if (!environment.tile_nvrtc.empty()) {
    places.push_back(environment.tile_nvrtc);
  } else {
    for (const std::string& folder : folders) {
      const std::string place = absl::StrCat(folder, "/", kLibraryName);
      if (IsRegularFile(place)) places.push_back(place);
    }
    places.emplace_back(kLibraryName);
  }
  (void)Load(environment);
  std::string too_old;
  for (const std::string& place : places) {
    Result<const NvrtcLibrary*> nvrtc = LoadFirst({place});
    if (nvrtc.ok() && (*nvrtc)->has_tile()) return nvrtc;
    if (nvrtc.ok() && too_old.empty()) too_old = absl::StrCat((*nvrtc)->path, " is ", (*nvrtc)->VersionText());
  }
  const std::string found = !too_old.empty()                  ? too_old
                            : !environment.tile_nvrtc.empty() ? absl::StrCat(environment.tile_nvrtc, " is not NVRTC")
                                                              : "none was found";
  return UnavailableError(
      absl::StrCat("CUDA Tile C++ needs NVRTC 13.3 or newer, but ", found, "; ", kHowToInstallTile));
}

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
