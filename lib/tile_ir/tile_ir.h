#ifndef TUNEONCE_LIB_TILE_IR_TILE_IR_H_
#define TUNEONCE_LIB_TILE_IR_TILE_IR_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tuneonce/kernel_source.h"
#include "tuneonce/plugin/artifact.h"
#include "tuneonce/result.h"

namespace tuneonce {
inline namespace v0 {

/// A kernel in Tile IR bytecode.
struct TileIrEntry {
  std::string name;
  /// Types of its parameters, in the words of tileirdisasm: "tile<ptr<f16>>", "tile<i32>".
  std::vector<std::string> parameters;
  /// The hints baked in, by target, by the bytecode's names of them, in alphabetical order.
  std::map<std::string, HintValues> hints;
};

/// What can be read from Tile IR bytecode without compiling it.
struct TileIrModule {
  int major = 0;  ///< Bytecode version: 13.3.
  int minor = 0;
  std::vector<TileIrEntry> entries;  ///< The entry functions in the file's order; other functions are left out.
};

/// Reads bytecode of versions 13.1 to 13.5. The format's source: cuda-tile 1.7.0, `cuda/tile/_bytecode`, and files of
/// MLIR's writer. Function bodies are skipped, not read. Errors: InvalidArgument with the offset of what is wrong.
Result<TileIrModule> ReadTileIr(std::string_view bytecode);

/// The bytecode with `hints` on every entry, or on the one named `entry`: by Hints::update() instead of, or merged
/// with, those it has. Empty hints that replace clear them. A pure function of its arguments; everything else in the
/// file keeps its bytes, and a patch that changes nothing yields a file of the same meaning that does not grow when
/// patched again. Errors: as ReadTileIr and Hints::Check; NotFound for the entry, naming those there are.
Result<std::string> PatchTileIrHints(std::string_view bytecode, const Hints& hints, std::string_view entry = {});

/// The bytecode with the entry named `entry` as its only entry, and without globals that it does not use, so that a
/// compiler does no work for others and its code does not depend on them. Strings, types and constants stay. Errors: as
/// ReadTileIr; NotFound for the entry, naming those there are.
Result<std::string> ExtractTileIrEntry(std::string_view bytecode, std::string_view entry);

/// What a user should know of hints that the bytecode brings along, when `hints` are applied to it: that they act where
/// nothing replaces them, or that a target's own value wins over a merged `default`. "" if there is nothing to say.
std::string BakedHintsNote(const TileIrEntry& entry, const Hints& hints);

/// "default: num_cta_in_cga=1, occupancy=2; sm_90: occupancy=4", or "none".
std::string HintsByTargetString(const std::map<std::string, HintValues>& hints);

/// How float32 operations of Tile IR may depart from IEEE 754. A member that is false leaves the code as it is.
struct TileIrMath {
  /// Subnormal operands and results count as zero: the flag of addf, subf, mulf, divf, fma, maxf, minf, exp2, sqrt and
  /// rsqrt, wherever they stand (the body of a reduction included).
  bool flush_to_zero = false;
  /// divf, sqrt, tanh (from bytecode 13.2 on) and exp (from 13.3 on) are computed approximately. An operation that
  /// rounds toward zero or an infinity keeps its rounding mode, which somebody chose for a reason.
  bool approximate = false;
};

/// The bytecode with `math` applied to the float32 operations of the entry `entry`, which may be empty where the file
/// has one entry. Every other byte, and the file's length, stay as they are. A pure function of its arguments. Errors:
/// InvalidArgument with the offset of what is wrong, or of an operation that this version does not know; NotFound for
/// the entry.
Result<std::string> PatchTileIrMath(std::string_view bytecode, const TileIrMath& math, std::string_view entry = {});

/// A tensor view that an entry makes of a pointer parameter (`make_tensor_view`). Its type has the extents and strides
/// that are constants of the code, outermost first.
struct TileIrView {
  std::size_t parameter = 0;                         ///< Index among the kernel's own parameters.
  std::vector<std::optional<std::int64_t>> extents;  ///< Empty: known when it runs.
  std::vector<std::optional<std::int64_t>> strides;  ///< In elements.
};

struct TileIrAssumptions {
  std::vector<CodeAssumption> of_parameters;
  std::vector<TileIrView> views;
  /// Whether the code waits for the kernels before it on the stream (`gdc_wait_tko`), which a programmatic launch may
  /// overlap with.
  bool waits_for_previous = false;
};

/// What an entry assumes of its parameters: the views that it always makes of them, and the `assume` operations that
/// always run and whose operand is a parameter, or what another such operation made of one. Those about computed values
/// follow from the code itself and are left out. `entry` may be empty where the file has one entry. Errors: as
/// ReadTileIr; InvalidArgument for an operation that this version does not know; NotFound for the entry.
Result<TileIrAssumptions> ReadTileIrAssumptions(std::string_view bytecode, std::string_view entry);

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_TILE_IR_TILE_IR_H_
