#ifndef TUNEONCE_LIB_COMPILE_HEADER_SEARCH_H_
#define TUNEONCE_LIB_COMPILE_HEADER_SEARCH_H_

#include <sys/types.h>

#include <ctime>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tuneonce/kernel_source.h"
#include "tuneonce/result.h"

namespace tuneonce {
inline namespace v0 {

/// A place in a C++ text at which a compiler looks for a header. A value.
struct HeaderRequest {
  enum class Kind {
    kInclude,      ///< #include, #import
    kIncludeNext,  ///< #include_next
    kComputed,     ///< #include of a macro: `name` is empty.
    kAsk,          ///< __has_include
    kAskNext,      ///< __has_include_next
  };
  Kind kind = Kind::kInclude;
  std::string name;
  bool is_quoted = false;  ///< "name", not <name>.
};

/// Everything that a C++ text may look for, whichever of its branches are compiled. A value.
struct HeaderRequests {
  std::vector<HeaderRequest> requests;
  /// Macros of one parameter that ask __has_include for it, or another such macro, and are defined in this text.
  std::set<std::string> asking_macros;
  /// False if the text may depend on files that cannot be named: __has_include of a computed name, #embed, .incbin;
  /// and if it has trigraphs, or a raw string that does not end.
  bool is_complete = true;
};

/// Reads the directives of a text, whatever is commented out, in strings, or cut by a backslash. Texts in which one of
/// `asking_macros` is used are asked for it, so callers repeat this with the macros of all texts of a compile.
HeaderRequests FindHeaderRequests(std::string_view text, const std::set<std::string>& asking_macros);

/// Whether a compile of C++ ended because a header was not found, in the words of NVRTC's toolchain, gcc or clang.
bool LacksHeader(const Status& compiled);

/// Whether the values of a C++ source's macros may decide which headers are read: a macro's name occurs in the text up
/// to its last `#include`, or in a header that this part of the text leads to in the source's own folders. The headers
/// of a compiler or a toolkit know no macro of a kernel. True if that cannot be told: a header that a macro names.
bool MacrosMayDecideHeaders(const KernelSource& source);

/// The folders in which a compiler looks for headers, in its order. A value.
struct HeaderPath {
  std::vector<std::string> quoted;  ///< For "name" only, after the folder of the including file.
  std::vector<std::string> angled;  ///< For both, after those of `quoted`.
};

/// Computes which files that did not exist a compile would have read, had they existed.
///
/// Compilers list the files that they read, but not the places at which they looked for a file and found nothing. These
/// places follow from the texts: each `#include` of a text that was compiled is resolved again along the compiler's
/// path. If it leads to a file that was read, the places before that one must stay empty. If it leads to another file,
/// or to no file, the directive is in a branch that was not compiled, which the content of the files decides.
/// `__has_include` is evaluated again in every branch. An include of a macro may have led to any of the files that were
/// read. The result covers too much rather than too little. `is_complete` is false where it may cover too little, for
/// example if a file was read to which no directive leads.
class HeaderSearch {
 public:
  struct Findings {
    /// Files to be compared by content, besides those that were read: what `__has_include` found, other names of files
    /// that were read.
    std::vector<std::string> files;
    /// What has to stay missing (Artifact::absent).
    std::vector<std::string> absent;
    bool is_complete = true;
  };

  /// `read`: files that the compiler read, by its names for them; their texts are read now. `started`: when it began,
  /// of FileClock: what changed since makes the findings incomplete.
  HeaderSearch(HeaderPath path, const std::vector<std::string>& read, const timespec& started);

  /// Adds a text that is not in one of the files `read`. `folder` is where the compiler first looks for its "headers";
  /// "" is the working directory, and nullopt stands for a folder that only this compile uses.
  void AddText(std::string text, std::optional<std::string> folder);
  /// Adds a header that exists only in memory: `#include` of its name reads `text`, whatever files exist.
  void AddHeaderInMemory(const std::string& name, std::string text);
  /// A header that the compiler includes unasked, or by an option (`is_quoted`; `folder` as in AddText).
  void AddInclude(const std::string& name, bool is_quoted, const std::optional<std::string>& folder);

  Findings Find();

 private:
  using FileId = std::pair<dev_t, ino_t>;
  struct Text {
    std::string content;
    std::optional<std::string> folder;
  };
  /// What is at a path.
  struct Place {
    bool is_file = false;  ///< Anything but a folder.
    bool is_folder = false;
    FileId id;
    timespec changed{};
  };

  /// The requests of all texts, with their folders.
  std::vector<std::pair<HeaderRequest, std::optional<std::string>>> Requests();
  const Place& At(const std::string& path);
  bool WasRead(const Place& place) const { return place.is_file && read_ids_.count(place.id) != 0; }
  /// The paths at which the compiler looks for a name, in order.
  std::vector<std::string> PlacesOf(const std::string& name, bool is_quoted,
                                    const std::optional<std::string>& folder) const;
  void Resolve(const HeaderRequest& request, const std::optional<std::string>& folder);
  void ResolveInclude(const std::vector<std::string>& places);
  void ResolveIncludeNext(const std::vector<std::string>& places);
  void ResolveComputed(const std::optional<std::string>& folder);
  void ResolveQuestion(const std::vector<std::string>& places, bool is_next);
  /// Notes a file that was read, or asked for, by the name that led to it.
  void NoteFile(const std::string& path);
  /// Notes that `path` does not exist. If one of its folders is missing, notes the first missing folder instead,
  /// because one such entry covers many files.
  void NoteAbsent(const std::string& path);
  /// Whether the place changed after the compile began, so that the compiler may have seen another state.
  bool IsNew(const Place& place) const;

  const HeaderPath path_;
  const timespec started_;
  std::vector<std::string> read_;
  std::vector<Text> texts_;
  std::vector<std::pair<HeaderRequest, std::optional<std::string>>> given_;
  std::set<std::string> in_memory_;
  std::set<FileId> read_ids_;
  std::set<std::string> read_names_;  ///< Without "." and "..".
  std::set<FileId> explained_;        ///< Files that a directive leads to.
  std::map<std::string, Place> places_;
  std::set<std::string> files_;
  std::set<std::string> absent_;
  bool is_complete_ = true;
  bool has_computed_ = false;
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_COMPILE_HEADER_SEARCH_H_
