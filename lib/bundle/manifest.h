#ifndef TUNEONCE_LIB_BUNDLE_MANIFEST_H_
#define TUNEONCE_LIB_BUNDLE_MANIFEST_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "tuneonce/result.h"

namespace tuneonce {
inline namespace v0 {

/// A value of a JSON document that knows its place, so that an error can name it. Reading goes through the getters,
/// which say "manifest.json:12: axes[0].name: expected a string". It belongs to the document's root, which stays where
/// it is. Thread rule: not changed once it was read.
class ManifestNode {
 public:
  enum class Kind { kNull, kTruth, kInt, kDouble, kString, kArray, kObject };

  /// Most bytes of a document.
  static constexpr std::size_t kMostBytes = std::size_t{4} << 20;
  /// Most values in it: a config listed with its artifact is about 15.
  static constexpr std::size_t kMostValues = 500'000;

  /// Parses strict JSON, in one pass. Errors: InvalidArgument with file and line: not JSON, a key twice in one object,
  /// nested deeper than 32, more than kMostBytes or kMostValues.
  static Result<std::unique_ptr<const ManifestNode>> Parse(std::string_view text, const std::string& file);

  ManifestNode() = default;
  ManifestNode(ManifestNode&&) = default;
  ManifestNode& operator=(ManifestNode&&) = default;

  Kind kind() const { return kind_; }
  /// Where it stands: "manifest.json:12: axes[0].name".
  std::string Place() const;
  /// "manifest.json:12: axes[0].name: `what`", InvalidArgument: one line, without control characters, since names in a
  /// document can hold them.
  Status Error(std::string_view what) const;

  Result<std::int64_t> Int() const;
  /// Error: a whole number that no double is.
  Result<double> Number() const;
  Result<bool> Bool() const;
  Result<std::string> String() const;
  /// The elements. Error: no array, or more than `most`.
  Result<const std::vector<ManifestNode>*> Array(std::size_t most = kMostValues) const;
  /// The elements, which must be strings.
  Result<std::vector<std::string>> Strings(std::size_t most = kMostValues) const;
  /// The members in the file's order, as (name, value). Error: no object.
  Result<const std::vector<std::pair<std::string, ManifestNode>>*> Object() const;

  /// The member `name`, or null.
  const ManifestNode* Find(std::string_view name) const;
  /// The member `name`. Error: it is missing.
  Result<const ManifestNode*> Get(std::string_view name) const;
  /// The member `name`, which must be a string.
  Result<std::string> GetString(std::string_view name) const;
  /// Reads the member `name`, if there is one, into `*value`.
  Status ReadOptional(std::string_view name, bool* value) const { return Take(name, &ManifestNode::Bool, value); }
  Status ReadOptional(std::string_view name, std::int64_t* value) const {
    return Take(name, &ManifestNode::Int, value);
  }
  Status ReadOptional(std::string_view name, std::string* value) const {
    return Take(name, &ManifestNode::String, value);
  }
  /// Returns an error for a member that is not in `known`, because a misspelt field must not be ignored.
  Status CheckFields(const std::vector<std::string_view>& known) const;

 private:
  friend class ManifestReader;

  template <typename Value>
  Status Take(std::string_view name, Result<Value> (ManifestNode::*get)() const, Value* value) const {
    const ManifestNode* member = Find(name);
    if (member == nullptr) return Status();
    TUNEONCE_ASSIGN_OR_RETURN(*value, (member->*get)());
    return Status();
  }
  /// Tells all values below this one where they stand.
  void PlaceChildren();
  /// "manifest.json:12" and "axes[0].name", which is cut where it is long, and empty for the root.
  std::string FileAndLine() const;
  std::string Path() const;

  Kind kind_ = Kind::kNull;
  bool bool_ = false;
  int line_ = 0;
  std::int64_t int_ = 0;
  double double_ = 0;
  std::string string_;
  std::vector<ManifestNode> elements_;
  std::vector<std::pair<std::string, ManifestNode>> members_;
  const ManifestNode* parent_ = nullptr;
  const std::string* name_ = nullptr;  // The name of this value if it is a member of an object.
  std::string file_;                   // The root's.
};

/// Returns what `read` makes of each element of the list `node`, which has at most `most`.
template <typename Read>
auto ReadList(const ManifestNode& node, std::size_t most, const Read& read)
    -> Result<std::vector<std::decay_t<decltype(*read(node))>>> {
  TUNEONCE_ASSIGN_OR_RETURN(const std::vector<ManifestNode>* list, node.Array(most));
  std::vector<std::decay_t<decltype(*read(node))>> values;
  for (const ManifestNode& each : *list) {
    TUNEONCE_ASSIGN_OR_RETURN(auto value, read(each));
    values.push_back(std::move(value));
  }
  return values;
}

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_BUNDLE_MANIFEST_H_
