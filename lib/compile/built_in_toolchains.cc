#include "compile/built_in_toolchains.h"

#include <memory>

#include "compile/command_toolchain.h"
#include "compile/cubin.h"
#include "compile/nvrtc_toolchain.h"
#include "compile/tile_cpp_toolchain.h"
#include "compile/toolbox.h"
#include "tuneonce/toolchain.h"

namespace tuneonce {
inline namespace v0 {

ToolchainSet BuiltInToolchains(const Environment& environment) {
  auto tools = std::make_shared<const Toolbox>(environment);
  auto command = [&](const CompilerRow& row) { return std::make_shared<CommandToolchain>(row, tools); };
  return ToolchainSet({command(kTileiras), command(kPtxas), std::make_shared<NvrtcToolchain>(tools),
                       std::make_shared<TileCppToolchain>(tools), command(kHostCompiler),
                       std::make_shared<CubinToolchain>()});
}

}  // namespace v0
}  // namespace tuneonce
