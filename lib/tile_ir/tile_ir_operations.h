#ifndef TUNEONCE_LIB_TILE_IR_TILE_IR_OPERATIONS_H_
#define TUNEONCE_LIB_TILE_IR_TILE_IR_OPERATIONS_H_

#include <cstdint>

namespace tuneonce {
inline namespace v0 {

/// Codes of the operations that something asks for by name.
struct TileIrCode {
  enum : int {
    kAssume = 6,
    kAtomicCas = 7,
    kAtomicRmw = 8,
    kBitcast = 9,
    kBreak = 10,
    kBroadcast = 11,
    kContinue = 17,
    kExp = 23,
    kExp2 = 24,
    kFma = 40,
    kFor = 41,
    kGetGlobal = 44,
    kGetNumTileBlocks = 46,
    kGetTileBlockId = 48,
    kIf = 50,
    kLoadPtr = 61,
    kLoadView = 62,
    kLoop = 65,
    kMakePartitionView = 66,
    kMakeTensorView = 67,
    kMmaF = 73,
    kMmaI = 74,
    kMulF = 76,
    kOffset = 81,
    kPermute = 83,
    kPtrToPtr = 87,
    kReduce = 88,
    kReshape = 91,
    kScan = 94,
    kSelect = 95,
    kStorePtr = 101,
    kStoreView = 102,
    kYield = 109,
    kMmaFScaled = 114,
    kMakeGatherScatterView = 115,
    kMakeStridedView = 116,
    kAtomicRedView = 117,
    kMultimemLoadReduce = 123,
    kMultimemReduce = 124,
    kMultimemStore = 125,
  };
};

/// How an operation stands in a function's body: its code, then what `layout` says, in that order.
struct TileIrLayout {
  int code;
  const char* name;  ///< As tileirdisasm prints it, but for signs that a name has not.
  /// t: a result's type. S: results' types, behind their number. F: flags. e: a byte. i: a number. T: an attribute.
  /// A: attributes, behind their number. W, B: as many words of 4 bytes, bytes. H: hints. o: an operand. N: operands,
  /// behind their number. R: blocks of operations, behind the number of regions. `?k`: the next one, if bit k of the
  /// flags is set. `>v`: the next one, from bytecode 13.v on.
  const char* layout;
};

/// Null for a code that no version until 13.5 has in a body. Source: cuda-tile 1.7.0,
/// `cuda/tile/_bytecode/encodings.py`.
const TileIrLayout* FindTileIrLayout(std::uint64_t code);

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_TILE_IR_TILE_IR_OPERATIONS_H_
