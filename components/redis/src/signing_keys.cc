#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "tuneonce/redis_store.h"

namespace tuneonce {
inline namespace v0 {
namespace {

bool IsHex(const std::string& text) {
  return text.size() % 2 == 0 && text.find_first_not_of("0123456789abcdefABCDEF") == std::string::npos;
}

}  // namespace

Result<std::vector<SigningKey>> ReadSigningKeys(const std::string& path) {
  struct stat info {};
  if (stat(path.c_str(), &info) != 0) {
    return NotFoundError("cannot read the signing keys in " + path + ": " + std::strerror(errno));
  }
  const bool is_private = info.st_uid == geteuid() || info.st_uid == 0;
  if (!is_private || (info.st_mode & (S_IRWXG | S_IRWXO)) != 0) {
    return FailedPreconditionError("the signing keys in " + path +
                                   " can be read by others: give the file mode 0600 and this user as its owner");
  }
  std::ifstream file(path);
  std::vector<SigningKey> keys;
  std::string line;
  for (int number = 1; std::getline(file, line); ++number) {
    std::istringstream words(line);
    std::string id, hex, more;
    if (!(words >> id) || id[0] == '#') continue;
    if (!(words >> hex) || (words >> more) || !IsHex(hex)) {
      return FailedPreconditionError(absl::StrCat(path, ", line ", number, ": expected a key as 'ID HEX'"));
    }
    keys.push_back({id, absl::HexStringToBytes(hex)});
  }
  if (!file.eof() || keys.empty()) return FailedPreconditionError("no signing key was found in " + path);
  return keys;
}

}  // namespace v0
}  // namespace tuneonce
