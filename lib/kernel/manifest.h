#ifndef TUNEONCE_LIB_KERNEL_MANIFEST_H_
#define TUNEONCE_LIB_KERNEL_MANIFEST_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tuneonce/base/result.h"

namespace tuneonce {

/// A value of a JSON document that knows its line, so that an error can name it. Reading goes through the getters,
/// which say "manifest.json:12: axes[0].name: expected a string". Thread rule: a value.
class ManifestNode {
 public:
  enum class Kind { kNull, kBool, kInt, kDouble, kString, kArray, kObject };

  /// Parses strict JSON. Errors: InvalidArgument with file and line: not JSON, a key twice in one object, nested deeper
  /// than 32, larger than 4 MiB.
  static Result<ManifestNode> Parse(std::string_view text, const std::string& file);

  Kind kind() const { return kind_; }
  /// "manifest.json:12: axes[0].name: `what`", InvalidArgument.
  Status Error(const std::string& what) const;

  Result<std::int64_t> Int() const;
  Result<double> Number() const;
  Result<bool> Bool() const;
  Result<std::string> String() const;
  /// The elements. Error: no array.
  Result<const std::vector<ManifestNode>*> Array() const;
  /// The elements, which must be strings.
  Result<std::vector<std::string>> Strings() const;
  /// The members in the file's order, as (name, value). Error: no object.
  Result<const std::vector<std::pair<std::string, ManifestNode>>*> Object() const;

  /// The member `name`, or null.
  const ManifestNode* Find(std::string_view name) const;
  /// The member `name`. Error: it is missing.
  Result<const ManifestNode*> Get(std::string_view name) const;
  /// Error: a member that is none of `known`; a misspelt field must not be passed over.
  Status CheckFields(const std::vector<std::string_view>& known) const;

 private:
  friend class ManifestReader;

  Kind kind_ = Kind::kNull;
  bool bool_ = false;
  std::int64_t int_ = 0;
  double double_ = 0;
  std::string string_;
  std::vector<ManifestNode> elements_;
  std::vector<std::pair<std::string, ManifestNode>> members_;
  std::string file_;
  std::string path_;
  int line_ = 0;
};

}  // namespace tuneonce

#endif  // TUNEONCE_LIB_KERNEL_MANIFEST_H_
