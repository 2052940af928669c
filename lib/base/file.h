#ifndef TUNEONCE_LIB_BASE_FILE_H_
#define TUNEONCE_LIB_BASE_FILE_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "tuneonce/api.h"
#include "tuneonce/result.h"

// Files and folders by POSIX calls, not by std::filesystem: torch's wheels up to at least 2.11 export parts of it from
// libtorch.so, and a libtuneonce.so in an extension that links that would be bound to them; they crash.

namespace tuneonce {
inline namespace v0 {

bool IsDirectory(const std::string& path);
bool IsRegularFile(const std::string& path);
/// Absolute and without symbolic links; empty if there is no such file.
std::string RealPath(const std::string& path);
/// The path as it is if it starts with "/", else behind the current directory, whether or not there is such a file.
/// Unchanged if there is no current directory.
TUNEONCE_API std::string AbsolutePath(const std::string& path);
/// Names of what is in a folder, without "." and ".."; empty if there is no such folder.
std::vector<std::string> NamesIn(const std::string& folder);

/// Writes a file whole: errors leave no partial file. Errors: ResourceExhausted, with the path.
Status WriteFile(const std::string& path, const std::string& content);

/// Most bytes of a file that is read without another limit: what a compiler may write (base/process.h).
inline constexpr std::size_t kMostFileBytes = std::size_t{1} << 30;

/// The whole content of a file; never blocks on a pipe, never a part of a file whose reading failed.
/// Errors, with the path and the reason: NotFound; InvalidArgument for what is no regular file (directory, pipe,
/// device, or a link to one) or has more than `most_bytes`; ResourceExhausted; Unavailable for a read that failed.
TUNEONCE_API Result<std::string> ReadFile(const std::string& path, std::size_t most_bytes = kMostFileBytes);

/// `text` behind the byte-order mark (UTF-8) that some editors begin a file with; not every compiler takes it.
std::string_view WithoutByteOrderMark(std::string_view text);

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_BASE_FILE_H_
