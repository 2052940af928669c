#include "files.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <sstream>

namespace tuneonce::cli {

Result<std::string> ReadFile(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  std::ostringstream content;
  if (stream) content << stream.rdbuf();
  if (!stream) return NotFoundError("cannot read " + path + ": " + std::strerror(errno));
  return content.str();
}

Status WriteFile(const std::string& path, const std::string& content) {
  std::string partial = path + ".partial";
  std::ofstream stream(partial, std::ios::binary);
  stream << content;
  stream.close();
  if (stream && std::rename(partial.c_str(), path.c_str()) == 0) return Status();
  int error = errno;
  std::remove(partial.c_str());
  return UnavailableError("cannot write " + path + ": " + std::strerror(error));
}

}  // namespace tuneonce::cli
