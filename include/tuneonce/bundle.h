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

struct Environment;  // Opaque to hosts.
class Runtime;

/// One file of a bundle that was embedded into a program (CMake: tuneonce_add_bundle).
struct EmbeddedFile {
  const char* name;  ///< Relative to the bundle's folder.
  const unsigned char* bytes;
  std::size_t size;
};
/// A whole bundle in a program: what tuneonce_add_bundle's header declares.
struct EmbeddedBundle {
  const char* name;  ///< Of its folder, for messages.
  const EmbeddedFile* files;
  std::size_t num_files;
};

/// A KernelDefinition in serialized form: a folder with manifest.json and the artifacts it names (Tile IR bytecode,
/// PTX, cubins, C++ for the CPU device, CUDA C++). docs/bundles.md describes the format, docs/bundle.schema.json is its
/// schema. One that was compiled ahead (`tuneonce bundle compile`) also has the code for some targets, and decisions;
/// that code is read when it is needed.
///
/// Loading reads every artifact and checks all that the manifest says: fields, names, that each config has exactly one
/// artifact in each variant. What is in an artifact is looked into by CheckSources, and when a search takes it. A
/// value. Thread rule: immutable; any thread.
class TUNEONCE_API Bundle {
 public:
  /// `folder_or_name`: a folder, or a name without a slash, which is looked for in the folders of TUNEONCE_BUNDLES,
  /// then among the bundles that are installed with this library (share/tuneonce/bundles: matmul, rms_norm, ...), then
  /// in the working directory. Errors: InvalidArgument "FOLDER/manifest.json:12: variants[0].grid: ..." for anything
  /// that is wrong with it, and for a name that stands for two bundles, in the working directory and elsewhere;
  /// NotFound for a bundle or artifact that is not there; Unimplemented in a build without JSON. `runtime`: whose
  /// environment counts; null for Runtime::Default().
  static Result<Bundle> Load(const std::string& folder_or_name, const std::shared_ptr<Runtime>& runtime = nullptr);
  /// REQUIRES: the files that it points to live as long as kernels made of it, where it was compiled ahead.
  static Result<Bundle> Load(const EmbeddedBundle& embedded);

  /// Names that Load finds outside of the working directory, sorted. Empty in a build without JSON.
  static std::vector<std::string> Names(const std::shared_ptr<Runtime>& runtime = nullptr);

  const KernelDefinition& definition() const { return *definition_; }
  /// What the manifest gives as an example: values of the dims (and, for the CPU device, of those that are smaller
  /// there), dtypes of tensors that are declared without one, and values of scalars. For tools that tune on made-up
  /// data.
  struct Example {
    std::map<std::string, std::int64_t> dims;
    std::map<std::string, std::int64_t> cpu_dims;
    std::map<std::string, DType> dtypes;
    std::map<std::string, double> scalars;
  };
  const Example& example() const { return example_; }

  /// Looks into every artifact without a device or a compiler: Tile IR and PTX must have the kernel that the manifest
  /// names, with as many parameters of the declared sizes. The text of a C++ artifact is only guessed at: what looks as
  /// if it had no such kernel, or parameters of other names or in another order, is added to `*warnings`, one line
  /// each. For authors of bundles: a search checks each candidate's compiled code before it runs. Errors:
  /// InvalidArgument "variant 'tile_ir': k.tileir: ...", for the first that is wrong.
  Status CheckSources(std::vector<std::string>* warnings = nullptr) const {
    return check_sources_ ? check_sources_(*definition_, warnings) : Status();
  }

 private:
  friend class BundleReader;
  friend class TunedKernel;
  static Result<Bundle> LoadIn(const Environment& environment, const std::string& folder_or_name);
  static std::vector<std::string> NamesIn(const Environment& environment);
  explicit Bundle(KernelDefinition definition)
      : definition_(std::make_shared<const KernelDefinition>(std::move(definition))) {}

  std::shared_ptr<const KernelDefinition> definition_;  // With the kernels that are made of it.
  Example example_;
  std::function<Status(const KernelDefinition&, std::vector<std::string>*)> check_sources_;
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_BUNDLE_H_
