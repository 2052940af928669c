#include "bundle/manifest.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>
#include <unordered_set>

#include "absl/strings/str_cat.h"
#include "base/printable.h"
#include "base/short_list.h"

namespace tuneonce {
inline namespace v0 {
namespace {

constexpr std::size_t kMaxDepth = 32;
/// Bytes of an error's text: what it quotes may be as long as the document.
constexpr std::size_t kMaxErrorBytes = 1000;
constexpr std::size_t kMaxPathBytes = 200;

std::string OneLine(std::string_view text) {
  bool is_whole = text.size() <= kMaxErrorBytes;
  return Printable(text.substr(0, kMaxErrorBytes)) + (is_whole ? "" : " ...");
}

/// Reads a text and counts what was read, so that the parser's events can be placed.
class CountingIterator {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  CountingIterator(const char* at, std::size_t* count) : at_(at), count_(count) {}
  reference operator*() const { return *at_; }
  CountingIterator& operator++() {
    ++at_;
    ++*count_;
    return *this;
  }
  bool operator==(const CountingIterator& other) const { return at_ == other.at_; }
  bool operator!=(const CountingIterator& other) const { return at_ != other.at_; }

 private:
  const char* at_;
  std::size_t* count_;
};

}  // namespace

/// Builds nodes from the parser's events.
class ManifestReader : public nlohmann::json::json_sax_t {
 public:
  ManifestReader(std::string_view text, const std::string& file)
      : text_(text), root_(std::make_unique<ManifestNode>()) {
    root_->file_ = file;
  }

  std::size_t* count() { return &count_; }
  const Status& status() const { return status_; }
  std::unique_ptr<const ManifestNode> Take() {
    root_->PlaceChildren();
    return std::move(root_);
  }

  bool null() override {
    return Scalar(ManifestNode::Kind::kNull, [](ManifestNode&) {});
  }
  bool boolean(bool value) override {
    return Scalar(ManifestNode::Kind::kTruth, [&](ManifestNode& node) { node.bool_ = value; });
  }
  bool number_integer(number_integer_t value) override {
    return Scalar(ManifestNode::Kind::kInt, [&](ManifestNode& node) { node.int_ = value; });
  }
  bool number_unsigned(number_unsigned_t value) override {
    if (value > static_cast<number_unsigned_t>(std::numeric_limits<std::int64_t>::max())) {
      return Fail("a number is too large");
    }
    return number_integer(static_cast<number_integer_t>(value));
  }
  bool number_float(number_float_t value, const string_t&) override {
    return Scalar(ManifestNode::Kind::kDouble, [&](ManifestNode& node) { node.double_ = value; });
  }
  bool string(string_t& value) override {
    return Scalar(ManifestNode::Kind::kString, [&](ManifestNode& node) { node.string_ = std::move(value); });
  }
  bool binary(binary_t&) override { return Fail("the manifest has a binary value, which JSON has not"); }
  bool start_object(std::size_t) override { return Open(ManifestNode::Kind::kObject); }
  bool key(string_t& name) override {
    if (!open_.back().IsNew(name)) return Fail("the key '" + name + "' appears twice in one object");
    open_.back().node->members_.emplace_back(std::move(name), ManifestNode());
    return true;
  }
  bool end_object() override {
    open_.pop_back();
    return true;
  }
  bool start_array(std::size_t) override { return Open(ManifestNode::Kind::kArray); }
  bool end_array() override { return end_object(); }
  bool parse_error(std::size_t, const std::string&, const nlohmann::json::exception& e) override {
    // "[json.exception.parse_error.101] parse error at line 3, column 7: ...": the line is ours already.
    // For a number that double cannot hold it is "[json.exception.out_of_range.406] number overflow parsing '1e400'".
    const std::string what = e.what();
    const std::size_t colon = what.find(": "), bracket = what.find("] ");
    const std::size_t start = colon != std::string::npos ? colon : bracket;
    return Fail("this is not JSON: " + (start == std::string::npos ? what : what.substr(start + 2)));
  }

 private:
  /// Where the parser is. The lines passed since the last call are counted: all calls together read the text once.
  int Line() {
    // The last character read may be one that only ended a number.
    std::size_t read = std::min(text_.size(), count_ == 0 ? 0 : count_ - 1);
    for (; counted_ < read; ++counted_) line_ += text_[counted_] == '\n' ? 1 : 0;
    return line_;
  }
  bool Fail(const std::string& what) {
    if (status_.ok()) status_ = InvalidArgumentError(OneLine(absl::StrCat(root_->file_, ":", Line(), ": ", what)));
    return false;
  }
  /// Room for the value that comes now; null if there were too many.
  ManifestNode* Next() {
    if (++num_values_ > ManifestNode::kMostValues) {
      Fail(absl::StrCat("the file has more than ", ManifestNode::kMostValues, " values"));
      return nullptr;
    }
    ManifestNode* node = root_.get();
    if (!open_.empty()) {
      ManifestNode& parent = *open_.back().node;
      bool is_array = parent.kind_ == ManifestNode::Kind::kArray;
      node = is_array ? &parent.elements_.emplace_back() : &parent.members_.back().second;
    }
    node->line_ = Line();
    return node;
  }
  template <typename Set>
  bool Scalar(ManifestNode::Kind kind, Set set) {
    ManifestNode* node = Next();
    if (node == nullptr) return false;
    node->kind_ = kind;
    set(*node);
    return true;
  }
  bool Open(ManifestNode::Kind kind) {
    if (open_.size() == kMaxDepth) return Fail("the values are nested too deep");
    ManifestNode* node = Next();
    if (node == nullptr) return false;
    node->kind_ = kind;
    open_.push_back(OpenNode{node, {}});
    return true;
  }

  struct OpenNode {
    /// Whether the object has no member `name`: few are compared, many are hashed.
    bool IsNew(const std::string& name) {
      constexpr std::size_t kFew = 32;
      const auto& members = node->members_;
      if (members.size() < kFew) {
        return std::none_of(members.begin(), members.end(), [&](const auto& member) { return member.first == name; });
      }
      if (keys.empty()) {
        for (const auto& member : members) keys.insert(member.first);
      }
      return keys.insert(name).second;
    }

    ManifestNode* node;  // Stays where it is: its parent grows no further while it is open.
    std::unordered_set<std::string> keys;
  };

  std::string_view text_;
  std::size_t count_ = 0;
  std::size_t counted_ = 0;  // Of `text_`, for Line.
  int line_ = 1;
  std::size_t num_values_ = 0;
  Status status_;
  std::unique_ptr<ManifestNode> root_;
  std::vector<OpenNode> open_;
};

Result<std::unique_ptr<const ManifestNode>> ManifestNode::Parse(std::string_view text, const std::string& file) {
  if (text.size() > kMostBytes) {
    return InvalidArgumentError(
        absl::StrCat(file, ": the file has ", text.size(), " bytes; at most ", kMostBytes, " are possible"));
  }
  ManifestReader reader(text, file);
  // The parser throws nothing with its own handler; running out of memory apart, which is an exception everywhere.
  bool whole = nlohmann::json::sax_parse(CountingIterator(text.data(), reader.count()),
                                         CountingIterator(text.data() + text.size(), reader.count()), &reader);
  if (!reader.status().ok()) return reader.status();
  if (!whole) return InvalidArgumentError(file + ": the file is not JSON");
  return reader.Take();
}

void ManifestNode::PlaceChildren() {
  for (ManifestNode& element : elements_) {
    element.parent_ = this;
    element.PlaceChildren();
  }
  for (auto& [name, member] : members_) {
    member.parent_ = this;
    member.name_ = &name;
    member.PlaceChildren();
  }
}

std::string ManifestNode::FileAndLine() const {
  const ManifestNode* root = this;
  while (root->parent_ != nullptr) root = root->parent_;
  return absl::StrCat(root->file_, ":", line_);
}

std::string ManifestNode::Path() const {
  std::vector<const ManifestNode*> way;  // From below.
  for (const ManifestNode* node = this; node->parent_ != nullptr; node = node->parent_) way.push_back(node);
  std::string path;
  for (auto node = way.rbegin(); node != way.rend(); ++node) {
    if ((*node)->name_ != nullptr) {
      absl::StrAppend(&path, path.empty() ? "" : ".", *(*node)->name_);
    } else {
      absl::StrAppend(&path, "[", *node - (*node)->parent_->elements_.data(), "]");
    }
    if (path.size() > kMaxPathBytes) return path.substr(0, kMaxPathBytes) + "...";
  }
  return path;
}

std::string ManifestNode::Place() const {
  std::string path = Path();
  return OneLine(absl::StrCat(FileAndLine(), path.empty() ? "" : ": ", path));
}

Status ManifestNode::Error(std::string_view what) const {
  std::string path = Path();
  std::string place = absl::StrCat(FileAndLine(), ": ", path, path.empty() ? "" : ": ");
  return InvalidArgumentError(OneLine(place.append(what.data(), what.size())));
}

Result<std::int64_t> ManifestNode::Int() const {
  if (kind_ != Kind::kInt) return Error("expected a whole number");
  return int_;
}

Result<double> ManifestNode::Number() const {
  if (kind_ == Kind::kInt) {
    // Beyond 2^53 not every whole number is a double.
    constexpr std::int64_t kExact = std::int64_t{1} << 53;
    if (int_ < -kExact || int_ > kExact)
      return Error(absl::StrCat(int_, " is not exact as a double: use a number of at most 2^53"));
    return static_cast<double>(int_);
  }
  if (kind_ != Kind::kDouble) return Error("expected a number");
  return double_;
}

Result<bool> ManifestNode::Bool() const {
  if (kind_ != Kind::kTruth) return Error("expected true or false");
  return bool_;
}

Result<std::string> ManifestNode::String() const {
  if (kind_ != Kind::kString) return Error("expected a string");
  return string_;
}

Result<const std::vector<ManifestNode>*> ManifestNode::Array(std::size_t most) const {
  if (kind_ != Kind::kArray) return Error("expected a list");
  if (elements_.size() > most) {
    return Error(absl::StrCat("the list has ", elements_.size(), " values; at most ", most, " are possible"));
  }
  return &elements_;
}

Result<std::vector<std::string>> ManifestNode::Strings(std::size_t most) const {
  return ReadList(*this, most, [](const ManifestNode& each) { return each.String(); });
}

Result<const std::vector<std::pair<std::string, ManifestNode>>*> ManifestNode::Object() const {
  if (kind_ != Kind::kObject) return Error("expected an object");
  return &members_;
}

const ManifestNode* ManifestNode::Find(std::string_view name) const {
  for (const auto& [key, value] : members_) {
    if (key == name) return &value;
  }
  return nullptr;
}

Result<const ManifestNode*> ManifestNode::Get(std::string_view name) const {
  if (kind_ != Kind::kObject) return Error("expected an object");
  if (const ManifestNode* found = Find(name)) return found;
  return Error(absl::StrCat("the field '", std::string(name), "' is missing"));
}

Result<std::string> ManifestNode::GetString(std::string_view name) const {
  TUNEONCE_ASSIGN_OR_RETURN(const ManifestNode* member, Get(name));
  return member->String();
}

Status ManifestNode::CheckFields(const std::vector<std::string_view>& known) const {
  if (kind_ != Kind::kObject) return Error("expected an object");
  for (const auto& [name, value] : members_) {
    if (std::find(known.begin(), known.end(), name) == known.end()) {
      return value.Error(absl::StrCat("unknown field; the fields are: ",
                                      ShortListOf(
                                          known, [](std::string_view field) { return std::string(field); }, name)));
    }
  }
  return Status();
}

}  // namespace v0
}  // namespace tuneonce
