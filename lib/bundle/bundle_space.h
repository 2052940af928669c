#ifndef TUNEONCE_LIB_BUNDLE_BUNDLE_SPACE_H_
#define TUNEONCE_LIB_BUNDLE_BUNDLE_SPACE_H_

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "bundle/manifest.h"
#include "definition/family.h"
#include "tuneonce/config.h"
#include "tuneonce/device.h"
#include "tuneonce/geometry.h"
#include "tuneonce/result.h"
#include "tuneonce/search_space.h"

namespace tuneonce {
inline namespace v0 {

/// Values of some axes.
struct ConfigPattern {
  std::vector<std::pair<std::size_t, AxisValue>> values;  ///< By the axis's index, ascending.

  std::vector<std::size_t> Axes() const {
    std::vector<std::size_t> axes;
    axes.reserve(values.size());
    for (const auto& [index, value] : values) axes.push_back(index);
    return axes;
  }
  std::vector<AxisValue> Values() const {
    std::vector<AxisValue> list;
    list.reserve(values.size());
    for (const auto& [index, value] : values) list.push_back(value);
    return list;
  }
};

/// Reads the member `targets` of `node`. It is "cpu" for the CPU device, or an object such as
/// {"min_capability": 80, "max_capability": 129}, in which either field is optional. Returns nothing if `node` has no
/// such member.
Result<std::optional<Condition>> ReadTargets(const ManifestNode& node);

/// What a manifest's other parts refer to by name, dims, scalars and axes, and the space that they span. A value.
class BundleSpace {
 public:
  /// Reads the fields dims, space, axes, configs, max_configs, baseline, fallback and where, and the names of the
  /// scalars. REQUIRES: the document of `root` outlives the result.
  static Result<BundleSpace> Read(const ManifestNode& root);

  const std::vector<std::string>& dims() const { return names_.dims; }
  /// What a term's names can mean beside axes.
  const TermNames& names() const { return names_; }
  const SearchSpace& space() const { return space_; }
  /// Whether the manifest names a family's space and does not list it.
  bool is_named() const { return family_ != nullptr; }

  /// The dim that is named by the string `node`, or by `name`, which stands at `node`.
  Result<Dim> FindDim(const ManifestNode& node) const;
  Result<Dim> FindDim(const ManifestNode& node, std::string_view name) const;
  /// The index of the axis that is named by the string `node`.
  Result<std::size_t> FindAxis(const ManifestNode& node) const;
  /// The axis of whole numbers that is named by the string `node`.
  Result<IntAxis> FindIntAxis(const ManifestNode& node) const;
  /// The axis of strings that is named by the string `node`.
  Result<Axis<std::string>> FindStringAxis(const ManifestNode& node) const;
  /// {"TILE_M": 64, ...}. `whole`: it must name every axis.
  Result<ConfigPattern> ReadPattern(const ManifestNode& node, bool whole) const;
  /// A config of all axes.
  Result<std::vector<AxisAssignment>> ReadConfig(const ManifestNode& node) const;
  /// Adds conditions of the field `where` to the space: those that read the target and those of a named space if
  /// `of_target` is true, else the others.
  Status AddConditions(bool of_target, SearchSpace* space) const;
  /// The configs of `space` that a variant must have an artifact for, wherever it runs. Of a space that the manifest
  /// lists: all, whatever conditions that read the target state; of a named one those of its targets.
  Result<std::vector<Config>> ConfigsWhere(const Condition& runs_on, const SearchSpace& space) const;
  /// Whether the string `node` is the name of an axis; else it is one of a dim or scalar. Error: of none, or of both.
  Result<bool> MeansAxis(const ManifestNode& node) const;
  /// OK if the string `node` is the name of a scalar.
  Status FindScalar(const ManifestNode& node) const;

 private:
  /// A space's axis by its type.
  using AxisHandle = std::variant<IntAxis, Axis<double>, Axis<bool>, Axis<std::string>>;
  struct NamedAxis {
    std::string name;
    AxisHandle handle;
    bool is_constant = false;  ///< Whether it has one value, which configs need not set.
  };

  Status ReadFamily(const ManifestNode& root);
  Result<std::map<std::string, std::string>> ReadFamilyDims(const ManifestNode& space) const;
  Status ReadAxis(const ManifestNode& node);
  /// Returns the first mistake of the space as an error of `node`, the field that was read last.
  Status CheckSpace(const ManifestNode& node) const;
  Status ReadConfigs(const ManifestNode& root);
  Status ReadBaseline(const ManifestNode& root);
  Status ReadFallback(const ManifestNode& root);
  Status ReadScalars(const ManifestNode& root);
  Status ReadConditions(const ManifestNode& root);
  std::vector<AxisAssignment> Assignments(const ConfigPattern& pattern) const;
  /// The index of the axis `name`, which stands at `node`. The search starts at the axis `likely`.
  Result<std::size_t> FindAxis(const ManifestNode& node, std::string_view name, std::size_t likely = 0) const;

  TermNames names_;
  SearchSpace space_;
  std::vector<NamedAxis> axes_;
  std::vector<std::pair<const ManifestNode*, NamedCondition>> conditions_;  // From `where`. The document outlives them.
  const Family* family_ = nullptr;  // Whose space it is; null: the manifest lists it.
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_BUNDLE_BUNDLE_SPACE_H_
