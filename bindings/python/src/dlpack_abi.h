#ifndef TUNEONCE_BINDINGS_PYTHON_DLPACK_ABI_H_
#define TUNEONCE_BINDINGS_PYTHON_DLPACK_ABI_H_

#include <cstdint>

/// DLPack's binary interface, rewritten from the layouts and numbers of DLPack 1.3 (include/dlpack/dlpack.h of
/// github.com/dmlc/dlpack). Only the parts that are used here.
namespace tuneonce::python {

struct DlDevice {
  std::int32_t type;
  std::int32_t id;
};
inline constexpr std::int32_t kDlCpu = 1;
inline constexpr std::int32_t kDlCuda = 2;
inline constexpr std::int32_t kDlCudaHost = 3;
inline constexpr std::int32_t kDlVulkan = 7;
inline constexpr std::int32_t kDlMetal = 8;
inline constexpr std::int32_t kDlRocm = 10;
inline constexpr std::int32_t kDlRocmHost = 11;
inline constexpr std::int32_t kDlCudaManaged = 13;
inline constexpr std::int32_t kDlOneApi = 14;

struct DlType {
  std::uint8_t code;
  std::uint8_t bits;
  std::uint16_t lanes;
};
enum DlTypeCode : std::uint8_t {
  kDlInt = 0,
  kDlUInt = 1,
  kDlFloat = 2,
  kDlBfloat = 4,
  kDlBool = 6,
  kDlFloat8E4M3Fn = 10,
  kDlFloat8E5M2 = 12,
};

struct DlTensor {
  void* data;
  DlDevice device;
  std::int32_t ndim;
  DlType dtype;
  std::int64_t* shape;
  std::int64_t* strides;  ///< In elements; may be null for a row-major tensor (before version 1.2).
  std::uint64_t byte_offset;
};

/// The content of a capsule "dltensor".
struct DlManagedTensor {
  DlTensor tensor;
  void* manager;
  void (*deleter)(DlManagedTensor*);
};

struct DlVersion {
  std::uint32_t major;
  std::uint32_t minor;
};
/// Bits of DlManagedTensorVersioned::flags.
inline constexpr std::uint64_t kDlReadOnly = 1;
inline constexpr std::uint64_t kDlIsCopied = 2;
/// The content of a capsule "dltensor_versioned".
struct DlManagedTensorVersioned {
  DlVersion version;
  void* manager;
  void (*deleter)(DlManagedTensorVersioned*);
  std::uint64_t flags;
  DlTensor tensor;
};

/// The content of the capsule "dlpack_exchange_api" in a type's `__dlpack_c_exchange_api__` (from version 1.2 on): a
/// framework's own functions, which are valid as long as the process uses them.
struct DlExchangeApi {
  DlVersion version;
  DlExchangeApi* older;
  void* allocate;
  void* managed_from_object;
  void* managed_to_object;
  int (*tensor_from_object)(void* object, DlTensor* out);  ///< -1 with a Python exception set. May be null.
  int (*current_stream)(std::int32_t device_type, std::int32_t device_id, void** out);
};

}  // namespace tuneonce::python

#endif  // TUNEONCE_BINDINGS_PYTHON_DLPACK_ABI_H_
