/* Kernel for groups of small networks, each with its own weights and images, for which PyTorch's operations are slow.

   Compiled by hatch_build.py when the package is built, once for each variant of a processor and each precision, the
   double one with -DDOUBLE. Every network and every image is computed by itself, so the bits of a network do not depend on
   the other networks of the group. */

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#if __x86_64__
#include <cpuid.h>
#endif
#if __AVX512F__
#include <immintrin.h>
#endif

#if __AVX__
#define REGISTER 32 /* bytes */
#else
#define REGISTER 16
#endif
#if DOUBLE
typedef double real;
typedef int64_t integer;
#define FLOOR floor
#else
typedef float real;
typedef int32_t integer;
#define FLOOR floorf
#endif
#define LANES (REGISTER / (int)sizeof(real)) /* numbers in a register */
#if REGISTER == 32 && !DOUBLE
#define EVEN(a, b) __builtin_shufflevector(a, b, 0, 2, 4, 6, 8, 10, 12, 14)
#define ODD(a, b) __builtin_shufflevector(a, b, 1, 3, 5, 7, 9, 11, 13, 15)
#elif REGISTER == 16 && DOUBLE
#define EVEN(a, b) __builtin_shufflevector(a, b, 0, 2)
#define ODD(a, b) __builtin_shufflevector(a, b, 1, 3)
#else
#define EVEN(a, b) __builtin_shufflevector(a, b, 0, 2, 4, 6)
#define ODD(a, b) __builtin_shufflevector(a, b, 1, 3, 5, 7)
#endif

#define K 5                /* filters are K by K */
#define WIDE 8             /* numbers in a row of a filter, padded to whole registers */
#define MARGIN (4 * WIDE)  /* numbers that whole registers may reach beyond the end of a row */
#define LINE_OF_CACHE 64   /* bytes */
#define WHOLE(n, parts) (((n) + (parts) - 1) / (parts) * (parts))
#define EVERY(i, count) _Pragma("GCC unroll 8") for (int i = 0; i < (count); i++)

typedef real vec __attribute__((vector_size(REGISTER)));
typedef real vec_loose __attribute__((vector_size(REGISTER), aligned(sizeof(real)), may_alias));
typedef real quad __attribute__((vector_size(4 * sizeof(real))));
typedef integer mask __attribute__((vector_size(REGISTER)));
typedef uint8_t bytes __attribute__((vector_size(LANES), aligned(1), may_alias));
#if __AVX512F__ /* registers are twice as large, and there are twice as many */
#define FAT (2 * LANES)
#define MANY 6
typedef real fat __attribute__((vector_size(64)));
typedef real fat_loose __attribute__((vector_size(64), aligned(sizeof(real)), may_alias));
typedef integer fat_mask __attribute__((vector_size(64)));
typedef uint8_t fat_bytes __attribute__((vector_size(FAT), aligned(1), may_alias));
#else
#define FAT LANES
#define MANY 4
typedef vec fat;
typedef vec_loose fat_loose;
#endif

static inline vec load(const real *p) { return *(const vec_loose *)p; }
static inline void store(real *p, vec v) { *(vec_loose *)p = v; }
static real *zeros(long numbers) { /* allocated, aligned to a line of the cache */
    const size_t size = WHOLE((numbers + MARGIN) * sizeof(real), LINE_OF_CACHE);
    real *memory = aligned_alloc(LINE_OF_CACHE, size);
    return memory ? memset(memory, 0, size) : NULL;
}
#define COPY(TYPE, PARTS)                                                                                              \
    for (; i + (PARTS) <= count; i += PARTS) {                                                                         \
        __asm__ volatile(""); /* keeps the compiler from calling memcpy */                                             \
        memcpy(to + i, from + i, sizeof(TYPE));                                                                        \
    }
static inline void copy(const real *from, real *to, int count) { /* for short rows, where a call of memcpy takes longer */
    int i = 0;
    COPY(fat, FAT)
    COPY(vec, LANES)
    COPY(quad, 4)
    COPY(real, 1)
}

/* Up to four channels of a warped image: pixel (y, x) is read at centre + m · ((y, x) - centre) + (dy, dx), by bilinear
   interpolation, from an image in a frame of EDGE pixels of value 0; pixels outside of the frame are 0 as well. */
#define EDGE 2
static void warped(const quad *restrict image, const real *m, real dy, real dx, real scale, real *restrict to, int channels, int height,
                   int width, integer *restrict at, real *restrict down, real *restrict over) {
    const int stride = width + 2 * EDGE;
    const long plane = (long)height * width;
    const real cy = (real)(height - 1) / 2, cx = (real)(width - 1) / 2;
    for (int y = 0; y < height; y++) {
        const real v = y - cy;
        for (int x = 0; x < stride; x++) { /* beyond the end of the row, to fill registers */
            const real h = x - cx, sy = m[0] * v + m[1] * h + cy + dy, sx = m[2] * v + m[3] * h + cx + dx;
            const real fy = FLOOR(sy), fx = FLOOR(sx);
            const real iy = fy > -EDGE ? fy : -EDGE, ix = fx > -EDGE ? fx : -EDGE;
            down[x] = sy - fy, over[x] = sx - fx;
            at[x] = (integer)(iy < height ? iy : height) * stride + (integer)(ix < width ? ix : width);
        }
        for (int x = 0; x < width; x++, to++) {
            const quad *from = image + at[x], *below = from + stride;
            const quad top = from[0] + over[x] * (from[1] - from[0]), under = below[0] + over[x] * (below[1] - below[0]);
            const quad pixel = (top + down[x] * (under - top)) / scale;
            to[0] = pixel[0];
            if (channels > 1) to[plane] = pixel[1];
            if (channels > 2) to[2 * plane] = pixel[2];
            if (channels > 3) to[3 * plane] = pixel[3];
        }
    }
}

/* Copy up to four channels of an image into a frame, as one vector for each pixel. */
static void framed(const real *restrict image, quad *restrict frame, int channels, int height, int width) {
    const long plane = (long)height * width;
    for (int y = 0; y < height; y++, frame += 2 * EDGE)
        for (int x = 0; x < width; x++, image++) {
            quad pixel = {image[0]};
            if (channels > 1) pixel[1] = image[plane];
            if (channels > 2) pixel[2] = image[2 * plane];
            if (channels > 3) pixel[3] = image[3 * plane];
            *frame++ = pixel;
        }
}

/* Replace all channels by the brightest one. */
static void to_grayscale(real *image, int channels, long plane) {
    for (int c = 1; c < channels; c++) {
        real *restrict brightest = image;
        const real *restrict other = image + c * plane;
        for (long i = 0; i < plane; i++) brightest[i] = other[i] > brightest[i] ? other[i] : brightest[i];
    }
    for (int c = 1; c < channels; c++) memcpy(image + c * plane, image, plane * sizeof(real));
}

/* Augmented images: rows of a column, shifted by (down, right), warped where `warp` is given, grayscale where marked. */
#define FETCH(NAME, SOURCE, SCALE)                                                                                     \
    int NAME(const SOURCE *column, const int64_t *rows, const int64_t *down, const int64_t *right,                     \
             const uint8_t *grayscale, const real *warp, real *to, long count, int channels, int height, int width) {  \
        const long plane = (long)height * width, size = channels * plane, stride = width + 2 * EDGE;                   \
        real *line = zeros(2 * stride), *image = zeros(size);                                                          \
        quad *frame = (quad *)zeros(4 * (height + 2 * EDGE) * stride), *inside = frame + EDGE * stride + EDGE;         \
        integer *at = calloc(stride, sizeof(integer));                                                                 \
        const int failed = !frame || !line || !image || !at;                                                           \
        for (long e = 0; e < count && !failed; e++, to += size) {                                                      \
            const SOURCE *from = column + rows[e] * size;                                                              \
            const long dy = down[e], dx = right[e], left = dx < 0 ? -dx : 0, end = dx > 0 ? width - dx : width;        \
            if (warp) {                                                                                                \
                for (long i = 0; i < size; i++) image[i] = (real)from[i];                                              \
                for (int c = 0; c < channels; c += 4) {                                                                \
                    const int some = channels - c < 4 ? channels - c : 4;                                              \
                    framed(image + c * plane, inside, some, height, width);                                            \
                    warped(inside, warp + 4 * e, dy, dx, SCALE, to + c * plane, some, height, width, at, line,         \
                           line + stride);                                                                             \
                }                                                                                                      \
            } else if (!dy && !dx) {                                                                                   \
                for (long i = 0; i < size; i++) to[i] = (real)from[i] / (real)SCALE;                                   \
            } else {                                                                                                   \
                memset(to, 0, size * sizeof(real));                                                                    \
                for (int c = 0; c < channels; c++)                                                                     \
                    for (long y = dy < 0 ? -dy : 0; y < (dy > 0 ? height - dy : height); y++) {                        \
                        const SOURCE *pixel = from + c * plane + (y + dy) * width + dx;                                \
                        real *out = to + c * plane + y * width;                                                        \
                        for (long x = left; x < end; x++) out[x] = (real)pixel[x] / (real)SCALE;                       \
                    }                                                                                                  \
            }                                                                                                          \
            if (grayscale[e]) to_grayscale(to, channels, plane);                                                       \
        }                                                                                                              \
        return free(frame), free(line), free(image), free(at), failed;                                                 \
    }
FETCH(fetch_bytes, uint8_t, 255)
FETCH(fetch_floats, float, 1)

/* Copies of an image, one for each column of a filter, shifted so that the pixels under that column are the first `wide`
   of each row: two rows of the convolution then read adjacent numbers. */
static void shifted_copies(const real *x, real *to, int channels, int rows, int cols, int wide) {
    for (int c = 0; c < channels; c++, x += rows * cols)
        for (int k = 0; k < K; k++)
            for (int r = 0; r < rows; r++, to += wide) copy(x + r * cols + k, to, wide);
}

/* Two rows of the convolution of an image given as shifted copies, V registers of them, for O filters at once. */
#define TILE(NAME, V, O)                                                                                               \
    static void NAME(const real *x, const real *w, const real *b, int channels, int rows, int wide, real *out,         \
                     long stride) {                                                                                    \
        fat sum[O][V];                                                                                                 \
        EVERY(o, O) EVERY(v, V) sum[o][v] = (fat){0} + b[o];                                                           \
        for (int c = 0; c < channels; c++, x += K * rows * wide)                                                       \
            for (int i = 0; i < K; i++)                                                                                \
                EVERY(k, K) {                                                                                          \
                    const fat_loose *line = (const fat_loose *)(x + (k * rows + i) * wide);                            \
                    fat pixels[V];                                                                                     \
                    EVERY(v, V) pixels[v] = line[v];                                                                   \
                    EVERY(o, O) EVERY(v, V) sum[o][v] += pixels[v] * w[((o * channels + c) * K + i) * K + k];          \
                }                                                                                                      \
        EVERY(o, O) EVERY(v, V) *(fat_loose *)(out + o * stride + v * FAT) = sum[o][v];                                \
    }
TILE(tile_3xmany, 3, MANY)
TILE(tile_3x1, 3, 1)
TILE(tile_1xmany, 1, MANY)
TILE(tile_1x1, 1, 1)

/* ReLU of the maximum of each two by two numbers; and which of the four was the maximum, or 4 where the result is 0. */
#define PICK(m, a, b) ((__typeof__(a))(((m) & (__typeof__(m))(a)) | (~(m) & (__typeof__(m))(b))))
#define POOL(VEC, MASK, BYTES, A, B, C, D, BEST, WHICH)                                                                \
    {                                                                                                                  \
        const VEC a = A, b = B, c = C, d = D, none = {0};                                                              \
        const VEC up = PICK(b > a, b, a), down = PICK(d > c, d, c), most = PICK(down > up, down, up);                  \
        const MASK zero = {0}, right = PICK(b > a, zero + 1, zero), under = PICK(d > c, zero + 3, zero + 2);           \
        const MASK where = PICK(down > up, under, right);                                                              \
        *(VEC##_loose *)(BEST) = PICK(most <= none, none, most); /* NaN stays NaN */                                   \
        *(BYTES *)(WHICH) = __builtin_convertvector(PICK(most <= none, zero + 4, where), BYTES);                       \
    }
static void pool(const real *top, const real *low, int wide, real *best, uint8_t *which) {
    for (int j = 0; j < wide; j += LANES) {
        const vec t = load(top + 2 * j), u = load(top + 2 * j + LANES);
        const vec l = load(low + 2 * j), m = load(low + 2 * j + LANES);
        POOL(vec, mask, bytes, EVEN(t, u), ODD(t, u), EVEN(l, m), ODD(l, m), best + j, which + j)
    }
}

/* An image with padded rows, so that whole registers can be read at any pixel. */
static void pad_rows(const real *x, real *to, int channels, int rows, int cols, long padded) {
    for (long r = 0; r < (long)channels * rows; r++) copy(x + r * cols, to + r * padded, cols);
}

#if __AVX512F__
/* Convolution, max pool and ReLU of one image with a filter in each lane, for numbers of filters that fill registers:
   `w` is (channel, y, x, filter). */
static void pooled_across(const real *image, const real *w, const real *b, real *y, uint8_t *from, int channels, int filters,
                          long plane, long padded, int high, int wide, real *best, uint8_t *which) {
    for (int i = 0; i < high; i++)
        for (int j = 0; j < wide; j += 2)
            for (int o = 0; o < filters; o += FAT) {
                fat sum[2][4];
                const real *x = image + 2 * i * padded + 2 * j, *f = w + o;
                EVERY(r, 2) EVERY(p, 4) sum[r][p] = *(const fat_loose *)(b + o);
                for (int c = 0; c < channels; c++, x += plane - K * padded)
                    for (int k = 0; k < K; k++, x += padded)
                        EVERY(h, K) {
                            const fat each = *(const fat_loose *)f;
                            EVERY(r, 2) EVERY(p, 4) sum[r][p] += each * x[r * padded + h + p];
                            f += filters;
                        }
                EVERY(q, 2) {
                    const long at = (i * (wide + 1) + j + q) * filters + o; /* rows of odd width have one cell too many */
                    POOL(fat, fat_mask, fat_bytes, sum[0][2 * q], sum[0][2 * q + 1], sum[1][2 * q], sum[1][2 * q + 1], best + at,
                         which + at)
                }
            }
    for (int o = 0; o < filters; o++)
        for (int i = 0; i < high; i++)
            for (int j = 0; j < wide; j++) {
                *y++ = best[(i * (wide + 1) + j) * filters + o];
                *from++ = which[(i * (wide + 1) + j) * filters + o];
            }
}
#endif

/* relu(maxpool2(conv(x, w) + b)) for `nets` networks with `n` images each. */
int conv_forward(const real *x, const real *w, const real *b, real *y, uint8_t *from, long nets, long n, int channels,
                 int filters, int rows, int cols) {
    const int high = (rows - K + 1) / 2, wide = (cols - K + 1) / 2;
    const long padded = WHOLE(cols + MARGIN, LINE_OF_CACHE / sizeof(real)), often = 2L * wide * K, stride = 4 * wide + MARGIN;
    const long cells = (long)high * (wide + 1) * filters, weights = (long)channels * K * K;
    real *image = zeros((long)channels * rows * (padded > often ? padded : often)), *best = zeros(cells);
    real *out = zeros(filters * stride), *turned = zeros(weights * filters);
    uint8_t *which = calloc(cells + MARGIN, 1);
    const int failed = !image || !out || !best || !turned || !which;
    for (long net = 0; net < nets && !failed; net++) {
#if __AVX512F__
        for (long i = 0; filters % FAT == 0 && i < weights * filters; i++)
            turned[i % weights * filters + i / weights] = w[net * weights * filters + i];
#endif
        for (long e = net * n; e < (net + 1) * n; e++) {
#if __AVX512F__
            if (filters % FAT == 0) {
                const long at = e * filters * high * wide;
                pad_rows(x + e * channels * rows * cols, image, channels, rows, cols, padded);
                pooled_across(image, turned, b + net * filters, y + at, from + at, channels, filters, rows * padded,
                              padded, high, wide, best, which);
                continue;
            }
#endif
            shifted_copies(x + e * channels * rows * cols, image, channels, rows, cols, 2 * wide);
            for (int i = 0; i < high; i++) {
                for (int j = 0, three; j < 4 * wide; j += three ? 3 * FAT : FAT) {
                    const real *at = image + 4 * i * wide + j;
                    three = 4 * wide - j > FAT;
                    for (int o = 0, some; o < filters; o += some ? MANY : 1) {
                        const real *f = w + (net * filters + o) * weights, *bias = b + net * filters + o;
                        some = filters - o >= MANY;
                        (three ? some ? tile_3xmany : tile_3x1 : some ? tile_1xmany : tile_1x1)(
                            at, f, bias, channels, rows, 2 * wide, out + o * stride + j, stride);
                    }
                }
                for (int o = 0; o < filters; o++) {
                    const long at = ((e * filters + o) * high + i) * wide;
                    pool(out + o * stride, out + o * stride + 2 * wide, wide, best, which);
                    copy(best, y + at, wide);
                    memcpy(from + at, which, wide);
                }
            }
        }
    }
    return free(image), free(out), free(best), free(turned), free(which), failed;
}

/* The gradients that pass back through pool and ReLU, and the offsets of the pixels under the filter; returns their number. */
static int passed_gradients(const real *gy, const uint8_t *from, const int32_t *corner, int cells, long padded, real *gradient,
                  int32_t *start) {
    int count = 0, at = 0;
#if __AVX512F__ && !DOUBLE
    for (; at + FAT <= cells; at += FAT) {
        const __m512i which = _mm512_cvtepu8_epi32(_mm_loadu_si128((const __m128i *)(from + at)));
        const __mmask16 open = _mm512_cmpneq_epi32_mask(which, _mm512_set1_epi32(4));
        const __m512i down = _mm512_mullo_epi32(_mm512_srli_epi32(which, 1), _mm512_set1_epi32((int)padded));
        const __m512i over = _mm512_and_epi32(which, _mm512_set1_epi32(1));
        const __m512i place = _mm512_add_epi32(_mm512_add_epi32(_mm512_loadu_si512(corner + at), down), over);
        _mm512_storeu_si512(start + count, _mm512_maskz_compress_epi32(open, place));
        _mm512_storeu_ps(gradient + count, _mm512_maskz_compress_ps(open, _mm512_loadu_ps(gy + at)));
        count += __builtin_popcount(open);
    }
#endif
    for (; at < cells; at++) {
        gradient[count] = gy[at];
        start[count] = corner[at] + (from[at] >> 1) * (int32_t)padded + (from[at] & 1);
        count += from[at] != 4; /* without a branch, which would be mispredicted half of the time */
    }
    return count;
}

/* The gradient of C channels of a filter from one image: the sum of the pixels under it where its output passed the pool,
   times the gradient there; returns the gradient of the bias. */
#define GATHER(NAME, C)                                                                                                \
    static real NAME(const real *image, real *sum, real bias, const real *gradient, const int32_t *start, int count,   \
                     long plane, long padded) {                                                                        \
        vec held[C][K][WIDE / LANES];                                                                                  \
        EVERY(c, C) EVERY(k, K) EVERY(v, WIDE / LANES) held[c][k][v] = load(sum + (c * K + k) * WIDE + v * LANES);     \
        for (int p = 0; p < count; p++) {                                                                              \
            const vec by = (vec){0} + gradient[p];                                                                     \
            bias += gradient[p];                                                                                       \
            const real *pixel = image + start[p];                                                                      \
            EVERY(c, C) EVERY(k, K) EVERY(v, WIDE / LANES)                                                             \
                held[c][k][v] += by * load(pixel + c * plane + k * padded + v * LANES);                                \
        }                                                                                                              \
        EVERY(c, C) EVERY(k, K) EVERY(v, WIDE / LANES) store(sum + (c * K + k) * WIDE + v * LANES, held[c][k][v]);     \
        return bias;                                                                                                   \
    }
GATHER(gather_3, 3)
GATHER(gather_1, 1)

/* Gradients of conv_forward. Only the maximum of four numbers passes the pool and has a gradient. gx may be null. */
int conv_backward(const real *x, const real *w, const real *gy, const uint8_t *from, real *gw, real *gb, real *gx,
                  long nets, long n, int channels, int filters, int rows, int cols) {
    const int high = (rows - K + 1) / 2, wide = (cols - K + 1) / 2;
    const long padded = WHOLE(cols + MARGIN, LINE_OF_CACHE / sizeof(real)), plane = rows * padded, lines = (long)channels * K;
    const int cells = high * wide;
    real *image = zeros(channels * plane), *back = zeros(channels * plane), *gradient = zeros(cells);
    real *sums = zeros(filters * lines * WIDE), *filter = zeros(filters * lines * WIDE);
    int32_t *start = calloc(cells + MARGIN, sizeof(int32_t)), *corner = calloc(cells + MARGIN, sizeof(int32_t));
    const int failed = !image || !back || !gradient || !sums || !filter || !start || !corner;
    for (int at = 0; at < cells && !failed; at++) corner[at] = 2 * (at / wide) * padded + 2 * (at % wide);
    for (long net = 0; net < nets && !failed; net++) {
        memset(sums, 0, filters * lines * WIDE * sizeof(real));
        memset(gb + net * filters, 0, filters * sizeof(real));
        for (long line = 0; line < filters * lines; line++)
            memcpy(filter + line * WIDE, w + (net * filters * lines + line) * K, K * sizeof(real));
        for (long e = net * n; e < (net + 1) * n; e++) {
            pad_rows(x + e * channels * rows * cols, image, channels, rows, cols, padded);
            memset(back, 0, channels * plane * sizeof(real));
            for (int o = 0; o < filters; o++) {
                real *sum = sums + o * lines * WIDE;
                const long at = (e * filters + o) * cells;
                const int count = passed_gradients(gy + at, from + at, corner, cells, padded, gradient, start);
                const real before = gb[net * filters + o];
                for (int c = 0; c < channels; c += channels - c < 3 ? 1 : 3)
                    gb[net * filters + o] = (channels - c < 3 ? gather_1 : gather_3)(
                        image + c * plane, sum + c * K * WIDE, before, gradient, start, count, plane, padded);
                for (int p = 0; gx && p < count; p++) /* neighbours overlap, so all channels of one come before the next */
                    for (int c = 0; c < channels; c++) {
                        const real *f = filter + (o * lines + c * K) * WIDE;
                        real *pixel = back + start[p] + c * plane;
                        EVERY(k, K) EVERY(v, WIDE / LANES) {
                            real *to = pixel + k * padded + v * LANES;
                            store(to, load(to) + gradient[p] * load(f + k * WIDE + v * LANES));
                        }
                    }
            }
            for (long r = 0; gx && r < (long)channels * rows; r++)
                copy(back + r * padded, gx + (e * channels * rows + r) * cols, cols);
        }
        for (long line = 0; line < filters * lines; line++)
            memcpy(gw + (net * filters * lines + line) * K, sums + line * WIDE, K * sizeof(real));
    }
    return free(image), free(back), free(gradient), free(sums), free(filter), free(start), free(corner), failed;
}

/* One step of Adam with decoupled weight decay, for `nets` networks with `count` numbers each. */
void adam(real *p, const real *g, real *m, real *v, const double *rates, long nets, long count, double decay,
          double beta1, double beta2, double eps, double bias1, double bias2) {
    const real b1 = beta1, b2 = beta2, a1 = 1 - beta1, a2 = 1 - beta2, root = 1 / sqrt(bias2), small = eps;
    for (long net = 0; net < nets; net++, p += count, g += count, m += count, v += count) {
        const real keep = 1 - rates[net] * decay, step = rates[net] / bias1;
        for (long i = 0; i < count; i++) {
            m[i] = b1 * m[i] + a1 * g[i];
            v[i] = b2 * v[i] + a2 * g[i] * g[i];
            p[i] = keep * p[i] - step * m[i] / ((real)sqrt(v[i]) * root + small);
        }
    }
}

/* The level of the x86-64 architecture that this processor and its operating system offer: 1, 3 or 4; elsewhere 0.
   Called in the library for the lowest level, to choose among the others. */
int level(void) {
#if __x86_64__
    unsigned a, b, c = 0, d, extended = 0;
    __get_cpuid(1, &a, &b, &c, &d);
    __get_cpuid(0x80000001, &a, &b, &extended, &d);
    __builtin_cpu_init();
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma") || !__builtin_cpu_supports("bmi") ||
        !__builtin_cpu_supports("bmi2") || !(c & bit_F16C) || !(c & bit_MOVBE) || !(extended & bit_LZCNT))
        return 1;
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512cd") &&
                   __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl")
               ? 4
               : 3;
#else
    return 0;
#endif
}
