#ifndef TUNEONCE_LIB_CUDA_DYNAMIC_LIBRARY_H_
#define TUNEONCE_LIB_CUDA_DYNAMIC_LIBRARY_H_

#include <string>
#include <vector>

#include "tuneonce/result.h"

namespace tuneonce {
inline namespace v0 {

/// A library that was opened by dlopen and is never closed, because drivers and compilers do not survive that.
struct DynamicLibrary {
  void* handle = nullptr;
  std::string path;  ///< The entry of the list that opened.
};

/// Opens the first of `paths` that can be opened, with local symbols. Errors: Unavailable, "<what> was not found;
/// looked for" with every path and the loader's reason.
Result<DynamicLibrary> OpenFirst(const std::vector<std::string>& paths, const std::string& what);

/// Folder of the library or program that holds tuneonce's own code, and of the running program. No trailing slash.
std::string FolderOfThisCode();
std::string FolderOfProgram();
/// Keeps the library that holds tuneonce's own code loaded until the process ends: when a host closes a plugin, threads
/// and drivers may still run the plugin's functions. Nothing where this code is part of the program.
void KeepThisCodeLoaded();
/// Folders in which the loader looks for the libraries that this code needs: LD_LIBRARY_PATH's, the run path's, the
/// system's. Without a trailing slash.
std::vector<std::string> FoldersOfLibraries();

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_CUDA_DYNAMIC_LIBRARY_H_
