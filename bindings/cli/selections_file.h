#ifndef TUNEONCE_BINDINGS_CLI_SELECTIONS_FILE_H_
#define TUNEONCE_BINDINGS_CLI_SELECTIONS_FILE_H_

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tuneonce/config.h"
#include "tuneonce/result.h"

namespace tuneonce::cli {

/// Selected configs that were made elsewhere, as their file states them.
struct SelectionsFile {
  /// For these extents, this config.
  struct Selection {
    std::string where;                            ///< "FILE:12: selections[0]", for messages.
    std::map<std::string, std::int64_t> extents;  ///< By dim.
    std::vector<std::pair<std::string, AxisValue>> config;
  };

  std::string kernel;                        ///< The bundle. Empty if the file does not name it.
  std::string device;                        ///< The device that they are for. Empty if the file does not name it.
  std::string nearest;                       ///< The dim by which the nearest selection serves; empty: none.
  std::string toolchain;                     ///< The compiler of the kernel that they were made with. May be empty.
  std::map<std::string, std::string> about;  ///< Other parts of the file's name: {"dtype", "fp8_w8a8"}.
  std::vector<Selection> selections;         ///< At least one.
};

/// Reads a file in this library's format, or a table of vLLM's fused MoE kernel, whose name contains a part of it
/// ("E=8,N=14336,device_name=NVIDIA_H200.json"). docs/cli.md describes both. Errors: InvalidArgument, naming file, line
/// and field.
Result<SelectionsFile> ReadSelections(const std::string& path);

}  // namespace tuneonce::cli

#endif  // TUNEONCE_BINDINGS_CLI_SELECTIONS_FILE_H_
