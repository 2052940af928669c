#ifndef TUNEONCE_ARTIFACT_H_
#define TUNEONCE_ARTIFACT_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tuneonce/api.h"
#include "tuneonce/code_assumption.h"
#include "tuneonce/fingerprint.h"
#include "tuneonce/result.h"

namespace tuneonce {
inline namespace v0 {

/// What a kernel takes of the device, as its cubin says; all 0 for the CPU device.
struct ResourceUse {
  int registers = 0;              ///< Per thread.
  std::int64_t shared_bytes = 0;  ///< Static shared memory per block, without what the system reserves.
  /// Local memory per thread: what the registers spilled, and arrays that live in memory. The driver's
  /// CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES, which peers report as spills.
  std::int64_t local_bytes = 0;
};

/// A file that a compile read beside its source.
struct Dependency {
  std::string path;     ///< As the compiler names it; a relative one is relative to the working directory.
  Fingerprint content;  ///< Of its bytes.
};

/// What a toolchain makes of a source: an image that the driver can load. A value.
struct Artifact {
  std::string image;                 ///< A cubin, or the CPU device's shared object.
  std::string symbol;                ///< The kernel's name in the image.
  std::vector<std::string> kernels;  ///< All kernels of a cubin, in the image's order.
  std::string log;                   ///< What the tool said, warnings included.
  double seconds = 0;                ///< Wall time of the compile.
  std::string toolchain;             ///< Toolchain::Version of what made it.
  ResourceUse resources;             ///< Of `symbol`.
  /// Types of the parameters of `symbol`, in order, in the words of Tile IR: "tile<ptr<f16>>", "tile<i32>". A cubin by
  /// tileiras has hidden parameters after these. Empty for code that was not compiled from Tile IR.
  std::vector<std::string> parameters;
  /// What the code assumes of the parameters of `symbol`. Launches that do not fulfil it are refused. Empty for
  /// code that was not compiled from Tile IR.
  std::vector<CodeAssumption> assumptions;
  /// The files that it was made of besides its source, as the compiler lists them (headers), and those that a text
  /// asked for by `__has_include`: a cached artifact is served only while all of them exist with the same content.
  std::vector<Dependency> dependencies;
  /// Paths at which the compiler found no file, and would read another header, or answer `__has_include` differently,
  /// if it found one: a cached artifact is served only while none of them exists. One that ends in "/" is a folder of
  /// which everything is missing; any other is a file, and a folder of its name does not count. Relative ones are
  /// relative to the working directory.
  std::vector<std::string> absent;
  /// False if nobody can say all that it was made of: then no cache keeps it. Not part of its encoded form.
  bool cacheable = true;
  /// Of the code, its constants, resources and launch metadata; not of debug or line sections, notes or names: two
  /// artifacts with the same one do the same in the same time.
  Fingerprint code_fingerprint;
  /// Under which an ArtifactCache keeps it; zero if it cannot be kept. Not part of its encoded form.
  Fingerprint key;
};

/// An artifact as bytes with a version and a checksum, for caches.
TUNEONCE_API std::string EncodeArtifact(const Artifact& artifact);
/// Errors: InvalidArgument if the bytes are of another version, cut or changed.
TUNEONCE_API Result<Artifact> DecodeArtifact(std::string_view bytes);

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_ARTIFACT_H_
