#ifndef TUNEONCE_TOOLS_INSPECT_TILE_IR_HINTS_H_
#define TUNEONCE_TOOLS_INSPECT_TILE_IR_HINTS_H_

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "tuneonce/device.h"
#include "tuneonce/kernel_source.h"
#include "tuneonce/result.h"

namespace tuneonce {
inline namespace v0 {

/// The compiler hints in Tile IR bytecode, to be shown.
struct TileIrHints {
  struct Entry {
    std::string name;
    std::vector<std::string> parameters;      ///< Their types, as tileirdisasm prints them: "tile<ptr<f16>>".
    std::map<std::string, HintValues> hints;  ///< By target, by the bytecode's names of them.
    std::string text;  ///< The hints for people: "default: occupancy=2; sm_90: occupancy=4", or "none".
  };
  int major = 0;  ///< Bytecode version: 13.3.
  int minor = 0;
  std::vector<Entry> entries;

  /// Reads bytecode. Errors: InvalidArgument with the offset of what is wrong.
  static Result<TileIrHints> Of(std::string_view bytecode);
};

/// Bytecode whose hints were changed.
struct PatchedTileIr {
  std::string bytecode;
  std::vector<std::string> notes;  ///< What a user should know of hints that the bytecode had before, one line each.
};

/// Changes the hints of every entry, or of the one named `entry`, by Hints::update(). Empty hints that replace clear
/// them. Errors: as TileIrHints::Of and Hints::Check; NotFound for the entry, naming those there are.
Result<PatchedTileIr> PatchHints(std::string_view bytecode, const Hints& hints, std::string_view entry);

/// Returns the Tile IR that NVRTC makes of CUDA Tile C++ for the target. NVRTC is located by the process's environment.
/// Errors: Unavailable without NVRTC; InvalidArgument with its message; DeadlineExceeded.
Result<std::string> TileIrOf(const KernelSource& source, const Target& target);

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_TOOLS_INSPECT_TILE_IR_HINTS_H_
