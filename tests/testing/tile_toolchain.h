#ifndef TUNEONCE_TESTS_TESTING_TILE_TOOLCHAIN_H_
#define TUNEONCE_TESTS_TESTING_TILE_TOOLCHAIN_H_

#include <atomic>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "compile/command_toolchain.h"
#include "testing/tools.h"
#include "tuneonce/plugin/toolchain.h"

namespace tuneonce::testing {

/// Takes CUDA Tile C++ as C++ for the CPU device, and states what Tile IR would: these types of the kernel's
/// parameters, and that the parameter at `assumed` is a multiple of the source's macro ASSUME, where it is defined.
class TileToolchain final : public Toolchain {
 public:
  explicit TileToolchain(std::vector<std::string> types, std::size_t assumed = 0)
      : types_(std::move(types)), assumed_(assumed) {}

  SourceKind source_kind() const override { return SourceKind::kTileCpp; }
  bool uses_hints() const override { return true; }
  Result<std::string> Version() const override { return host_.Version(); }
  std::string Description() const override { return "tile"; }

  int num_compiles() const { return num_compiles_; }

 private:
  Result<Artifact> DoCompile(const KernelSource& source, const Hints& hints, const Target& target,
                             const WaitLimits& limits) const override {
    ++num_compiles_;
    KernelSource host = source;
    host.kind = SourceKind::kCpuCpp;
    Result<Artifact> artifact = host_.Compile(host, hints, target, limits);
    if (!artifact.ok()) return artifact;
    artifact->parameters = types_;
    for (const std::string& define : source.defines) {
      if (define.rfind("ASSUME=", 0) != 0) continue;
      artifact->assumptions.push_back({CodeAssumption::Kind::kDivisibleBy, assumed_, std::stoll(define.substr(7))});
    }
    return artifact;
  }

  const std::vector<std::string> types_;
  const std::size_t assumed_;
  mutable std::atomic<int> num_compiles_{0};
  const CommandToolchain host_{kHostCompiler, Tools()};
};

}  // namespace tuneonce::testing

#endif  // TUNEONCE_TESTS_TESTING_TILE_TOOLCHAIN_H_
