#ifndef TUNEONCE_BUNDLE_H_
#define TUNEONCE_BUNDLE_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tuneonce/kernel_definition.h"
#include "tuneonce/result.h"

namespace tuneonce {
inline namespace v0 {

class Runtime;

/// One file of a bundle that CMake's tuneonce_add_bundle embedded into a program.
struct EmbeddedFile {
  const char* name;  ///< Path relative to the bundle's folder.
  const unsigned char* bytes;
  std::size_t size;
};
/// A whole bundle that is embedded into a program. The header that tuneonce_add_bundle generates declares one.
struct EmbeddedBundle {
  const char* name;  ///< Name of the bundle's folder, for messages.
  const EmbeddedFile* files;
  std::size_t num_files;
};

/// A KernelDefinition in serialized form: a folder with manifest.json and the artifacts that it names (Tile IR
/// bytecode, PTX, cubins, C++ for the CPU device, CUDA C++). docs/bundles.md describes the format, and
/// docs/bundle.schema.json is its schema. A precompiled bundle (`tuneonce bundle compile`) also contains compiled code
/// for some targets, which is read when it is needed, and records of selected configs.
///
/// Load reads every artifact and checks the manifest: its fields, its names, and that each config has exactly one
/// artifact in each variant. The content of an artifact is checked by CheckSources, and when a search uses it. A Bundle
/// has value semantics. Thread rule: it does not change, so any thread may call all functions.
class TUNEONCE_API Bundle {
 public:
  /// Loads a bundle. `folder_or_name` is a folder, or a name without a slash. A name is looked up in the folders of
  /// TUNEONCE_BUNDLES, then among the bundles that are installed with this library (share/tuneonce/bundles: matmul,
  /// rms_norm, ...), then in the working directory. `runtime` provides the value of TUNEONCE_BUNDLES. Null means
  /// Runtime::Default(). Errors: InvalidArgument "FOLDER/manifest.json:12: variants[0].grid: ..." for a mistake in the
  /// manifest, and for a name that stands for one bundle in the working directory and another one elsewhere; NotFound
  /// for a missing bundle or artifact; Unimplemented in a build without JSON.
  static Result<Bundle> Load(const std::string& folder_or_name, const std::shared_ptr<Runtime>& runtime = nullptr);
  /// Loads an embedded bundle. REQUIRES: its files outlive all kernels made from it, since they are not copied.
  /// Errors: InvalidArgument for a mistake in the manifest, Unimplemented in a build without JSON.
  static Result<Bundle> Load(const EmbeddedBundle& embedded);

  /// Returns the names of the bundles that Load finds in the folders of TUNEONCE_BUNDLES and among the installed ones,
  /// sorted. Empty in a build without JSON.
  static std::vector<std::string> Names(const std::shared_ptr<Runtime>& runtime = nullptr);

  const KernelDefinition& definition() const { return *definition_; }
  /// The example values of the manifest, for tools that tune on generated data: values of the dims, smaller values of
  /// some dims for the CPU device (`cpu_dims`), dtypes of tensors that are declared without one, and values of scalars.
  struct Example {
    std::map<std::string, std::int64_t> dims;
    std::map<std::string, std::int64_t> cpu_dims;
    std::map<std::string, DType> dtypes;
    std::map<std::string, double> scalars;
  };
  const Example& example() const { return example_; }

  /// Checks every artifact without a device or a compiler. Tile IR and PTX must contain the kernel that the manifest
  /// names, with as many parameters as declared, of the declared sizes. C++ text is checked by a heuristic: if the
  /// kernel seems to be missing, or its parameters seem to have other names or another order, one line per finding is
  /// added to `*warnings`. This is for authors of bundles, because a search checks the compiled code of each candidate
  /// before it runs. Errors: InvalidArgument "variant 'tile_ir': k.tileir: ..." for the first artifact with a mistake.
  Status CheckSources(std::vector<std::string>* warnings = nullptr) const {
    return check_sources_ ? check_sources_(*definition_, warnings) : Status();
  }

 private:
  friend class BundleReader;
  friend class TunedKernel;
  explicit Bundle(KernelDefinition definition)
      : definition_(std::make_shared<const KernelDefinition>(std::move(definition))) {}

  std::shared_ptr<const KernelDefinition> definition_;  // Shared with the kernels that are made from this bundle.
  Example example_;
  std::function<Status(const KernelDefinition&, std::vector<std::string>*)> check_sources_;
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_BUNDLE_H_
