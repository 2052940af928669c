#ifndef TUNEONCE_LIB_TILE_IR_TILE_IR_BODY_H_
#define TUNEONCE_LIB_TILE_IR_TILE_IR_BODY_H_

#include <array>
#include <cstdint>
#include <vector>

#include "tile_ir/tile_ir_functions.h"

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
    kGdcWait = 120,
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

/// An operation of a body. Values are numbers of TileIrBody::types.
struct TileIrOperation {
  int code = 0;     ///< TileIrCode.
  int parent = -1;  ///< The operation in whose blocks it stands: an index; -1: the body itself.
  int region = 0;   ///< Which of the parent's regions it stands in: of an `if` 0 or 1.
  std::vector<int> operands;
  std::vector<int> arguments;  ///< The arguments of its first block.
  int first_result = 0;
  int num_results = 0;
  std::size_t attribute_at = 0;  ///< Of kAssume: where in the file the attribute is that says what is assumed.
  std::uint64_t number = 0;      ///< Of kConstant: index of its value; of kGetGlobal: of the string that is its name.
  std::size_t flags_at = 0;      ///< Where in the file its flags are, a varint; 0: it has none.
  std::size_t mode_at = 0;       ///< Where its first mode is; 0: it has none.
  /// The first of its attributes of one byte: a rounding mode, a memory order, a predicate.
  std::array<std::uint8_t, 3> modes = {0, 0, 0};
  int num_modes = 0;
  bool forbids_tma = false;  ///< A hint of it states that a load or store must not use TMA.
};

/// What a type says that evidence asks for.
struct TileIrType {
  std::uint8_t element = 0xff;        ///< Tag of a number's type, or of a tile's elements.
  bool is_pointer = false;            ///< Also a tile of pointers.
  bool is_token = false;              ///< It orders accesses to memory, and has no value.
  std::vector<std::int64_t> extents;  ///< The extents of a tile; empty for other types.

  bool IsFloat() const { return (element >= 0x05 && element <= 0x0b) || element == 0x12 || element == 0x13; }
  /// f8E4M3FN, f8E5M2.
  bool IsFloat8() const { return element == 0x0a || element == 0x0b; }
  /// Returns the number of a tile's elements, or 1 for any other type. The result saturates, and is 0 if an extent
  /// is negative.
  std::int64_t NumElements() const;
};

/// The body of one function, read: operations in the order of the bytes, blocks behind the operation that has them
/// (which itself comes first). Values: the function's parameters, then results and blocks' arguments, each once.
struct TileIrBody {
  std::vector<TileIrOperation> operations;
  std::vector<std::uint64_t> types;  ///< By value: index of its type.
  int num_parameters = 0;

  /// Errors: InvalidArgument with the offset of what is wrong.
  static Result<TileIrBody> Read(const ParsedTileIr& parsed, const TileIrFunction& function);
};

/// Returns all types of the file, by index. The entry of a type that is not a number, tile, pointer or token is empty.
std::vector<TileIrType> ReadTileIrTypes(const ParsedTileIr& parsed);

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_TILE_IR_TILE_IR_BODY_H_
