#ifndef TUNEONCE_LIB_BASE_FILE_DESCRIPTOR_H_
#define TUNEONCE_LIB_BASE_FILE_DESCRIPTOR_H_

#include <unistd.h>

#include <utility>

namespace tuneonce {
inline namespace v0 {

/// An open file descriptor, closed at the end. -1: none.
class FileDescriptor {
 public:
  FileDescriptor() = default;
  explicit FileDescriptor(int fd) : fd_(fd) {}
  FileDescriptor(FileDescriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  FileDescriptor& operator=(FileDescriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~FileDescriptor() { Close(); }

  int get() const { return fd_; }
  bool is_open() const { return fd_ >= 0; }
  void Close() {
    if (fd_ >= 0) close(fd_);
    fd_ = -1;
  }

 private:
  int fd_ = -1;
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_BASE_FILE_DESCRIPTOR_H_
