#ifndef TUNEONCE_PLUGIN_ARTIFACT_H_
#define TUNEONCE_PLUGIN_ARTIFACT_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tuneonce/plugin/fingerprint.h"
#include "tuneonce/result.h"

namespace tuneonce {
inline namespace v0 {

/// An assumption that a kernel's code states about one of the kernel's parameters: `assume` in Tile IR
/// (`assume_divisible` in CUDA Tile C++), `.align` of a pointer in PTX. Compilers optimize by it, so results are
/// undefined for arguments that violate it. It has value semantics.
struct CodeAssumption {
  enum class Kind {
    kDivisibleBy,  ///< The number, or the address in bytes, is a multiple of `value`.
    kAtLeast,      ///< The number is `value` or more.
    kAtMost,       ///< The number is `value` or less.
  };

  Kind kind = Kind::kDivisibleBy;
  std::size_t parameter = 0;  ///< Index of the parameter in the compiled kernel's signature.
  std::int64_t value = 1;
};

/// Returns the name of a kind: "divisible_by", "at_least" or "at_most".
constexpr const char* CodeAssumptionName(CodeAssumption::Kind kind) {
  return kind == CodeAssumption::Kind::kDivisibleBy ? "divisible_by"
         : kind == CodeAssumption::Kind::kAtLeast   ? "at_least"
                                                    : "at_most";
}

/// The resources that a kernel uses, as its cubin states them. All values are 0 on the CPU device.
struct ResourceUse {
  int registers = 0;              ///< Registers per thread.
  std::int64_t shared_bytes = 0;  ///< Static shared memory per block in bytes, without the system's reserve.
  /// Local memory per thread in bytes: spilled registers, and arrays that live in memory. This is the driver's
  /// CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES, which other tools report as spills.
  std::int64_t local_bytes = 0;
};

/// A file that a compile read in addition to the source, such as a header.
struct Dependency {
  std::string path;     ///< The path as the compiler prints it. A relative path starts at the working directory.
  Fingerprint content;  ///< Fingerprint of the file's bytes.
};

/// The output of a toolchain: an image that the driver can load, and facts about it. It has value semantics.
struct Artifact {
  std::string image;                 ///< A cubin, or the CPU device's shared object.
  std::string symbol;                ///< The kernel's name in the image.
  std::vector<std::string> kernels;  ///< All kernels of a cubin, in the image's order.
  std::string log;                   ///< The tool's output, with its warnings.
  /// What the compiler states about its optimizations, one line each, failed ones first: "failed: Failed to select TMA
  /// load instruction: stride not 16-byte aligned (matmul.py:10:17)". Only tileiras from version 13.3 on states
  /// remarks, and code that was compiled ahead has none.
  std::vector<std::string> remarks;
  double seconds = 0;     ///< Wall time of the compile, in seconds.
  std::string toolchain;  ///< Toolchain::Version of the toolchain that made the artifact.
  ResourceUse resources;  ///< Resources of the kernel `symbol`.
  /// Types of the parameters of `symbol`, in order, as Tile IR writes them: "tile<ptr<f16>>", "tile<i32>". A cubin that
  /// tileiras made has hidden parameters after these. Empty for code that was not compiled from Tile IR.
  std::vector<std::string> parameters;
  /// What the code assumes of the parameters of `symbol`. Launches whose arguments violate an assumption are refused.
  /// Empty for code that was not compiled from Tile IR.
  std::vector<CodeAssumption> assumptions;
  /// The files other than the source that the artifact was made from: the headers that the compiler lists, and the
  /// files that the text tested with `__has_include`. A cache serves the artifact only while all of them exist with the
  /// same content.
  std::vector<Dependency> dependencies;
  /// Paths at which the compiler found no file. If a file appeared at one of them, the compiler would read another
  /// header or answer `__has_include` differently, so a cache serves the artifact only while none of them exists. A
  /// path that ends in "/" is a folder that does not exist. Any other path is a file, and a folder of that name does
  /// not count. Relative paths start at the working directory.
  std::vector<std::string> absent;
  /// False if not all files that the compile depends on are known. Caches do not keep such an artifact. The flag is not
  /// part of the encoded form.
  bool cacheable = true;
  /// Fingerprint of the code, its constants, resources and launch metadata, without debug and line sections, notes and
  /// names. Two artifacts with the same code fingerprint have the same results and speed. If a toolchain leaves it
  /// zero, Toolchain::Compile sets the fingerprint of `image` and `symbol`.
  Fingerprint code_fingerprint;
  /// The key under which a RecordStore keeps the artifact, or zero if it cannot be stored. The key is not part of
  /// the encoded form.
  Fingerprint key;
};

/// Encodes an artifact as bytes with a version and a checksum, for caches.
TUNEONCE_API std::string EncodeArtifact(const Artifact& artifact);
/// Decodes the bytes that EncodeArtifact returned. Errors: InvalidArgument if the bytes have another version, are
/// truncated or were changed.
TUNEONCE_API Result<Artifact> DecodeArtifact(std::string_view bytes);

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_PLUGIN_ARTIFACT_H_
