#ifndef TUNEONCE_LIB_BUNDLE_MANIFEST_H_
#define TUNEONCE_LIB_BUNDLE_MANIFEST_H_

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "tuneonce/result.h"

namespace tuneonce {
inline namespace v0 {

class ManifestDocument;
class ManifestNode;

/// The values of a list or of an object, in the file's order: a view of a document. Thread rule: immutable; any thread.
class ManifestChildren {
 public:
  class Iterator {
   public:
    using iterator_category = std::forward_iterator_tag;
    using value_type = ManifestNode;
    using difference_type = std::ptrdiff_t;
    using pointer = const ManifestNode*;
    using reference = const ManifestNode&;

    Iterator() = default;
    explicit Iterator(const ManifestNode* node) : node_(node) {}
    reference operator*() const { return *node_; }
    pointer operator->() const { return node_; }
    Iterator& operator++();
    Iterator operator++(int) {
      Iterator before = *this;
      ++*this;
      return before;
    }
    bool operator==(const Iterator& other) const { return node_ == other.node_; }
    bool operator!=(const Iterator& other) const { return node_ != other.node_; }

   private:
    const ManifestNode* node_ = nullptr;
  };

  ManifestChildren() = default;
  ManifestChildren(const ManifestNode* first, const ManifestNode* end, std::size_t size)
      : first_(first), end_(end), size_(size) {}

  Iterator begin() const { return Iterator(first_); }
  Iterator end() const { return Iterator(end_); }
  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  /// REQUIRES: not empty.
  const ManifestNode& front() const { return *first_; }
  /// Takes time in proportion to `index`. REQUIRES: index < size().
  const ManifestNode& operator[](std::size_t index) const;

 private:
  const ManifestNode* first_ = nullptr;
  const ManifestNode* end_ = nullptr;
  std::size_t size_ = 0;
};

/// A value of a JSON document that knows its place, so that an error can name it. Reading goes through the getters,
/// which say "manifest.json:12: axes[0].name: expected a string". It belongs to its document. Thread rule: immutable;
/// any thread.
class ManifestNode {
 public:
  enum class Kind { kNull, kTruth, kInt, kDouble, kString, kArray, kObject };

  ManifestNode(ManifestNode&&) = default;
  ManifestNode& operator=(ManifestNode&&) = default;

  Kind kind() const { return kind_; }
  /// The name of this value if it is a member of an object, else empty.
  std::string_view name() const { return name_; }
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
  /// As String, but the result is valid as long as the document.
  Result<std::string_view> Text() const;
  /// The elements. Error: no array, or more than `most`.
  Result<ManifestChildren> Array(std::size_t most = kNoLimit) const;
  /// The elements, which must be strings.
  Result<std::vector<std::string>> Strings(std::size_t most = kNoLimit) const;
  /// The members in the file's order. Error: no object.
  Result<ManifestChildren> Object() const;

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
  Status CheckFields(std::initializer_list<std::string_view> known) const {
    return CheckFields(known.begin(), known.end());
  }
  Status CheckFields(const std::vector<std::string_view>& known) const {
    return CheckFields(known.data(), known.data() + known.size());
  }

 private:
  friend class ManifestChildren;
  friend class ManifestReader;

  /// A document has at most ManifestDocument::kMostValues.
  static constexpr std::size_t kNoLimit = static_cast<std::size_t>(-1);

  explicit ManifestNode(const ManifestDocument* document) : document_(document) {}

  template <typename Value>
  Status Take(std::string_view name, Result<Value> (ManifestNode::*get)() const, Value* value) const {
    const ManifestNode* member = Find(name);
    if (member == nullptr) return Status();
    TUNEONCE_ASSIGN_OR_RETURN(*value, (member->*get)());
    return Status();
  }
  Status CheckFields(const std::string_view* known, const std::string_view* end) const;
  /// The values below this one that are not below another one.
  ManifestChildren Children() const { return ManifestChildren(this + 1, this + num_nodes_, size_); }
  /// The value that this one is in, or null for the root.
  const ManifestNode* Parent() const { return to_parent_ == 0 ? nullptr : this - to_parent_; }
  /// "manifest.json:12" and "axes[0].name", which is cut where it is long, and empty for the root.
  std::string FileAndLine() const;
  std::string Path() const;

  const ManifestDocument* document_;
  std::string_view name_;
  union {
    bool truth_;
    std::int64_t int_;
    double double_ = 0;
    const char* text_;  // The bytes of a string; there are `size_`.
  };
  // A document's values are stored in its order: those in a list or an object follow it.
  std::uint32_t to_parent_ = 0;  // From the parent to this value.
  std::uint32_t num_nodes_ = 1;  // This value and all below it.
  std::uint32_t size_ = 0;       // Elements of a list, members of an object, bytes of a string.
  std::int32_t line_ = 1;
  Kind kind_ = Kind::kNull;
};

/// A JSON document, which all its values belong to. Thread rule: immutable; any thread.
class ManifestDocument {
 public:
  /// Most bytes of a document.
  static constexpr std::size_t kMostBytes = std::size_t{4} << 20;
  /// Most values in it: a config listed with its artifact is about 15.
  static constexpr std::size_t kMostValues = 500'000;

  /// Parses strict JSON in UTF-8, in one pass. `file` is for messages. Errors: InvalidArgument with file and line: not
  /// JSON, a key twice in one object, a whole number above 2^63, nested deeper than 32, more than kMostBytes or
  /// kMostValues.
  static Result<std::unique_ptr<const ManifestDocument>> Parse(std::string_view text, std::string file);

  ManifestDocument(const ManifestDocument&) = delete;
  ManifestDocument& operator=(const ManifestDocument&) = delete;

  const ManifestNode& root() const { return nodes_.front(); }
  const std::string& file() const { return file_; }

 private:
  friend class ManifestReader;
  explicit ManifestDocument(std::string file) : file_(std::move(file)) {}

  std::string file_;
  std::vector<ManifestNode> nodes_;
  std::string strings_;  // The names and strings of all values, one after the other.
};

inline ManifestChildren::Iterator& ManifestChildren::Iterator::operator++() {
  node_ += node_->num_nodes_;
  return *this;
}

inline const ManifestNode& ManifestChildren::operator[](std::size_t index) const {
  return *std::next(begin(), static_cast<std::ptrdiff_t>(index));
}

/// Returns what `read` makes of each element of the list `node`, which has at most `most`.
template <typename Read>
auto ReadList(const ManifestNode& node, std::size_t most, const Read& read)
    -> Result<std::vector<std::decay_t<decltype(*read(node))>>> {
  TUNEONCE_ASSIGN_OR_RETURN(const ManifestChildren list, node.Array(most));
  std::vector<std::decay_t<decltype(*read(node))>> values;
  values.reserve(list.size());
  for (const ManifestNode& each : list) {
    TUNEONCE_ASSIGN_OR_RETURN(auto value, read(each));
    values.push_back(std::move(value));
  }
  return values;
}

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_BUNDLE_MANIFEST_H_
