#ifndef TUNEONCE_LIB_COMPILE_COMMAND_TOOLCHAIN_H_
#define TUNEONCE_LIB_COMPILE_COMMAND_TOOLCHAIN_H_

#include <ctime>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/environment.h"
#include "base/temporary_folder.h"
#include "compile/toolbox.h"
#include "tuneonce/plugin/toolchain.h"

namespace tuneonce {
inline namespace v0 {

/// A compiler that was found.
struct CompilerCommand {
  std::vector<std::string> words;  ///< A program, as a path, and its first arguments.
  std::string version;             ///< Toolchain::Version.
  std::string description;         ///< Toolchain::Description.
};

/// One compile by a command. The compiler's row fills in what the command gets.
struct CommandRun {
  const KernelSource& source;
  const Hints& hints;
  const Target& target;
  const WaitLimits& limits;
  const Toolbox& tools;
  const TemporaryFolder& folder;
  const CompilerCommand& command;
  std::string text{};                      ///< The content of the input file.
  std::vector<std::string> arguments{};    ///< Those before the input file and "-o OUTPUT".
  std::vector<std::string> environment{};  ///< Without TMPDIR.
  timespec started{};                      ///< By FileClock.
  std::string note{};                      ///< A line for the log.
  Artifact artifact{};
};

/// A compiler that runs as a process of its own: one row of the table of CommandToolchain.
struct CompilerRow {
  SourceKind kind;
  bool uses_hints;
  const char* input;  ///< Names of files in the compile's folder.
  const char* output;
  /// Errors: Unavailable, with the places.
  Result<CompilerCommand> (*find)(const Toolbox& tools);
  /// Sets the text, the arguments, and what is known of the artifact before it is compiled.
  Status (*prepare)(CommandRun* run);
  /// Describes the artifact, which has its image and its log.
  Status (*finish)(CommandRun* run);
  /// Returns the remarks of the compiler, also where it failed (Artifact::remarks). Null for one that has none.
  std::vector<std::string> (*remarks)(const CommandRun& run) = nullptr;
};

/// CUDA Tile IR bytecode -> cubin by tileiras (`Environment::tileiras`, else as Toolbox::Find looks for it). Hints are
/// checked and patched into the bytecode first; without hints the bytecode stays as it is, and the artifact's log names
/// the hints that it brings along. Versions that have remarks write them to a file.
extern const CompilerRow kTileiras;
/// PTX -> cubin by ptxas (`Environment::ptxas`, else as Toolbox::Find looks for it). PTX for an architecture's own
/// features (".target sm_90a") is compiled for that name. Hints do not apply.
extern const CompilerRow kPtxas;
/// C++ -> shared object for the CPU device, by the system's compiler: `Environment::cxx` (a program, or a command such
/// as "ccache g++"), else c++, g++ or clang++ from PATH. Options: C++17, -O3 -march=native, no fused multiply-add (so
/// that tile sizes do not change the sum of a product by rounding), then the source's own. Hints do not apply. The text
/// of tuneonce/cpu_device/kernel.h comes before every source. An artifact is cacheable under two conditions. Its
/// options must let the compiler list all files that it reads, so no option may name a library, a plugin, a profile or
/// a file of options. And HeaderSearch must be able to compute where the compiler looked for headers that did not
/// exist.
extern const CompilerRow kHostCompiler;

/// "AMD EPYC 9654, features 0f3a51c2d4e6": what code for this machine's CPU device runs on (-march=native), which is
/// part of the version of kHostCompiler; "" where the system does not say.
const std::string& HostCpuModel();
/// What -march=native depends on, of the text of /proc/cpuinfo: the model's name and a fingerprint of its features,
/// since clouds give CPUs of several generations one name; where there are no such, as on aarch64, the numbers of its
/// maker and part and its list of features.
std::string CpuModelIn(std::string_view cpu_info);

/// Compiles by the command of one row, in a folder and a process group of its own, with a clean environment.
class CommandToolchain final : public Toolchain {
 public:
  /// `row` outlives the toolchain.
  CommandToolchain(const CompilerRow& row, std::shared_ptr<const Toolbox> tools)
      : row_(row), tools_(std::move(tools)) {}

  SourceKind source_kind() const override { return row_.kind; }
  bool uses_hints() const override { return row_.uses_hints; }
  Result<std::string> Version() const override;
  std::string Description() const override;

 private:
  Result<Artifact> DoCompile(const KernelSource& source, const Hints& hints, const Target& target,
                             const WaitLimits& limits) const override;

  const CompilerRow& row_;
  const std::shared_ptr<const Toolbox> tools_;
};

/// The toolchains that the library brings along, with the tools of one environment: for Tile IR, PTX, CUDA C++, CUDA
/// Tile C++, the CPU device's C++, and cubins. A tool that is missing fails when it is needed.
ToolchainSet BuiltInToolchains(const Environment& environment);

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_COMPILE_COMMAND_TOOLCHAIN_H_
