// The token with the largest logit of each row, the first of equal ones, and where the sequence goes on: position and
// length one further, at most at the caches' end (c), and the slot that append_kv takes. A block per sequence.
__device__ inline float ToFloat(unsigned short half) {
  float value;
  asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(half));
  return value;
}

extern "C" __global__ void __launch_bounds__(THREADS)
    next_token(const unsigned short* logits, int* tokens, int* positions, int* lengths, int* slots, int c, int v) {
  __shared__ float largest[THREADS];
  __shared__ int where[THREADS];
  const int row = blockIdx.x, me = threadIdx.x;
  float most = -__int_as_float(0x7f800000);
  int at = v;
  for (int i = me; i < v; i += THREADS) {
    const float logit = ToFloat(logits[static_cast<long long>(row) * v + i]);
    if (logit > most || at == v) {
      most = logit;
      at = i;
    }
  }
  largest[me] = most;
  where[me] = at;
  __syncthreads();
  for (int half = THREADS / 2; half > 0; half /= 2) {
    if (me < half) {
      const float other = largest[me + half];
      if (other > largest[me] || (other == largest[me] && where[me + half] < where[me])) {
        largest[me] = other;
        where[me] = where[me + half];
      }
    }
    __syncthreads();
  }
  if (me != 0) return;
  tokens[row] = where[0];
  positions[row] = min(positions[row] + 1, c - 1);
  lengths[row] = min(lengths[row] + 1, c);
  slots[row] = row * c + positions[row];
}
