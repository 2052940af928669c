#include <algorithm>
#include <iterator>

#include "tile_ir/tile_ir_body.h"

namespace tuneonce {
inline namespace v0 {
namespace {

// By code.
// clang-format off
constexpr TileIrLayout kLayouts[] = {
    {0, "absf", "to"}, {1, "absi", "to"}, {2, "addf", "tFeoo"}, {3, "addi", "teoo"}, {4, "andi", "too"},
    {5, "assert", "io"}, {6, "assume", "tTo"}, {7, "atomic_cas_tko", "ttFeeooo?0o?1o"},
    {8, "atomic_rmw_tko", "ttFeeeoo?0o?1o"}, {9, "bitcast", "to"}, {10, "break", "SN"}, {11, "broadcast", "to"},
    {12, "cat", "tioo"}, {13, "ceil", "to"}, {14, "cmpf", "teeoo"}, {15, "cmpi", "teeoo"}, {16, "constant", "ti"},
    {17, "continue", "SN"}, {18, "cos", "to"}, {19, "cosh", "to"}, {20, "divf", "tFeoo"}, {21, "divi", "teeoo"},
    {23, "exp", "t>3eo"}, {24, "exp2", "tFo"}, {37, "exti", "teo"}, {38, "extract", "SN"}, {39, "floor", "to"},
    {40, "fma", "tFeooo"}, {41, "for", "S>2FNR"}, {42, "ftof", "teo"}, {43, "ftoi", "t>4Feeo"},
    {44, "get_global", "ti"}, {45, "get_index_space_shape", "So"}, {46, "get_num_tile_blocks", "ttt"},
    {47, "get_tensor_shape", "So"}, {48, "get_tile_block_id", "ttt"}, {50, "if", "SoR"}, {51, "int_to_ptr", "to"},
    {58, "iota", "t"}, {59, "itof", "teeo"}, {60, "join_tokens", "SN"}, {61, "load_ptr_tko", "ttFe?0e?1Ho?2o?3o?4o"},
    {62, "load_view_tko", "SFe?0e?1H>4BoN?2o"}, {63, "log", "to"}, {64, "log2", "to"}, {65, "loop", "SNR"},
    {66, "make_partition_view", "to"}, {67, "make_tensor_view", "SoNN"}, {68, "make_token", "t"},
    {69, "maxf", "tFoo"}, {70, "maxi", "teoo"}, {71, "minf", "tFoo"}, {72, "mini", "teoo"}, {73, "mmaf", "t>3Fooo"},
    {74, "mmai", "teeooo"}, {76, "mulf", "tFeoo"}, {77, "mulhii", "too"}, {78, "muli", "teoo"}, {79, "negf", "to"},
    {80, "negi", "t>2eo"}, {81, "offset", "too"}, {82, "ori", "too"}, {83, "permute", "tWo"}, {84, "pow", "too"},
    {85, "print_tko", "S>2FiN?0o"}, {86, "ptr_to_int", "to"}, {87, "ptr_to_ptr", "to"}, {88, "reduce", "SiANR"},
    {89, "remf", "too"}, {90, "remi", "teoo"}, {91, "reshape", "to"}, {92, "return", "SN"}, {93, "rsqrt", "tFo"},
    {94, "scan", "SieANR"}, {95, "select", "tooo"}, {96, "shli", "teoo"}, {97, "shri", "teoo"}, {98, "sin", "to"},
    {99, "sinh", "to"}, {100, "sqrt", "tFeo"}, {101, "store_ptr_tko", "tFe?0e?1Hoo?2o?3o"},
    {102, "store_view_tko", "SFe?0e?1H>4BooN?2o"}, {103, "subf", "tFeoo"}, {104, "subi", "teoo"}, {105, "tan", "to"},
    {106, "tanh", "t>2eo"}, {107, "trunci", "teo"}, {108, "xori", "too"}, {109, "yield", "SN"}, {110, "atan2", "too"},
    {111, "pack", "to"}, {112, "unpack", "to"}, {113, "alloca", "tFii"}, {114, "mmaf_scaled", "tooooo"},
    {115, "make_gather_scatter_view", "to"}, {116, "make_strided_view", "to"},
    {117, "atomic_red_view_tko", "SFeee>5BoNo?0o"}, {118, "insert", "SN"},
    {119, "gdc_launch_dependents_tko", "tF?0o"}, {120, "gdc_wait_tko", "tF?0o"}, {121, "powi", "too"},
    {122, "memory_fence_alias_tko", "to"}, {123, "multimem_load_reduce_view_tko", "SFe?0eeBoN?1o"},
    {124, "multimem_reduce_view_tko", "SFeeeBooN?0o"}, {125, "multimem_store_view_tko", "SFe?0eBooN?1o"},
};
// clang-format on

}  // namespace

const TileIrLayout* FindTileIrLayout(std::uint64_t code) {
  const TileIrLayout* end = std::end(kLayouts);
  const TileIrLayout* it =
      std::lower_bound(std::begin(kLayouts), end, code,
                       [](const TileIrLayout& l, std::uint64_t c) { return static_cast<std::uint64_t>(l.code) < c; });
  return it != end && static_cast<std::uint64_t>(it->code) == code ? it : nullptr;
}

}  // namespace v0
}  // namespace tuneonce
