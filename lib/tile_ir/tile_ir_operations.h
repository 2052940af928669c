#ifndef TUNEONCE_LIB_TILE_IR_TILE_IR_OPERATIONS_H_
#define TUNEONCE_LIB_TILE_IR_TILE_IR_OPERATIONS_H_

#include <cstdint>

namespace tuneonce {
inline namespace v0 {

/// Codes of the operations that something asks for by name.
struct TileIrCode {
  enum : int {
    kAddF = 2,
    kAddI = 3,
    kAndI = 4,
    kAssume = 6,
    kAtomicCas = 7,
    kAtomicRmw = 8,
    kBitcast = 9,
    kBreak = 10,
    kBroadcast = 11,
    kCmpI = 15,
    kConstant = 16,
    kContinue = 17,
    kDivF = 20,
    kExp = 23,
    kExp2 = 24,
    kExtI = 37,
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
    kMaxF = 69,
    kMinF = 71,
    kMmaF = 73,
    kMmaI = 74,
    kMulF = 76,
    kMulI = 78,
    kOffset = 81,
    kPermute = 83,
    kPtrToPtr = 87,
    kReduce = 88,
    kReshape = 91,
    kRsqrt = 93,
    kScan = 94,
    kSelect = 95,
    kSqrt = 100,
    kStorePtr = 101,
    kStoreView = 102,
    kSubF = 103,
    kSubI = 104,
    kTanh = 106,
    kTruncI = 107,
    kXOrI = 108,
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

/// How an access to memory is ordered with others: the first mode of loads, stores and atomic operations (cuda-tile
/// 1.7.0, `_bytecode/encodings.py`).
struct TileIrMemoryOrder {
  enum : std::uint8_t { kWeak = 0, kRelaxed = 1, kAcquire = 2, kRelease = 3, kAcquireRelease = 4 };
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
