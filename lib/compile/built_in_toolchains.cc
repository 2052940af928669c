#include "compile/built_in_toolchains.h"

#include <memory>

#include "compile/cpu_toolchain.h"
#include "compile/cubin_toolchain.h"
#include "compile/nvrtc_toolchain.h"
#include "compile/ptxas_toolchain.h"
#include "compile/tile_cpp_toolchain.h"
#include "compile/tileiras_toolchain.h"
#include "compile/toolbox.h"
#include "tuneonce/toolchain.h"

namespace tuneonce {
inline namespace v0 {

ToolchainSet BuiltInToolchains(const Environment& environment) {
  auto tools = std::make_shared<const Toolbox>(environment);
  return ToolchainSet({std::make_shared<TileirasToolchain>(tools), std::make_shared<PtxasToolchain>(tools),
                       std::make_shared<NvrtcToolchain>(tools), std::make_shared<TileCppToolchain>(tools),
                       std::make_shared<CpuToolchain>(tools), std::make_shared<CubinToolchain>()});
}

}  // namespace v0
}  // namespace tuneonce
