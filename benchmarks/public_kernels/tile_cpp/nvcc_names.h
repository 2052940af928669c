// What nvcc's own headers define before any text, and NVRTC's do not: kernels that were only ever compiled by nvcc use
// these names without an #include.
#pragma once

using int8_t = signed char;
using int16_t = short;
using int32_t = int;
using int64_t = long;
using uint8_t = unsigned char;
using uint16_t = unsigned short;
using uint32_t = unsigned int;
using uint64_t = unsigned long;

#define INFINITY __builtin_bit_cast(float, 0x7f800000)

namespace std {
using size_t = decltype(sizeof(0));

template <class T, class U>
inline constexpr bool is_same_v = false;
template <class T>
inline constexpr bool is_same_v<T, T> = true;

template <bool kCondition, class T, class U>
struct conditional {
  using type = T;
};
template <class T, class U>
struct conditional<false, T, U> {
  using type = U;
};
template <bool kCondition, class T, class U>
using conditional_t = typename conditional<kCondition, T, U>::type;
}  // namespace std
