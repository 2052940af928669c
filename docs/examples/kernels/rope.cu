// Rotary embedding in place: x[token, head, d] and x[token, head, d + R] are rotated by the token's angle d. A block of
// CHUNK threads per HEADS heads of one token.
extern "C" __global__ void __launch_bounds__(CHUNK)
    rope(float* x, const float* cosines, const float* sines, int m, int h, int r) {
  const int token = blockIdx.y;
  const int head_begin = blockIdx.x * HEADS;
  for (int d = threadIdx.x; d < r; d += CHUNK) {
    const float c = cosines[static_cast<long long>(token) * r + d];
    const float s = sines[static_cast<long long>(token) * r + d];
    for (int head = head_begin; head < head_begin + HEADS && head < h; ++head) {
      float* first = x + (static_cast<long long>(token) * h + head) * 2 * r;
      float* second = first + r;
      const float u = first[d], v = second[d];
      first[d] = u * c - v * s;
      second[d] = v * c + u * s;
    }
  }
}
