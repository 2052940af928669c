#ifndef TUNEONCE_LIB_TILE_IR_TILE_IR_BODY_H_
#define TUNEONCE_LIB_TILE_IR_TILE_IR_BODY_H_

#include <array>
#include <cstdint>
#include <vector>

#include "tile_ir/tile_ir_functions.h"

namespace tuneonce {
inline namespace v0 {

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
